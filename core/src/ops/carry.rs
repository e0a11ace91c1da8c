//! Elements as ops see them that only move them: by size, whatever the bits mean.

use num_complex::Complex;

use crate::Status;
use crate::tensor::{DType, Element, Str, Tensor, Variant, cast, cast_mut};

/// An element that can be copied from tensor to tensor of one dtype.
pub(crate) trait Carried: Clone + Default + Send + Sync + 'static {
    /// The elements of a tensor whose dtype this type carries.
    fn read(t: &Tensor) -> Result<&[Self], Status>;
    /// The elements for writing; the tensor is shared with nobody.
    fn write(t: &mut Tensor) -> Result<&mut [Self], Status>;
}

fn mismatch(dtype: DType) -> Status {
    Status::internal(format_args!("elements of {dtype} were taken for others"))
}

macro_rules! words {
    ($($t:ty),*) => {
        $(impl Carried for $t {
            fn read(t: &Tensor) -> Result<&[Self], Status> {
                let fits = t.dtype().size() == size_of::<$t>();
                cast::<$t>(<$t>::DTYPE, t.bytes()).filter(|_| fits).ok_or_else(|| mismatch(t.dtype()))
            }
            fn write(t: &mut Tensor) -> Result<&mut [Self], Status> {
                let dtype = t.dtype();
                let fits = dtype.size() == size_of::<$t>();
                let bytes = t.bytes_mut().filter(|_| fits).ok_or_else(|| mismatch(dtype))?;
                cast_mut::<$t>(<$t>::DTYPE, bytes).ok_or_else(|| mismatch(dtype))
            }
        })*
    };
}
words!(u8, u16, u32, u64, Complex<f32>, Complex<f64>);

impl Carried for bool {
    fn read(t: &Tensor) -> Result<&[bool], Status> {
        t.as_slice()
    }
    fn write(t: &mut Tensor) -> Result<&mut [bool], Status> {
        t.make_mut()
    }
}

impl Carried for Str {
    fn read(t: &Tensor) -> Result<&[Str], Status> {
        t.strings()
    }
    fn write(t: &mut Tensor) -> Result<&mut [Str], Status> {
        Ok(t.make_strings_mut()?)
    }
}

impl Carried for Variant {
    fn read(t: &Tensor) -> Result<&[Variant], Status> {
        t.variants()
    }
    fn write(t: &mut Tensor) -> Result<&mut [Variant], Status> {
        Ok(t.make_variants_mut()?)
    }
}

/// Expands `$body` with `$C` as the type that carries the elements of the dtype attribute `$attr`.
macro_rules! carried {
    ($node:expr, $attr:expr, $C:ident => $body:expr) => {{
        let node: &$crate::ops::NodeContext<'_> = $node;
        let dtype = node.dtype($attr)?;
        match dtype {
            $crate::tensor::DType::Bool => {
                type $C = bool;
                $body
            }
            $crate::tensor::DType::String => {
                type $C = $crate::tensor::Str;
                $body
            }
            $crate::tensor::DType::Variant => {
                type $C = $crate::tensor::Variant;
                $body
            }
            _ => match dtype.size() {
                1 => {
                    type $C = u8;
                    $body
                }
                2 => {
                    type $C = u16;
                    $body
                }
                4 => {
                    type $C = u32;
                    $body
                }
                8 => {
                    type $C = u64;
                    $body
                }
                16 => {
                    type $C = num_complex::Complex<f64>;
                    $body
                }
                _ => Err(node.unsupported(dtype)),
            },
        }
    }};
}
pub(crate) use carried;
