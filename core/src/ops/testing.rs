//! One node run by itself, for the tests of families: attributes are inferred, and every run is made twice.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use super::signature::ArgType;
use super::{ALL, Ctx, Env, Kernel, NodeContext, OpInfo, Signature, arg, shape};
use crate::Status;
use crate::graph::{AttrValue, Attrs, Node};
use crate::host::NoHost;
use crate::resource::{NodeStates, ResourceManager, StepResources};
use crate::tensor::{DType, Element, Shape, Str, Tensor};

/// A tensor of these elements.
pub(crate) fn tensor<T: Element>(dims: &[usize], elements: &[T]) -> Tensor {
    Tensor::from_slice(dims, elements).unwrap()
}

/// A tensor of these strings.
pub(crate) fn strings(dims: &[usize], elements: &[&'static str]) -> Tensor {
    let strings = elements.iter().map(|s| Str::from_static(s.as_bytes())).collect();
    Tensor::from_strings(Shape::new(dims).unwrap(), strings).unwrap()
}

/// A device's state, for tests of several nodes that share it.
pub(crate) struct Device {
    device: Arc<str>,
    pub(crate) resources: Arc<ResourceManager>,
    pub(crate) states: NodeStates,
}

impl Device {
    pub(crate) fn new() -> Device {
        let device = "/job:localhost/replica:0/task:0/device:CPU:0";
        Device {
            device: device.into(),
            resources: Arc::new(ResourceManager::new(device, "localhost")),
            states: NodeStates::default(),
        }
    }

    /// A node of `op` whose attributes are those given, those that follow from the inputs, and defaults.
    pub(crate) fn node(&self, op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Result<Node, Status> {
        let op = ALL.iter().flat_map(|f| f.iter()).find(|o| o.name == op).unwrap_or_else(|| panic!("no op {op}"));
        let signature = Signature::parse(op.args, op.attrs)?;
        let op = Arc::new(OpInfo { name: op.name.into(), signature, op: Some(op) });
        let mut all = Attrs::new(attrs.iter().map(|(n, v)| (Arc::from(*n), v.clone())).collect());
        let mut at = 0;
        let last = op.signature.inputs.len();
        for (i, arg) in op.signature.inputs.iter().enumerate() {
            let count = match &arg.count {
                Some(name) => {
                    let rest = inputs.len().saturating_sub(at + last - i - 1) as i64;
                    if all.get(name).is_none() {
                        all.set(name, rest.into());
                    }
                    all.int(name)? as usize
                }
                None => 1,
            };
            if let (ArgType::Attr(name), Some(input), false) = (&arg.ty, inputs.get(at), arg.is_ref)
                && all.get(name).is_none()
                && op.signature.attr(name).is_some_and(|def| !def.is_list)
            {
                all.set(name, input.dtype().into());
            }
            at += count;
        }
        for def in &op.signature.attrs {
            match all.get(&def.name) {
                Some(value) => def.check(value)?,
                None => all.set(&def.name, def.default.clone().unwrap_or_else(|| panic!("no attr {}", def.name))),
            }
        }
        Ok(Node {
            name: "node".into(),
            input_types: Signature::arg_types(&op.signature.inputs, &all)?,
            output_types: Signature::arg_types(&op.signature.outputs, &all)?,
            op,
            device: "".into(),
            inputs: Vec::new(),
            controls: Vec::new(),
            attrs: all,
        })
    }

    /// The kernel of a node whose inputs of these numbers are constants.
    pub(crate) fn kernel(&self, node: &Node, constants: &[Option<Tensor>]) -> Result<Box<dyn Kernel>, Status> {
        let make = node.op.op.and_then(|op| op.kernel).unwrap();
        let context = NodeContext {
            node,
            constants,
            device: &self.device,
            resources: &self.resources,
            states: &self.states,
            host: &NoHost,
        };
        make(&context)
    }

    /// Makes and runs a node once.
    pub(crate) fn run(&self, op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Result<Vec<Tensor>, Status> {
        self.run_named("node", op, attrs, inputs)
    }

    /// As [`Device::run`], for a node of this name.
    pub(crate) fn run_named(
        &self,
        name: &str,
        op: &str,
        attrs: &[(&str, AttrValue)],
        inputs: &[Tensor],
    ) -> Result<Vec<Tensor>, Status> {
        let mut node = self.node(op, attrs, inputs)?;
        node.name = name.into();
        let kernel = self.kernel(&node, &vec![None; inputs.len()])?;
        let mut outputs = vec![Tensor::default(); node.output_types.len()];
        call(&*kernel, inputs, &mut outputs)?;
        check(&node, inputs, &outputs);
        Ok(outputs)
    }
}

/// Runs a kernel on inputs that it may take and on outputs of the run before.
pub(crate) fn call(kernel: &dyn Kernel, inputs: &[Tensor], outputs: &mut Vec<Tensor>) -> Result<(), Status> {
    call_moved(kernel, inputs.to_vec(), outputs)
}

/// As [`call`], on inputs that nobody else holds.
pub(crate) fn call_moved(kernel: &dyn Kernel, inputs: Vec<Tensor>, outputs: &mut Vec<Tensor>) -> Result<(), Status> {
    let (n, m) = (inputs.len() as u32, outputs.len() as u32);
    let args: Vec<u32> =
        (0..n).map(|i| arg::SLOT | arg::LAST_USE | i).chain((n..n + m).map(|i| arg::SLOT | i)).collect();
    let mut slots: Vec<Tensor> = inputs.into_iter().chain(outputs.drain(..)).collect();
    let missing = Tensor::default();
    let resources = StepResources::default();
    let env = Env { host: &NoHost, budget: None, step_id: 1, resources: &resources };
    let mut scratch = Vec::new();
    let mut ctx = Ctx {
        env: &env,
        args: &args,
        num_inputs: n as usize,
        slots: &mut slots,
        invariants: &[],
        constants: &[],
        missing: &missing,
        scratch: &mut scratch,
    };
    let result = kernel.run(&mut ctx);
    outputs.extend(slots.drain(n as usize..));
    result
}

/// The outputs have the dtypes of the signature and shapes that the shape function allows, whether it sees the inputs'
/// values or not.
fn check(node: &Node, inputs: &[Tensor], outputs: &[Tensor]) {
    let name = &node.op.name;
    for (output, &(dtype, is_ref)) in outputs.iter().zip(&node.output_types) {
        assert_eq!(output.dtype(), if is_ref { DType::Resource } else { dtype }, "{name}");
    }
    let shape_of = node.op.op.and_then(|op| op.shape).unwrap_or_else(|| panic!("{name} has no shape function"));
    let shapes: Vec<_> = inputs.iter().map(|t| t.shape().into()).collect();
    let known: Vec<_> = inputs.iter().cloned().map(Some).collect();
    let unknown = vec![None; inputs.len()];
    for constants in [&known, &unknown] {
        let found = shape_of(&shape::ShapeContext { node, inputs: &shapes, constants }).unwrap();
        assert_eq!(found.len(), outputs.len(), "{name}");
        for ((shape, output), &(_, is_ref)) in found.iter().zip(outputs).zip(&node.output_types) {
            assert!(is_ref || shape.admits(output.shape()), "{name}: {shape} is not {}", output.shape());
        }
    }
}

/// The same elements in memory of their own.
fn copied(tensor: &Tensor) -> Tensor {
    let mut copy = match Tensor::zeros(tensor.dtype(), tensor.shape(), None) {
        Ok(copy) => copy,
        Err(_) => return tensor.clone(),
    };
    match copy.bytes_mut() {
        Some(to) => to.copy_from_slice(tensor.bytes()),
        None => return tensor.clone(),
    }
    copy
}

fn bytes_of(outputs: &[Tensor]) -> Vec<(Shape, Vec<u8>, String)> {
    let text = |t: &Tensor| if t.dtype().is_plain() { String::new() } else { alloc::format!("{t:?}") };
    outputs.iter().map(|t| (t.shape().clone(), t.bytes().to_vec(), text(t))).collect()
}

/// Runs a pure op on its own, twice: on shared inputs and fresh outputs, then on inputs that may be overwritten and the
/// outputs of a run before. Both must agree; the outputs are those of the last.
pub(crate) fn run(op: &str, attrs: &[(&str, AttrValue)], inputs: &[Tensor]) -> Result<Vec<Tensor>, Status> {
    let device = Device::new();
    let node = device.node(op, attrs, inputs)?;
    let kernel = device.kernel(&node, &vec![None; inputs.len()])?;
    let mut outputs = vec![Tensor::default(); node.output_types.len()];
    call(&*kernel, inputs, &mut outputs)?;
    check(&node, inputs, &outputs);
    let first = bytes_of(&outputs);
    for round in 0..2 {
        let own: Vec<Tensor> = inputs.iter().map(copied).collect();
        call(&*kernel, &{ own }, &mut outputs)?;
        assert_eq!(first, bytes_of(&outputs), "{op}, round {round}");
    }
    // What is constant may be prepared when the kernel is made.
    let constants: Vec<_> = inputs.iter().cloned().map(Some).collect();
    let prepared = device.kernel(&node, &constants)?;
    let mut again = vec![Tensor::default(); node.output_types.len()];
    call(&*prepared, inputs, &mut again)?;
    check(&node, inputs, &again);
    assert_eq!(first, bytes_of(&again), "{op} with constants");
    Ok(outputs)
}
