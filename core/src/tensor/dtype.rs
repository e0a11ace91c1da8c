//! Element types, numbered as in `tensorflow.DataType`.

use core::fmt;

use half::{bf16, f16};
use num_complex::Complex;

macro_rules! dtypes {
    ($($variant:ident = $number:literal, $name:literal, $size:literal, $doc:literal;)*) => {
        /// The type of a tensor's elements. References (`DT_FLOAT_REF` …) are a property of an edge, not of a dtype.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DType {
            $(#[doc = $doc] $variant = $number,)*
        }

        impl DType {
            /// Every dtype, by number.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The dtype of a number from the wire; `None` for 0, references and unknown numbers.
            pub fn from_number(number: i32) -> Option<DType> {
                match number {
                    $($number => Some(DType::$variant),)*
                    _ => None,
                }
            }

            /// TensorFlow's lower-case name, for example `float` or `int32`.
            pub fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                }
            }

            /// Bytes of an element in memory and in `tensor_content`; 0 for strings, resources and variants.
            /// Types below eight bits take a byte each.
            pub const fn size(self) -> usize {
                match self {
                    $(DType::$variant => $size,)*
                }
            }

            /// The dtype of a name as [`DType::name`] gives it.
            pub fn from_name(name: &str) -> Option<DType> {
                match name {
                    $($name => Some(DType::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

dtypes! {
    Float = 1, "float", 4, "IEEE binary32.";
    Double = 2, "double", 8, "IEEE binary64.";
    Int32 = 3, "int32", 4, "32-bit integer.";
    Uint8 = 4, "uint8", 1, "8-bit unsigned integer.";
    Int16 = 5, "int16", 2, "16-bit integer.";
    Int8 = 6, "int8", 1, "8-bit integer.";
    String = 7, "string", 0, "Byte string.";
    Complex64 = 8, "complex64", 8, "Complex of binary32.";
    Int64 = 9, "int64", 8, "64-bit integer.";
    Bool = 10, "bool", 1, "Truth value, a byte of 0 or 1.";
    Qint8 = 11, "qint8", 1, "Quantised 8-bit integer.";
    Quint8 = 12, "quint8", 1, "Quantised 8-bit unsigned integer.";
    Qint32 = 13, "qint32", 4, "Quantised 32-bit integer.";
    Bfloat16 = 14, "bfloat16", 2, "The upper half of binary32.";
    Qint16 = 15, "qint16", 2, "Quantised 16-bit integer.";
    Quint16 = 16, "quint16", 2, "Quantised 16-bit unsigned integer.";
    Uint16 = 17, "uint16", 2, "16-bit unsigned integer.";
    Complex128 = 18, "complex128", 16, "Complex of binary64.";
    Half = 19, "half", 2, "IEEE binary16.";
    Resource = 20, "resource", 0, "Handle of a resource.";
    Variant = 21, "variant", 0, "A value of a type that only some ops know.";
    Uint32 = 22, "uint32", 4, "32-bit unsigned integer.";
    Uint64 = 23, "uint64", 8, "64-bit unsigned integer.";
    Float8E5m2 = 24, "float8_e5m2", 1, "8-bit float, 5 exponent bits.";
    Float8E4m3fn = 25, "float8_e4m3fn", 1, "8-bit float, 4 exponent bits, finite.";
    Float8E4m3fnuz = 26, "float8_e4m3fnuz", 1, "8-bit float, 4 exponent bits, no negative zero.";
    Float8E4m3b11fnuz = 27, "float8_e4m3b11fnuz", 1, "8-bit float, 4 exponent bits, bias 11.";
    Float8E5m2fnuz = 28, "float8_e5m2fnuz", 1, "8-bit float, 5 exponent bits, no negative zero.";
    Int4 = 29, "int4", 1, "4-bit integer.";
    Uint4 = 30, "uint4", 1, "4-bit unsigned integer.";
    Int2 = 31, "int2", 1, "2-bit integer.";
    Uint2 = 32, "uint2", 1, "2-bit unsigned integer.";
    Float4E2m1fn = 33, "float4_e2m1fn", 1, "4-bit float, 2 exponent bits, finite.";
}

impl DType {
    /// The number added to a dtype's to name a reference to it.
    pub const REF_OFFSET: i32 = 100;

    /// The dtype of a number and whether the number names a reference.
    pub fn from_number_or_ref(number: i32) -> Option<(DType, bool)> {
        match DType::from_number(number) {
            Some(dtype) => Some((dtype, false)),
            None => DType::from_number(number.checked_sub(DType::REF_OFFSET)?).map(|dtype| (dtype, true)),
        }
    }

    /// The number on the wire.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// Whether elements are plain bytes (all but strings, resources and variants).
    pub const fn is_plain(self) -> bool {
        self.size() != 0
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A Rust type that is the element of plain tensors of one dtype.
///
/// # Safety
/// The type has no padding and its size is the dtype's; any bytes are a valid value, or, for `bool`, bytes of 0 and 1,
/// which every constructor of a bool tensor ensures. Its alignment is at most 64.
pub unsafe trait Element: Copy + Send + Sync + PartialEq + fmt::Debug + 'static {
    /// The dtype whose elements these are.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($ty:ty => $dtype:ident),* $(,)?) => {
        $(
            // SAFETY: a number of the dtype's size without padding (or bool, see the trait).
            unsafe impl Element for $ty {
                const DTYPE: DType = DType::$dtype;
            }
            const _: () = assert!(size_of::<$ty>() == DType::$dtype.size() && align_of::<$ty>() <= 64);
        )*
    };
}
elements! {
    f32 => Float, f64 => Double, f16 => Half, bf16 => Bfloat16,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    u8 => Uint8, u16 => Uint16, u32 => Uint32, u64 => Uint64,
    bool => Bool, Complex<f32> => Complex64, Complex<f64> => Complex128,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and numbers round trip; 0, references and unknown numbers are no dtypes.
    #[test]
    fn names_and_numbers() {
        assert_eq!(DType::ALL.len(), 33);
        for &dtype in DType::ALL {
            assert_eq!(DType::from_number(dtype.number()), Some(dtype));
            assert_eq!(DType::from_name(dtype.name()), Some(dtype));
            assert_eq!(DType::from_number_or_ref(dtype.number() + 100), Some((dtype, true)));
        }
        for number in [0, -1, 34, 99, 100, 101, i32::MIN, i32::MAX] {
            assert_eq!(DType::from_number(number), None);
        }
        assert_eq!(DType::from_number_or_ref(i32::MIN), None);
    }
}
