//! TensorProto in every encoding there is, to tensors and back.
//!
//! A tensor arrives as raw bytes (`tensor_content`) or in the typed field of its dtype. Of a typed field the last value
//! stands for all that are missing, no value means zeros, and values beyond the shape are ignored. Raw bytes are never
//! short or long. Tensors are sent as raw bytes, but for strings, handles and variants.

use super::generated::TensorProto;
use super::object;
use super::shape::{dtype_from_proto, shape_from_proto, shape_to_proto};
use crate::Status;
use crate::tensor::{Budget, DType, Shape, Tensor};

/// Received bytes below this are copied: a copy costs less than keeping the message around it alive.
pub(super) const SHARED_LEN_MIN: usize = 1024;

/// The tensor of a message. Raw bytes are shared with it where they are aligned for the dtype and not few; all else is
/// copied once, into memory that is charged to `budget` before it is taken.
///
/// # Errors
/// INVALID_ARGUMENT for a dtype that is unset, unknown or a reference, for a shape that is none, and for raw bytes that
/// are too short, too long, or no elements of the dtype; UNIMPLEMENTED for variants that hold a value;
/// RESOURCE_EXHAUSTED beyond the budget.
pub fn tensor_from_proto(proto: &TensorProto, budget: Option<&Budget>) -> Result<Tensor, Status> {
    let dtype = dtype_from_proto(proto.dtype)?;
    let shape = match &proto.tensor_shape {
        Some(shape) => shape_from_proto(shape)?,
        None => Shape::scalar(),
    };
    let elements = if dtype.is_plain() {
        plain(proto, dtype, &shape, budget)
    } else {
        object::from_proto(proto, dtype, shape.clone(), budget)
    };
    elements.map_err(|error| error.context(format_args!("a {dtype} tensor of shape {shape}")))
}

/// The message of a tensor; raw bytes and strings are shared with it.
///
/// # Errors
/// UNIMPLEMENTED for variants that hold a value.
pub fn tensor_to_proto(tensor: &Tensor) -> Result<TensorProto, Status> {
    let mut proto = TensorProto {
        dtype: tensor.dtype().number(),
        tensor_shape: Some(shape_to_proto(tensor.shape())),
        ..Default::default()
    };
    if tensor.dtype().is_plain() {
        proto.tensor_content = tensor.to_bytes();
    } else {
        object::to_proto(tensor, &mut proto)?;
    }
    Ok(proto)
}

fn plain(proto: &TensorProto, dtype: DType, shape: &Shape, budget: Option<&Budget>) -> Result<Tensor, Status> {
    let content = &proto.tensor_content;
    if shape.num_elements() == 0 {
        return Tensor::zeros(dtype, shape, budget);
    }
    if content.is_empty() {
        let mut tensor = Tensor::zeros(dtype, shape, budget)?;
        if let Some(to) = tensor.elements_mut::<bool>() {
            fill(to, &proto.bool_val, |v| *v);
        } else if let Some(to) = tensor.bytes_mut() {
            typed(proto, dtype, to);
        }
        return Ok(tensor);
    }
    let needed = shape.num_bytes(dtype.size())?;
    if content.len() != needed {
        return Err(Status::invalid_argument(format_args!("tensor_content has {} bytes, not {needed}", content.len())));
    }
    if dtype == DType::Bool
        && let Some(bad) = content.iter().find(|byte| **byte > 1)
    {
        return Err(Status::invalid_argument(format_args!("tensor_content holds {bad}, which is no bool")));
    }
    if needed >= SHARED_LEN_MIN {
        return Tensor::from_bytes(dtype, shape.clone(), content.clone(), budget);
    }
    let mut tensor = Tensor::zeros(dtype, shape, budget)?;
    if let Some(to) = tensor.elements_mut::<bool>() {
        fill(to, content, |byte| *byte != 0);
    } else if let Some(to) = tensor.bytes_mut().filter(|to| to.len() == content.len()) {
        to.copy_from_slice(content);
    }
    Ok(tensor)
}

/// Writes the values of the dtype's own field over zeros; not for bool, whose bytes are not all values.
fn typed(proto: &TensorProto, dtype: DType, to: &mut [u8]) {
    // Values wider than the dtype lose their upper bits, as they do in TensorFlow. Complex numbers are pairs, of which
    // half a pair is none.
    match dtype {
        DType::Float => bytes(to, &proto.float_val, |v| v.to_ne_bytes()),
        DType::Double => bytes(to, &proto.double_val, |v| v.to_ne_bytes()),
        DType::Int32 | DType::Qint32 => bytes(to, &proto.int_val, |v| v.to_ne_bytes()),
        DType::Int16 | DType::Uint16 | DType::Qint16 | DType::Quint16 => {
            bytes(to, &proto.int_val, |v| (*v as u16).to_ne_bytes())
        }
        DType::Int8 | DType::Uint8 | DType::Qint8 | DType::Quint8 => bytes(to, &proto.int_val, |v| [*v as u8]),
        DType::Int4 | DType::Uint4 | DType::Int2 | DType::Uint2 => bytes(to, &proto.int_val, |v| [*v as u8]),
        DType::Int64 => bytes(to, &proto.int64_val, |v| v.to_ne_bytes()),
        DType::Uint32 => bytes(to, &proto.uint32_val, |v| v.to_ne_bytes()),
        DType::Uint64 => bytes(to, &proto.uint64_val, |v| v.to_ne_bytes()),
        DType::Half | DType::Bfloat16 => bytes(to, &proto.half_val, |v| (*v as u16).to_ne_bytes()),
        DType::Complex64 => bytes(to, proto.scomplex_val.as_chunks::<2>().0, |pair| {
            let [[a, b, c, d], [e, f, g, h]] = pair.map(f32::to_ne_bytes);
            [a, b, c, d, e, f, g, h]
        }),
        DType::Complex128 => bytes(to, proto.dcomplex_val.as_chunks::<2>().0, |pair| {
            let mut bytes = [0; 16];
            for (to, from) in bytes.iter_mut().zip(pair.map(f64::to_ne_bytes).as_flattened()) {
                *to = *from;
            }
            bytes
        }),
        DType::Float8E5m2
        | DType::Float8E4m3fn
        | DType::Float8E4m3fnuz
        | DType::Float8E4m3b11fnuz
        | DType::Float8E5m2fnuz
        | DType::Float4E2m1fn => bytes(to, &proto.float8_val, |v| [*v]),
        DType::Bool | DType::String | DType::Resource | DType::Variant => {}
    }
}

/// As [`fill`], for the bytes of elements of `N` each.
fn bytes<T, const N: usize>(to: &mut [u8], values: &[T], convert: impl Fn(&T) -> [u8; N]) {
    fill(to.as_chunks_mut::<N>().0, values, convert);
}

/// Elements from the values, the last one again until `to` is full.
fn fill<T, E: Copy>(to: &mut [E], values: &[T], convert: impl Fn(&T) -> E) {
    let last = values.last().map(&convert);
    let mut values = values.iter();
    for element in to {
        match values.next().map(&convert).or(last) {
            Some(value) => *element = value,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use bytes::Bytes;

    use super::super::generated::{TensorShapeProto, tensor_shape_proto};
    use super::*;
    use crate::Code;

    fn proto(dtype: DType, dims: &[i64]) -> TensorProto {
        let dim = |&size: &i64| tensor_shape_proto::Dim { size, ..Default::default() };
        TensorProto {
            dtype: dtype.number(),
            tensor_shape: Some(TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false }),
            ..Default::default()
        }
    }

    /// Every plain dtype through raw bytes and back, few and many, whatever the alignment.
    #[test]
    fn raw_bytes_round_trip() {
        for &dtype in DType::ALL.iter().filter(|dtype| dtype.is_plain()) {
            for count in [1, 3, 5000] {
                let len = count * dtype.size();
                let frame: Vec<u8> =
                    (0..len + 64).map(|i| if dtype == DType::Bool { i % 2 } else { i } as u8).collect();
                let frame = Bytes::from(frame);
                let start = frame.as_ptr().align_offset(16);
                for start in [start, start + 1] {
                    let mut message = proto(dtype, &[count as i64]);
                    message.tensor_content = frame.slice(start..start + len);
                    let tensor = tensor_from_proto(&message, None).unwrap();
                    assert_eq!((tensor.dtype(), tensor.shape().dims()), (dtype, &[count as u32][..]));
                    assert_eq!(tensor.bytes(), &message.tensor_content[..]);
                    assert_eq!(tensor_to_proto(&tensor).unwrap(), message);
                }
            }
        }
    }

    /// A large content at an aligned place is shared, a small one is not.
    #[test]
    fn large_content_is_shared() {
        let frame = Bytes::from(vec![0; 8192]);
        let start = frame.as_ptr().align_offset(16);
        for (count, expected) in [(1024, true), (16, false)] {
            let mut message = proto(DType::Float, &[count as i64]);
            message.tensor_content = frame.slice(start..start + 4 * count);
            let tensor = tensor_from_proto(&message, None).unwrap();
            assert_eq!(frame.as_ptr_range().contains(&tensor.bytes().as_ptr()), expected);
        }
    }

    #[test]
    fn refusals() {
        let with = |mut message: TensorProto, content: &'static [u8]| {
            message.tensor_content = Bytes::from_static(content);
            message
        };
        let cases = [
            ("short", with(proto(DType::Float, &[2]), &[0; 7]), "7 bytes, not 8"),
            ("long", with(proto(DType::Float, &[2]), &[0; 9]), "9 bytes, not 8"),
            ("scalar, long", with(proto(DType::Int64, &[]), &[0; 16]), "16 bytes, not 8"),
            ("bool of 7", with(proto(DType::Bool, &[3]), &[0, 7, 1]), "holds 7"),
            ("dtype 0", TensorProto::default(), "not set"),
            ("reference", TensorProto { dtype: 101, ..Default::default() }, "float_ref"),
            ("unknown", TensorProto { dtype: 77, ..Default::default() }, "77"),
            ("negative", proto(DType::Float, &[-1]), "negative"),
            ("negative behind zero", proto(DType::Float, &[0, -2]), "negative"),
            ("too many elements", proto(DType::Float, &[1 << 31, 1 << 31, 4]), "too large"),
            ("too many bytes", proto(DType::Complex128, &[1 << 31, 1 << 30]), "too large"),
            ("rank 9", proto(DType::Float, &[1; 9]), "rank 9"),
            ("rank 255", proto(DType::Float, &[1; 255]), "255"),
        ];
        for (name, message, said) in cases {
            let error = tensor_from_proto(&message, None).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{name}: {error}");
            assert!(error.message().contains(said), "{name}: {error}");
        }
    }

    /// One value for terabytes: the budget is asked before memory is taken.
    #[test]
    fn budget_first() {
        let budget = Budget::new("test", 1 << 20);
        for dtype in [DType::Float, DType::Bool, DType::String, DType::Variant, DType::Resource] {
            let message = TensorProto {
                float_val: vec![1.0],
                string_val: vec![Bytes::from_static(b"s")],
                ..proto(dtype, &[1 << 21, 1 << 10])
            };
            let error = tensor_from_proto(&message, Some(&budget)).unwrap_err();
            assert_eq!(error.code(), Code::ResourceExhausted, "{dtype}: {error}");
        }
        assert_eq!(budget.used(), 0);
        let small = TensorProto { float_val: vec![1.0], ..proto(DType::Float, &[100]) };
        let tensor = tensor_from_proto(&small, Some(&budget)).unwrap();
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.0; 100]);
        assert!(budget.used() >= 400);
    }
}
