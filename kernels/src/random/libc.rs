//! `logf` and `sincosf` to the last bit as glibc 2.28 and later compute them on machines with fused multiply-add.
//!
//! TensorFlow's normal distributions call the C library, and initial weights have to be equal exactly. The algorithms are
//! those of ARM's optimized routines: a small table or none, a polynomial in `f64`, one rounding to `f32` at the end.
//! Where products and sums are fused is part of the result, so every fusion is written out. `libm::fma` uses the
//! machine's instruction where there is one.

use libm::fma;

/// For the 16 intervals of a mantissa: one over a point within, and the logarithm of that point.
#[rustfmt::skip]
const LOG_TABLE: [[u64; 2]; 16] = [
    [0x3ff661ec79f8f3be, 0xbfd57bf7808caade], [0x3ff571ed4aaf883d, 0xbfd2bef0a7c06ddb],
    [0x3ff49539f0f010b0, 0xbfd01eae7f513a67], [0x3ff3c995b0b80385, 0xbfcb31d8a68224e9],
    [0x3ff30d190c8864a5, 0xbfc6574f0ac07758], [0x3ff25e227b0b8ea0, 0xbfc1aa2bc79c8100],
    [0x3ff1bb4a4a1a343f, 0xbfba4e76ce8c0e5e], [0x3ff12358f08ae5ba, 0xbfb1973c5a611ccc],
    [0x3ff0953f419900a7, 0xbfa252f438e10c1e], [0x3ff0000000000000, 0x0000000000000000],
    [0x3fee608cfd9a47ac, 0x3faaa5aa5df25984], [0x3feca4b31f026aa0, 0x3fbc5e53aa362eb4],
    [0x3feb2036576afce6, 0x3fc526e57720db08], [0x3fe9c2d163a1aa2d, 0x3fcbc2860d224770],
    [0x3fe886e6037841ed, 0x3fd1058bc8a07ee1], [0x3fe767dcf5534862, 0x3fd4043057b6ee09],
];
/// Coefficients of r⁴, r³ and r² in the logarithm of 1 + r.
const LOG_POLYNOMIAL: [u64; 3] = [0xbfd0_0ea3_48b8_8334, 0x3fd5_575b_0be0_0b6a, 0xbfdf_fffe_f20a_4123];
/// Where the intervals of the logarithm begin: the bits of a number a little under 0.7.
const LOG_OFFSET: u32 = 0x3f33_0000;

/// Natural logarithm, rounded as glibc's.
pub fn logf(x: f32) -> f32 {
    let mut bits = x.to_bits();
    if bits == 0x3f80_0000 {
        return 0.0;
    }
    if bits.wrapping_sub(0x0080_0000) >= 0x7f80_0000 - 0x0080_0000 {
        if bits << 1 == 0 {
            return f32::NEG_INFINITY;
        }
        if bits == 0x7f80_0000 {
            return x;
        }
        if bits > 0x7f80_0000 {
            return f32::NAN;
        }
        // Subnormal: scaled up, and the exponent put right.
        bits = (x * 8_388_608.0).to_bits().wrapping_sub(23 << 23);
    }
    let shifted = bits.wrapping_sub(LOG_OFFSET);
    let [inverse, log] = LOG_TABLE[(shifted >> 19 & 15) as usize].map(f64::from_bits);
    let exponent = ((shifted as i32) >> 23) as f64;
    let z = f32::from_bits(bits.wrapping_sub(shifted & 0xff80_0000)) as f64;
    let [a, b, c] = LOG_POLYNOMIAL.map(f64::from_bits);
    let r = fma(z, inverse, -1.0);
    let whole = fma(exponent, core::f64::consts::LN_2, log);
    let square = r * r;
    let y = fma(square, a, fma(r, b, c));
    fma(square, y, r + whole) as f32
}

/// Coefficients of x³, x⁵, x⁷ of the sine and x², x⁴, x⁶, x⁸ of the cosine.
const SINE: [u64; 3] = [0xbfc5_5554_5995_a603, 0x3f81_1076_0523_0bc4, 0xbf29_94eb_3774_cf24];
const COSINE: [u64; 4] = [0xbfdf_ffff_fd0c_621c, 0x3fa5_5553_e106_8f19, 0xbf56_c087_e89a_359d, 0x3ef9_9343_027b_f8c3];
/// 2^24 · 2 / π.
const QUADRANTS: f64 = f64::from_bits(0x4164_5f30_6dc9_c883);

/// Sine and cosine of |x| < 120, rounded as glibc's `sincosf`; beyond, as `libm`'s.
pub fn sincosf(x: f32) -> (f32, f32) {
    let top = x.to_bits() >> 20 & 0x7ff;
    if top < 0x398 {
        return (x, 1.0);
    }
    if top >= 0x42f {
        return (libm::sinf(x), libm::cosf(x));
    }
    let v = x as f64;
    if top < 0x3f4 {
        return polynomials(v, v * v, 1.0);
    }
    let quadrant = (((v * QUADRANTS) as i32).wrapping_add(0x0080_0000)) >> 24;
    let r = fma(-(quadrant as f64), core::f64::consts::FRAC_PI_2, v);
    let sign = if matches!(quadrant & 3, 1 | 2) { -1.0 } else { 1.0 };
    let (s, c) = polynomials(r * sign, r * r, if quadrant & 2 == 0 { 1.0 } else { -1.0 });
    if quadrant & 1 == 0 { (s, c) } else { (c, s) }
}

/// Sine of `x` and `sign` times its cosine for |x| ≤ π/4 and a little more; `square` is x².
#[inline(always)]
fn polynomials(x: f64, square: f64, sign: f64) -> (f32, f32) {
    let [s1, s2, s3] = SINE.map(f64::from_bits);
    let [c1, c2, c3, c4] = COSINE.map(|c| f64::from_bits(c) * sign);
    let (cube, fourth) = (square * x, square * square);
    let sine = fma(fma(square, s3, s2), square * cube, fma(cube, s1, x));
    let cosine = fma(fma(square, c4, c3), square * fourth, fma(fourth, c2, fma(square, c1, sign)));
    (sine as f32, cosine as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum over a sweep of inputs, computed once with glibc 2.36.
    #[test]
    fn sweeps_match_glibc() {
        let mut hash = 0u64;
        for i in 0..200_000u32 {
            let x = f32::from_bits(i.wrapping_mul(10_737));
            hash = hash.rotate_left(5) ^ logf(x).to_bits() as u64;
            let (s, c) = sincosf(i as f32 * 0.000_59 - 59.0);
            hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (s.to_bits() as u64) << 32 ^ c.to_bits() as u64;
        }
        assert_eq!(hash, 0x2396_cb94_f2e2_f5e4);
    }

    #[test]
    fn ends() {
        let inf = f32::INFINITY;
        assert_eq!((logf(1.0), logf(0.0), logf(-0.0), logf(inf)), (0.0, -inf, -inf, inf));
        assert!(logf(-1.0).is_nan() && logf(f32::NAN).is_nan());
        assert_eq!(sincosf(0.0), (0.0, 1.0));
        assert!(sincosf(inf).0.is_nan());
    }
}
