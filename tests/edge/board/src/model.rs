//! The graph that the board trains: a line through points, by gradient descent, one point a step.

use alloc::string::String;
use alloc::vec::Vec;
use runstep::Status;
use runstep::graph::{GraphBuilder, Output};
use runstep::ops::{ALL, Op, Registry, pick};
use runstep::service::GraphSpec;
use runstep::tensor::{DType, Tensor};

/// The ops of the graph and no others.
static OPS: [&Op; 9] =
    pick(ALL, ["Placeholder", "Const", "NoOp", "VariableV2", "Assign", "AssignSub", "Mul", "AddV2", "Sub"]);

/// The registry of these ops.
pub(crate) fn registry() -> Result<Registry, Status> {
    Registry::new(&[&OPS])
}

/// What a client runs, by name.
pub(crate) struct Line {
    pub(crate) graph: GraphSpec,
    /// Sets both parameters to 0.
    pub(crate) initialise: String,
    /// Feeds `x:0` and `y:0`, moves both parameters.
    pub(crate) train: String,
}

/// `prediction = slope · x + offset`; the gradient of half the squared error is error · x for the slope and the error
/// itself for the offset.
pub(crate) fn line(registry: &Registry, rate: f32) -> Result<Line, Status> {
    let mut g = GraphBuilder::new(registry);
    let x = g.placeholder("x", DType::Float, &[])?;
    let y = g.placeholder("y", DType::Float, &[])?;
    let zero = g.constant("zero", Tensor::scalar(0.0f32))?;
    let rate = g.constant("rate", Tensor::scalar(rate))?;
    let slope = g.variable("slope", DType::Float, &[])?;
    let offset = g.variable("offset", DType::Float, &[])?;
    let mut initialise = Vec::new();
    for parameter in [&slope, &offset] {
        initialise.push(op(&mut g, "Assign", "set", &[parameter, &zero])?);
    }
    let rise = op(&mut g, "Mul", "rise", &[&slope, &x])?;
    let prediction = op(&mut g, "AddV2", "prediction", &[&rise, &offset])?;
    let error = op(&mut g, "Sub", "error", &[&prediction, &y])?;
    let step = op(&mut g, "Mul", "step", &[&rate, &error])?;
    let slope_step = op(&mut g, "Mul", "slope_step", &[&step, &x])?;
    let moved = [
        op(&mut g, "AssignSub", "move_slope", &[&slope, &slope_step])?,
        op(&mut g, "AssignSub", "move_offset", &[&offset, &step])?,
    ];
    let initialise = group(&mut g, "initialise", &initialise)?;
    let train = group(&mut g, "train", &moved)?;
    Ok(Line { graph: GraphSpec { nodes: g.take_nodes(), ..GraphSpec::default() }, initialise, train })
}

fn op(g: &mut GraphBuilder<'_>, op: &str, name: &str, inputs: &[&Output]) -> Result<Output, Status> {
    g.op1(op, name, inputs, Vec::new())
}

fn group(g: &mut GraphBuilder<'_>, name: &str, of: &[Output]) -> Result<String, Status> {
    let nodes: Vec<&str> = of.iter().map(Output::node).collect();
    g.group(name, &nodes)
}
