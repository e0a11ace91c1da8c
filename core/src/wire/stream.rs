//! Graphs taken from their bytes node by node: there is never more than one node, or function, in message form.
//!
//! A message around a graph is decoded with the graph left as bytes, the graph with its nodes left as bytes, and so on;
//! all of them share the received buffer. Each piece is scanned before it is decoded.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;

use super::generated as g;
use super::graph::{function_from_proto, node_from_proto, versions_from_proto};
use super::message::{Allowance, decode_charged};
use super::scan::{Field, Kind, Message, Scanned, Wire};
use crate::Status;
use crate::graph::{AttrValue, Function, NodeSpec};
use crate::service::GraphSpec;
use crate::tensor::Budget;

/// The native form of an encoded GraphDef, as [`graph_from_proto`](super::graph_from_proto) gives it.
///
/// # Errors
/// As [`graph_from_proto`](super::graph_from_proto) and [`decode`](super::decode). RESOURCE_EXHAUSTED beyond the budget,
/// or without one beyond `limits.decoded_bytes_max`; counted are the native graph, the largest node in message form, and
/// the bytes of constants that cannot be shared.
pub fn graph_from_bytes(bytes: Bytes, allowed: &Allowance) -> Result<GraphSpec, Status> {
    let own;
    let budget = match allowed.budget {
        Some(budget) => budget,
        None => {
            let limit = usize::try_from(allowed.limits.decoded_bytes_max).unwrap_or(usize::MAX);
            own = Budget::new("message", limit);
            &own
        }
    };
    let (graph, _pieces) = decode_charged::<Graph>(bytes, &allowed.limits, budget)?;
    let (library, _functions) = decode_charged::<Library>(graph.library, &allowed.limits, budget)?;
    let mut held = budget.charge(graph.node.len().saturating_mul(size_of::<NodeSpec>()))?;
    let mut nodes = Vec::with_capacity(graph.node.len());
    for piece in graph.node {
        let (node, _charge) = decode_charged::<g::NodeDef>(piece, &allowed.limits, budget)?;
        let node = node_from_proto(node, Some(budget))?;
        held.grow(node_bytes(&node))?;
        nodes.push(node);
    }
    let mut functions = Vec::new();
    for piece in library.function {
        let (function, _charge) = decode_charged::<g::FunctionDef>(piece, &allowed.limits, budget)?;
        let function = function_from_proto(function, Some(budget))?;
        held.grow(function_bytes(&function))?;
        functions.push(function);
    }
    let versions = graph.versions.map(versions_from_proto).unwrap_or_default();
    Ok(GraphSpec { nodes, functions, versions })
}

/// What a node holds on the heap beside the bytes of tensors.
fn node_bytes(node: &NodeSpec) -> usize {
    let texts = [&node.name, &node.op, &node.device].into_iter().chain(&node.inputs);
    let texts = texts.map(|text| text.capacity() + size_of::<String>()).sum::<usize>();
    texts.saturating_add(attrs_bytes(node.attrs.iter().map(|(name, value)| (&**name, value))))
}

fn function_bytes(function: &Function) -> usize {
    let nodes = function.nodes.iter().map(|node| size_of::<NodeSpec>().saturating_add(node_bytes(node)));
    // Signature, results and names are no larger than the definition that holds them too, but for their structs.
    nodes.fold(function.definition.len().saturating_mul(8), usize::saturating_add)
}

fn attrs_bytes<'a>(attrs: impl Iterator<Item = (&'a str, &'a AttrValue)>) -> usize {
    attrs.fold(0, |sum, (name, value)| sum.saturating_add(name.len() + 32).saturating_add(value_bytes(value)))
}

fn value_bytes(value: &AttrValue) -> usize {
    let more = match value {
        AttrValue::List(values) => values.iter().map(value_bytes).fold(0, usize::saturating_add),
        AttrValue::Func(func) => attrs_bytes(func.attrs.iter().map(|(name, value)| (&**name, value))),
        AttrValue::Shape(shape) => shape.rank().unwrap_or(0).saturating_mul(size_of::<i64>()),
        AttrValue::Placeholder(name) => name.len(),
        _ => 0,
    };
    more.saturating_add(size_of::<AttrValue>())
}

/// A CreateSessionRequest with the graph as bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CreateSession {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) graph_def: Bytes,
    #[prost(message, optional, tag = "2")]
    pub(super) config: Option<g::ConfigProto>,
    #[prost(string, tag = "3")]
    pub(super) target: String,
}

impl Scanned for CreateSession {
    const MESSAGE: &'static Message = &CREATE_SESSION;
}

static CREATE_SESSION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Blob },
        Field { number: 2, kind: Kind::One(g::ConfigProto::MESSAGE) },
        Field { number: 3, kind: Kind::Text },
    ],
};

/// An ExtendSessionRequest with the graph as bytes.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExtendSession {
    #[prost(string, tag = "1")]
    pub(super) session_handle: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) graph_def: Bytes,
    #[prost(int64, tag = "3")]
    pub(super) current_graph_version: i64,
}

impl Scanned for ExtendSession {
    const MESSAGE: &'static Message = &EXTEND_SESSION;
}

static EXTEND_SESSION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Blob },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

/// A GraphDef with nodes and library as bytes.
#[derive(Clone, PartialEq, prost::Message)]
struct Graph {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    node: Vec<Bytes>,
    #[prost(bytes = "bytes", tag = "2")]
    library: Bytes,
    #[prost(message, optional, tag = "4")]
    versions: Option<g::VersionDef>,
}

impl Scanned for Graph {
    const MESSAGE: &'static Message = &GRAPH;
}

static GRAPH: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Blobs },
        Field { number: 2, kind: Kind::Blob },
        Field { number: 4, kind: Kind::One(g::VersionDef::MESSAGE) },
    ],
};

/// A FunctionDefLibrary with functions as bytes; gradients are not used.
#[derive(Clone, PartialEq, prost::Message)]
struct Library {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    function: Vec<Bytes>,
}

impl Scanned for Library {
    const MESSAGE: &'static Message = &LIBRARY;
}

static LIBRARY: Message = Message { fields: &[Field { number: 1, kind: Kind::Blobs }] };

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::generated::attr_value::{ListValue, Value};
    use super::super::graph::graph_from_proto;
    use super::super::message::encode;
    use super::super::scan::Limits;
    use super::*;
    use crate::Code;

    fn attr(value: Value) -> g::AttrValue {
        g::AttrValue { value: Some(value) }
    }

    fn node(name: &str, value: Value) -> g::NodeDef {
        g::NodeDef {
            name: name.into(),
            op: "NoOp".into(),
            input: vec!["^a".into()],
            attr: [("x".into(), attr(value))].into(),
            ..Default::default()
        }
    }

    fn graph() -> g::GraphDef {
        let signature = g::OpDef { name: "f".into(), ..Default::default() };
        let function =
            g::FunctionDef { signature: Some(signature), node_def: vec![node("b", Value::I(1))], ..Default::default() };
        g::GraphDef {
            node: vec![node("a", Value::F(0.5)), node("c", Value::List(Default::default()))],
            library: Some(g::FunctionDefLibrary { function: vec![function], ..Default::default() }),
            versions: Some(g::VersionDef { producer: 5, ..Default::default() }),
            ..Default::default()
        }
    }

    /// Piece by piece gives what the whole message gives, and the budget has everything back.
    #[test]
    fn same_as_the_message() {
        let budget = Budget::new("test", 100_000);
        let allowed = Allowance { budget: Some(&budget), ..Default::default() };
        let streamed = graph_from_bytes(encode(&graph()), &allowed).unwrap();
        let whole = graph_from_proto(graph(), None).unwrap();
        assert_eq!(alloc::format!("{streamed:?}"), alloc::format!("{whole:?}"));
        assert_eq!(budget.used(), 0);
        let empty = graph_from_bytes(Bytes::new(), &Allowance::default()).unwrap();
        assert!(empty.nodes.is_empty());
    }

    /// Cut anywhere, it is an error or a smaller graph, never more.
    #[test]
    fn truncation() {
        let bytes = encode(&graph());
        for len in 0..bytes.len() {
            let code = graph_from_bytes(bytes.slice(..len), &Allowance::default()).map(|spec| spec.nodes.len());
            assert!(code.as_ref().map_or_else(|error| error.code() == Code::InvalidArgument, |nodes| *nodes <= 2));
        }
    }

    /// What grows on the way from bytes to native nodes is refused at the limit: empty nodes, lists of bools.
    #[test]
    fn bombs() {
        let nodes = Bytes::from([0x0a, 0].repeat(100_000));
        let bools = Value::List(ListValue { b: vec![true; 100_000], ..Default::default() }.into());
        let bools = encode(&g::GraphDef { node: vec![node("n", bools)], ..Default::default() });
        for bytes in [nodes, bools] {
            let limits = Limits { decoded_bytes_max: 4_000_000, ..Default::default() };
            let allowed = Allowance { limits, budget: None };
            assert_eq!(graph_from_bytes(bytes.clone(), &allowed).unwrap_err().code(), Code::ResourceExhausted);
            let budget = Budget::new("test", 4_000_000);
            let allowed = Allowance { budget: Some(&budget), ..Default::default() };
            assert_eq!(graph_from_bytes(bytes, &allowed).unwrap_err().code(), Code::ResourceExhausted);
            assert_eq!(budget.used(), 0);
        }
    }
}
