//! No declaration panics on what a hostile graph may hold: every op's shape function on absurd shapes and constants.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::shape::ShapeContext;
use super::signature::AttrDef;
use super::{ALL, Op, OpInfo, Signature};
use crate::graph::{AttrValue, Attrs, Node, PartialShape};
use crate::tensor::{DType, Tensor};

/// Some value that the attribute allows.
fn some(def: &AttrDef) -> AttrValue {
    if let Some(default) = &def.default {
        return default.clone();
    }
    let one = match def.kind {
        "type" => AttrValue::from(def.types.first().copied().unwrap_or(DType::Float)),
        "int" => def.minimum.unwrap_or(0).max(2).into(),
        "float" => 0.5f32.into(),
        "bool" => true.into(),
        "string" => AttrValue::from(def.strings.first().map_or("", |s| s.as_str())),
        "shape" => PartialShape::unknown().into(),
        _ => Tensor::scalar(1.0f32).into(),
    };
    if !def.is_list {
        return one;
    }
    let list = if def.kind == "int" { vec![1i64.into(), 2i64.into(), 2i64.into(), 1i64.into()] } else { vec![one] };
    AttrValue::List(list)
}

fn node(op: &'static Op) -> Node {
    let signature = Signature::parse(op.args, op.attrs).unwrap();
    let attrs = Attrs::new(signature.attrs.iter().map(|def| (Arc::from(def.name.as_str()), some(def))).collect());
    Node {
        name: "node".into(),
        input_types: Signature::arg_types(&signature.inputs, &attrs).unwrap(),
        output_types: Signature::arg_types(&signature.outputs, &attrs).unwrap(),
        op: Arc::new(OpInfo { name: op.name.into(), signature, op: Some(op) }),
        device: "".into(),
        inputs: Vec::new(),
        controls: Vec::new(),
        attrs,
    }
}

/// All pairs of shapes and constants for the inputs of all ops: errors are welcome, panics are not.
#[test]
fn shape_functions_are_total() {
    let (low, high) = (i64::MIN, i64::MAX);
    let shapes = [
        PartialShape::unknown(),
        PartialShape::new(&[]),
        PartialShape::new(&[-1]),
        PartialShape::new(&[0]),
        PartialShape::new(&[2, 3]),
        PartialShape::new(&[1, 3, 3, 1]),
        PartialShape::new(&[high; 4]),
        PartialShape::new(&[-1; 20]),
        PartialShape::new(&[high; 20]),
    ];
    let vector = |x: &[i64]| Some(Tensor::from_slice(&[x.len()], x).unwrap());
    let constants = [
        None,
        Some(Tensor::scalar(0i64)),
        Some(Tensor::scalar(low)),
        Some(Tensor::scalar(high)),
        Some(Tensor::scalar(1.5f32)),
        vector(&[]),
        vector(&[1, 0]),
        vector(&[low, high, -1, 0]),
        vector(&[high, high, high, high]),
        vector(&[0, -1, low, high, 7, 7, 7, 7]),
        vector(&core::array::from_fn::<_, 20, _>(|i| 19 - i as i64)),
        vector(&[high; 40]),
    ];
    for op in ALL.iter().flat_map(|family| family.iter()) {
        let Some(shape_of) = op.shape else { continue };
        let node = node(op);
        let n = node.input_types.len();
        for first in &shapes {
            for rest in &shapes {
                for constant in &constants {
                    let inputs: Vec<_> = (0..n).map(|i| if i == 0 { first.clone() } else { rest.clone() }).collect();
                    // Too few inputs may come as well.
                    for taken in [n, n.min(1), 0] {
                        let (inputs, constants) = (&inputs[..taken], vec![constant.clone(); taken]);
                        if let Ok(found) = shape_of(&ShapeContext { node: &node, inputs, constants: &constants }) {
                            assert!(taken < n || found.len() == node.output_types.len(), "{}", op.name);
                        }
                    }
                }
            }
        }
    }
}
