//! Control loops: what makes a part that shares a loop with others run its share once an iteration.
//!
//! For each frame and each part that receives within it (or sends from it without having the loop's predicate) there is
//! one: an Enter into the same frame, a Merge, a Switch on the loop's predicate, which comes from the part that computes
//! it, and a NextIteration back to the Merge. The part's receives in that frame wait for the Merge. The control loop of a
//! nested frame is entered from the Merge of the outer one, that of an outermost frame from a constant.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::{Carried, Cut, tensor_name};
use crate::Status;
use crate::graph::{AttrValue, Edge, NodeId, NodeSpec};
use crate::tensor::{DType, Tensor};

impl Cut<'_> {
    /// Makes the control loops that the cut needs.
    pub(super) fn control_loops(&mut self) -> Result<(), Status> {
        if self.frames.frames.len() == 1 {
            return Ok(());
        }
        let leaders = self.leaders();
        let wanted = self.shared_loops(&leaders);
        // Outer frames have smaller numbers than those in them, and names are needed before they are referred to.
        for &(frame, part) in wanted.keys() {
            let name = self.new_name(&format!("_cloop{}/Merge", self.frames.frames[frame as usize].name));
            self.merges.insert((frame, part), name);
        }
        for (&(frame, part), &node) in &wanted {
            self.control_loop(frame, part, node, &leaders)?;
        }
        Ok(())
    }

    /// The LoopCond of each frame.
    fn leaders(&self) -> BTreeMap<u32, NodeId> {
        let mut leaders = BTreeMap::new();
        for (id, _) in self.placed.graph.iter().filter(|(_, node)| node.op.name == "LoopCond") {
            leaders.entry(self.frames.of_node[id.index()]).or_insert(id);
        }
        leaders
    }

    /// The frames and parts that need a control loop, with a node of the part that has to do with it.
    fn shared_loops(&self, leaders: &BTreeMap<u32, NodeId>) -> BTreeMap<(u32, u32), NodeId> {
        let mut wanted: BTreeMap<(u32, u32), NodeId> = BTreeMap::new();
        let mut want = |mut frame: u32, node: NodeId| {
            while frame != 0 {
                wanted.entry((frame, self.part(node))).or_insert(node);
                frame = self.frames.frames[frame as usize].parent;
            }
        };
        let mut senders: BTreeSet<(u32, NodeId)> = BTreeSet::new();
        for (id, node) in self.placed.graph.iter() {
            let sources = node.inputs.iter().map(|e| e.node).chain(node.controls.iter().copied());
            for from in sources.filter(|&from| self.part(from) != self.part(id) && !self.always_runs(from)) {
                let frame = self.frames.of_node[from.index()];
                want(frame, id);
                senders.insert((frame, from));
            }
        }
        for (frame, from) in senders {
            let leads = leaders.get(&frame).is_some_and(|&cond| self.part(cond) == self.part(from));
            if !leads {
                want(frame, from);
            }
        }
        wanted
    }

    fn control_loop(
        &mut self,
        frame: u32,
        part: u32,
        near: NodeId,
        leaders: &BTreeMap<u32, NodeId>,
    ) -> Result<(), Status> {
        let info = self.frames.frames[frame as usize].clone();
        let Some(&cond) = leaders.get(&frame) else {
            return Err(Status::invalid_argument(format_args!(
                "A cross-device loop must have a pivot predicate: {}",
                info.name
            )));
        };
        let device = self.device_name(self.device(near));
        let merge = self.merges.get(&(frame, part)).cloned().unwrap_or_default();
        let mut name = |what: &str| self.new_name(&format!("_cloop{}/{what}", info.name));
        let (start, enter, switch, next) = (name("Const"), name("Enter"), name("Switch"), name("NextIteration"));
        let node = |name: &str, op: &str, inputs: Vec<alloc::string::String>, attrs: Vec<(&str, AttrValue)>| NodeSpec {
            name: name.into(),
            op: op.into(),
            inputs,
            device: device.clone(),
            attrs: attrs.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        };
        let dtype = || ("T", AttrValue::from(DType::Int32));
        let begin = match self.merges.get(&(info.parent, part)) {
            Some(outer) => outer.clone(),
            None => {
                let value = AttrValue::Tensor(Tensor::scalar(0i32));
                self.add(
                    part,
                    node(&start, "Const", Vec::new(), alloc::vec![("dtype", DType::Int32.into()), ("value", value)]),
                );
                start
            }
        };
        let iterations = i64::from(info.parallel_iterations);
        self.add(
            part,
            node(
                &enter,
                "Enter",
                alloc::vec![begin],
                alloc::vec![
                    dtype(),
                    ("frame_name", info.name.as_str().into()),
                    ("is_constant", false.into()),
                    ("parallel_iterations", AttrValue::Int(iterations)),
                ],
            ),
        );
        let inputs = alloc::vec![enter, next.clone()];
        self.add(part, node(&merge, "Merge", inputs, alloc::vec![dtype(), ("N", AttrValue::Int(2))]));
        let predicate = Edge { node: cond, port: 0 };
        let pred = match self.part(cond) == part {
            true => tensor_name(&self.placed.graph.node(cond).name, 0),
            false => self.carry(Carried::Tensor(predicate), near, part, Vec::new())?,
        };
        self.add(part, node(&switch, "Switch", alloc::vec![merge.to_string(), pred], alloc::vec![dtype()]));
        self.add(part, node(&next, "NextIteration", alloc::vec![format!("{switch}:1")], alloc::vec![dtype()]));
        Ok(())
    }
}
