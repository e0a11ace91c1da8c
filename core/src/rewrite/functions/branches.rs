//! If and Case become Switch and Merge nodes around a call a branch.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Expander, Failure, Mode, New, Of, Replaced, ops};
use crate::graph::{AttrValue, Edge, FuncRef, Node, NodeId};
use crate::tensor::DType;

/// What chooses the branch.
enum Selector {
    /// A truth value: branch 0 is the false one.
    Truth(Edge),
    /// For each branch whether it is taken.
    Taken(NodeId),
}

impl Expander<'_> {
    /// Expands an If (of which branch 0 is the false one) or a Case.
    pub(super) fn branches(
        &mut self,
        id: NodeId,
        node: &Node,
        functions: &[Arc<FuncRef>],
        is_if: bool,
    ) -> Result<(), Failure> {
        let of = Of { name: node.name.clone(), device: node.device.clone(), scope: self.scope_of[id.index()] };
        let lowered = is_lowered(node);
        let (inputs, controls) = match lowered {
            true => (node.inputs.clone(), node.controls.clone()),
            false => {
                let (inputs, gate) = self.gate(&of, &node.inputs, node.controls.clone());
                (inputs, gate.into_iter().collect())
            }
        };
        let Some((&chooser, inputs)) = inputs.split_first() else {
            return Err(Failure::Run(crate::Status::invalid_argument("nothing chooses the branch")));
        };
        let names: Vec<Arc<str>> = (0..functions.len())
            .map(|branch| match (is_if, branch) {
                (true, 0) => self.part(&of.name, "else"),
                (true, _) => self.part(&of.name, "then"),
                (false, branch) => self.part(&of.name, &format!("branch{branch}")),
            })
            .collect();
        let selector = match is_if {
            true => self.if_selector(&of, chooser, lowered, controls),
            false => self.case_selector(&of, chooser, functions.len(), controls),
        };
        let pivots = self.pivots(&of, &selector, functions.len());
        let mut taken: Vec<Vec<Edge>> = alloc::vec![Vec::with_capacity(inputs.len()); functions.len()];
        for &input in inputs {
            let sides = self.sides(&of, "switch", input, &selector, functions.len());
            taken.iter_mut().zip(sides).for_each(|(branch, side)| branch.push(side));
        }
        let outputs: Vec<DType> = node.output_types.iter().map(|output| output.0).collect();
        let mode = if lowered { Mode::Lowered } else { Mode::Kernel { single_device: false } };
        let mut calls = Vec::with_capacity(functions.len());
        for (((function, inputs), pivot), name) in functions.iter().zip(taken).zip(&pivots).zip(names) {
            let call = self.call_node(&of, name, inputs, alloc::vec![pivot.node], &outputs);
            self.calls.insert(call, (function.clone(), mode));
            calls.push(call);
        }
        let merges: Vec<Edge> = (0u32..)
            .zip(&outputs)
            .map(|(port, _)| {
                let inputs = calls.iter().map(|&node| Edge { node, port }).collect();
                self.merge(&of, "output", inputs, Vec::new())
            })
            .collect();
        let executed = self.merge(&of, "branch_executed", pivots, calls).node;
        let kept = |edge: &Edge| lowered || ops::is_placed(self.dtype(*edge));
        let replaced = Replaced {
            outputs: merges.iter().map(|edge| kept(edge).then_some(*edge)).collect(),
            control: lowered.then_some(executed),
        };
        self.replaced.insert(id, replaced);
        self.stand_in(id, merges, alloc::vec![executed]);
        Ok(())
    }

    fn case_selector(&mut self, of: &Of, chooser: Edge, count: usize, controls: Vec<NodeId>) -> Selector {
        let attrs = alloc::vec![("N".into(), AttrValue::Int(count as i64))];
        let new = New { of, part: "branch_index", op: self.ops.takes_branch.clone(), attrs };
        let types = alloc::vec![DType::Bool; count];
        Selector::Taken(self.add(new, alloc::vec![chooser], controls, &types))
    }

    fn if_selector(&mut self, of: &Of, chooser: Edge, lowered: bool, controls: Vec<NodeId>) -> Selector {
        let truth = self.truth(of, chooser, lowered);
        // The control inputs of the call hold back the pivots, and through them the branches.
        Selector::Truth(match controls.is_empty() {
            true => truth,
            false => self.identity(of, "pred", truth, controls),
        })
    }

    /// A value as a truth value. Kernels take tensors of any shape for one, lowered nodes only scalars.
    pub(super) fn truth(&mut self, of: &Of, value: Edge, lowered: bool) -> Edge {
        let dtype = self.dtype(value);
        if dtype == DType::Bool && lowered {
            return value;
        }
        let attrs = alloc::vec![("T".into(), dtype.into())];
        let new = New { of, part: "to_bool", op: self.ops.to_bool.clone(), attrs };
        Edge { node: self.add(new, alloc::vec![value], Vec::new(), &[DType::Bool]), port: 0 }
    }

    /// For each branch a node that runs when the branch is taken.
    fn pivots(&mut self, of: &Of, selector: &Selector, count: usize) -> Vec<Edge> {
        let sides: Vec<Edge> = match *selector {
            Selector::Truth(truth) => self.sides(of, "switch_pred", truth, selector, count),
            Selector::Taken(node) => (0..count as u32)
                .map(|port| {
                    let taken = Edge { node, port };
                    Edge { node: self.switch(of, "switch_index", taken, taken), port: 1 }
                })
                .collect(),
        };
        sides.into_iter().map(|side| self.identity(of, "pivot", side, Vec::new())).collect()
    }

    /// For each branch the tensor as it is when the branch is taken.
    fn sides(&mut self, of: &Of, part: &str, input: Edge, selector: &Selector, count: usize) -> Vec<Edge> {
        match *selector {
            Selector::Truth(truth) => {
                let node = self.switch(of, part, input, truth);
                (0..count as u32).map(|port| Edge { node, port }).collect()
            }
            Selector::Taken(node) => (0..count as u32)
                .map(|port| Edge { node: self.switch(of, part, input, Edge { node, port }), port: 1 })
                .collect(),
        }
    }

    pub(super) fn switch(&mut self, of: &Of, part: &str, data: Edge, pred: Edge) -> NodeId {
        let dtype = self.dtype(data);
        let attrs = alloc::vec![("T".into(), dtype.into())];
        let new = New { of, part, op: self.ops.switch.clone(), attrs };
        self.add(new, alloc::vec![data, pred], Vec::new(), &[dtype, dtype])
    }

    pub(super) fn merge(&mut self, of: &Of, part: &str, inputs: Vec<Edge>, controls: Vec<NodeId>) -> Edge {
        let dtype = inputs.first().map_or(DType::Float, |edge| self.dtype(*edge));
        let attrs = alloc::vec![("T".into(), dtype.into()), ("N".into(), AttrValue::Int(inputs.len() as i64))];
        let new = New { of, part, op: self.ops.merge.clone(), attrs };
        Edge { node: self.add(new, inputs, controls, &[dtype, DType::Int32]), port: 0 }
    }

    /// A call to be expanded later.
    pub(super) fn call_node(
        &mut self,
        of: &Of,
        name: Arc<str>,
        inputs: Vec<Edge>,
        controls: Vec<NodeId>,
        outputs: &[DType],
    ) -> NodeId {
        let input_types = inputs.iter().map(|edge| (self.dtype(*edge), false)).collect();
        let node = Node {
            name,
            op: self.ops.call.clone(),
            device: of.device.clone(),
            inputs,
            controls,
            attrs: Default::default(),
            input_types,
            output_types: outputs.iter().map(|dtype| (*dtype, false)).collect(),
        };
        self.push(node, of.scope)
    }
}

/// Whether a node is marked for lowering.
pub(super) fn is_lowered(node: &Node) -> bool {
    node.attrs.bool("_lower_using_switch_merge") == Ok(true)
}
