//! From a dtype to the code for it, once a node: the sets of dtypes that kernels take, and `dispatch!` over them.

use crate::Status;
use crate::kernels::{Mismatch, element, error};
use crate::tensor::{DType, Element};

/// An element of a tensor that kernels can compute with.
pub(crate) trait Value: Element + element::Element {}
impl<T: Element + element::Element> Value for T {}

macro_rules! type_sets {
    ($d:tt $($(#[$doc:meta])* $name:ident = [$($ty:ty),*];)*) => {
        $($(#[$doc])* #[allow(dead_code, reason = "some sets are only parts of others")] pub(crate) const $name: &[$crate::tensor::DType] = &[$(<$ty as $crate::tensor::Element>::DTYPE),*];)*

        /// Expands `$body` with `$T` as the Rust type of `$dtype`, when that is in the set.
        macro_rules! with_type {
            $(($d dtype:expr, $name, $d T:ident => $d body:expr) => {
                match $d dtype {
                    $(<$ty as $crate::tensor::Element>::DTYPE => { type $d T = $ty; $d body; })*
                    _ => {}
                }
            };)*
        }
    };
}

type_sets! { $
    /// Real floats.
    FLOATS = [f32, f64, half::f16, half::bf16];
    /// The floats that the machine computes with.
    NATIVE_FLOATS = [f32, f64];
    /// Complex numbers.
    COMPLEX = [num_complex::Complex<f32>, num_complex::Complex<f64>];
    /// Real and complex floats.
    INEXACT = [f32, f64, half::f16, half::bf16, num_complex::Complex<f32>, num_complex::Complex<f64>];
    /// Integers with a sign.
    SIGNED = [i8, i16, i32, i64];
    /// Integers.
    INTEGERS = [i8, i16, i32, i64, u8, u16, u32, u64];
    /// The integers of indices and shapes.
    INDICES = [i32, i64];
    /// Everything with an order.
    REALS = [f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, u16, u32, u64];
    /// Reals with a sign.
    SIGNED_REALS = [f32, f64, half::f16, half::bf16, i8, i16, i32, i64];
    /// Everything that can be added and negated.
    SIGNED_NUMBERS = [
        f32, f64, half::f16, half::bf16, i8, i16, i32, i64, num_complex::Complex<f32>, num_complex::Complex<f64>
    ];
    /// Everything that can be added.
    NUMBERS = [
        f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, u16, u32, u64,
        num_complex::Complex<f32>, num_complex::Complex<f64>
    ];
    /// Everything that is plain bytes.
    PLAIN = [
        f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, u16, u32, u64,
        num_complex::Complex<f32>, num_complex::Complex<f64>, bool
    ];
    /// Truth values.
    BOOL = [bool];
    /// The numbers of some older ops.
    MOD = [f32, f64, i32, i64];
    /// The numbers of some older ops.
    ROUND = [f32, f64, half::f16, half::bf16, i32, i64];
    /// The numbers of some older ops.
    DIFFERENCE = [f32, f64, half::f16, half::bf16, i32, i64, num_complex::Complex<f32>, num_complex::Complex<f64>];
    /// The numbers of some older ops.
    OLD_ADD = [
        f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, num_complex::Complex<f32>, num_complex::Complex<f64>
    ];
    /// The numbers of convolutions.
    CONVOLVED = [f32, f64, half::f16, half::bf16, i32];
    /// The numbers of poolings.
    POOLED = [f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, u16];
    /// The floats of batch normalisation.
    SHORT_FLOATS = [f32, half::f16, half::bf16];
    /// Everything with an order, truth values too.
    ORDERED = [f32, f64, half::f16, half::bf16, i8, i16, i32, i64, u8, u16, u32, u64, bool];
    /// The integers of indices of extremes.
    ARG_OUTPUTS = [i16, u16, i32, i64];
    /// The integers of indices.
    GATHER_INDICES = [i16, i32, i64];
    /// The integers that one-hot rows are made of.
    ONE_HOT_INDICES = [u8, i8, i32, i64];
    /// The floats that have fewer bits than some other.
    NARROWED = [f32, half::f16, half::bf16];
    /// The integers that have powers.
    POWERS = [i8, i16, i32, i64];
    /// The numbers of products.
    PRODUCTS = [
        f32, f64, half::f16, half::bf16, i16, i32, i64, num_complex::Complex<f32>, num_complex::Complex<f64>
    ];
}
pub(crate) use with_type;

/// The kernel of a node by the dtype of one of its attributes: the first set that has the dtype decides.
///
/// `dispatch!(node, "T", INTEGERS T => f::<T>(node), FLOATS T => g::<T>(node))`
macro_rules! dispatch {
    ($node:expr, $attr:expr, $($set:ident $T:ident => $body:expr),+ $(,)?) => {{
        let node: &$crate::ops::NodeContext<'_> = $node;
        let dtype = node.dtype($attr)?;
        'found: {
            $($crate::ops::dispatch::with_type!(dtype, $set, $T => break 'found $body);)+
            Err(node.unsupported(dtype))
        }
    }};
}
pub(crate) use dispatch;

impl From<error::Error> for Status {
    /// INVALID_ARGUMENT: what kernels refuse are shapes, axes, indices and divisors of the caller.
    fn from(error: error::Error) -> Status {
        Status::invalid_argument(error)
    }
}

impl From<Mismatch> for Status {
    /// INTERNAL: an op hands its kernel slices of the right lengths.
    fn from(error: Mismatch) -> Status {
        Status::internal(error)
    }
}

/// A set of dtypes with strings added; `N` is its length plus one.
pub(crate) const fn with_string<const N: usize>(set: &[DType]) -> [DType; N] {
    let mut all = [DType::String; N];
    let mut i = 0;
    while i < set.len() && i < N {
        all[i] = set[i];
        i += 1;
    }
    all
}
