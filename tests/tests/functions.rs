//! Functions that would grow without bound: calls in trees, functions within themselves.

use std::sync::Arc;

use runstep::Code;
use runstep::client::Client;
use runstep::graph::{AttrValue, Attrs, FuncRef, Function, Graph, NodeSpec, Versions};
use runstep::host::NoHost;
use runstep::ops::{ALL, Registry, Signature};
use runstep::rewrite::{ExpandOptions, expand};
use runstep::service::{GraphSpec, SessionConfig};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{Budget, DType, Tensor};
use runstep_host::block_on;

fn call(name: &str, function: &str, input: &str) -> NodeSpec {
    let func = FuncRef { name: function.into(), attrs: Vec::new() };
    let attrs = vec![
        ("Tin".into(), vec![DType::Float].into()),
        ("Tout".into(), vec![DType::Float].into()),
        ("f".into(), AttrValue::Func(Arc::new(func))),
    ];
    let op = "PartitionedCall".into();
    NodeSpec { name: name.into(), op, inputs: vec![input.into()], attrs, ..NodeSpec::default() }
}

fn function(name: &str, nodes: Vec<NodeSpec>, ret: &str) -> Function {
    Function {
        name: name.into(),
        signature: Signature::parse("x: float -> y: float", "").unwrap(),
        stateful: false,
        nodes,
        ret: [("y".to_owned(), ret.to_owned())].into(),
        control_ret: Default::default(),
        attrs: Attrs::default(),
        definition: name.to_owned().into(),
    }
}

/// A graph of a placeholder and a call `c` of `f`.
fn graph(registry: &Registry, functions: Vec<Function>) -> Graph {
    let x = NodeSpec {
        name: "x".into(),
        op: "Placeholder".into(),
        attrs: vec![("dtype".into(), DType::Float.into())],
        ..NodeSpec::default()
    };
    let mut graph = Graph::new();
    graph.extend(registry, vec![x, call("c", "f", "x")], functions, Versions::default()).unwrap();
    graph
}

/// Functions f, f39 ... f0, each of which calls the next one twice: 2 to the 40th bodies.
fn tree() -> Vec<Function> {
    let name = |level: usize| if level == 40 { "f".to_owned() } else { format!("f{level}") };
    let level = |level: usize| match level {
        0 => function("f0", Vec::new(), "x"),
        _ => {
            let below = name(level - 1);
            let nodes = vec![call("a", &below, "x"), call("b", &below, "a:output:0")];
            function(&name(level), nodes, "b:output:0")
        }
    };
    (0..=40).map(level).collect()
}

/// A tree of calls beyond the limit adds no node: the call answers RESOURCE_EXHAUSTED to the runs that need it.
#[test]
fn a_tree_of_calls_adds_nothing() {
    let registry = Registry::new(ALL).unwrap();
    let graph = graph(&registry, tree());
    let expanded = expand(&graph, &registry, ExpandOptions { nodes_max: 100_000, budget: None }).unwrap().unwrap();
    assert_eq!(expanded.graph.nodes().len(), graph.nodes().len());
    let failed = expanded.graph.node(expanded.graph.find("c").unwrap());
    assert_eq!(failed.attrs.int("code"), Ok(Code::ResourceExhausted as i64));
}

/// Functions that call themselves, alone, twice or in turn, end at a depth and within the limit on nodes.
#[test]
fn recursion_ends() {
    let registry = Registry::new(ALL).unwrap();
    let once = vec![function("f", vec![call("again", "f", "x")], "again:output:0")];
    let twice = vec![call("a", "f", "x"), call("b", "f", "a:output:0")];
    let twice = vec![function("f", twice, "b:output:0")];
    let in_turn = vec![
        function("f", vec![call("other", "g", "x")], "other:output:0"),
        function("g", vec![call("other", "f", "x")], "other:output:0"),
    ];
    for functions in [once, twice, in_turn] {
        let graph = graph(&registry, functions);
        let expanded = expand(&graph, &registry, ExpandOptions { nodes_max: 1 << 20, budget: None }).unwrap().unwrap();
        let nodes = expanded.graph.nodes();
        assert!((64..200_000).contains(&nodes.len()), "{}", nodes.len());
        assert!(nodes.iter().any(|node| node.attrs.int("code") == Ok(Code::ResourceExhausted as i64)));
    }
}

/// What bodies take is charged, and given back with the expansion; beyond the budget the graph is refused.
#[test]
fn bodies_are_charged() {
    let registry = Registry::new(ALL).unwrap();
    let graph = graph(
        &registry,
        tree().into_iter().map(|f| if f.name == "f" { function("f", Vec::new(), "x") } else { f }).collect(),
    );
    let budget = Budget::new("session", 1 << 20);
    let options = ExpandOptions { nodes_max: 1 << 20, budget: Some(&budget) };
    let expanded = expand(&graph, &registry, options).unwrap().unwrap();
    assert!(budget.used() > 0);
    drop(expanded);
    assert_eq!(budget.used(), 0);
    let small = Budget::new("session", 100);
    let refused = expand(&graph, &registry, ExpandOptions { nodes_max: 1 << 20, budget: Some(&small) });
    assert_eq!(refused.unwrap_err().code(), Code::ResourceExhausted);
}

fn node(name: &str, op: &str, inputs: &[&str], attrs: Vec<(&str, AttrValue)>) -> NodeSpec {
    let attrs = attrs.into_iter().map(|(name, value)| (name.into(), value)).collect();
    let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
    NodeSpec { name: name.into(), op: op.into(), inputs, attrs, ..NodeSpec::default() }
}

/// A function that calls itself behind an If gives the right value as deep as recursion may go, and deeper an error.
#[test]
fn factorial() {
    let registry = Arc::new(Registry::new(ALL).unwrap());
    let float = || vec![("T", AttrValue::from(DType::Float))];
    let one =
        || node("one", "Const", &[], vec![("dtype", DType::Float.into()), ("value", Tensor::scalar(1f32).into())]);
    let branch = |name: &str| AttrValue::Func(Arc::new(FuncRef { name: name.into(), attrs: Vec::new() }));
    let chosen = vec![
        ("Tcond", DType::Bool.into()),
        ("Tin", vec![DType::Float].into()),
        ("Tout", vec![DType::Float].into()),
        ("then_branch", branch("more")),
        ("else_branch", branch("last")),
    ];
    let whole = vec![
        one(),
        node("greater", "Greater", &["x", "one:output:0"], float()),
        node("if", "If", &["greater:z:0", "x"], chosen),
    ];
    let more = vec![
        one(),
        node("less", "Sub", &["x", "one:output:0"], float()),
        call("again", "f", "less:z:0"),
        node("product", "Mul", &["x", "again:output:0"], float()),
    ];
    let functions = vec![
        function("f", whole, "if:output:0"),
        function("more", more, "product:z:0"),
        function("last", vec![one()], "one:output:0"),
    ];
    let nodes = vec![node("x", "Placeholder", &[], vec![("dtype", DType::Float.into())]), call("c", "f", "x")];
    let graph = GraphSpec { nodes, functions, ..GraphSpec::default() };
    let server = Server::new(MasterOptions::new(registry), Arc::new(NoHost)).unwrap();
    block_on(async {
        let client = Client::new(Arc::new(server.clone()));
        let session = client.create_session(graph, SessionConfig::default()).await.unwrap();
        for (x, value) in [(0f32, 1f32), (1.0, 1.0), (5.0, 120.0), (10.0, 3_628_800.0)] {
            let outputs = session.run(&[("x:0", &Tensor::scalar(x))], &["c:0"], &[]).await.unwrap();
            assert_eq!(outputs.scalar::<f32>("c:0"), Ok(value));
        }
        let error = session.run(&[("x:0", &Tensor::scalar(100f32))], &["c:0"], &[]).await.unwrap_err();
        assert_eq!(error.code(), Code::ResourceExhausted, "{error}");
    });
}
