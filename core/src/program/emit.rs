//! From blocks and values to slots, argument words and instructions.

use alloc::boxed::Box;
use alloc::string::ToString;
use alloc::vec::Vec;

use hashbrown::{HashMap, HashSet};

use super::analyse::{Item, Kind, Link, Place, Plan, PlanBlock, Start, ValueId};
use super::prune::Pruned;
use super::sets::SetId;
use super::uses::Uses;
use super::{
    Action, Block, BlockEdge, CompileContext, Condition, EdgeKind, Feed, FetchInfo, FrameInfo, Head, Instruction, Move,
    NodeInfo, Program, RunSpec, marked,
};
use crate::Status;
use crate::graph::NodeId;
use crate::ops::{Ctx, Kernel, NodeContext, arg};
use crate::resource::Variable;
use crate::tensor::Tensor;

/// Emits the program of a plan.
///
/// # Errors
/// Whatever making a kernel answers; RESOURCE_EXHAUSTED for programs beyond the argument words' range.
pub(super) fn emit(
    spec: &RunSpec,
    context: &CompileContext<'_>,
    pruned: &Pruned,
    mut plan: Plan,
) -> Result<Program, Status> {
    thread_empty_blocks(&mut plan);
    if plan.values.len() >= arg::INDEX as usize {
        return Err(Status::resource_exhausted(format_args!("a run of {} values is too large", plan.values.len())));
    }
    let uses = Uses::count(&plan);
    let mut emitter = Emitter::new(context, pruned, &plan, uses);
    emitter.blocks()?;
    emitter.program(spec)
}

/// A block without items that waits for one edge is nothing but that edge's condition: what follows it follows its
/// predecessor instead.
fn thread_empty_blocks(plan: &mut Plan) {
    let mut incoming: HashMap<SetId, Vec<usize>> = HashMap::new();
    let mut outgoing: HashMap<SetId, Vec<usize>> = HashMap::new();
    for (at, link) in plan.links.iter().enumerate() {
        incoming.entry(link.to).or_default().push(at);
        outgoing.entry(link.from).or_default().push(at);
    }
    let empty: Vec<SetId> = plan
        .blocks
        .iter()
        .filter(|(set, b)| **set != 0 && b.items.is_empty() && b.start == Start::Join)
        .map(|(set, _)| *set)
        .collect();
    let mut gone: HashSet<usize> = HashSet::new();
    for set in empty {
        let Some(&[at]) = incoming.get(&set).map(Vec::as_slice) else { continue };
        let (kind, condition, from) = match plan.links.get(at) {
            Some(link) if link.moves.is_empty() => (link.kind, link.condition, link.from),
            _ => continue,
        };
        let followers = outgoing.get(&set).cloned().unwrap_or_default();
        let conditional = followers.iter().any(|&f| plan.links.get(f).is_some_and(|l| l.condition.is_some()));
        if kind != Kind::Plain || (condition.is_some() && conditional) {
            continue;
        }
        for &follower in &followers {
            if let Some(link) = plan.links.get_mut(follower) {
                link.from = from;
                link.condition = link.condition.or(condition);
            }
        }
        outgoing.entry(from).or_default().extend(followers);
        gone.insert(at);
        plan.blocks.remove(&set);
    }
    // A Join that waits for one block twice waits for the stricter edge only.
    let mut strict: HashSet<(SetId, SetId)> = HashSet::new();
    let mut seen: HashSet<(SetId, SetId, Option<(ValueId, bool)>)> = HashSet::new();
    let plain = |l: &Link| l.kind == Kind::Plain && !l.data && l.moves.is_empty();
    for link in plan.links.iter().filter(|l| plain(l) && l.condition.is_some()) {
        strict.insert((link.from, link.to));
    }
    let joins: HashSet<SetId> =
        plan.blocks.iter().filter(|(_, b)| b.start == Start::Join).map(|(set, _)| *set).collect();
    let mut at = 0;
    plan.links.retain(|link| {
        let kept = !gone.contains(&at);
        at += 1;
        if !kept || !plain(link) || !joins.contains(&link.to) {
            return kept;
        }
        let implied = link.condition.is_none() && strict.contains(&(link.from, link.to));
        !implied && seen.insert((link.from, link.to, link.condition.map(|c| (c.pred, c.side))))
    });
}

/// Slots of one frame.
#[derive(Default)]
struct FrameSlots {
    num_slots: u32,
    num_invariants: u32,
    shared: Vec<u32>,
}

struct Emitter<'a> {
    context: &'a CompileContext<'a>,
    pruned: &'a Pruned,
    plan: &'a Plan,
    uses: Uses,
    /// The argument word of each value that has one already.
    words: Vec<Option<u32>>,
    slots: Vec<FrameSlots>,
    constants: Vec<Tensor>,
    constant_of: HashMap<NodeId, u32>,
    args: Vec<u32>,
    instructions: Vec<Instruction>,
    /// Blocks in order: by frame, then by number of their set.
    order: Vec<SetId>,
    number_of: HashMap<SetId, u32>,
    ranges: Vec<core::ops::Range<u32>>,
}

impl<'a> Emitter<'a> {
    fn new(context: &'a CompileContext<'a>, pruned: &'a Pruned, plan: &'a Plan, uses: Uses) -> Emitter<'a> {
        let mut order: Vec<SetId> = plan.blocks.keys().copied().collect();
        order.sort_by_key(|set| (plan.blocks.get(set).map_or(0, |b| b.frame), *set));
        let number_of = (0u32..).zip(&order).map(|(number, set)| (*set, number)).collect();
        let slots = plan.frames.frames.iter().map(|_| FrameSlots::default()).collect();
        Emitter {
            context,
            pruned,
            plan,
            uses,
            words: alloc::vec![None; plan.values.len()],
            slots,
            constants: Vec::new(),
            constant_of: HashMap::new(),
            args: Vec::new(),
            instructions: Vec::new(),
            order,
            number_of,
            ranges: Vec::new(),
        }
    }

    fn frame_of_set(&self, set: SetId) -> usize {
        self.plan.blocks.get(&set).map_or(0, |b| b.frame as usize)
    }

    /// A slot of its own in the frame of `set`.
    fn dedicated(&mut self, set: SetId) -> u32 {
        let frame = self.frame_of_set(set);
        let slots = &mut self.slots[frame];
        slots.num_slots += 1;
        slots.num_slots - 1
    }

    /// The argument word of a value, given a place of its own if it has none yet.
    fn word(&mut self, value: ValueId) -> u32 {
        if let Some(word) = self.words[value as usize] {
            return word;
        }
        let word = match self.plan.values[value as usize] {
            Place::Slot { set, .. } => {
                let slot = self.dedicated(set);
                let frame = self.frame_of_set(set);
                self.slots[frame].shared.push(slot);
                arg::SLOT | slot
            }
            Place::Invariant { frame } => {
                let slots = &mut self.slots[frame as usize];
                slots.num_invariants += 1;
                arg::INVARIANT | (slots.num_invariants - 1)
            }
            Place::Constant(node) => arg::CONSTANT | self.constant(value, node),
        };
        self.words[value as usize] = Some(word);
        word
    }

    fn constant(&mut self, value: ValueId, node: NodeId) -> u32 {
        let next = self.constants.len() as u32;
        if let Some(&index) = self.plan.indices.get(&value) {
            self.constants.push(Tensor::scalar(index));
            return next;
        }
        if let Some(&known) = self.constant_of.get(&node) {
            return known;
        }
        self.constants.push(self.constant_tensor(node).unwrap_or_default());
        self.constant_of.insert(node, next);
        next
    }

    fn constant_tensor(&self, node: NodeId) -> Option<Tensor> {
        self.pruned.graph.node(node).attrs.tensor("value").ok().cloned()
    }

    fn blocks(&mut self) -> Result<(), Status> {
        // Values that blocks hand to each other get their slots first, so that free slots are local to a block.
        for set in self.order.clone() {
            let start = self.instructions.len() as u32;
            if let Some(block) = self.plan.blocks.get(&set) {
                self.items(set, block)?;
            }
            self.ranges.push(start..self.instructions.len() as u32);
        }
        Ok(())
    }

    /// Emits a block's items; values that only they read share slots once they are read for the last time.
    fn items(&mut self, set: SetId, block: &PlanBlock) -> Result<(), Status> {
        let mut left: HashMap<ValueId, u32> = HashMap::new();
        let mut free: Vec<u32> = Vec::new();
        for item in &block.items {
            let (inputs, outputs): (&[ValueId], &[ValueId]) = match item {
                Item::Run { inputs, outputs, .. } => (inputs, outputs),
                Item::Deref { from, to, .. } => (core::slice::from_ref(from), core::slice::from_ref(to)),
                Item::Fetch { from, .. } => (core::slice::from_ref(from), &[]),
                Item::Unfed { .. } => (&[], &[]),
            };
            let args = self.args.len() as u32;
            let mut released = Vec::new();
            for (i, &value) in inputs.iter().enumerate() {
                let mut word = self.word(value);
                let local = self.uses.is_local(value)
                    && matches!(self.plan.values[value as usize], Place::Slot { set: home, .. } if home == set);
                let total = match local {
                    true => Some(self.uses.all[value as usize]),
                    false => self.uses.last_reads(self.plan, value, set),
                };
                if let Some(total) = total {
                    let left = left.entry(value).or_insert(total);
                    *left = left.saturating_sub(1);
                    let again = inputs.iter().skip(i + 1).any(|v| *v == value);
                    let before = inputs.iter().take(i).any(|v| *v == value);
                    if *left == 0 {
                        // A value read twice by one instruction stays whole until the instruction is done.
                        if !before && !again {
                            word |= arg::LAST_USE;
                        }
                        // A value that came from elsewhere keeps its slot, which who brings it writes at any time.
                        if local {
                            released.push(word & arg::INDEX);
                        }
                    }
                }
                self.args.push(word);
            }
            for &value in outputs {
                let word = self.output_word(set, value, &mut free);
                self.args.push(word);
                if self.uses.all[value as usize] == 0 {
                    // Written and never read; the slot is free again after this instruction.
                    released.push(word & arg::INDEX);
                }
            }
            free.extend(released);
            self.instruction(item, args, inputs.len(), outputs.len())?;
        }
        Ok(())
    }

    fn output_word(&mut self, set: SetId, value: ValueId, free: &mut Vec<u32>) -> u32 {
        if !self.uses.is_local(value) || self.words[value as usize].is_some() {
            return self.word(value);
        }
        let slot = free.pop().unwrap_or_else(|| self.dedicated(set));
        self.words[value as usize] = Some(arg::SLOT | slot);
        arg::SLOT | slot
    }

    fn instruction(&mut self, item: &Item, args: u32, inputs: usize, outputs: usize) -> Result<(), Status> {
        let (node, action, kernel): (NodeId, Action, Box<dyn Kernel>) = match item {
            Item::Run { node, .. } => {
                let action = match self.pruned.graph.node(*node).op.op {
                    Some(op) if op.waits => Action::Wait,
                    Some(op) if op.heavy => Action::RunHeavy,
                    _ => Action::Run,
                };
                (*node, action, self.kernel(*node)?)
            }
            Item::Deref { node, input, .. } => (*node, Action::Run, self.deref(*node, *input)),
            Item::Fetch { index, .. } => (NodeId(0), Action::Fetch(*index), Box::new(|_: &mut Ctx<'_>| Ok(()))),
            Item::Unfed { node } => {
                (*node, Action::Run, unfed(&self.pruned.graph.node(*node).name, self.pruned, *node))
            }
        };
        let too_many = |_| Status::resource_exhausted("a node has more than 65535 inputs or outputs");
        let args_used = self.args.get(args as usize..).unwrap_or_default();
        let releases = args_used.iter().any(|word| word & arg::LAST_USE != 0);
        self.instructions.push(Instruction {
            kernel,
            args,
            num_inputs: u16::try_from(inputs).map_err(too_many)?,
            num_outputs: u16::try_from(outputs).map_err(too_many)?,
            node: node.0,
            action,
            releases,
        });
        Ok(())
    }

    fn device(&self, node: NodeId) -> usize {
        let original = self.pruned.original.get(node.index()).copied().flatten();
        let device = original.map_or(0, |id| (self.context.device_of)(id));
        device.min(self.context.devices.len().saturating_sub(1))
    }

    fn kernel(&self, id: NodeId) -> Result<Box<dyn Kernel>, Status> {
        let node = self.pruned.graph.node(id);
        let Some((op, make)) = node.op.op.and_then(|op| Some((op, op.kernel?))) else {
            return Err(marked(Status::unimplemented(format_args!("op {} is not supported", node.op.name)), node));
        };
        for (name, types) in op.types {
            let unsupported = |t: crate::tensor::DType| {
                let status = format_args!("op {} has no kernel for {name} = {t}", op.name).to_string();
                Err(marked(Status::invalid_argument(status), node))
            };
            let given = match node.attrs.dtypes(name) {
                Ok(list) => list,
                Err(_) => node.attrs.dtype(name).into_iter().collect(),
            };
            if let Some(&dtype) = given.iter().find(|t| !types.contains(t)) {
                return unsupported(dtype);
            }
        }
        let device = self
            .context
            .devices
            .get(self.device(id))
            .ok_or_else(|| Status::internal("a program needs at least one device"))?;
        let constants: Vec<Option<Tensor>> = node
            .inputs
            .iter()
            .map(|edge| match self.pruned.graph.node(edge.node).role() {
                crate::ops::Role::Const => self.constant_tensor(edge.node),
                _ => None,
            })
            .collect();
        make(&NodeContext {
            node,
            constants: &constants,
            device: &device.name,
            resources: &device.resources,
            states: self.context.states,
            host: &**self.context.host,
        })
        .map_err(|e| marked(e, node))
    }

    /// The read of a variable that a value input of `node` makes.
    fn deref(&self, id: NodeId, input: u32) -> Box<dyn Kernel> {
        let node = self.pruned.graph.node(id);
        let allows = node.op.op.is_some_and(|op| op.allows_uninitialized_input);
        let source = node.inputs.get(input as usize).map(|e| self.pruned.graph.node(e.node).name.clone());
        let source = source.unwrap_or_else(|| node.name.clone());
        Box::new(move |ctx: &mut Ctx<'_>| {
            let read = match ctx.input(0).resources()?.first() {
                None => return Err(Status::internal(format_args!("'{source}' holds nothing"))),
                Some(handle) => match handle.target::<Variable>() {
                    Some(variable) => variable.read(),
                    // The reference of a queue, a stack or the like reads as where it is found.
                    None => {
                        let parts = handle.parts();
                        let names = [&parts.container, &parts.name];
                        let names = names.map(|name| crate::tensor::Str::copy_from_slice(name.as_bytes()));
                        Some(Tensor::from_strings(crate::tensor::Shape::new(&[2])?, names.into())?)
                    }
                },
            };
            match read {
                Some(value) => ctx.set(0, value),
                // The op asks for itself whether its reference is initialised; a value it needs all the same, and
                // TensorFlow answers INTERNAL for the only case there is, the right-hand side of Assign.
                None if allows => {
                    return Err(Status::internal(format_args!("the value of variable {source} is not initialized")));
                }
                None => {
                    return Err(Status::failed_precondition(format_args!(
                        "Attempting to use uninitialized value {source}"
                    )));
                }
            }
            Ok(())
        })
    }

    fn program(mut self, spec: &RunSpec) -> Result<Program, Status> {
        let feeds = self.plan.feeds.clone();
        let feeds = feeds
            .iter()
            .zip(&spec.feeds)
            .enumerate()
            .map(|(k, (&value, name))| {
                let slot = self.word(value) & arg::INDEX;
                let node = self.pruned.graph.node(NodeId(k as u32));
                let block = match self.plan.values[value as usize] {
                    Place::Slot { set, .. } if spec.partial => self.number_of.get(&set).copied(),
                    _ => None,
                };
                let dtype = node.output_types.first().map_or(crate::tensor::DType::Float, |t| t.0);
                Feed { name: name.clone(), slot, dtype, block }
            })
            .collect();
        let mut frames = self.frames();
        let (blocks, edges, moves) = self.edges(&mut frames);
        for (frame, slots) in frames.iter_mut().zip(&self.slots) {
            frame.num_slots = slots.num_slots;
            frame.num_invariants = slots.num_invariants;
            frame.shared_slots.clone_from(&slots.shared);
        }
        let nodes = self
            .pruned
            .graph
            .iter()
            .map(|(id, node)| NodeInfo {
                name: node.name.clone(),
                op: node.op.name.clone(),
                device: self.device(id) as u32,
            })
            .collect();
        Ok(Program {
            feeds,
            fetches: spec.fetches.iter().map(|name| FetchInfo { name: name.clone() }).collect(),
            frames,
            blocks,
            instructions: self.instructions,
            args: self.args,
            edges,
            moves,
            constants: self.constants,
            nodes,
            devices: self.context.devices.iter().map(|d| d.name.clone()).collect(),
            idle: Default::default(),
        })
    }

    fn frames(&self) -> Vec<FrameInfo> {
        let count = self.plan.frames.frames.len();
        let mut frames: Vec<FrameInfo> = Vec::with_capacity(count);
        let mut children = alloc::vec![0u32; count];
        for (number, frame) in self.plan.frames.frames.iter().enumerate() {
            let ordinal = if number == 0 { 0 } else { children[frame.parent as usize] };
            if number > 0 {
                children[frame.parent as usize] += 1;
            }
            let in_frame = |set: &&SetId| self.frame_of_set(**set) == number;
            let first = self.order.iter().position(|set| in_frame(&set)).unwrap_or(0) as u32;
            let blocks = self.order.iter().filter(in_frame).count() as u32;
            frames.push(FrameInfo {
                parallel_iterations: frame.parallel_iterations.max(1),
                num_slots: 0,
                num_invariants: 0,
                num_children: 0,
                ordinal,
                blocks: first..first + blocks,
                num_entries: 0,
                invariant_blocks: Vec::new(),
                exits: Vec::new(),
                shared_slots: Vec::new(),
            });
        }
        for (frame, children) in frames.iter_mut().zip(children) {
            frame.num_children = children;
        }
        frames
    }

    fn edges(&mut self, frames: &mut [FrameInfo]) -> (Vec<Block>, Vec<BlockEdge>, Vec<Move>) {
        let mut by_source: HashMap<SetId, Vec<&Link>> = HashMap::new();
        for link in &self.plan.links {
            by_source.entry(link.from).or_default().push(link);
        }
        let mut blocks: Vec<Block> = Vec::with_capacity(self.order.len());
        for (set, range) in self.order.iter().zip(&self.ranges) {
            let start = self.plan.blocks.get(set).map_or(Start::Join, |b| b.start);
            let head = match start {
                Start::Merge => Head::Merge,
                Start::Trigger => Head::Trigger,
                Start::Join | Start::Fed(_) => Head::Join,
            };
            let pending = u32::from(matches!(start, Start::Fed(_)));
            let instructions = range.clone();
            blocks.push(Block { head, pending, data_first: 0, data_later: 0, instructions, edges: 0..0 });
        }
        let mut edges = Vec::new();
        let mut moves = Vec::new();
        for set in self.order.clone() {
            let first = edges.len() as u32;
            for link in by_source.get(&set).into_iter().flatten() {
                let Some(&target) = self.number_of.get(&link.to) else { continue };
                let moved = moves.len() as u32;
                for &(from, to) in &link.moves {
                    let word = self.move_word(set, from, link);
                    let to = self.word(to) & arg::INDEX;
                    moves.push(Move { from: word, to });
                }
                let kind = self.edge_kind(link, target, frames, edges.len() as u32, &mut blocks);
                // Invariants that no block waits for start none.
                let idle = matches!(link.kind, Kind::Enter { invariant: true })
                    && !by_source.contains_key(&link.to)
                    && self.plan.blocks.get(&link.to).is_some_and(|b| b.items.is_empty());
                let target = if idle { u32::MAX } else { target };
                if let EdgeKind::Enter { frame, entry, invariant: true } = kind
                    && !idle
                    && let Some(frame) = frames.get_mut(frame as usize)
                {
                    frame.invariant_blocks.push((entry, target));
                }
                let condition =
                    link.condition.map(|c| Condition { pred: self.word(c.pred), side: c.side, node: c.node.0 });
                edges.push(BlockEdge { kind, condition, target, data: link.data, moves: moved..moves.len() as u32 });
            }
            if let Some(block) = self.number_of.get(&set).and_then(|&n| blocks.get_mut(n as usize)) {
                block.edges = first..edges.len() as u32;
            }
        }
        (blocks, edges, moves)
    }

    /// The word of a moved value; marked when the edge is its last reader, so that the move may swap.
    fn move_word(&mut self, set: SetId, value: ValueId, link: &Link) -> u32 {
        let word = self.word(value);
        let home = matches!(self.plan.values[value as usize], Place::Slot { set: home, .. } if home == set);
        let others = self.uses.all[value as usize] - self.uses.local[value as usize];
        let last = home && others == 1 || self.uses.is_last_move(self.plan, value, link);
        if last { word | arg::LAST_USE } else { word }
    }

    fn edge_kind(
        &self,
        link: &Link,
        target: u32,
        frames: &mut [FrameInfo],
        edge: u32,
        blocks: &mut [Block],
    ) -> EdgeKind {
        let target_frame = self.frame_of_set(link.to);
        let source_frame = self.frame_of_set(link.from);
        let block = &mut blocks[target as usize];
        match link.kind {
            Kind::Plain | Kind::Next if link.data => {
                // A Merge that also has a back edge can be dead in iteration 0 only.
                if link.kind == Kind::Plain {
                    block.data_first += 1;
                    block.data_later += 1;
                } else {
                    block.data_later += 1;
                }
            }
            Kind::Enter { .. } if link.data => block.data_first += 1,
            _ => block.pending += 1,
        }
        match link.kind {
            Kind::Plain => EdgeKind::Plain,
            Kind::Next => EdgeKind::Next,
            Kind::Exit => {
                let exits = &mut frames[source_frame].exits;
                exits.push(edge);
                EdgeKind::Exit(exits.len() as u32 - 1)
            }
            Kind::Enter { invariant } => {
                let frame = &mut frames[target_frame];
                let entry = frame.num_entries;
                frame.num_entries += 1;
                EdgeKind::Enter { frame: target_frame as u32, entry, invariant }
            }
        }
    }
}

fn unfed(name: &str, pruned: &Pruned, id: NodeId) -> Box<dyn Kernel> {
    let node = pruned.graph.node(id);
    let dtype = node.output_types.first().map_or("unknown", |t| t.0.name());
    let shape = node.attrs.shape("shape").map(|s| s.to_string()).unwrap_or_default();
    let error = Status::invalid_argument(format_args!(
        "You must feed a value for placeholder tensor '{name}' with dtype {dtype} and shape {shape}"
    ));
    Box::new(move |_: &mut Ctx<'_>| Err(error.clone()))
}
