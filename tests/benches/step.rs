//! What a step costs in process: a node of a long chain, an iteration of a loop, a whole run of a two-scalar add.
//!
//! `cargo bench -p runstep-tests --bench step`; the last lines are `figure NAME VALUE UNIT`.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use runstep::graph::{AttrValue, Graph, GraphBuilder, Output, Versions};
use runstep::host::{Host, NoHost};
use runstep::ops::{ALL, Registry};
use runstep::program::{CompileContext, DeviceEnv, Program, RunSpec};
use runstep::resource::{NodeStates, ResourceManager};
use runstep::step::{Step, StepOptions};
use runstep::tensor::{DType, Tensor};

fn compile(registry: &Registry, mut builder: GraphBuilder<'_>, feeds: &[&str], fetch: &str) -> Arc<Program> {
    let mut graph = Graph::new();
    graph.extend(registry, builder.take_nodes(), Vec::new(), Versions::default()).unwrap();
    let device = "/job:localhost/replica:0/task:0/device:CPU:0";
    let devices = [DeviceEnv { name: device.into(), resources: Arc::new(ResourceManager::new(device, "localhost")) }];
    let host: Arc<dyn Host> = Arc::new(NoHost);
    let context = CompileContext {
        graph: &graph,
        devices: &devices,
        device_of: &|_| 0,
        states: &NodeStates::default(),
        host: &host,
    };
    let spec = RunSpec {
        feeds: feeds.iter().map(|f| f.to_string()).collect(),
        fetches: vec![fetch.into()],
        ..RunSpec::default()
    };
    let start = Instant::now();
    let program = Program::compile(&spec, &context).unwrap();
    println!(
        "compiled {} instructions in {} blocks in {:?}",
        program.num_instructions(),
        program.num_blocks(),
        start.elapsed()
    );
    Arc::new(program)
}

fn step(program: &Arc<Program>) -> Step {
    let options = StepOptions { host: Arc::new(NoHost), budget: None, deadline: None, step_id: 1, trace: false };
    Step::new(program.clone(), options)
}

/// Median nanoseconds of `rounds` timings of `f`.
fn median(rounds: usize, mut f: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_nanos() as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}

fn chain(registry: &Registry, nodes: usize) -> f64 {
    let mut b = GraphBuilder::new(registry);
    let x = b.placeholder("x", DType::Float, &[]).unwrap();
    let one = b.constant("one", Tensor::scalar(1.0f32)).unwrap();
    let mut last = x;
    for _ in 0..nodes {
        last = b.op("AddV2", "add", &[&last, &one]).unwrap().remove(0);
    }
    let fetch = last.name();
    let program = compile(registry, b, &["x:0"], &fetch);
    let mut step = step(&program);
    median(200, || {
        step.reset(None, 1);
        step.feed(0, Tensor::scalar(0.5f32)).unwrap();
        step.run_to_end().unwrap();
        black_box(step.take_fetch(0).unwrap());
    }) / nodes as f64
}

fn while_loop(registry: &Registry, iterations: i32) -> f64 {
    let mut b = GraphBuilder::new(registry);
    let zero = b.constant("zero", Tensor::scalar(0i32)).unwrap();
    let frame = || ("frame_name", AttrValue::from("loop"));
    let enter = b.op1("Enter", "enter", &[&zero], vec![frame()]).unwrap();
    let limit = b.constant("limit", Tensor::scalar(iterations)).unwrap();
    let limit = b.op1("Enter", "limit_in", &[&limit], vec![frame(), ("is_constant", true.into())]).unwrap();
    // The back edge is closed by name: its node comes later.
    let next = enter.clone();
    let merge = b.op("Merge", "merge", &[&enter, &next]).unwrap();
    let less = b.op("Less", "less", &[&merge[0], &limit]).unwrap();
    let cond = b.op("LoopCond", "cond", &[&less[0]]).unwrap();
    let switch: Vec<Output> = b.op("Switch", "switch", &[&merge[0], &cond[0]]).unwrap();
    b.op("Exit", "exit", &[&switch[0]]).unwrap();
    b.control_dependencies(&["switch"]);
    let one = b.constant("one", Tensor::scalar(1i32)).unwrap();
    b.control_dependencies(&[]);
    let add = b.op("AddV2", "add", &[&switch[1], &one]).unwrap();
    b.op("NextIteration", "next", &[&add[0]]).unwrap();
    let mut nodes = b.take_nodes();
    for node in nodes.iter_mut().filter(|n| n.name == "merge") {
        node.inputs[1] = "next:0".into();
    }
    let mut graph = Graph::new();
    graph.extend(registry, nodes, Vec::new(), Versions::default()).unwrap();
    let device = "/job:localhost/replica:0/task:0/device:CPU:0";
    let devices = [DeviceEnv { name: device.into(), resources: Arc::new(ResourceManager::new(device, "localhost")) }];
    let host: Arc<dyn Host> = Arc::new(NoHost);
    let context = CompileContext {
        graph: &graph,
        devices: &devices,
        device_of: &|_| 0,
        states: &NodeStates::default(),
        host: &host,
    };
    let spec = RunSpec { fetches: vec!["exit:0".into()], ..RunSpec::default() };
    let program = Arc::new(Program::compile(&spec, &context).unwrap());
    println!("loop: {} instructions in {} blocks", program.num_instructions(), program.num_blocks());
    let mut step = step(&program);
    median(50, || {
        step.reset(None, 1);
        step.run_to_end().unwrap();
        assert_eq!(step.take_fetch(0).unwrap().to_scalar::<i32>(), Ok(iterations));
    }) / f64::from(iterations)
}

fn add(registry: &Registry) -> f64 {
    let mut b = GraphBuilder::new(registry);
    let x = b.placeholder("x", DType::Float, &[]).unwrap();
    let y = b.placeholder("y", DType::Float, &[]).unwrap();
    let z = b.op("AddV2", "z", &[&x, &y]).unwrap();
    let program = compile(registry, b, &["x:0", "y:0"], &z[0].name());
    let mut step = step(&program);
    const RUNS: usize = 1000;
    median(200, || {
        for _ in 0..RUNS {
            step.reset(None, 1);
            step.feed(0, Tensor::scalar(0.5f32)).unwrap();
            step.feed(1, Tensor::scalar(0.25f32)).unwrap();
            step.run_to_end().unwrap();
            black_box(step.take_fetch(0).unwrap());
        }
    }) / RUNS as f64
}

fn main() {
    let registry = Registry::new(ALL).unwrap();
    let chain = chain(&registry, 10_000);
    let iteration = while_loop(&registry, 10_000);
    let run = add(&registry);
    println!("figure chain_node {chain:.1} ns");
    println!("figure loop_iteration {iteration:.1} ns");
    println!("figure step_add {run:.1} ns");
}
