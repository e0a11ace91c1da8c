//! Elementary functions of `f32` in a form compilers turn into vector code: no tables, no branches, no calls.
//!
//! Each bound was found by walking every 64th `f32` against `libm` in `f64`; the tests walk a coarser grid. Results do
//! not depend on the instruction set: nothing here contracts to a fused multiply-add.
#![expect(clippy::excessive_precision, reason = "coefficients stand as published, the compiler rounds them")]

/// Rounds to an integer, ties to even, keeping the sign of zero.
#[inline(always)]
pub fn round_even(x: f32) -> f32 {
    // Adding and removing 1.5·2^23 leaves no fraction bits; larger values have none anyway.
    let magic = 12_582_912.0f32;
    let r = (x + magic) - magic;
    let r = f32::from_bits((r.to_bits() & 0x7fff_ffff) | (x.to_bits() & 0x8000_0000));
    if f32::from_bits(x.to_bits() & 0x7fff_ffff) < 4_194_304.0 { r } else { round_large(x) }
}

/// Ties to even for |x| ≥ 2^22, infinities and NaN.
#[inline(always)]
fn round_large(x: f32) -> f32 {
    // In [2^22, 2^23) the spacing is a half: 2^23 is the number whose sum has spacing one.
    let a = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let r = (a + 8_388_608.0) - 8_388_608.0;
    let r = if a < 8_388_608.0 { r } else { a };
    f32::from_bits(r.to_bits() | (x.to_bits() & 0x8000_0000))
}

/// The greatest integer not above `x`.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    let r = round_even(x);
    let r = if r > x { r - 1.0 } else { r };
    f32::from_bits(r.to_bits() | (x.to_bits() & 0x8000_0000))
}

/// The least integer not below `x`.
#[inline(always)]
pub fn ceil(x: f32) -> f32 {
    -floor(-x)
}

/// e^x within 1.5 ULP; subnormal results included, 0 and ∞ at the ends, NaN kept.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    let (q, a, b) = exp_parts(x);
    (q + 1.0) * a * b
}

/// e^x − 1 within 2 ULP, also near zero; −1 and ∞ at the ends, NaN and the sign of zero kept.
#[inline(always)]
pub fn exp_m1(x: f32) -> f32 {
    let (q, a, b) = exp_parts(x);
    // Where a · b is one this is q itself; near 2^128 the product is formed last.
    let y = if x > 80.0 { (q + 1.0) * a * b } else { q * (a * b) + (a * b - 1.0) };
    if x == 0.0 { x } else { y }
}

/// q, a and b with e^x = (1 + q) · a · b, the last two powers of two.
#[inline(always)]
fn exp_parts(x: f32) -> (f32, f32, f32) {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let magic = 12_582_912.0f32;
    let shifted = x * core::f32::consts::LOG2_E + magic;
    let n = shifted - magic;
    // ln 2 in two parts, so that n · high is exact.
    let r = x - n * 0.693_359_4;
    let r = r - n * -2.121_944_4e-4;
    let p = 1.987_569_1e-4f32;
    let p = p * r + 1.398_199_9e-3;
    let p = p * r + 8.333_452e-3;
    let p = p * r + 4.166_579_6e-2;
    let p = p * r + 1.666_666_5e-1;
    let p = p * r + 0.5;
    let q = p * (r * r) + r;
    // 2^n in two factors, each a normal number.
    let n = (shifted.to_bits() as i32).wrapping_sub(magic.to_bits() as i32);
    let half = n >> 1;
    let scale = |k: i32| f32::from_bits((k.wrapping_add(127) as u32) << 23);
    (q, scale(half), scale(n.wrapping_sub(half)))
}

/// Natural logarithm within 1.5 ULP; −∞ at zero, NaN below.
#[inline(always)]
pub fn ln(x: f32) -> f32 {
    // Subnormals are scaled up first.
    let tiny = x < f32::MIN_POSITIVE;
    let v = if tiny { x * 8_388_608.0 } else { x };
    let bias = if tiny { 23.0f32 } else { 0.0 };
    // m in [√½, √2), x = m · 2^e.
    let bits = v.to_bits().wrapping_sub(0x3f35_04f3);
    let e = ((bits as i32) >> 23) as f32 - bias;
    let m = f32::from_bits((bits & 0x007f_ffff).wrapping_add(0x3f35_04f3));
    let f = m - 1.0;
    let z = f * f;
    let p = 7.037_683_6e-2f32;
    let p = p * f - 1.151_461_03e-1;
    let p = p * f + 1.167_699_9e-1;
    let p = p * f - 1.242_014_1e-1;
    let p = p * f + 1.424_932_3e-1;
    let p = p * f - 1.666_805_8e-1;
    let p = p * f + 2.000_071_5e-1;
    let p = p * f - 2.499_999_4e-1;
    let p = p * f + 3.333_333_1e-1;
    let y = f * (z * p);
    let y = y + e * -2.121_944_4e-4;
    let y = y - 0.5 * z;
    let y = (f + y) + e * 0.693_359_4;
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    let y = if x < 0.0 || x.is_nan() { f32::NAN } else { y };
    if x == f32::INFINITY { f32::INFINITY } else { y }
}

/// ln(1 + x) within 2 ULP, also near zero; −∞ at −1, NaN below, the sign of zero kept.
#[inline(always)]
pub fn ln_1p(x: f32) -> f32 {
    let u = 1.0 + x;
    // What the sum lost, to first order.
    let y = ln(u) + (x - (u - 1.0)) / u;
    let y = if u > 0.0 && u < f32::INFINITY { y } else { ln(u) };
    if u == 1.0 { x } else { y }
}

/// The error function within 2 ULP; never outside [−1, 1].
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let a = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let z = x * x;
    let p = -5.967_617_03e-4f32;
    let p = p * z + 4.991_194_23e-3;
    let p = p * z - 2.676_813_49e-2;
    let p = p * z + 1.128_199_25e-1;
    let p = p * z - 3.761_253_36e-1;
    let p = p * z + 1.283_791_66e-1;
    let small = p * a + a;
    // The complement as e to a polynomial.
    let t = if a > 4.0 { 4.0 } else { a };
    let q = -1.728_534_7e-5f32;
    let q = q * t + 3.831_971_26e-4;
    let q = q * t - 3.883_964_38e-3;
    let q = q * t + 2.425_462_19e-2;
    let q = q * t - 1.067_778_77e-1;
    let q = q * t - 6.348_466_87e-1;
    let q = q * t - 1.287_175_12e-1;
    let large = 1.0 - exp(q * t - t);
    let y = if a > 0.927_734_4 { large } else { small };
    let y = if a.is_nan() { a } else { y };
    f32::from_bits(y.to_bits() | (x.to_bits() & 0x8000_0000))
}

/// Hyperbolic tangent within 2 ULP; never outside [−1, 1].
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let a = f32::from_bits(x.to_bits() & 0x7fff_ffff);
    let z = x * x;
    let p = -5.704_988_7e-3f32;
    let p = p * z + 2.063_908_9e-2;
    let p = p * z - 5.373_971_6e-2;
    let p = p * z + 1.333_144_2e-1;
    let p = p * z - 3.333_328_2e-1;
    let small = x + x * (z * p);
    let large = 1.0 - 2.0 / (exp(a + a) + 1.0);
    // The sign is put on at the end: the sums above lose that of zero.
    let y = if a < 0.625 { small } else { large };
    f32::from_bits(y.to_bits() | (x.to_bits() & 0x8000_0000))
}

/// 1 / (1 + e^−x) within 2.5 ULP; within [0, 1], 0 below −88.8.
#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// 1 / (1 + e^−x) in `f64`.
#[inline(always)]
pub fn sigmoid64(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// The derivative of log Γ: reflection below zero, recurrence to 10, then the asymptotic series. NaN at the poles.
pub fn digamma(x: f64) -> f64 {
    if x == f64::INFINITY {
        return x;
    }
    if x <= 0.0 {
        if x == libm::floor(x) {
            return f64::NAN;
        }
        return digamma(1.0 - x) - core::f64::consts::PI / libm::tan(core::f64::consts::PI * x);
    }
    let (mut v, mut shift) = (x, 0.0);
    while v < 10.0 {
        shift += 1.0 / v;
        v += 1.0;
    }
    let z = 1.0 / (v * v);
    let tail = z * (1.0 / 12.0 - z * (1.0 / 120.0 - z * (1.0 / 252.0 - z * (1.0 / 240.0 - z * (1.0 / 132.0)))));
    libm::log(v) - 0.5 / v - tail - shift
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Largest error of `f` in ULPs of the exact result over a grid of all floats that `keep` takes.
    fn worst(f: fn(f32) -> f32, exact: fn(f64) -> f64, keep: fn(f32) -> bool) -> f64 {
        let mut worst = 0f64;
        for bits in (0..=u32::MAX).step_by(3989) {
            let x = f32::from_bits(bits);
            let want = exact(x as f64);
            if x.is_nan() || !keep(x) || (want as f32).is_infinite() {
                continue;
            }
            let mag = (want as f32).abs().max(f32::MIN_POSITIVE);
            let ulp = (f32::from_bits(mag.to_bits() + 1) - mag) as f64;
            worst = worst.max((f(x) as f64 - want).abs() / ulp);
        }
        worst
    }

    #[test]
    fn errors_are_within_the_stated_bounds() {
        let all = |_: f32| true;
        assert!(worst(exp, libm::exp, all) < 1.5, "{}", worst(exp, libm::exp, all));
        assert!(worst(ln, libm::log, |x| x > 0.0) < 1.5, "{}", worst(ln, libm::log, |x| x > 0.0));
        assert!(worst(tanh, libm::tanh, all) < 2.0, "{}", worst(tanh, libm::tanh, all));
        let near = |x: f32| x > -87.0;
        assert!(worst(sigmoid, sigmoid64, near) < 2.5, "{}", worst(sigmoid, sigmoid64, near));
        let case = |f, exact, keep, bound| assert!(worst(f, exact, keep) < bound, "{}", worst(f, exact, keep));
        case(exp_m1, libm::expm1, all, 2.0);
        case(ln_1p, libm::log1p, |x| x > -1.0, 2.0);
        case(erf, libm::erf, all, 2.0);
        assert_eq!(worst(floor, libm::floor, all), 0.0);
        assert_eq!(worst(ceil, libm::ceil, all), 0.0);
        assert_eq!(worst(round_even, libm::rint, all), 0.0);
    }

    #[test]
    fn ends_and_signs() {
        let inf = f32::INFINITY;
        assert_eq!((exp(inf), exp(-inf), exp(0.0)), (inf, 0.0, 1.0));
        assert_eq!((ln(0.0), ln(inf), ln(1.0)), (-inf, inf, 0.0));
        assert!(ln(-1.0).is_nan() && ln(-inf).is_nan() && exp(f32::NAN).is_nan() && ln(f32::NAN).is_nan());
        assert_eq!((tanh(inf), tanh(-inf), sigmoid(inf), sigmoid(-inf)), (1.0, -1.0, 1.0, 0.0));
        assert!(tanh(f32::NAN).is_nan() && sigmoid(f32::NAN).is_nan() && tanh(-0.0).is_sign_negative());
        assert_eq!((exp_m1(inf), exp_m1(-inf), ln_1p(inf), ln_1p(-1.0)), (inf, -1.0, inf, -inf));
        assert_eq!((erf(inf), erf(-inf)), (1.0, -1.0));
        assert!(
            exp_m1(f32::NAN).is_nan() && ln_1p(f32::NAN).is_nan() && ln_1p(-2.0).is_nan() && erf(f32::NAN).is_nan()
        );
        assert!([exp_m1(-0.0), ln_1p(-0.0), erf(-0.0)].iter().all(|v| *v == 0.0 && v.is_sign_negative()));
        for x in [-0.3f32, -0.5, -0.0] {
            assert!(round_even(x) == 0.0 && round_even(x).is_sign_negative(), "{x}");
            assert!(ceil(x) == 0.0 && ceil(x).is_sign_negative(), "{x}");
        }
        assert!(floor(inf) == inf && floor(-inf) == -inf && floor(f32::NAN).is_nan());
        for (x, want) in [(0.5, -1.9635100260214235), (-0.5, 0.03648997397857652), (10.0, 2.251752589066721)] {
            assert!((digamma(x) - want).abs() < 1e-13, "{x}");
        }
        assert!(digamma(0.0).is_nan() && digamma(-3.0).is_nan());
    }
}
