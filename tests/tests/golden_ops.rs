//! Every golden case, run by the parts of a session put together by hand: import, placement, compilation, step.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use runstep::Status;
use runstep::device::DeviceSpec;
use runstep::graph::Graph;
use runstep::host::{Host, NoHost};
use runstep::ops::{ALL, Registry};
use runstep::program::{CompileContext, DeviceEnv, Program, RunSpec};
use runstep::resource::{NodeStates, ResourceManager};
use runstep::rewrite::{PlaceOptions, Placement, place};
use runstep::step::{Step, StepOptions};
use runstep::tensor::Tensor;
use runstep::wire::{self, GraphDef, Limits, TensorProto};
use runstep_tests::runner::{Engine, Otherwise, Session, check};

const DEVICE: &str = "/job:worker/replica:0/task:0/device:CPU:0";

struct Parts {
    registry: Arc<Registry>,
}

struct PartSession {
    registry: Arc<Registry>,
    graph: Graph,
    placement: Placement,
    devices: Vec<DeviceEnv>,
    states: NodeStates,
    host: Arc<dyn Host>,
}

impl Engine for Parts {
    type Session = PartSession;

    fn lacks(&self, graph: &[u8]) -> Option<String> {
        let graph: GraphDef = wire::decode(Bytes::copy_from_slice(graph), &Limits::default()).ok()?;
        graph.node.into_iter().map(|node| node.op).find(|op| self.registry.find(op).is_err())
    }

    fn create(&mut self, graph: &[u8], _config: &[u8]) -> Result<PartSession, Status> {
        let resources = Arc::new(ResourceManager::new(DEVICE, "worker"));
        let mut session = PartSession {
            registry: self.registry.clone(),
            graph: Graph::new(),
            placement: Placement::default(),
            devices: vec![DeviceEnv { name: DEVICE.into(), resources }],
            states: NodeStates::default(),
            host: Arc::new(NoHost),
        };
        session.extend(graph, 0)?;
        Ok(session)
    }
}

impl Session for PartSession {
    fn extend(&mut self, graph: &[u8], _version: i64) -> Result<(), Status> {
        let graph: GraphDef = wire::decode(Bytes::copy_from_slice(graph), &Limits::default())?;
        let spec = wire::graph_from_proto(graph, None)?;
        self.graph.extend(&self.registry, spec.nodes, spec.functions, spec.versions)?;
        let device = [DeviceSpec::cpu("worker", 0, 0)];
        self.placement = place(&self.graph, &device, &self.placement, PlaceOptions::default())?;
        Ok(())
    }

    fn run(
        &mut self,
        feeds: &[(String, TensorProto)],
        fetches: &[String],
        targets: &[String],
    ) -> Result<BTreeMap<String, Tensor>, Status> {
        let names: Vec<String> = feeds.iter().map(|(name, _)| name.clone()).collect();
        let spec = RunSpec { feeds: names, fetches: fetches.to_vec(), targets: targets.to_vec(), ..RunSpec::default() };
        let context = CompileContext {
            graph: &self.graph,
            devices: &self.devices,
            device_of: &|node| self.placement.device_of(node),
            states: &self.states,
            host: &self.host,
        };
        let program = Arc::new(Program::compile(&spec, &context)?);
        let options = StepOptions { host: self.host.clone(), budget: None, deadline: None, step_id: 1, trace: false };
        let mut step = Step::new(program, options);
        for (i, (_, value)) in feeds.iter().enumerate() {
            step.feed(i, wire::tensor_from_proto(value, None)?)?;
        }
        step.run_to_end()?;
        fetches.iter().enumerate().map(|(i, name)| Ok((name.clone(), step.take_fetch(i)?))).collect()
    }
}

const RANK: &str = "a rank above 8 is refused";
const SIZE: &str = "a dimension above 2^32 - 1 is refused";
const DTYPE: &str = "a variable has the dtype of its handle from the start, not that of its first value";

/// Where this system means to answer otherwise than TensorFlow.
const OTHERWISE: &[(&str, &Otherwise)] = &[
    ("nn", &[("MaxPool/float32", &[23], "there is no pooling over channels")]),
    ("sources", &[("Placeholder/undecodable feeds", &[8], SIZE), ("Placeholder/undecodable feeds", &[9], RANK)]),
    (
        "state",
        &[
            ("AssignVariableOp/validate_shape and dtypes", &[0, 2, 4, 5, 6, 7], DTYPE),
            ("VarHandleOp/shared names", &[6, 15], DTYPE),
        ],
    ),
    ("lists", &[("TensorListScatter/rows", &[17, 20], PAST_END), ("TensorListConcat/[2]", &[159, 160], PAST_END)]),
];

const PAST_END: &str = "TensorFlow reads elements past their end when they do not have the shape that was told";

fn family(name: &str) {
    let registry = Arc::new(Registry::new(ALL).unwrap());
    let otherwise = OTHERWISE.iter().find(|(family, _)| *family == name).map_or(&[][..], |(_, list)| list);
    check(&mut Parts { registry }, name, otherwise);
}

#[test]
fn elementwise() {
    family("elementwise");
}

#[test]
fn arrays() {
    family("arrays");
}

#[test]
fn places() {
    family("places");
}

#[test]
fn sources() {
    family("sources");
}

#[test]
fn reductions() {
    family("reductions");
}

#[test]
fn segments() {
    family("segments");
}

#[test]
fn linear() {
    family("linear");
}

#[test]
fn nn() {
    family("nn");
}

#[test]
fn state() {
    family("state");
}

#[test]
fn streams() {
    family("streams");
}

#[test]
fn lists() {
    family("lists");
}

#[test]
fn queues() {
    family("queues");
}

#[test]
fn control_flow() {
    family("control_flow");
}
