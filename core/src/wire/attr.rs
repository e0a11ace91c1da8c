//! Attribute values as messages hold them, to native ones and back.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::generated::{self as proto, NameAttrList};
use super::shape::{dtype_from_proto, partial_shape_from_proto, partial_shape_to_proto};
use super::tensor::{tensor_from_proto, tensor_to_proto};
use crate::Status;
use crate::graph::{AttrValue, FuncRef};
use crate::tensor::{Budget, DType};
use proto::attr_value::{ListValue, Value};

/// How deep functions may be the attributes of functions. A scanned message is not as deep.
const DEPTH_MAX: usize = 32;

/// The native value of an attribute. Tensors are charged to `budget` as [`tensor_from_proto`] does.
///
/// # Errors
/// INVALID_ARGUMENT for no value, for a dtype, shape or tensor that is none, and for a list of several kinds; what
/// [`tensor_from_proto`] answers.
pub fn attr_from_proto(value: &proto::AttrValue, budget: Option<&Budget>) -> Result<AttrValue, Status> {
    from_proto(value, budget, DEPTH_MAX)
}

/// The native attributes of a node or function, by name. One without a value is left out if its name starts with `_`:
/// such are notes of the producer that nothing checks.
///
/// # Errors
/// As [`attr_from_proto`], with the attribute named.
pub fn attrs_from_proto(
    attrs: &BTreeMap<String, proto::AttrValue>,
    budget: Option<&Budget>,
) -> Result<Vec<(Arc<str>, AttrValue)>, Status> {
    list_from_proto(attrs, budget, DEPTH_MAX)
}

/// The message of an attribute's value.
///
/// # Errors
/// UNIMPLEMENTED for a tensor that cannot be sent; INTERNAL for a list of lists, which no message holds.
pub fn attr_to_proto(value: &AttrValue) -> Result<proto::AttrValue, Status> {
    let value = match value {
        AttrValue::Type(dtype, is_ref) => Value::Type(type_number(*dtype, *is_ref)),
        AttrValue::Int(value) => Value::I(*value),
        AttrValue::Float(value) => Value::F(*value),
        AttrValue::Bool(value) => Value::B(*value),
        AttrValue::Str(value) => Value::S(value.clone()),
        AttrValue::Shape(shape) => Value::Shape(partial_shape_to_proto(shape)),
        AttrValue::Tensor(tensor) => Value::Tensor(Box::new(tensor_to_proto(tensor)?)),
        AttrValue::Func(func) => Value::Func(Box::new(func_to_proto(func)?)),
        AttrValue::List(values) => Value::List(Box::new(list_to_proto(values)?)),
        AttrValue::Placeholder(name) => Value::Placeholder(name.clone()),
    };
    Ok(proto::AttrValue { value: Some(value) })
}

/// The messages of attributes, by name.
///
/// # Errors
/// As [`attr_to_proto`].
pub fn attrs_to_proto<'a>(
    attrs: impl IntoIterator<Item = (&'a str, &'a AttrValue)>,
) -> Result<BTreeMap<String, proto::AttrValue>, Status> {
    attrs.into_iter().map(|(name, value)| Ok((name.to_string(), attr_to_proto(value)?))).collect()
}

fn from_proto(value: &proto::AttrValue, budget: Option<&Budget>, depth: usize) -> Result<AttrValue, Status> {
    Ok(match &value.value {
        Some(Value::Type(number)) => type_from_proto(*number)?,
        Some(Value::I(value)) => AttrValue::Int(*value),
        Some(Value::F(value)) => AttrValue::Float(*value),
        Some(Value::B(value)) => AttrValue::Bool(*value),
        Some(Value::S(value)) => AttrValue::Str(value.clone()),
        Some(Value::Shape(shape)) => AttrValue::Shape(partial_shape_from_proto(shape)?),
        Some(Value::Tensor(tensor)) => AttrValue::Tensor(tensor_from_proto(tensor, budget)?),
        Some(Value::Func(func)) => func_from_proto(func, budget, depth)?,
        Some(Value::List(list)) => AttrValue::List(values_from_proto(list, budget, depth)?),
        Some(Value::Placeholder(name)) => AttrValue::Placeholder(name.clone()),
        None => return Err(Status::invalid_argument("the attribute has no value")),
    })
}

fn list_from_proto(
    attrs: &BTreeMap<String, proto::AttrValue>,
    budget: Option<&Budget>,
    depth: usize,
) -> Result<Vec<(Arc<str>, AttrValue)>, Status> {
    let given = attrs.iter().filter(|(name, value)| value.value.is_some() || !name.starts_with('_'));
    given
        .map(|(name, value)| match from_proto(value, budget, depth) {
            Ok(value) => Ok((name.as_str().into(), value)),
            Err(error) => Err(error.context(format_args!("attr '{}'", name.escape_debug()))),
        })
        .collect()
}

fn type_from_proto(number: i32) -> Result<AttrValue, Status> {
    match DType::from_number_or_ref(number) {
        Some((dtype, is_ref)) => Ok(AttrValue::Type(dtype, is_ref)),
        // Never a dtype of values either: this gives the error.
        None => dtype_from_proto(number).map(AttrValue::from),
    }
}

fn type_number(dtype: DType, is_ref: bool) -> i32 {
    dtype.number() + if is_ref { DType::REF_OFFSET } else { 0 }
}

fn func_from_proto(func: &NameAttrList, budget: Option<&Budget>, depth: usize) -> Result<AttrValue, Status> {
    let depth = depth.checked_sub(1);
    let depth = depth.ok_or_else(|| Status::invalid_argument("functions are nested too deeply as attributes"))?;
    let attrs = list_from_proto(&func.attr, budget, depth)?;
    Ok(AttrValue::Func(Arc::new(FuncRef { name: func.name.clone(), attrs })))
}

fn func_to_proto(func: &FuncRef) -> Result<NameAttrList, Status> {
    let attr = attrs_to_proto(func.attrs.iter().map(|(name, value)| (&**name, value)))?;
    Ok(NameAttrList { name: func.name.clone(), attr })
}

fn values_from_proto(list: &ListValue, budget: Option<&Budget>, depth: usize) -> Result<Vec<AttrValue>, Status> {
    let ListValue { s, i, f, b, r#type, shape, tensor, func } = list;
    let kinds = [s.len(), i.len(), f.len(), b.len(), r#type.len(), shape.len(), tensor.len(), func.len()];
    if kinds.iter().filter(|len| **len > 0).count() > 1 {
        return Err(Status::invalid_argument("the list holds values of several kinds"));
    }
    // A packed bool is a byte there and a whole value here.
    let count: usize = kinds.iter().sum();
    let _room = budget.map(|budget| budget.charge(count.saturating_mul(size_of::<AttrValue>()))).transpose()?;
    let mut values = Vec::with_capacity(count);
    values.extend(s.iter().map(|value| AttrValue::Str(value.clone())));
    values.extend(i.iter().map(|value| AttrValue::Int(*value)));
    values.extend(f.iter().map(|value| AttrValue::Float(*value)));
    values.extend(b.iter().map(|value| AttrValue::Bool(*value)));
    for number in r#type {
        values.push(type_from_proto(*number)?);
    }
    for shape in shape {
        values.push(AttrValue::Shape(partial_shape_from_proto(shape)?));
    }
    for tensor in tensor {
        values.push(AttrValue::Tensor(tensor_from_proto(tensor, budget)?));
    }
    for func in func {
        values.push(func_from_proto(func, budget, depth)?);
    }
    Ok(values)
}

fn list_to_proto(values: &[AttrValue]) -> Result<ListValue, Status> {
    let mut list = ListValue::default();
    for value in values {
        match value {
            AttrValue::Type(dtype, is_ref) => list.r#type.push(type_number(*dtype, *is_ref)),
            AttrValue::Int(value) => list.i.push(*value),
            AttrValue::Float(value) => list.f.push(*value),
            AttrValue::Bool(value) => list.b.push(*value),
            AttrValue::Str(value) => list.s.push(value.clone()),
            AttrValue::Shape(shape) => list.shape.push(partial_shape_to_proto(shape)),
            AttrValue::Tensor(tensor) => list.tensor.push(tensor_to_proto(tensor)?),
            AttrValue::Func(func) => list.func.push(func_to_proto(func)?),
            AttrValue::List(_) | AttrValue::Placeholder(_) => {
                return Err(Status::internal(format_args!("a {} in a list has no message", value.kind())));
            }
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::generated::TensorShapeProto;
    use super::*;
    use crate::Code;
    use crate::graph::PartialShape;
    use crate::tensor::{Str, Tensor};

    fn all() -> Vec<AttrValue> {
        let func = FuncRef { name: "f".into(), attrs: vec![("T".into(), DType::Half.into())] };
        vec![
            DType::Float.into(),
            AttrValue::Type(DType::Float, true),
            (-7i64).into(),
            1.5f32.into(),
            true.into(),
            AttrValue::Str(Str::from_static(b"\xff")),
            PartialShape::new(&[2, -1]).into(),
            PartialShape::unknown().into(),
            Tensor::scalar(2.5f32).into(),
            AttrValue::Func(Arc::new(func)),
        ]
    }

    /// Every kind, alone and as a list, comes back as it went; an empty list and a placeholder too.
    #[test]
    fn round_trip() {
        let mut values = all();
        values.extend(all().into_iter().map(|value| AttrValue::List(vec![value.clone(), value])));
        values.push(AttrValue::List(Vec::new()));
        values.push(AttrValue::Placeholder("T".into()));
        for value in values {
            let message = attr_to_proto(&value).unwrap();
            let again = attr_from_proto(&message, None).unwrap();
            assert_eq!(alloc::format!("{again:?}"), alloc::format!("{value:?}"));
            assert_eq!(attr_to_proto(&again).unwrap(), message);
        }
    }

    #[test]
    fn refusals() {
        let list = |list| Value::List(Box::new(list));
        let cases = [
            ("no value", None, "no value"),
            ("dtype 0", Some(Value::Type(0)), "not set"),
            ("dtype 77", Some(Value::Type(77)), "77"),
            ("dtype in a list", Some(list(ListValue { r#type: vec![1, -5], ..Default::default() })), "-5"),
            ("mixed list", Some(list(ListValue { i: vec![1], b: vec![true], ..Default::default() })), "several kinds"),
            (
                "shape",
                Some(Value::Shape(TensorShapeProto { dim: vec![Default::default(); 255], unknown_rank: false })),
                "255 dimensions",
            ),
            ("tensor", Some(Value::Tensor(Box::default())), "not set"),
        ];
        for (name, value, said) in cases {
            let attrs = [("x".into(), proto::AttrValue { value })].into();
            let error = attrs_from_proto(&attrs, None).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{name}");
            assert!(error.message().contains(said) && error.message().contains("'x'"), "{name}: {error}");
        }
        let nested = AttrValue::List(vec![AttrValue::List(Vec::new())]);
        assert_eq!(attr_to_proto(&nested).unwrap_err().code(), Code::Internal);
    }

    /// Functions inside functions inside functions are refused before the stack is at risk.
    #[test]
    fn nested_functions() {
        let mut value = proto::AttrValue { value: Some(Value::I(1)) };
        for level in 1..100 {
            let func = NameAttrList { name: "f".into(), attr: [("f".into(), value)].into() };
            value = proto::AttrValue { value: Some(Value::Func(Box::new(func))) };
            assert_eq!(attr_from_proto(&value, None).is_ok(), level <= DEPTH_MAX, "{level} levels");
        }
    }

    /// A producer's own notes without a value are dropped, others are not.
    #[test]
    fn valueless_notes() {
        let attrs = [("_note".into(), proto::AttrValue { value: None })].into();
        assert!(attrs_from_proto(&attrs, None).unwrap().is_empty());
    }
}
