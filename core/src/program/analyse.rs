//! From a pruned graph to blocks, values and the edges between blocks.

use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};

use super::marked;
use super::prune::Pruned;
use super::sets::{GATES_MAX, Gate, SetId, Sets};
use crate::Status;
use crate::graph::{Edge, Frames, Graph, Node, NodeId};
use crate::ops::Role;

/// The number of a value.
pub(super) type ValueId = u32;

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In a slot of each iteration of a frame; written in block `set` by an item, or by edges when `moved`.
    Slot { set: SetId, moved: bool },
    /// The value of a Const node.
    Constant(NodeId),
    /// Shared by all iterations of a frame.
    Invariant { frame: u32 },
}

/// Something that a block does.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// Runs a node's kernel.
    Run { node: NodeId, inputs: Vec<ValueId>, outputs: Vec<ValueId> },
    /// Reads a variable through a reference.
    Deref { node: NodeId, input: u32, from: ValueId, to: ValueId },
    /// Fails: a placeholder was not fed.
    Unfed { node: NodeId },
    /// Makes a value available as a fetch.
    Fetch { index: u32, from: ValueId },
}

/// How an edge leads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Plain,
    Next,
    Exit,
    Enter { invariant: bool },
}

/// A tail edge between blocks, by their sets.
#[derive(Clone, Debug)]
pub(super) struct Link {
    pub(super) from: SetId,
    pub(super) condition: Option<Taken>,
    pub(super) to: SetId,
    pub(super) kind: Kind,
    /// Brings a Merge its value.
    pub(super) data: bool,
    /// Values carried: from, to.
    pub(super) moves: Vec<(ValueId, ValueId)>,
}

/// A side of a Switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) pred: ValueId,
    pub(super) side: bool,
    pub(super) node: NodeId,
}

/// What starts a block beside its links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Join,
    Merge,
    Trigger,
    /// A feed of a partial run.
    Fed(NodeId),
}

/// A block to be.
#[derive(Clone, Debug)]
pub(super) struct PlanBlock {
    pub(super) frame: u32,
    pub(super) start: Start,
    pub(super) items: Vec<Item>,
}

/// The result.
pub(super) struct Plan {
    pub(super) frames: Frames,
    pub(super) blocks: HashMap<SetId, PlanBlock>,
    pub(super) links: Vec<Link>,
    pub(super) values: Vec<Place>,
    /// The value of each feed.
    pub(super) feeds: Vec<ValueId>,
    /// For each block, the sides of Switches on which it is alive.
    pub(super) taken: HashMap<SetId, Vec<(ValueId, bool)>>,
    /// Constant int32 scalars for `value_index` outputs: value → number.
    pub(super) indices: HashMap<ValueId, i32>,
}

/// Analyses a graph.
///
/// # Errors
/// INVALID_ARGUMENT for inputs from different frames, fetches from inside loops and cycles that tensor connections
/// closed; UNIMPLEMENTED for a NextIteration that feeds something other than a Merge.
pub(super) fn analyse(pruned: &Pruned, partial: bool) -> Result<Plan, Status> {
    let graph = &pruned.graph;
    let wanted = alloc::vec![true; graph.nodes().len()];
    let order = graph.topological_order(&wanted).map_err(|node| {
        Status::invalid_argument(format_args!(
            "tensor connections close a cycle through node '{}'",
            graph.node(node).name
        ))
    })?;
    let frames = Frames::of(graph)?;
    // Merges of a loop share a head where their values come and go together; whether they do is known only after the
    // loop's body was seen. A frame for which it turns out wrong is analysed again with a head for each Merge.
    let mut apart = HashSet::new();
    loop {
        let mut analysis = Analysis::new(graph, &frames, partial, &apart);
        analysis.nodes(&order)?;
        let wrong = analysis.frames_with_uneven_merges();
        if wrong.is_empty() {
            analysis.fetches(&pruned.fetches)?;
            return analysis.finish();
        }
        apart.extend(wrong);
    }
}

struct Analysis<'a> {
    graph: &'a Graph,
    frames: &'a Frames,
    partial: bool,
    /// Frames whose Merges have a head each.
    apart: &'a HashSet<u32>,
    sets: Sets,
    /// The set on which a node's outputs depend (for Enter and Exit, in the frame they lead to).
    set_of: Vec<SetId>,
    /// For Enter, Exit and NextIteration: the set on which the node itself depends.
    source_of: HashMap<NodeId, SetId>,
    first_value: Vec<u32>,
    value_of: Vec<Option<ValueId>>,
    values: Vec<Place>,
    blocks: HashMap<SetId, PlanBlock>,
    links: Vec<Link>,
    known_links: HashSet<(SetId, SetId, Option<(ValueId, bool)>)>,
    /// Links that carry values and may carry more.
    carriers: HashMap<(SetId, SetId, Kind), usize>,
    /// For each Enter, the value that it takes in.
    entered: HashMap<NodeId, ValueId>,
    groups: HashMap<(u32, SetId), u32>,
    num_groups: u32,
    group_of: HashMap<NodeId, u32>,
    /// For groups of loop Merges, the set that their Enters depend on.
    group_sources: HashMap<u32, SetId>,
    constants: HashMap<NodeId, ValueId>,
    index_values: HashMap<i32, ValueId>,
    feeds: Vec<ValueId>,
    /// Merges seen, to be joined with their back edges at the end.
    merges: Vec<NodeId>,
}

impl<'a> Analysis<'a> {
    fn new(graph: &'a Graph, frames: &'a Frames, partial: bool, apart: &'a HashSet<u32>) -> Analysis<'a> {
        let mut first_value = Vec::with_capacity(graph.nodes().len());
        let mut total = 0u32;
        for node in graph.nodes() {
            first_value.push(total);
            total = total.saturating_add(node.output_types.len() as u32);
        }
        Analysis {
            graph,
            frames,
            partial,
            apart,
            sets: Sets::new(),
            set_of: alloc::vec![0; graph.nodes().len()],
            source_of: HashMap::new(),
            first_value,
            value_of: alloc::vec![None; total as usize],
            values: Vec::new(),
            blocks: HashMap::new(),
            links: Vec::new(),
            known_links: HashSet::new(),
            carriers: HashMap::new(),
            entered: HashMap::new(),
            groups: HashMap::new(),
            num_groups: 0,
            group_of: HashMap::new(),
            group_sources: HashMap::new(),
            constants: HashMap::new(),
            index_values: HashMap::new(),
            feeds: Vec::new(),
            merges: Vec::new(),
        }
    }

    fn nodes(&mut self, order: &[NodeId]) -> Result<(), Status> {
        self.block(0, 0, Start::Join);
        for &id in order {
            let node = self.graph.node(id);
            self.check_sources(id, node)?;
            match self.role(id) {
                Role::Feed => self.feed(id),
                Role::Merge => self.merge(id, node),
                Role::Enter => self.enter(id, node),
                Role::Exit => self.exit(id, node),
                Role::NextIteration => {
                    let source = self.inputs_set(id, node);
                    self.source_of.insert(id, source);
                    self.set_of[id.index()] = source;
                }
                Role::ControlTrigger => self.trigger(id, node),
                Role::Kernel
                | Role::Const
                | Role::Placeholder
                | Role::Alias
                | Role::Switch
                | Role::NoOp
                | Role::Call => {
                    self.ordinary(id, node);
                }
            }
        }
        Ok(())
    }

    /// A node's role; outside every frame there is no next iteration, and NextIteration passes its input on.
    fn role(&self, id: NodeId) -> Role {
        match self.graph.node(id).role() {
            Role::NextIteration if self.frames.of_node[id.index()] == 0 => Role::Alias,
            role => role,
        }
    }

    /// NextIteration's outputs are in the next iteration, where only a Merge can take them.
    fn check_sources(&self, id: NodeId, node: &Node) -> Result<(), Status> {
        let next = |from: NodeId| self.role(from) == Role::NextIteration;
        let data = node.role() != Role::Merge && node.inputs.iter().any(|e| next(e.node));
        if data || node.controls.iter().any(|&c| next(c)) {
            return Err(marked(
                Status::unimplemented("the output of a NextIteration goes to something other than a Merge's input"),
                self.graph.node(id),
            ));
        }
        Ok(())
    }

    fn new_value(&mut self, place: Place) -> ValueId {
        self.values.push(place);
        (self.values.len() - 1) as ValueId
    }

    fn set_value(&mut self, edge: Edge, value: ValueId) {
        let at = self.first_value[edge.node.index()] + edge.port;
        self.value_of[at as usize] = Some(value);
    }

    /// The value of a tensor whose node was seen already.
    fn value(&mut self, edge: Edge) -> ValueId {
        let at = (self.first_value[edge.node.index()] + edge.port) as usize;
        match self.value_of.get(at).copied().flatten() {
            Some(value) => value,
            // Only a node without outputs or one that was never seen has none; neither has consumers.
            None => {
                let value = self.new_value(Place::Slot { set: 0, moved: true });
                self.value_of[at] = Some(value);
                value
            }
        }
    }

    fn block(&mut self, set: SetId, frame: u32, start: Start) -> &mut PlanBlock {
        self.blocks.entry(set).or_insert_with(|| PlanBlock { frame, start, items: Vec::new() })
    }

    /// The set on which a tensor depends: its node's, and the side if the node is a Switch.
    fn port_set(&mut self, edge: Edge) -> SetId {
        let set = self.set_of[edge.node.index()];
        let node = self.graph.node(edge.node);
        match (node.role(), node.inputs.get(1)) {
            (Role::Switch, Some(&pred)) => {
                let pred = self.value(pred);
                self.sets.with(set, Gate::Taken { pred, side: edge.port == 1 })
            }
            _ => set,
        }
    }

    /// The union of the sets of a node's inputs, with the node's block linked to where they come from.
    fn inputs_set(&mut self, id: NodeId, node: &Node) -> SetId {
        let mut set = 0;
        for &edge in &node.inputs {
            let port = self.port_set(edge);
            set = self.sets.union(set, port);
        }
        for &control in &node.controls {
            set = self.sets.union(set, self.set_of[control.index()]);
        }
        set = self.without_implied(set);
        // What may wait begins a block of its own, so that nothing that could run waits with it.
        if self.sets.size(set) > GATES_MAX || node.op.op.is_some_and(|op| op.waits) {
            set = self.sets.single(Gate::Join(id));
        }
        // For Enter, Exit and NextIteration this is the frame they lead from, which is that of their inputs.
        let frame = node.inputs.first().map(|e| e.node).or(node.controls.first().copied());
        let frame = frame.map_or(0, |from| self.frames.of_node[from.index()]);
        self.block(set, frame, Start::Join);
        for &edge in &node.inputs {
            self.depend_on_port(set, edge);
        }
        for &control in &node.controls {
            self.depend(set, self.set_of[control.index()], None);
        }
        set
    }

    /// The source set of the Enters of the loop whose Merges share a head in `set`.
    fn loop_source(&self, set: SetId) -> Option<SetId> {
        self.sets.gates(set).find_map(|gate| match gate {
            Gate::Merge(group) => self.group_sources.get(&group).copied(),
            _ => None,
        })
    }

    /// Leaves out invariants that came before the loop's own values: they come from the block that those come from, or
    /// from the root block, which is the first of all.
    fn without_implied(&mut self, set: SetId) -> SetId {
        match self.loop_source(set) {
            Some(from) => self.sets.without(set, |gate| is_implied(gate, from)),
            None => set,
        }
    }

    /// Makes block `set` wait for block `on`.
    fn depend(&mut self, set: SetId, on: SetId, condition: Option<Taken>) {
        if let Some(from) = self.loop_source(set)
            && self.sets.gates(on).all(|gate| is_implied(gate, from))
            && on != 0
        {
            return;
        }
        let key = (on, set, condition.map(|c| (c.pred, c.side)));
        if (set == on && condition.is_none()) || !self.known_links.insert(key) {
            return;
        }
        self.links.push(Link { from: on, condition, to: set, kind: Kind::Plain, data: false, moves: Vec::new() });
    }

    /// Makes block `set` wait for a tensor.
    fn depend_on_port(&mut self, set: SetId, edge: Edge) {
        let on = self.set_of[edge.node.index()];
        let taken = self.taken(edge);
        self.depend(set, on, taken);
    }

    /// The condition of a Switch's output.
    fn taken(&mut self, edge: Edge) -> Option<Taken> {
        let node = self.graph.node(edge.node);
        let pred = *node.inputs.get(1)?;
        if node.role() != Role::Switch {
            return None;
        }
        Some(Taken { pred: self.value(pred), side: edge.port == 1, node: edge.node })
    }

    /// The block in which a tensor is at hand, made where there is none yet.
    fn port_block(&mut self, edge: Edge) -> SetId {
        let set = self.port_set(edge);
        let set = self.without_implied(set);
        let frame = self.frames.of_node[edge.node.index()];
        self.block(set, frame, Start::Join);
        self.depend_on_port(set, edge);
        set
    }

    /// Input `i` of a node as a value; a reference read as a value is read by an item of block `set`.
    fn input(&mut self, set: SetId, id: NodeId, node: &Node, i: usize) -> ValueId {
        let Some(&edge) = node.inputs.get(i) else { return self.new_value(Place::Slot { set, moved: true }) };
        let from = self.value(edge);
        let source = self.graph.node(edge.node).output_types.get(edge.port as usize);
        let is_ref = source.is_some_and(|t| t.1);
        let wants_ref = node.input_types.get(i).is_some_and(|t| t.1);
        if !is_ref || wants_ref {
            return from;
        }
        let to = self.new_value(Place::Slot { set, moved: false });
        let item = Item::Deref { node: id, input: i as u32, from, to };
        if let Some(block) = self.blocks.get_mut(&set) {
            block.items.push(item);
        }
        to
    }

    fn push(&mut self, set: SetId, item: Item) {
        if let Some(block) = self.blocks.get_mut(&set) {
            block.items.push(item);
        }
    }

    fn feed(&mut self, id: NodeId) {
        let set = if self.partial { self.sets.single(Gate::Fed(id)) } else { 0 };
        self.set_of[id.index()] = set;
        self.block(set, 0, if self.partial { Start::Fed(id) } else { Start::Join });
        let value = self.new_value(Place::Slot { set, moved: true });
        self.set_value(Edge { node: id, port: 0 }, value);
        self.feeds.push(value);
    }

    fn ordinary(&mut self, id: NodeId, node: &Node) {
        let set = self.inputs_set(id, node);
        self.set_of[id.index()] = set;
        let port = |port: usize| Edge { node: id, port: port as u32 };
        match self.role(id) {
            Role::Const => {
                let value = match self.constants.get(&id) {
                    Some(&value) => value,
                    None => self.new_value(Place::Constant(id)),
                };
                self.constants.insert(id, value);
                self.set_value(port(0), value);
            }
            Role::Placeholder => self.push(set, Item::Unfed { node: id }),
            Role::Alias => {
                for i in 0..node.output_types.len() {
                    let value = self.input(set, id, node, i);
                    self.set_value(port(i), value);
                }
            }
            Role::Switch => {
                let value = self.input(set, id, node, 0);
                self.set_value(port(0), value);
                self.set_value(port(1), value);
            }
            Role::Kernel => {
                let inputs = (0..node.inputs.len()).map(|i| self.input(set, id, node, i)).collect();
                let mut outputs = Vec::with_capacity(node.output_types.len());
                for i in 0..node.output_types.len() {
                    let value = self.new_value(Place::Slot { set, moved: false });
                    self.set_value(port(i), value);
                    outputs.push(value);
                }
                self.push(set, Item::Run { node: id, inputs, outputs });
            }
            _ => {}
        }
    }

    fn merge(&mut self, id: NodeId, node: &Node) {
        let frame = self.frames.of_node[id.index()];
        let group = self.merge_group(node, frame);
        self.group_of.insert(id, group);
        let set = self.sets.single(Gate::Merge(group));
        self.set_of[id.index()] = set;
        self.block(set, frame, Start::Merge);
        for port in 0..node.output_types.len() {
            let value = self.new_value(Place::Slot { set, moved: true });
            self.set_value(Edge { node: id, port: port as u32 }, value);
        }
        for &control in &node.controls {
            let on = self.set_of[control.index()];
            self.links.push(Link {
                from: on,
                condition: None,
                to: set,
                kind: Kind::Plain,
                data: false,
                moves: Vec::new(),
            });
        }
        self.merges.push(id);
    }

    /// Merges of one Enter and one NextIteration whose Enters depend on the same things share a head.
    fn merge_group(&mut self, node: &Node, frame: u32) -> u32 {
        let role = |e: &Edge| self.graph.node(e.node).role();
        let enters: Vec<&Edge> = node.inputs.iter().filter(|e| role(e) == Role::Enter).collect();
        let loops = node.inputs.iter().filter(|e| role(e) == Role::NextIteration).count();
        let together = node.inputs.len() == 2
            && loops == 1
            && node.controls.is_empty()
            && !self.apart.contains(&frame)
            && enters.first().is_some_and(|e| !is_invariant(self.graph.node(e.node)));
        let fresh = self.num_groups;
        let group = match enters.first().and_then(|e| self.source_of.get(&e.node)) {
            Some(&source) if together => {
                let group = *self.groups.entry((frame, source)).or_insert(fresh);
                self.group_sources.insert(group, source);
                group
            }
            _ => fresh,
        };
        self.num_groups += u32::from(group == fresh);
        group
    }

    fn enter(&mut self, id: NodeId, node: &Node) {
        let source = self.inputs_set(id, node);
        self.source_of.insert(id, source);
        let frame = self.frames.of_node[id.index()];
        let from = self.input(source, id, node, 0);
        self.entered.insert(id, from);
        let invariant = is_invariant(node);
        let (gate, place): (_, fn(SetId, u32) -> Place) = if invariant {
            (Gate::Invariants { source, frame }, |_, frame| Place::Invariant { frame })
        } else {
            (Gate::Entry(id), |set, _| Place::Slot { set, moved: true })
        };
        let set = self.sets.single(gate);
        self.set_of[id.index()] = set;
        self.block(set, frame, Start::Join);
        let to = self.new_value(place(set, frame));
        self.set_value(Edge { node: id, port: 0 }, to);
        self.carry(source, set, Kind::Enter { invariant }, false, from, to);
    }

    fn exit(&mut self, id: NodeId, node: &Node) {
        let source = self.inputs_set(id, node);
        self.source_of.insert(id, source);
        let from = self.input(source, id, node, 0);
        let set = self.sets.single(Gate::Exit { source });
        self.set_of[id.index()] = set;
        self.block(set, self.frames.of_node[id.index()], Start::Join);
        let to = self.new_value(Place::Slot { set, moved: true });
        self.set_value(Edge { node: id, port: 0 }, to);
        self.carry(source, set, Kind::Exit, false, from, to);
    }

    fn trigger(&mut self, id: NodeId, node: &Node) {
        let set = self.sets.single(Gate::Trigger(id));
        self.set_of[id.index()] = set;
        self.block(set, self.frames.of_node[id.index()], Start::Trigger);
        for &control in &node.controls {
            self.depend(set, self.set_of[control.index()], None);
        }
    }

    /// Adds a move to the link of this kind between two blocks, made where there is none yet.
    fn carry(&mut self, from: SetId, to: SetId, kind: Kind, data: bool, value: ValueId, into: ValueId) {
        match self.carriers.get(&(from, to, kind)).and_then(|&at| self.links.get_mut(at)) {
            Some(link) => link.moves.push((value, into)),
            None => {
                self.carriers.insert((from, to, kind), self.links.len());
                let moves = alloc::vec![(value, into)];
                self.links.push(Link { from, condition: None, to, kind, data, moves });
            }
        }
    }

    /// The frames in which Merges that share a head turn out to get their next values at different times.
    fn frames_with_uneven_merges(&self) -> Vec<u32> {
        let mut sources: HashMap<u32, SetId> = HashMap::new();
        let mut sizes: HashMap<u32, u32> = HashMap::new();
        for group in self.group_of.values() {
            *sizes.entry(*group).or_insert(0) += 1;
        }
        let mut wrong = Vec::new();
        for &id in &self.merges {
            let Some(group) = self.group_of.get(&id).filter(|g| sizes.get(*g).is_some_and(|&n| n > 1)) else {
                continue;
            };
            let next = self.graph.node(id).inputs.iter().find_map(|e| match self.graph.node(e.node).role() {
                Role::NextIteration => self.source_of.get(&e.node),
                _ => None,
            });
            let Some(&source) = next else { continue };
            if *sources.entry(*group).or_insert(source) != source {
                wrong.push(self.frames.of_node[id.index()]);
            }
        }
        wrong
    }

    fn fetches(&mut self, fetches: &[Edge]) -> Result<(), Status> {
        for (index, &edge) in fetches.iter().enumerate() {
            let node = self.graph.node(edge.node);
            if self.frames.of_node[edge.node.index()] != 0 {
                return Err(Status::invalid_argument(format_args!(
                    "{}:{} is inside a while loop and cannot be fetched",
                    node.name, edge.port
                )));
            }
            let set = self.port_block(edge);
            let mut from = self.value(edge);
            if node.output_types.get(edge.port as usize).is_some_and(|t| t.1) {
                let to = self.new_value(Place::Slot { set, moved: false });
                self.push(set, Item::Deref { node: edge.node, input: 0, from, to });
                from = to;
            }
            self.push(set, Item::Fetch { index: index as u32, from });
        }
        Ok(())
    }

    /// Joins Merges with the blocks that their inputs come from.
    fn merge_links(&mut self) {
        let indexed = self.indexed_merges();
        let mut seen = HashSet::new();
        for id in core::mem::take(&mut self.merges) {
            let node = self.graph.node(id);
            let head = self.set_of[id.index()];
            let shared = !seen.insert(head);
            for (i, &edge) in node.inputs.iter().enumerate() {
                let source_node = self.graph.node(edge.node);
                let source = self.source_of.get(&edge.node).copied().unwrap_or(0);
                let (from, kind, value) = match source_node.role() {
                    Role::NextIteration => (source, Kind::Next, self.input(source, edge.node, source_node, 0)),
                    Role::Enter if !is_invariant(source_node) => {
                        let value = self.entered.get(&edge.node).copied().unwrap_or_default();
                        (source, Kind::Enter { invariant: false }, value)
                    }
                    _ => {
                        let source = self.port_block(edge);
                        (source, Kind::Plain, self.input(source, id, node, i))
                    }
                };
                let mut moves = alloc::vec![(value, self.value(Edge { node: id, port: 0 }))];
                if indexed.contains(&id) {
                    moves.push((self.index_value(i as i32), self.value(Edge { node: id, port: 1 })));
                }
                // Merges that share a head get their values by common edges; two inputs of one Merge are two events.
                let key = (from, head, kind);
                match self.carriers.get(&key).filter(|_| shared).and_then(|&at| self.links.get_mut(at)) {
                    Some(link) => link.moves.extend(moves),
                    None => {
                        self.carriers.insert(key, self.links.len());
                        self.links.push(Link { from, condition: None, to: head, kind, data: true, moves });
                    }
                }
            }
        }
    }

    /// The Merges whose `value_index` is read or fetched.
    fn indexed_merges(&self) -> HashSet<NodeId> {
        let is_merge = |id: NodeId| self.graph.node(id).role() == Role::Merge;
        let inputs = self.graph.nodes().iter().flat_map(|n| &n.inputs);
        let mut read: HashSet<NodeId> = inputs.filter(|e| e.port == 1 && is_merge(e.node)).map(|e| e.node).collect();
        let fetched: HashSet<ValueId> = self
            .blocks
            .values()
            .flat_map(|b| &b.items)
            .filter_map(|item| if let Item::Fetch { from, .. } = item { Some(*from) } else { None })
            .collect();
        for &id in &self.merges {
            let at = self.first_value[id.index()] as usize + 1;
            if self.value_of.get(at).copied().flatten().is_some_and(|value| fetched.contains(&value)) {
                read.insert(id);
            }
        }
        read
    }

    fn index_value(&mut self, index: i32) -> ValueId {
        if let Some(&value) = self.index_values.get(&index) {
            return value;
        }
        let value = self.new_value(Place::Constant(NodeId(u32::MAX)));
        self.index_values.insert(index, value);
        value
    }

    fn finish(mut self) -> Result<Plan, Status> {
        self.merge_links();
        self.drop_unused_entries();
        let taken = |&set: &SetId| {
            let sides = self.sets.gates(set).filter_map(|gate| match gate {
                Gate::Taken { pred, side } => Some((pred, side)),
                _ => None,
            });
            (set, sides.collect())
        };
        let taken = self.blocks.keys().map(taken).collect();
        Ok(Plan {
            taken,
            frames: self.frames.clone(),
            blocks: self.blocks,
            links: self.links,
            values: self.values,
            feeds: self.feeds,
            indices: self.index_values.into_iter().map(|(number, value)| (value, number)).collect(),
        })
    }

    /// The block of an Enter that only Merges read has nothing to do: its values go to the Merges directly.
    fn drop_unused_entries(&mut self) {
        let mut used: HashSet<SetId> = self.links.iter().map(|l| l.from).collect();
        let mut read: HashSet<ValueId> = HashSet::new();
        for item in self.blocks.values().flat_map(|b| &b.items) {
            match item {
                Item::Run { inputs, .. } => read.extend(inputs),
                Item::Deref { from, .. } | Item::Fetch { from, .. } => {
                    read.insert(*from);
                }
                Item::Unfed { .. } => {}
            }
        }
        for link in &self.links {
            read.extend(link.moves.iter().map(|m| m.0));
            read.extend(link.condition.map(|c| c.pred));
        }
        used.extend(self.blocks.iter().filter(|(_, b)| !b.items.is_empty()).map(|(set, _)| *set));
        let dead: HashSet<SetId> = self
            .links
            .iter()
            .filter(|l| l.kind == Kind::Enter { invariant: false } && !l.data && !used.contains(&l.to))
            .filter(|l| !l.moves.iter().any(|(_, to)| read.contains(to)))
            .map(|l| l.to)
            .collect();
        self.links.retain(|l| !dead.contains(&l.to));
        self.blocks.retain(|set, _| !dead.contains(set));
    }
}

/// Whether a gate of loop invariants is open whenever the loop's own values, which come from `source`, have come.
fn is_implied(gate: Gate, source: SetId) -> bool {
    matches!(gate, Gate::Invariants { source: from, .. } if from == source || from == 0)
}

fn is_invariant(enter: &Node) -> bool {
    enter.attrs.bool("is_constant").unwrap_or(false)
}
