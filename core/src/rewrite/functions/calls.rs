//! A call becomes the body of its function.

use alloc::format;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::body::Body;
use super::ops::CALL_NAME as CALL;
use super::{Expander, Failure, Mode, New, Of, Replaced, ops};
use crate::Status;
use crate::device::DeviceSpec;
use crate::graph::{AttrValue, Attrs, Edge, FuncRef, Node, NodeId};
use crate::ops::Role;
use crate::tensor::{DType, Str};

impl Expander<'_> {
    /// Expands the call `id` of `func`.
    pub(super) fn call(&mut self, id: NodeId, node: &Node, func: &FuncRef, mode: Mode) -> Result<(), Failure> {
        // What the graph's own nodes call TensorFlow wants to know at once; what kernels and functions call only runs notice.
        let own = self.scope_of[id.index()] == 0 && (mode == Mode::Lowered || node.op.name != CALL);
        let Some(function) = self.library.function(&func.name) else {
            let name = func.name.escape_debug();
            return Err(match own {
                true => Failure::Session(
                    Status::invalid_argument(format_args!("Failed to find function \"{name}\" in function library"))
                        .at_node(&node.name),
                ),
                false => Failure::Run(Status::not_found(format_args!("Function {name} is not defined."))),
            });
        };
        let given = |name: &str| func.attrs.iter().any(|(given, _)| **given == *name);
        let absent = function.signature.attrs.iter().find(|def| def.default.is_none() && !given(&def.name));
        if let Some(absent) = absent.filter(|_| own) {
            let error = Status::not_found(format_args!("No attr named '{}' in the call", absent.name));
            return Err(Failure::Session(error.at_node(&node.name)));
        }
        let body = self.body(func)?;
        check(node, &body, mode)?;
        let scope = self.enter(id, func, &body)?;
        let of = Of { name: node.name.clone(), device: node.device.clone(), scope };
        match mode {
            Mode::Kernel { single_device } => self.as_kernel(id, node, &body, &of, single_device),
            Mode::Lowered => self.lowered(id, node, &body, &of),
        }
        Ok(())
    }

    fn as_kernel(&mut self, id: NodeId, node: &Node, body: &Body, of: &Of, single_device: bool) {
        let (args, gate) = self.gate(of, &node.inputs, node.controls.clone());
        let copy = self.copy(body, of, &args, gate, single_device);
        let effects: Vec<NodeId> = body.effects.iter().map(|id| copy.node(*id)).collect();
        // Where parts of the body may be dead, effects in them must not make the outputs dead.
        let mut controls = match body.has_switch && !effects.is_empty() {
            true => {
                let new = New { of, part: "effects", op: self.ops.trigger.clone(), attrs: Vec::new() };
                alloc::vec![self.add(new, Vec::new(), effects, &[])]
            }
            false => effects,
        };
        controls.extend(gate);
        let mut rets: Vec<Edge> = body.rets.iter().map(|edge| copy.edge(*edge)).collect();
        let mut replaced = Replaced::default();
        if body.ret_types.iter().any(|dtype| ops::is_placed(*dtype)) {
            // Consumers of a resource must not be tied to the devices of the others.
            for ret in rets.iter_mut() {
                let own = ops::is_placed(self.dtype(*ret)).then(|| self.identity(of, "output", *ret, controls.clone()));
                *ret = own.unwrap_or(*ret);
                replaced.outputs.push(own);
            }
            self.replaced.insert(id, replaced);
        }
        self.stand_in(id, rets, controls);
    }

    fn lowered(&mut self, id: NodeId, node: &Node, body: &Body, of: &Of) {
        let gate = match node.controls.is_empty() {
            true => None,
            false => Some(self.no_op(of, "input_control_node", node.controls.clone())),
        };
        let args: Vec<Edge> =
            node.inputs.iter().map(|edge| self.identity(of, "input", *edge, gate.into_iter().collect())).collect();
        let copy = self.copy(body, of, &args, gate, false);
        let outputs: Vec<Edge> =
            body.rets.iter().map(|edge| self.identity(of, "output", copy.edge(*edge), Vec::new())).collect();
        let mut effects: Vec<NodeId> = body.control_rets.iter().map(|id| copy.node(*id)).collect();
        if effects.is_empty() {
            effects.extend(gate);
        }
        let done = self.no_op(of, "output_control_node", effects);
        let replaced = Replaced { outputs: outputs.iter().copied().map(Some).collect(), control: Some(done) };
        self.replaced.insert(id, replaced);
        self.stand_in(id, outputs, alloc::vec![done]);
    }

    /// Copies a body's nodes; those without inputs wait for `gate`.
    fn copy(&mut self, body: &Body, of: &Of, args: &[Edge], gate: Option<NodeId>, single_device: bool) -> Copy {
        let first = self.nodes.len() as u32;
        let copy = Copy { args: args.to_vec(), first };
        let caller = DeviceSpec::parse(&of.device).filter(|spec| !spec.is_empty());
        let mut merged: Option<(Arc<str>, Arc<str>)> = None;
        for node in body.graph.nodes().iter().skip(args.len()) {
            let device = match (&caller, node.device.is_empty() || single_device, &merged) {
                (_, true, _) => of.device.clone(),
                (None, false, _) => node.device.clone(),
                (Some(_), false, Some((from, to))) if *from == node.device => to.clone(),
                (Some(caller), false, _) => match DeviceSpec::parse(&node.device) {
                    Some(own) => {
                        let device: Arc<str> = caller.narrowed_to(&own).to_string().into();
                        merged = Some((node.device.clone(), device.clone()));
                        device
                    }
                    None => node.device.clone(),
                },
            };
            let mut controls: Vec<NodeId> = node.controls.iter().map(|id| copy.node(*id)).collect();
            if node.inputs.is_empty() && controls.is_empty() {
                controls.extend(gate);
            }
            let name = self.unique(format!("{}/{}", of.name, node.name));
            let new = Node {
                name,
                op: node.op.clone(),
                device,
                inputs: node.inputs.iter().map(|edge| copy.edge(*edge)).collect(),
                controls,
                attrs: self.attrs(node, body, of, args),
                input_types: node.input_types.clone(),
                output_types: node.output_types.clone(),
            };
            self.push(new, of.scope);
        }
        copy
    }

    /// A node's attributes with the call's name before names in them: of loop frames, and of nodes to be together with.
    fn attrs(&self, node: &Node, body: &Body, of: &Of, args: &[Edge]) -> Attrs {
        let mut attrs = node.attrs.clone();
        if node.role() == Role::Enter
            && let Ok(frame) = node.attrs.str("frame_name")
        {
            attrs.set("frame_name", format!("{}/{frame}", of.name).as_str().into());
        }
        let Some(AttrValue::List(entries)) = node.attrs.get("_class") else { return attrs };
        let located = |entry: &AttrValue| {
            let AttrValue::Str(text) = entry else { return entry.clone() };
            let name = core::str::from_utf8(text).ok().and_then(|text| text.strip_prefix("loc:@"));
            let Some(name) = name else { return entry.clone() };
            let arg = || body.graph.nodes().iter().take(args.len()).position(|arg| *arg.name == *name);
            let name = match (body.names.contains_key(name), arg().and_then(|arg| args.get(arg))) {
                (true, _) => format!("loc:@{}/{name}", of.name),
                (false, Some(arg)) => format!("loc:@{}", self.nodes[arg.node.index()].name),
                (false, None) => return entry.clone(),
            };
            AttrValue::Str(Str::from(name.into_bytes()))
        };
        attrs.set("_class", AttrValue::List(entries.iter().map(located).collect()));
        attrs
    }
}

/// Where the nodes of a body went.
struct Copy {
    args: Vec<Edge>,
    first: u32,
}

impl Copy {
    fn edge(&self, edge: Edge) -> Edge {
        match self.args.get(edge.node.index()) {
            Some(arg) => *arg,
            None => Edge { node: self.node(edge.node), port: edge.port },
        }
    }

    fn node(&self, id: NodeId) -> NodeId {
        match self.args.get(id.index()) {
            Some(arg) => arg.node,
            None => NodeId(self.first + (id.0 - self.args.len() as u32)),
        }
    }
}

/// Whether a call gives and takes what its function takes and gives.
fn check(node: &Node, body: &Body, mode: Mode) -> Result<(), Status> {
    let same = |node: &[(DType, bool)], function: &[DType], what: &str| {
        if node.len() != function.len() {
            return Err(Status::invalid_argument(format_args!(
                "the call has {} {what}, its function {}",
                node.len(),
                function.len()
            )));
        }
        match node.iter().zip(function).position(|(node, function)| node.0 != *function) {
            Some(at) => Err(Status::invalid_argument(format_args!(
                "the call's {what} do not fit its function: {} != {} @ index={at}",
                node[at].0, function[at]
            ))),
            None => Ok(()),
        }
    };
    if node.inputs.len() != node.input_types.len() {
        return Err(Status::invalid_argument(format_args!(
            "op {} needs {} inputs, {} are given",
            node.op.name,
            node.input_types.len(),
            node.inputs.len()
        )));
    }
    same(&node.input_types, &body.args, "inputs")?;
    // TensorFlow finds outputs of another type when they are made, and calls that INTERNAL.
    let late =
        matches!(mode, Mode::Kernel { .. }) && node.op.name != CALL && node.output_types.len() == body.ret_types.len();
    same(&node.output_types, &body.ret_types, "outputs")
        .map_err(|error| if late { error.with_code(crate::Code::Internal) } else { error })
}
