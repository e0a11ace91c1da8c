//! Numbers of less than eight bits and floats of eight: from and to the types one computes with.
//!
//! A 4-bit integer lies in the low half of its byte. Floats are rounded to the nearest, ties to even; what is too large
//! becomes infinity where there is one, else NaN.

use half::f16;

/// The layout of a float of eight bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float8 {
    mantissa_bits: i32,
    bias: i32,
    /// Where numbers end: the bits above the largest finite one, infinity or NaN.
    end: u8,
    nan: u8,
}

/// Five bits of exponent, with infinities.
pub const E5M2: Float8 = Float8 { mantissa_bits: 2, bias: 15, end: 0x7c, nan: 0x7e };
/// Four bits of exponent, finite.
pub const E4M3FN: Float8 = Float8 { mantissa_bits: 3, bias: 7, end: 0x7f, nan: 0x7f };

impl Float8 {
    /// The mantissa bits that are stored.
    pub fn mantissa_bits(self) -> u32 {
        self.mantissa_bits as u32
    }

    /// The value, exactly.
    pub fn decode(self, bits: u8) -> f32 {
        if self == E5M2 {
            return f16::from_bits(u16::from(bits) << 8).to_f32();
        }
        let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
        let magnitude = bits & 0x7f;
        if magnitude >= self.nan {
            return f32::NAN;
        }
        let mantissa = i32::from(magnitude) & ((1 << self.mantissa_bits) - 1);
        let exponent = i32::from(magnitude) >> self.mantissa_bits;
        let (significand, exponent) =
            if exponent == 0 { (mantissa, 1) } else { (mantissa + (1 << self.mantissa_bits), exponent) };
        sign * libm::ldexpf(significand as f32, exponent - self.bias - self.mantissa_bits)
    }

    /// The nearest value.
    pub fn encode(self, x: f64) -> u8 {
        let sign = if x.is_sign_negative() { 0x80 } else { 0 };
        if x.is_nan() {
            return sign | self.nan;
        }
        if x.is_infinite() {
            return sign | self.end;
        }
        let x = libm::fabs(x);
        let least = 1 - self.bias;
        // Doubles below their own normal range are far below ours, and come out as zero.
        let exponent = (((x.to_bits() >> 52) as i32) - 1023).max(least);
        let units = libm::rint(libm::ldexp(x, self.mantissa_bits - exponent));
        if units >= 512.0 {
            return sign | self.end;
        }
        // Units below 2^mantissa_bits are subnormal; a carry goes on into the exponent by itself.
        let bits = ((exponent - least) << self.mantissa_bits) + units as i32;
        sign | if bits >= i32::from(self.end) { self.end } else { bits as u8 }
    }
}

/// A signed 4-bit integer.
pub fn int4(byte: u8) -> i8 {
    ((byte << 4) as i8) >> 4
}

/// An unsigned 4-bit integer.
pub fn uint4(byte: u8) -> u8 {
    byte & 0xf
}

/// The low four bits, in a byte.
pub fn to_nibble(value: i64) -> u8 {
    (value & 0xf) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every value comes back, and what lies between two goes to the nearer, or to the even one.
    #[test]
    fn floats_round_trip() {
        for layout in [E5M2, E4M3FN] {
            for bits in 0..=255u8 {
                let x = layout.decode(bits);
                if x.is_nan() {
                    assert!(layout.decode(layout.encode(x.into())).is_nan());
                } else {
                    assert_eq!(layout.encode(x.into()), bits, "{x}");
                }
            }
            for bits in 0..layout.end - 2 {
                let (low, high) = (f64::from(layout.decode(bits)), f64::from(layout.decode(bits + 1)));
                let middle = (low + high) / 2.0;
                assert_eq!(layout.encode(middle), bits + bits % 2);
                assert_eq!(layout.encode((low + middle) / 2.0), bits);
            }
        }
        assert_eq!([448.0, 464.0, 465.0, 1e300].map(|x| E4M3FN.encode(x)), [0x7e, 0x7e, 0x7f, 0x7f]);
        assert_eq!([57344.0, 61439.0, 61440.0, -1e300].map(|x| E5M2.encode(x)), [0x7b, 0x7b, 0x7c, 0xfc]);
        assert_eq!([5e-324, -0.0].map(|x| E5M2.encode(x)), [0, 0x80]);
    }

    #[test]
    fn nibbles() {
        assert_eq!([0, 7, 8, 15].map(int4), [0, 7, -8, -1]);
        assert_eq!([0, 7, 8, 0xff].map(uint4), [0, 7, 8, 15]);
        assert_eq!([-1, -8, 7, 16].map(to_nibble), [15, 8, 7, 0]);
    }
}
