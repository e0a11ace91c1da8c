//! While becomes a loop frame around calls of its condition and its body.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::branches::is_lowered;
use super::{Expander, Failure, Mode, New, Of, Replaced, ops};
use crate::Status;
use crate::graph::{AttrValue, Edge, FuncRef, Node, NodeId};
use crate::tensor::DType;

/// A value of the loop while the loop is made.
struct Value {
    dtype: DType,
    /// Every iteration has the same value.
    same: bool,
    /// In the loop: the Merge, or the Enter of a value that stays the same.
    inside: Edge,
    /// What the body gets.
    taken: Edge,
    /// What comes out at the end.
    exit: Option<Edge>,
}

impl Expander<'_> {
    /// Expands a While.
    pub(super) fn whilst(
        &mut self,
        id: NodeId,
        node: &Node,
        cond: &Arc<FuncRef>,
        body: &Arc<FuncRef>,
    ) -> Result<(), Failure> {
        if node.inputs.is_empty() {
            return Err(Failure::Run(Status::invalid_argument("a While needs at least one loop variable")));
        }
        let of = Of { name: node.name.clone(), device: node.device.clone(), scope: self.scope_of[id.index()] };
        let lowered = is_lowered(node);
        // What is not lowered runs one iteration after the other.
        let parallel = match lowered {
            true => node.attrs.int("parallel_iterations").unwrap_or(10),
            false => 1,
        };
        let mode = if lowered { Mode::Lowered } else { Mode::Kernel { single_device: false } };
        let cond_name = self.part(&of.name, "cond");
        let body_name = self.part(&of.name, "body");
        let (inputs, controls) = match lowered {
            true if node.controls.is_empty() => (node.inputs.clone(), Vec::new()),
            true => (node.inputs.clone(), alloc::vec![self.no_op(&of, "LoopControlInputs", node.controls.clone())]),
            false => {
                let (inputs, gate) = self.gate(&of, &node.inputs, node.controls.clone());
                (inputs, gate.into_iter().collect())
            }
        };
        let same = self.unchanged(body, &inputs);
        let mut values: Vec<Value> = Vec::with_capacity(inputs.len());
        for (&input, same) in inputs.iter().zip(same) {
            let dtype = self.dtype(input);
            let attrs = alloc::vec![
                ("T".into(), dtype.into()),
                ("frame_name".into(), (&*of.name).into()),
                ("is_constant".into(), same.into()),
                ("parallel_iterations".into(), AttrValue::Int(parallel)),
            ];
            let new = New { of: &of, part: "enter", op: self.ops.enter.clone(), attrs };
            let enter = self.add(new, alloc::vec![input], controls.clone(), &[dtype]);
            let inside = Edge { node: enter, port: 0 };
            values.push(Value { dtype, same, inside, taken: inside, exit: None });
        }
        for value in values.iter_mut().filter(|value| !value.same) {
            // The other input, from the end of the body, is filled in below.
            value.inside = self.merge(&of, "merge", alloc::vec![value.inside, value.inside], Vec::new());
        }
        let merge = values.iter().find(|value| !value.same).map(|value| value.inside.node);
        let condition = self.condition(&of, cond_name, cond, mode, &values, merge.into_iter().collect());
        let mut pivot = None;
        for value in values.iter_mut().filter(|value| !value.same) {
            let switch = self.switch(&of, "switch", value.inside, condition);
            value.taken = Edge { node: switch, port: 1 };
            let attrs = alloc::vec![("T".into(), value.dtype.into())];
            let new = New { of: &of, part: "exit", op: self.ops.exit.clone(), attrs };
            let exit = self.add(new, alloc::vec![Edge { node: switch, port: 0 }], Vec::new(), &[value.dtype]);
            value.exit = Some(Edge { node: exit, port: 0 });
            pivot.get_or_insert(value.taken);
        }
        let pivot = pivot.map(|taken| self.identity(&of, "loop_body_control", taken, Vec::new()).node);
        let types: Vec<DType> = values.iter().map(|value| value.dtype).collect();
        let taken = values.iter().map(|value| value.taken).collect();
        let call = self.call_node(&of, body_name, taken, pivot.into_iter().collect(), &types);
        self.calls.insert(call, (body.clone(), mode));
        for (port, value) in (0u32..).zip(&values).filter(|(_, value)| !value.same) {
            let attrs = alloc::vec![("T".into(), value.dtype.into())];
            let new = New { of: &of, part: "next_iteration", op: self.ops.next_iteration.clone(), attrs };
            let from = Edge { node: call, port };
            let next = self.add(new, alloc::vec![from], alloc::vec![call], &[value.dtype]);
            if let Some(back) = self.nodes[value.inside.node.index()].inputs.get_mut(1) {
                *back = Edge { node: next, port: 0 };
            }
        }
        self.outcome(id, &of, &inputs, &values, lowered);
        Ok(())
    }

    /// Which values the body passes on as they are; at least one is left out, since something must go round.
    fn unchanged(&mut self, body: &FuncRef, inputs: &[Edge]) -> Vec<bool> {
        let mut same = alloc::vec![false; inputs.len()];
        let Ok(body) = self.body(body) else { return same };
        if body.rets.len() != inputs.len() || body.args.len() != inputs.len() {
            return same;
        }
        for ((at, same), ret) in (0..).zip(same.iter_mut()).zip(&body.rets) {
            *same = *ret == Edge { node: NodeId(at), port: 0 };
        }
        if same.iter().all(|same| *same) {
            let first = inputs.iter().position(|input| !ops::is_placed(self.dtype(*input))).unwrap_or(0);
            if let Some(same) = same.get_mut(first) {
                *same = false;
            }
        }
        same
    }

    fn condition(
        &mut self,
        of: &Of,
        name: Arc<str>,
        cond: &Arc<FuncRef>,
        mode: Mode,
        values: &[Value],
        controls: Vec<NodeId>,
    ) -> Edge {
        let inputs = values.iter().map(|value| value.inside).collect();
        let dtype = self.body(cond).ok().and_then(|cond| cond.ret_types.first().copied()).unwrap_or(DType::Bool);
        let call = self.call_node(of, name, inputs, controls, &[dtype]);
        self.calls.insert(call, (cond.clone(), mode));
        let truth = self.truth(of, Edge { node: call, port: 0 }, mode == Mode::Lowered);
        let new = New { of, part: "LoopCond", op: self.ops.loop_cond.clone(), attrs: Vec::new() };
        Edge { node: self.add(new, alloc::vec![truth], Vec::new(), &[DType::Bool]), port: 0 }
    }

    fn outcome(&mut self, id: NodeId, of: &Of, inputs: &[Edge], values: &[Value], lowered: bool) {
        let exits = values.iter().filter_map(|value| value.exit).map(|exit| exit.node).collect();
        let executed = self.no_op(of, "executed", exits);
        let mut outputs = Vec::with_capacity(values.len());
        for (&input, value) in inputs.iter().zip(values) {
            outputs.push(match value.exit {
                Some(exit) => exit,
                None => self.identity(of, "output", input, alloc::vec![executed]),
            });
        }
        let kept = |value: &Value| lowered || ops::is_placed(value.dtype);
        let replaced = Replaced {
            outputs: outputs.iter().zip(values).map(|(output, value)| kept(value).then_some(*output)).collect(),
            control: lowered.then_some(executed),
        };
        self.replaced.insert(id, replaced);
        self.stand_in(id, outputs, alloc::vec![executed]);
    }
}
