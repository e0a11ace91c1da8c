//! Graphs and functions as messages hold them, to native ones and back.

use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use prost::Message as _;

use super::attr::{attr_from_proto, attrs_from_proto, attrs_to_proto};
use super::generated::{FunctionDef, FunctionDefLibrary, GraphDef, NodeDef, OpDef, VersionDef, attr_value, op_def};
use super::message::encode;
use super::shape::dtype_from_proto;
use crate::Status;
use crate::graph::{Attrs, Function, NodeSpec, Versions};
use crate::ops::Signature;
use crate::ops::signature::{Arg, ArgType, AttrDef};
use crate::service::GraphSpec;
use crate::tensor::Budget;

/// The kinds of attributes, by the names in declarations.
const KINDS: [&str; 8] = ["type", "int", "float", "bool", "string", "shape", "tensor", "func"];

/// The native form of a graph: nodes and functions as they came, names and edges not yet checked. Constants share the
/// message's bytes, or are charged to `budget`.
///
/// # Errors
/// What [`attr_from_proto`] answers, with node and attribute named; INVALID_ARGUMENT for a function's signature that is
/// none.
pub fn graph_from_proto(graph: GraphDef, budget: Option<&Budget>) -> Result<GraphSpec, Status> {
    let functions = graph.library.map(|library| library.function).unwrap_or_default();
    Ok(GraphSpec {
        nodes: nodes_from_proto(graph.node, budget)?,
        functions: functions
            .into_iter()
            .map(|function| function_from_proto(function, budget))
            .collect::<Result<_, _>>()?,
        versions: graph.versions.map(versions_from_proto).unwrap_or_default(),
    })
}

/// Version constraints.
pub(super) fn versions_from_proto(versions: VersionDef) -> Versions {
    let VersionDef { producer, min_consumer, bad_consumers } = versions;
    Versions { producer, min_consumer, bad_consumers }
}

/// The message of a graph.
///
/// # Errors
/// What [`attr_to_proto`](super::attr_to_proto) answers; INTERNAL for a function whose definition is no message.
pub fn graph_to_proto(graph: &GraphSpec) -> Result<GraphDef, Status> {
    let function = |function: &Function| {
        FunctionDef::decode(function.definition.clone())
            .map_err(|error| Status::internal(format_args!("the definition of function '{}': {error}", function.name)))
    };
    let functions: Vec<_> = graph.functions.iter().map(function).collect::<Result<_, _>>()?;
    let library = FunctionDefLibrary { function: functions, ..Default::default() };
    Ok(GraphDef {
        node: graph.nodes.iter().map(node_to_proto).collect::<Result<_, _>>()?,
        library: (!library.function.is_empty()).then_some(library),
        versions: Some(VersionDef {
            producer: graph.versions.producer,
            min_consumer: graph.versions.min_consumer,
            bad_consumers: graph.versions.bad_consumers.clone(),
        }),
        ..Default::default()
    })
}

/// The native form of a function. Its definition is kept in one encoding, whatever the order of maps it came in.
///
/// # Errors
/// As [`graph_from_proto`], with the function named.
pub fn function_from_proto(function: FunctionDef, budget: Option<&Budget>) -> Result<Function, Status> {
    let definition: Bytes = encode(&function);
    let signature = function.signature.unwrap_or_default();
    let name = signature.name.clone();
    let convert = || {
        Ok::<_, Status>((
            signature_from_proto(&signature)?,
            nodes_from_proto(function.node_def, budget)?,
            Attrs::new(attrs_from_proto(&function.attr, budget)?),
        ))
    };
    let (native, nodes, attrs) =
        convert().map_err(|error| error.context(format_args!("function '{}'", name.escape_debug())))?;
    Ok(Function {
        name,
        signature: native,
        stateful: signature.is_stateful,
        nodes,
        ret: function.ret,
        control_ret: function.control_ret,
        attrs,
        definition,
    })
}

/// The native form of a node.
///
/// # Errors
/// As [`graph_from_proto`].
pub fn node_from_proto(node: NodeDef, budget: Option<&Budget>) -> Result<NodeSpec, Status> {
    let attrs = attrs_from_proto(&node.attr, budget).map_err(|error| error.at_node(&node.name))?;
    Ok(NodeSpec { name: node.name, op: node.op, inputs: node.input, device: node.device, attrs })
}

/// The message of a node.
///
/// # Errors
/// As [`graph_to_proto`].
pub fn node_to_proto(node: &NodeSpec) -> Result<NodeDef, Status> {
    Ok(NodeDef {
        name: node.name.clone(),
        op: node.op.clone(),
        input: node.inputs.clone(),
        device: node.device.clone(),
        attr: attrs_to_proto(node.attrs.iter().map(|(name, value)| (&**name, value)))?,
        ..Default::default()
    })
}

fn nodes_from_proto(nodes: Vec<NodeDef>, budget: Option<&Budget>) -> Result<Vec<NodeSpec>, Status> {
    nodes.into_iter().map(|node| node_from_proto(node, budget)).collect()
}

/// The native form of an op's declaration.
///
/// # Errors
/// INVALID_ARGUMENT for an argument without a type or an attribute of no known kind.
pub fn signature_from_proto(op: &OpDef) -> Result<Signature, Status> {
    let args = |args: &[op_def::ArgDef]| args.iter().map(arg_from_proto).collect::<Result<_, _>>();
    Ok(Signature {
        inputs: args(&op.input_arg)?,
        outputs: args(&op.output_arg)?,
        attrs: op.attr.iter().map(attr_def_from_proto).collect::<Result<_, _>>()?,
    })
}

fn arg_from_proto(arg: &op_def::ArgDef) -> Result<Arg, Status> {
    let ty = match (arg.type_attr.as_str(), arg.type_list_attr.as_str()) {
        ("", "") => ArgType::Fixed(
            dtype_from_proto(arg.r#type)
                .map_err(|e| e.context(format_args!("argument '{}'", arg.name.escape_debug())))?,
        ),
        (attr, "") | (_, attr) => ArgType::Attr(attr.into()),
    };
    let count = (!arg.number_attr.is_empty()).then(|| arg.number_attr.clone());
    Ok(Arg { name: arg.name.clone(), ty, count, is_ref: arg.is_ref })
}

fn attr_def_from_proto(attr: &op_def::AttrDef) -> Result<AttrDef, Status> {
    let element = attr.r#type.strip_prefix("list(").and_then(|rest| rest.strip_suffix(')'));
    let wanted = element.unwrap_or(&attr.r#type);
    let named = |error: Status| error.context(format_args!("attr '{}'", attr.name.escape_debug()));
    let Some(kind) = KINDS.into_iter().find(|kind| *kind == wanted) else {
        return Err(named(Status::invalid_argument(format_args!("'{}' is no kind", attr.r#type.escape_debug()))));
    };
    let (mut types, mut strings) = (Vec::new(), Vec::new());
    if let Some(attr_value::Value::List(allowed)) = attr.allowed_values.as_ref().and_then(|v| v.value.as_ref()) {
        for number in &allowed.r#type {
            types.push(dtype_from_proto(*number).map_err(named)?);
        }
        strings.extend(allowed.s.iter().map(|text| String::from_utf8_lossy(text).into_owned()));
    }
    let default = attr.default_value.as_ref().map(|value| attr_from_proto(value, None)).transpose();
    Ok(AttrDef {
        name: attr.name.clone(),
        kind,
        is_list: element.is_some(),
        types,
        strings,
        minimum: attr.has_minimum.then_some(attr.minimum),
        default: default.map_err(named)?,
    })
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::super::generated::{AttrValue, DataType};
    use super::*;
    use crate::Code;
    use crate::tensor::DType;

    fn value(value: attr_value::Value) -> AttrValue {
        AttrValue { value: Some(value) }
    }

    fn function() -> FunctionDef {
        let arg = |name: &str| op_def::ArgDef { name: name.into(), type_attr: "T".into(), ..Default::default() };
        let allowed = attr_value::ListValue { r#type: vec![1, 19], ..Default::default() };
        FunctionDef {
            signature: Some(OpDef {
                name: "double".into(),
                input_arg: vec![arg("x"), op_def::ArgDef { name: "n".into(), r#type: 3, ..Default::default() }],
                output_arg: vec![op_def::ArgDef { number_attr: "N".into(), ..arg("y") }],
                attr: vec![
                    op_def::AttrDef {
                        name: "T".into(),
                        r#type: "type".into(),
                        default_value: Some(value(attr_value::Value::Type(1))),
                        allowed_values: Some(value(attr_value::Value::List(allowed.into()))),
                        ..Default::default()
                    },
                    op_def::AttrDef {
                        name: "Ts".into(),
                        r#type: "list(type)".into(),
                        has_minimum: true,
                        minimum: 1,
                        ..Default::default()
                    },
                ],
                is_stateful: true,
                ..Default::default()
            }),
            node_def: vec![NodeDef {
                name: "sum".into(),
                op: "AddV2".into(),
                input: vec!["x".into(), "x".into()],
                attr: [("T".into(), value(attr_value::Value::Placeholder("T".into())))].into(),
                ..Default::default()
            }],
            ret: [("y".into(), "sum:z:0".into())].into(),
            control_ret: [("c".into(), "sum".into())].into(),
            ..Default::default()
        }
    }

    fn graph() -> GraphDef {
        GraphDef {
            node: vec![NodeDef {
                name: "c".into(),
                op: "Const".into(),
                input: vec!["^a".into()],
                device: "/cpu:0".into(),
                attr: [("dtype".into(), value(attr_value::Value::Type(DataType::DtFloat as i32)))].into(),
                ..Default::default()
            }],
            library: Some(FunctionDefLibrary { function: vec![function()], ..Default::default() }),
            versions: Some(VersionDef { producer: 7, min_consumer: 1, bad_consumers: vec![3] }),
            ..Default::default()
        }
    }

    /// A graph with a function comes back as it went.
    #[test]
    fn round_trip() {
        let spec = graph_from_proto(graph(), None).unwrap();
        assert_eq!(graph_to_proto(&spec).unwrap(), graph());
        let empty = graph_from_proto(GraphDef::default(), None).unwrap();
        assert_eq!((empty.nodes.len(), empty.versions), (0, Versions::default()));
    }

    #[test]
    fn signatures() {
        let function = function_from_proto(function(), None).unwrap();
        assert!(function.stateful);
        let Signature { inputs, outputs, attrs } = &function.signature;
        assert_eq!(inputs[0].ty, ArgType::Attr("T".into()));
        assert_eq!(inputs[1].ty, ArgType::Fixed(DType::Int32));
        assert_eq!(outputs[0].count.as_deref(), Some("N"));
        assert_eq!(
            (attrs[0].kind, attrs[0].is_list, &attrs[0].types[..]),
            ("type", false, &[DType::Float, DType::Half][..])
        );
        assert!(attrs[0].default.is_some());
        assert_eq!((attrs[1].kind, attrs[1].is_list, attrs[1].minimum), ("type", true, Some(1)));
        assert_eq!(function.ret["y"], "sum:z:0");
    }

    /// The refusal says where: function, node and attribute.
    #[test]
    fn refusals_say_where() {
        let mut bad_node = graph();
        bad_node.node[0].attr.insert("dtype".into(), value(attr_value::Value::Type(0)));
        let mut bad_body = graph();
        bad_body.library.as_mut().unwrap().function[0].node_def[0].attr.insert("x".into(), AttrValue::default());
        let mut bad_kind = graph();
        bad_kind.library.as_mut().unwrap().function[0].signature.as_mut().unwrap().attr[0].r#type = "number".into();
        let mut bad_arg = graph();
        bad_arg.library.as_mut().unwrap().function[0].signature.as_mut().unwrap().input_arg[1].r#type = 0;
        let cases = [
            (bad_node, &["attr 'dtype'", "{{node c}}"][..]),
            (bad_body, &["function 'double'", "{{node sum}}", "attr 'x'"]),
            (bad_kind, &["function 'double'", "'number' is no kind"]),
            (bad_arg, &["function 'double'", "argument 'n'"]),
        ];
        for (graph, said) in cases {
            let error = graph_from_proto(graph, None).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument);
            for word in said {
                assert!(error.message().contains(word), "{error}");
            }
        }
    }
}
