//! The elements that are no plain bytes, as messages hold them: strings, resource handles, variants.
//!
//! Each comes in a field of its own, or as a list in `tensor_content`: a varint length for every element, then their
//! bytes end to end.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use bytes::{Buf, Bytes};

use super::generated::{ResourceHandleProto, TensorProto, VariantTensorDataProto, resource_handle_proto};
use super::message::decode;
use super::scan::Limits;
use super::shape::{dtype_from_proto, shape_from_proto, shape_to_proto};
use crate::Status;
use crate::status::OUT_OF_MEMORY;
use crate::tensor::{Budget, DType, HandleParts, ResourceHandle, Shape, Str, Tensor, Variant};

/// What an element inside `tensor_content` may hold; a handle or an empty variant is small.
const LIMITS: Limits = Limits { decoded_bytes_max: 1 << 20, depth_max: 16 };

/// The tensor of a message whose dtype is string, resource or variant.
pub(super) fn from_proto(
    proto: &TensorProto,
    dtype: DType,
    shape: Shape,
    budget: Option<&Budget>,
) -> Result<Tensor, Status> {
    match dtype {
        DType::Resource => Tensor::from_resources(shape.clone(), resources(proto, &shape, budget)?),
        DType::Variant => Tensor::from_variants(shape.clone(), variants(proto, &shape, budget)?),
        _ => Tensor::from_strings(shape.clone(), strings(proto, &shape, budget)?),
    }
}

/// Puts the elements of a tensor whose dtype is string, resource or variant into their field.
pub(super) fn to_proto(tensor: &Tensor, proto: &mut TensorProto) -> Result<(), Status> {
    match tensor.dtype() {
        DType::Resource => proto.resource_handle_val = tensor.resources()?.iter().map(handle_to_proto).collect(),
        DType::Variant => {
            for variant in tensor.variants()? {
                if !variant.is_empty() {
                    return Err(Status::unimplemented(format_args!("{variant:?} cannot leave its process")));
                }
                proto.variant_val.push(VariantTensorDataProto::default());
            }
        }
        _ => proto.string_val = tensor.strings()?.to_vec(),
    }
    Ok(())
}

/// A handle as it is sent. A handle that names no resource yet is sent all the same.
pub fn handle_to_proto(handle: &ResourceHandle) -> ResourceHandleProto {
    let parts = handle.parts();
    let value = |(dtype, shape): &(DType, Option<Shape>)| resource_handle_proto::DtypeAndShape {
        dtype: dtype.number(),
        shape: Some(match shape {
            Some(shape) => shape_to_proto(shape),
            None => super::generated::TensorShapeProto { unknown_rank: true, ..Default::default() },
        }),
    };
    ResourceHandleProto {
        device: parts.device.to_string(),
        container: parts.container.to_string(),
        name: parts.name.to_string(),
        hash_code: 0,
        maybe_type_name: parts.type_name.to_string(),
        dtypes_and_shapes: parts.value.iter().map(value).collect(),
    }
}

/// A handle that came from outside: it names a resource and does not yet point to it. A shape that is not wholly known
/// is left out.
///
/// # Errors
/// INVALID_ARGUMENT for the dtype of a value that is none.
pub fn handle_from_proto(proto: &ResourceHandleProto) -> Result<ResourceHandle, Status> {
    let value = match proto.dtypes_and_shapes.first() {
        Some(value) => {
            let shape = value.shape.as_ref().filter(|shape| !shape.unknown_rank);
            Some((dtype_from_proto(value.dtype)?, shape.and_then(|shape| shape_from_proto(shape).ok())))
        }
        None => None,
    };
    Ok(ResourceHandle::new(HandleParts {
        device: proto.device.as_str().into(),
        container: proto.container.as_str().into(),
        name: proto.name.as_str().into(),
        type_name: proto.maybe_type_name.as_str().into(),
        value,
        target: None,
    }))
}

fn strings(proto: &TensorProto, shape: &Shape, budget: Option<&Budget>) -> Result<Vec<Str>, Status> {
    if !proto.tensor_content.is_empty() {
        return content(&proto.tensor_content, shape, budget, Ok);
    }
    repeated(&proto.string_val, shape, budget, |text| Ok(text.clone()), Str::new())
}

fn resources(proto: &TensorProto, shape: &Shape, budget: Option<&Budget>) -> Result<Vec<ResourceHandle>, Status> {
    if !proto.tensor_content.is_empty() {
        return content(&proto.tensor_content, shape, budget, |bytes| handle_from_proto(&decode(bytes, &LIMITS)?));
    }
    let none = handle_from_proto(&ResourceHandleProto::default())?;
    repeated(&proto.resource_handle_val, shape, budget, handle_from_proto, none)
}

fn variants(proto: &TensorProto, shape: &Shape, budget: Option<&Budget>) -> Result<Vec<Variant>, Status> {
    if !proto.tensor_content.is_empty() {
        return content(&proto.tensor_content, shape, budget, |bytes| variant(&decode(bytes, &LIMITS)?));
    }
    repeated(&proto.variant_val, shape, budget, variant, Variant::default())
}

fn variant(proto: &VariantTensorDataProto) -> Result<Variant, Status> {
    if *proto == VariantTensorDataProto::default() {
        return Ok(Variant::default());
    }
    let name: String = proto.type_name.chars().take(80).collect();
    Err(Status::unimplemented(format_args!("a variant that holds a {name:?} cannot be received")))
}

/// An element for each value, the last again where values are missing, `none` where there are none at all.
fn repeated<P, T: Clone>(
    values: &[P],
    shape: &Shape,
    budget: Option<&Budget>,
    convert: impl Fn(&P) -> Result<T, Status>,
    none: T,
) -> Result<Vec<T>, Status> {
    let count = shape.num_elements();
    let mut elements = room(count, budget)?;
    for value in values.iter().take(count) {
        elements.push(convert(value)?);
    }
    let last = elements.last().cloned().unwrap_or(none);
    elements.resize(count, last);
    Ok(elements)
}

/// The elements of the list in `tensor_content`, which must end with the last of them.
fn content<T>(
    content: &Bytes,
    shape: &Shape,
    budget: Option<&Budget>,
    convert: impl Fn(Bytes) -> Result<T, Status>,
) -> Result<Vec<T>, Status> {
    let count = shape.num_elements();
    if count == 0 {
        return Ok(Vec::new());
    }
    let wrong = || Status::invalid_argument(format_args!("tensor_content is no list of {count} elements"));
    // Each length takes a byte at least: more elements than bytes are refused before there is room made for them.
    if count > content.len() {
        return Err(wrong());
    }
    let mut lengths = content.as_ref();
    let mut total = 0_usize;
    for _ in 0..count {
        let (len, after) = length(lengths).ok_or_else(wrong)?;
        total = total.checked_add(len).ok_or_else(wrong)?;
        lengths = after;
    }
    if lengths.len() != total {
        return Err(wrong());
    }
    let mut elements = room(count, budget)?;
    let (mut lengths, mut bodies) = (content.as_ref(), content.clone());
    bodies.advance(content.len() - total);
    for _ in 0..count {
        let (len, after) = length(lengths).ok_or_else(wrong)?;
        lengths = after;
        // Never short: the lengths add up to what there is.
        elements.push(convert(bodies.split_to(len.min(bodies.len())))?);
    }
    Ok(elements)
}

/// A 32-bit varint and what follows it.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (i, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            return Some((usize::try_from(value).ok()?, bytes.get(i + 1..)?));
        }
    }
    None
}

/// An empty vector with room for `count` elements, which the budget could hold at this moment.
fn room<T>(count: usize, budget: Option<&Budget>) -> Result<Vec<T>, Status> {
    if let Some(budget) = budget {
        budget.charge(count.saturating_mul(size_of::<T>()))?;
    }
    let mut elements = Vec::new();
    elements.try_reserve_exact(count).map_err(|_| Status::fixed(&OUT_OF_MEMORY))?;
    Ok(elements)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::generated::{TensorShapeProto, tensor_shape_proto};
    use super::super::message::encode;
    use super::super::tensor::{tensor_from_proto, tensor_to_proto};
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

    fn handle(name: &str) -> ResourceHandleProto {
        ResourceHandleProto {
            device: "/job:a/replica:0/task:0/device:CPU:0".into(),
            container: "c".into(),
            name: name.into(),
            maybe_type_name: "Var".into(),
            dtypes_and_shapes: vec![resource_handle_proto::DtypeAndShape {
                dtype: 1,
                shape: proto(DType::Float, &[2, 3]).tensor_shape,
            }],
            hash_code: 0,
        }
    }

    /// Handles in their field and in raw bytes; the last repeats, none are empty names; unknown shapes are left out.
    #[test]
    fn handles() {
        let mut message = proto(DType::Resource, &[3]);
        message.resource_handle_val = vec![handle("a"), handle("b")];
        let tensor = tensor_from_proto(&message, None).unwrap();
        let names: Vec<&str> = tensor.resources().unwrap().iter().map(|h| &*h.parts().name).collect();
        assert_eq!(names, ["a", "b", "b"]);
        let value = tensor.resources().unwrap()[0].parts().value.clone();
        assert_eq!(value, Some((DType::Float, Some(Shape::new(&[2, 3]).unwrap()))));
        message.resource_handle_val.push(handle("b"));
        assert_eq!(tensor_to_proto(&tensor).unwrap(), message);

        let one = encode(&handle("a"));
        let mut raw = proto(DType::Resource, &[]);
        raw.tensor_content = [&[one.len() as u8][..], &one].concat().into();
        let scalar = tensor_from_proto(&raw, None).unwrap();
        assert_eq!(tensor_to_proto(&scalar).unwrap().resource_handle_val, [handle("a")]);

        let none = tensor_from_proto(&proto(DType::Resource, &[2]), None).unwrap();
        assert_eq!(&*none.resources().unwrap()[1].parts().name, "");

        let mut partial = handle("p");
        partial.dtypes_and_shapes[0].shape.as_mut().unwrap().dim[0].size = -1;
        assert_eq!(handle_from_proto(&partial).unwrap().parts().value, Some((DType::Float, None)));
        partial.dtypes_and_shapes[0].dtype = 0;
        assert_eq!(handle_from_proto(&partial).unwrap_err().code(), Code::InvalidArgument);
    }

    /// Empty variants pass, any other is named in the refusal.
    #[test]
    fn variants_are_empty_or_refused() {
        let mut message = proto(DType::Variant, &[2]);
        let tensor = tensor_from_proto(&message, None).unwrap();
        assert!(tensor.variants().unwrap().iter().all(Variant::is_empty));
        message.variant_val = vec![VariantTensorDataProto::default(); 2];
        assert_eq!(tensor_to_proto(&tensor).unwrap(), message);
        message.variant_val =
            vec![VariantTensorDataProto { type_name: "tensorflow::TensorList".into(), ..Default::default() }];
        let error = tensor_from_proto(&message, None).unwrap_err();
        assert_eq!(error.code(), Code::Unimplemented);
        assert!(error.message().contains("tensorflow::TensorList"), "{error}");
        message.tensor_content = Bytes::from_static(&[0, 0]);
        assert!(tensor_from_proto(&message, None).is_ok());
    }

    /// Strings in raw bytes share them; lists that do not add up are refused.
    #[test]
    fn string_lists() {
        let parse = |dims: &[i64], content: &[u8]| {
            let mut message = proto(DType::String, dims);
            message.tensor_content = Bytes::copy_from_slice(content);
            tensor_from_proto(&message, None).map(|tensor| (tensor.strings().unwrap().to_vec(), message.tensor_content))
        };
        let (texts, content) = parse(&[2], b"\x01\x02xyz").unwrap();
        assert_eq!(texts, [&b"x"[..], b"yz"]);
        assert!(content.as_ptr_range().contains(&texts[1].as_ptr()));
        assert_eq!(parse(&[1], b"\x81\x00x").unwrap().0, ["x"]);
        assert_eq!(parse(&[0], b"x").unwrap().0, [""; 0]);
        assert_eq!(parse(&[3], b"\0\0\0").unwrap().0, [""; 3]);
        let cases: &[(&str, &[i64], &[u8])] = &[
            ("short", &[2], b"\x01\x03xyz"),
            ("long", &[2], b"\x01\x01xyz"),
            ("a length missing", &[2], b"\x01"),
            ("endless length", &[1], b"\xff\xff\xff\xff\xff\xff"),
            ("length of 33 bits", &[1], b"\xff\xff\xff\xff\x1f"),
            ("length of 2^32 - 1", &[1], b"\xff\xff\xff\xff\x0f"),
            ("more elements than bytes", &[1 << 30], b"\0\0\0"),
        ];
        for (name, dims, bytes) in cases {
            assert_eq!(parse(dims, bytes).unwrap_err().code(), Code::InvalidArgument, "{name}");
        }
    }

    /// Strings in their field: missing ones repeat the last, surplus ones are ignored.
    #[test]
    fn string_values() {
        let texts = |count, values: &[&'static str]| {
            let mut message = proto(DType::String, &[count]);
            message.string_val = values.iter().map(|text| Bytes::from_static(text.as_bytes())).collect();
            tensor_from_proto(&message, None).unwrap().strings().unwrap().to_vec()
        };
        assert_eq!(texts(3, &["a", "b"]), ["a", "b", "b"]);
        assert_eq!(texts(1, &["a", "b"]), ["a"]);
        assert_eq!(texts(2, &[]), ["", ""]);
        let tensor =
            Tensor::from_strings(Shape::new(&[2]).unwrap(), vec![Str::from_static(b"\xff\0"), Str::new()]).unwrap();
        let message = tensor_to_proto(&tensor).unwrap();
        assert_eq!(message.string_val, [&b"\xff\0"[..], b""]);
        assert_eq!(tensor_from_proto(&message, None).unwrap().strings().unwrap(), tensor.strings().unwrap());
    }
}
