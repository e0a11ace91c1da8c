//! Tests of partitioning: which nodes each part gets, and what goes between them.

use super::*;
use crate::Code;
use crate::graph::{AttrValue, Versions};
use crate::ops::{ALL, Op, Registry};

static SEND: Op = Op::new("_Send", "tensor: T ->", "T: type; tensor_name: string");
static RECV: Op = Op::new("_Recv", "-> tensor: tensor_type", "tensor_type: type; tensor_name: string");
static ENDS: &[&Op] = &[&SEND, &RECV];

fn registry() -> Registry {
    Registry::new(&[ALL, &[ENDS]].concat()).unwrap()
}

/// A graph of lines `part name = Op(inputs) attr=value …`, and the part of each node. Types are float but where given.
fn graph(lines: &[&str]) -> (Graph, Vec<u32>) {
    let (mut nodes, mut parts) = (Vec::new(), Vec::new());
    for line in lines {
        let (part, rest) = line.trim().split_once(' ').unwrap();
        let (name, rest) = rest.split_once(" = ").unwrap();
        let (op, rest) = rest.split_once('(').unwrap();
        let (inputs, rest) = rest.split_once(')').unwrap();
        let inputs = inputs.split(", ").filter(|i| !i.is_empty()).map(Into::into).collect();
        let mut attrs: Vec<(Arc<str>, AttrValue)> = Vec::new();
        for word in rest.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap();
            let value = match value {
                "bool" => DType::Bool.into(),
                "int32" => DType::Int32.into(),
                "true" => true.into(),
                number if number.parse::<i64>().is_ok() => AttrValue::Int(number.parse().unwrap()),
                text => text.into(),
            };
            attrs.push((name.into(), value));
        }
        match op {
            "Const" => {
                attrs.extend([("dtype".into(), DType::Float.into()), ("value".into(), Tensor::scalar(1f32).into())])
            }
            "Placeholder" | "VariableV2" if !attrs.iter().any(|a| &*a.0 == "dtype") => {
                attrs.push(("dtype".into(), DType::Float.into()));
            }
            "NoOp" | "LoopCond" | "Placeholder" | "VariableV2" => {}
            _ if attrs.iter().any(|a| &*a.0 == "T") => {}
            _ => attrs.push(("T".into(), DType::Float.into())),
        }
        if op == "VariableV2" {
            attrs.push(("shape".into(), crate::graph::PartialShape::new(&[]).into()));
        }
        if op == "Merge" {
            attrs.push(("N".into(), AttrValue::Int(2)));
        }
        nodes.push(NodeSpec { name: name.into(), op: op.into(), inputs, device: String::new(), attrs });
        parts.push(part.parse().unwrap());
    }
    let mut graph = Graph::new();
    graph.extend(&registry(), nodes, Vec::new(), Versions::default()).unwrap();
    (graph, parts)
}

fn devices() -> Vec<PartitionDevice> {
    let device = |part: u32| PartitionDevice {
        name: format!("/job:w/replica:0/task:{part}/device:CPU:0").into(),
        incarnation: 100 + u64::from(part),
        part,
    };
    (0..4).map(device).collect()
}

fn cut(lines: &[&str], fetches: &[&str]) -> Result<BTreeMap<u32, Part>, Status> {
    let (graph, device_of) = graph(lines);
    let devices = devices();
    let edge = |name: &&str| (format!("{name}:0"), Edge { node: graph.find(name).unwrap(), port: 0 });
    let fetches: Vec<_> = fetches.iter().map(edge).collect();
    let placed = Placed {
        graph: &graph,
        device_of: &device_of,
        devices: &devices,
        feeds: &[],
        fetches: &fetches,
        is_taken: &|name| graph.find(name).is_some(),
    };
    let parts = partition(placed, &mut 0)?;
    for part in parts.values() {
        // Each part is a graph of its own, whose frames are right.
        let mut graph = Graph::new();
        graph.extend_part(&registry(), part.nodes.clone(), Vec::new(), Versions::default()).unwrap();
        Frames::of(&graph).unwrap();
    }
    Ok(parts)
}

/// `name = Op(inputs)` of a part's nodes.
fn shown(part: &Part) -> Vec<String> {
    part.nodes.iter().map(|n| format!("{} = {}({})", n.name, n.op, n.inputs.join(", "))).collect()
}

fn attr(part: &Part, op: &str, name: &str) -> Vec<String> {
    let nodes = part.nodes.iter().filter(|n| n.op == op);
    nodes.flat_map(|n| n.attrs.iter().filter(|a| &*a.0 == name).map(|a| format!("{:?}", a.1))).collect()
}

/// A tensor goes once to each part, whatever the number of its consumers there; both ends agree on its key.
#[test]
fn one_pair_for_all_consumers() {
    let parts =
        cut(&["0 a = Placeholder()", "1 b = Neg(a)", "1 c = AddV2(a, b)", "2 d = Neg(a)", "1 e = AddV2(c, d)"], &["e"])
            .unwrap();
    assert_eq!(shown(&parts[&0]), ["a = Placeholder()", "a_S0 = _Send(a)", "a_S2 = _Send(a)"]);
    assert_eq!(
        shown(&parts[&1]),
        [
            "a_S1 = _Recv()",
            "b = Neg(a_S1)",
            "c = AddV2(a_S1, b)",
            "d_S5 = _Recv()",
            "e = AddV2(c, d_S5)",
            "_send_e_0_S6 = _Send(e)"
        ]
    );
    assert_eq!(shown(&parts[&2]), ["a_S3 = _Recv()", "d = Neg(a_S3)", "d_S4 = _Send(d)"]);
    for name in ["tensor_name", "send_device", "recv_device", "send_device_incarnation", "client_terminated"] {
        assert_eq!(attr(&parts[&2], "_Send", name), attr(&parts[&1], "_Recv", name)[1..], "{name}");
    }
    assert_eq!(attr(&parts[&0], "_Send", "send_device_incarnation"), ["Int(100)", "Int(100)"]);
    let [(0, key)] = &*parts[&1].fetches else { panic!("{:?}", parts[&1].fetches) };
    assert_eq!(
        key.to_string(),
        "/job:w/replica:0/task:1/device:CPU:0;0000000000000065;/job:w/replica:0/task:1/device:CPU:0;e:0;0:0"
    );
}

/// Constants are copied, and waiting for one is waiting for nothing; control edges go as empty tensors, once a part.
#[test]
fn constants_and_control_edges() {
    let parts =
        cut(&["0 k = Const()", "0 n = NoOp(^k)", "1 a = Neg(k, ^n)", "1 b = AddV2(k, a, ^n, ^k)"], &["b"]).unwrap();
    assert_eq!(shown(&parts[&0]), ["k = Const()", "n = NoOp(^k)", "n/ctrl_S0 = Const(^n)", "n_S1 = _Send(n/ctrl_S0)"]);
    assert_eq!(
        shown(&parts[&1]),
        [
            "k = Const()",
            "n_S2 = _Recv()",
            "n_S3 = Identity(n_S2)",
            "a = Neg(k, ^n_S3)",
            "b = AddV2(k, a, ^n_S3)",
            "_send_b_0_S4 = _Send(b)"
        ]
    );
}

/// Names that the client has are not given again.
#[test]
fn names_are_new() {
    let parts = cut(&["0 a = Placeholder()", "0 a_S0 = Neg(a)", "1 b = AddV2(a, a_S0)"], &["b"]).unwrap();
    assert_eq!(shown(&parts[&1])[..2], ["a_S2 = _Recv()", "a_S0_S4 = _Recv()"]);
}

/// A variable is sent for each consumer, which receives it after its other inputs; nobody can write to it from afar.
#[test]
fn references() {
    let lines = ["0 v = VariableV2()", "1 x = Placeholder()", "1 a = AddV2(x, v)", "1 b = Neg(v)"];
    let parts = cut(&lines, &["a", "b"]).unwrap();
    assert_eq!(
        shown(&parts[&1])[..5],
        ["x = Placeholder()", "v_S1 = _Recv(^x)", "a = AddV2(x, v_S1)", "v_S3 = _Recv()", "b = Neg(v_S3)"]
    );
    let error = cut(&["0 v = VariableV2()", "1 x = Placeholder()", "1 w = Assign(v, x)"], &["w"]).unwrap_err();
    assert_eq!((error.code(), error.node()), (Code::InvalidArgument, Some("w")));
}

/// The loop `while x < limit: x = -x`, with the body's Neg on another part.
const LOOP: [&str; 11] = [
    "0 x = Placeholder()",
    "0 limit = Placeholder()",
    "0 enter = Enter(x) frame_name=loop parallel_iterations=7",
    "0 until = Enter(limit) frame_name=loop is_constant=true",
    "0 merge = Merge(enter, next)",
    "0 less = Less(merge, until)",
    "0 cond = LoopCond(less)",
    "0 switch = Switch(merge, cond)",
    "1 body = Neg(switch:1)",
    "0 next = NextIteration(body)",
    "0 exit = Exit(switch)",
];

/// Each part of a loop that receives within it has a control loop on the loop's predicate, which its receives follow.
#[test]
fn loops() {
    let parts = cut(&LOOP, &["exit"]).unwrap();
    let (first, second) = (shown(&parts[&0]), shown(&parts[&1]));
    assert_eq!(
        second,
        [
            "_cloop/Const_S6 = Const()",
            "_cloop/Enter_S7 = Enter(_cloop/Const_S6)",
            "_cloop/Merge_S1 = Merge(_cloop/Enter_S7, _cloop/NextIteration_S9)",
            "cond_S11 = _Recv(^_cloop/Merge_S1)",
            "_cloop/Switch_S8 = Switch(_cloop/Merge_S1, cond_S11)",
            "_cloop/NextIteration_S9 = NextIteration(_cloop/Switch_S8:1)",
            "switch_S13 = _Recv(^_cloop/Merge_S1)",
            "body = Neg(switch_S13)",
            "body_S14 = _Send(body)",
        ]
        .map(|line| line.replace("_cloop/", "_clooploop/"))
    );
    for line in ["switch_S12 = _Send(switch:1)", "cond_S10 = _Send(cond)"] {
        assert!(first.iter().any(|l| l == line), "{line}: {first:?}");
    }
    // The receive of the body's value is in the loop as well.
    let recv = first.iter().find(|l| l.contains("= _Recv(")).unwrap();
    assert_eq!(recv, "body_S15 = _Recv(^_clooploop/Merge_S0)");
    assert_eq!(attr(&parts[&1], "Enter", "parallel_iterations"), ["Int(7)"]);
}

/// Nodes that steer follow their values, whatever was asked for: here the whole loop is on one part again.
#[test]
fn steering_nodes_follow_their_values() {
    let lines = LOOP.map(|line| match line.split(' ').nth(1) {
        Some("enter" | "next" | "switch" | "exit" | "until") => line.replacen('0', "3", 1),
        Some("body") => line.replacen('1', "0", 1),
        _ => line.into(),
    });
    let lines: Vec<&str> = lines.iter().map(|l| &**l).collect();
    let parts = cut(&lines, &["exit"]).unwrap();
    assert_eq!(parts.keys().copied().collect::<Vec<_>>(), [0]);
    assert!(!shown(&parts[&0]).iter().any(|line| line.contains("_cloop") || line.contains("_Recv")));
}

/// A loop that spans parts is steered by its LoopCond; without one there is no telling when it ends.
#[test]
fn loop_without_condition() {
    let lines: Vec<String> = LOOP.iter().map(|line| line.replace("LoopCond(less)", "Identity(less) T=bool")).collect();
    let lines: Vec<&str> = lines.iter().map(|l| &**l).collect();
    let error = cut(&lines, &["exit"]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("must have a pivot predicate: loop"), "{}", error.message());
    let error = cut(&LOOP, &["body"]).unwrap_err();
    assert!(error.message().contains("cannot be fetched"), "{}", error.message());
}
