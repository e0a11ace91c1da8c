//! Tests of the placer.

use super::*;
use crate::Code;
use crate::graph::{NodeSpec, Versions};
use crate::ops::{Op, Registry};

static CONST: Op = Op::new("Const", "-> output: dtype", "dtype: type = float");
static VARIABLE: Op = Op::new("VariableV2", "-> ref: Ref(dtype)", "dtype: type = float").stateful();
static HANDLE: Op = Op::new("VarHandleOp", "-> resource: resource", "").stateful();
static ASSIGN: Op = Op::new("Assign", "ref: Ref(T), value: T -> output_ref: Ref(T)", "T: type = float");
static READ: Op = Op::new("ReadVariableOp", "resource: resource -> value: dtype", "dtype: type = float").stateful();
static BOTH: Op = Op::new("Both", "a: resource, b: resource -> value: float", "").stateful();
static NEG: Op = Op::new("Neg", "x: T -> y: T", "T: type = float");
static SHAPE: Op = Op::new("Shape", "input: T -> output: out_type", "T: type = float; out_type: type = int32");
static ADD: Op = Op::new("AddV2", "x: T, y: T -> z: T", "T: type = float");
static QUEUE: Op = Op::new("FIFOQueueV2", "-> handle: resource", "").stateful();
static RANDOM: Op = Op::new("RandomUniform", "-> output: float", "").stateful();
static OPS: &[&Op] = &[&CONST, &VARIABLE, &HANDLE, &ASSIGN, &READ, &BOTH, &NEG, &SHAPE, &ADD, &QUEUE, &RANDOM];

/// A graph of lines `name = Op(inputs) @device loc:@class …`; the parts after the parenthesis may be absent.
fn graph(lines: &[&str]) -> Graph {
    let mut graph = Graph::new();
    extend(&mut graph, lines);
    graph
}

fn extend(graph: &mut Graph, lines: &[&str]) {
    let mut nodes = Vec::new();
    for line in lines {
        let (name, rest) = line.split_once(" = ").unwrap();
        let (op, rest) = rest.split_once('(').unwrap();
        let (inputs, rest) = rest.split_once(')').unwrap();
        let mut node = NodeSpec { name: name.into(), op: op.into(), ..NodeSpec::default() };
        node.inputs = inputs.split(", ").filter(|i| !i.is_empty()).map(Into::into).collect();
        let mut classes: Vec<AttrValue> = Vec::new();
        for word in rest.split_whitespace() {
            match word.strip_prefix('@') {
                Some(device) => node.device = device.into(),
                None => classes.push(word.into()),
            }
        }
        if !classes.is_empty() {
            node.attrs.push(("_class".into(), AttrValue::List(classes)));
        }
        nodes.push(node);
    }
    graph.extend(&Registry::new(&[OPS]).unwrap(), nodes, Vec::new(), Versions::default()).unwrap();
}

/// Two tasks with two devices each.
fn devices() -> Vec<DeviceSpec> {
    [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(task, id)| DeviceSpec::cpu("w", task, id)).into()
}

fn placed(lines: &[&str], soft: bool) -> Result<String, Status> {
    let graph = graph(lines);
    let options = PlaceOptions { allow_soft_placement: soft, local_task: None };
    let placement = place(&graph, &devices(), &Placement::default(), options)?;
    Ok(shown(&graph, &placement))
}

/// `name:task.id` of each node.
fn shown(graph: &Graph, placement: &Placement) -> String {
    let mut text = String::new();
    for (id, node) in graph.iter() {
        let device = &devices()[placement.device_of(id)];
        text += &alloc::format!("{}:{}.{} ", node.name, device.task.unwrap(), device.id.unwrap());
    }
    text.trim_end().into()
}

/// Where nodes go under hard placement, checked against what TensorFlow does.
#[test]
fn hard() {
    let cases: &[(&str, &[&str], &str)] = &[
        ("no request: the first local device", &["a = Const()", "b = Neg(a)"], "a:0.0 b:0.0"),
        ("requests", &["a = Const() @/cpu:1", "b = Neg(a) @/task:1", "c = Neg(b)"], "a:0.1 b:1.0 c:0.0"),
        ("a source follows its only consumer", &["a = Const()", "b = Neg(a) @/task:1/cpu:1"], "a:1.1 b:1.1"),
        (
            "a source with consumers apart does not",
            &["a = Const()", "b = Neg(a) @/cpu:1", "c = Neg(a) @/task:1"],
            "a:0.0 b:0.1 c:1.0",
        ),
        (
            "metadata follows its input",
            &["a = Const() @/cpu:1", "b = Neg(a) @/task:1", "s = Shape(b)"],
            "a:0.1 b:1.0 s:1.0",
        ),
        (
            "a writer is with its variable",
            &["v = VariableV2() @/cpu:1", "c = Const()", "w = Assign(v, c)"],
            "v:0.1 c:0.1 w:0.1",
        ),
        (
            "even against its own wish",
            &["v = VariableV2() @/task:0/cpu:0", "c = Const()", "w = Assign(v, c) @/task:1/cpu:1"],
            "v:0.0 c:0.0 w:0.0",
        ),
        ("a reader by value is free", &["v = VariableV2() @/cpu:1", "n = Neg(v)"], "v:0.1 n:0.0"),
        ("a resource reader is not", &["v = VarHandleOp() @/task:1", "r = ReadVariableOp(v)"], "v:1.0 r:1.0"),
        ("colocated", &["a = Const() @/task:1", "b = Neg(a) loc:@a", "c = Neg(b) loc:@b"], "a:1.0 b:1.0 c:1.0"),
        (
            "a key that no node has still joins",
            &["a = Const() loc:@gone", "b = Neg(a) @/cpu:1 loc:@gone", "c = Neg(b) loc:@alone"],
            "a:0.1 b:0.1 c:0.0",
        ),
        ("strings that are no location", &["a = Const() other", "b = Neg(a) @/cpu:1 other"], "a:0.1 b:0.1"),
        ("parts from both", &["a = Const() @/task:1", "b = Neg(a) @/cpu:1 loc:@a"], "a:1.1 b:1.1"),
    ];
    for (what, lines, wanted) in cases {
        assert_eq!(placed(lines, false).as_deref(), Ok(*wanted), "{what}");
    }
}

/// What hard placement refuses, and whether soft placement refuses it too. The error names the node.
#[test]
fn refused() {
    let cases: &[(&str, &[&str], &str, Option<&str>)] = &[
        ("no such type", &["xx = Const() @/device:GPU:0"], "xx", Some("xx:0.0")),
        ("lower case is another type", &["xx = Const() @/device:cpu:0"], "xx", Some("xx:0.0")),
        ("no such number", &["xx = Const() @/task:1/cpu:7"], "task:1/device:CPU:1", Some("xx:1.0")),
        ("no such task", &["xx = Const() @/task:7"], "xx", None),
        ("no such job", &["xx = Const() @/job:v"], "xx", None),
        ("malformed", &["xx = Const() @nonsense"], "nonsense", None),
        ("conflict of numbers", &["a = Const() @/cpu:0", "xx = Neg(a) @/cpu:1 loc:@a"], "xx", Some("a:0.0 xx:0.0")),
        ("conflict of tasks", &["a = Const() @/task:0", "xx = Neg(a) @/task:1 loc:@a"], "xx", Some("a:0.0 xx:1.0")),
        (
            "two resources apart",
            &["a = VarHandleOp() @/task:0", "b = VarHandleOp() @/task:1", "xx = Both(a, b)"],
            "xx",
            None,
        ),
    ];
    for (what, lines, named, soft) in cases {
        let error = placed(lines, false).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument, "{what}");
        assert!(error.message().contains(named), "{what}: {error}");
        match soft {
            Some(wanted) => assert_eq!(placed(lines, true).as_deref(), Ok(*wanted), "{what}"),
            None => assert_eq!(placed(lines, true).unwrap_err().code(), Code::InvalidArgument, "{what}"),
        }
    }
}

/// `_class` must be a list.
#[test]
fn class_of_another_kind() {
    let mut graph = Graph::new();
    let node = NodeSpec {
        name: "n".into(),
        op: "Const".into(),
        attrs: alloc::vec![("_class".into(), "loc:@n".into())],
        ..NodeSpec::default()
    };
    graph.extend(&Registry::new(&[OPS]).unwrap(), alloc::vec![node], Vec::new(), Versions::default()).unwrap();
    let error = place(&graph, &devices(), &Placement::default(), PlaceOptions::default()).unwrap_err();
    assert_eq!(error.node(), Some("n"));
}

/// After an extension stateful nodes are where they were, and what joins them goes there; others may move.
#[test]
fn extension() {
    let mut graph = graph(&["r = RandomUniform()", "v = VariableV2()", "c = Const()"]);
    let options = PlaceOptions::default();
    let first = place(&graph, &devices(), &Placement::default(), options).unwrap();
    assert_eq!(shown(&graph, &first), "r:0.0 v:0.0 c:0.0");
    extend(&mut graph, &["u = Neg(r) @/task:1", "w = Assign(v, c) @/cpu:1", "d = Neg(c) @/cpu:0"]);
    let second = place(&graph, &devices(), &first, options).unwrap();
    assert_eq!(shown(&graph, &second), "r:0.0 v:0.0 c:0.0 u:1.0 w:0.0 d:0.0");
    // A colocation that would move a stateful node is refused.
    extend(&mut graph, &["x = Neg(c) @/task:1 loc:@r"]);
    assert!(place(&graph, &devices(), &second, options).is_err());
}

/// Local devices are those of the task that is said, wherever it is in the list.
#[test]
fn local_first() {
    let graph = graph(&["a = RandomUniform()", "b = Neg(a)"]);
    let local = DeviceSpec::cpu("w", 1, 0);
    let options = PlaceOptions { allow_soft_placement: false, local_task: Some(&local) };
    let placement = place(&graph, &devices(), &Placement::default(), options).unwrap();
    assert_eq!(shown(&graph, &placement), "a:1.0 b:1.0");
    assert!(place(&graph, &[], &Placement::default(), options).is_err());
    // With one device that all requests admit there is nothing to choose.
    let one = [DeviceSpec::cpu("w", 0, 0)];
    assert_eq!(place(&graph, &one, &Placement::default(), PlaceOptions::default()).unwrap().len(), 2);
}
