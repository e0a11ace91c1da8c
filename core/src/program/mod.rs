//! A run compiled once: pruned graph → straight blocks of kernels with a dataflow schedule between them.
//!
//! Nodes that are alive together run together: a *block* is the set of nodes of one frame whose execution depends on the
//! same conditions (taken sides of Switches, Merges, loop entries, exits). A block's kernels run in order without any
//! scheduling; between blocks, tail edges carry liveness and values. Switch, Merge, Enter, Exit and NextIteration are
//! heads and tails of blocks and cost nothing of their own. A graph without control flow is one block.
//!
//! The steps: `prune` (names → the needed graph), `analyse` (conditions of every node, hence blocks, values and
//! edges), `emit` (slots and instructions), with `uses` (who reads a value last).

mod analyse;
mod emit;
mod idle;
mod prune;
mod sets;
mod uses;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::Status;
use crate::graph::{Graph, Node, NodeId};
use crate::host::Host;
use crate::ops::Kernel;
use crate::resource::{NodeStates, ResourceManager};
use crate::tensor::{DType, Tensor};

/// What a run feeds, fetches and executes; two runs of equal specs share a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunSpec {
    /// Names of fed tensors.
    pub feeds: Vec<String>,
    /// Names of fetched tensors.
    pub fetches: Vec<String>,
    /// Names of nodes to run.
    pub targets: Vec<String>,
    /// Tensors that replace others: (from, to).
    pub tensor_connections: Vec<(String, String)>,
    /// Whether feeds may arrive one after the other (a partial run).
    pub partial: bool,
}

/// A device as programs see it.
#[derive(Clone)]
pub struct DeviceEnv {
    /// The full name.
    pub name: Arc<str>,
    /// The resources on it.
    pub resources: Arc<ResourceManager>,
}

/// What compiling needs beside the spec.
pub struct CompileContext<'a> {
    /// The session's graph.
    pub graph: &'a Graph,
    /// The session's devices; at least one.
    pub devices: &'a [DeviceEnv],
    /// The index in `devices` that a node is placed on.
    pub device_of: &'a dyn Fn(NodeId) -> usize,
    /// The session's kernel state.
    pub states: &'a NodeStates,
    /// The host.
    pub host: &'a Arc<dyn Host>,
}

/// A compiled run. Immutable; any number of steps may run it at once.
pub struct Program {
    pub(crate) feeds: Vec<Feed>,
    pub(crate) fetches: Vec<FetchInfo>,
    pub(crate) frames: Vec<FrameInfo>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) instructions: Vec<Instruction>,
    pub(crate) args: Vec<u32>,
    pub(crate) edges: Vec<BlockEdge>,
    pub(crate) moves: Vec<Move>,
    pub(crate) constants: Vec<Tensor>,
    pub(crate) nodes: Vec<NodeInfo>,
    pub(crate) devices: Vec<Arc<str>>,
    /// States of steps that ended, kept for the next ones.
    pub(crate) idle: idle::Idle,
}

/// A fed tensor.
pub(crate) struct Feed {
    pub(crate) name: String,
    pub(crate) slot: u32,
    pub(crate) dtype: DType,
    /// In a partial run: the block that the feed's arrival starts.
    pub(crate) block: Option<u32>,
}

/// A fetched tensor.
pub(crate) struct FetchInfo {
    pub(crate) name: String,
}

/// What errors and statistics say of a node.
pub(crate) struct NodeInfo {
    pub(crate) name: Arc<str>,
    pub(crate) op: String,
    pub(crate) device: u32,
}

/// A static frame: how its iterations are laid out.
pub(crate) struct FrameInfo {
    /// How many iterations may be active.
    pub(crate) parallel_iterations: u32,
    /// Slots of an iteration.
    pub(crate) num_slots: u32,
    /// Values that all iterations share.
    pub(crate) num_invariants: u32,
    /// Child frames, numbered within this frame by `FrameInfo::ordinal`.
    pub(crate) num_children: u32,
    /// This frame's number among its parent's children.
    pub(crate) ordinal: u32,
    /// The blocks of this frame, contiguous in `Program::blocks`.
    pub(crate) blocks: core::ops::Range<u32>,
    /// Number of Enter edges that lead here.
    pub(crate) num_entries: u32,
    /// Blocks that each iteration starts once their invariants have come, by entry number.
    pub(crate) invariant_blocks: Vec<(u32, u32)>,
    /// The exits: edges to deliver dead when the frame ends without them, by exit number.
    pub(crate) exits: Vec<u32>,
    /// Slots whose values may be shared with the outside and are let go at the end of an iteration.
    pub(crate) shared_slots: Vec<u32>,
}

/// When a block may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// All edges have come; dead if any is.
    Join,
    /// All control edges and one live data edge have come, or all data edges dead.
    Merge,
    /// All edges have come; never dead.
    Trigger,
}

/// Kernels in a row.
pub(crate) struct Block {
    pub(crate) head: Head,
    /// Edges to wait for: all of a Join or Trigger, the control edges of a Merge.
    pub(crate) pending: u32,
    /// For a Merge: data edges that may come in iteration 0, and in later iterations (back edges not counted).
    pub(crate) data_first: u32,
    pub(crate) data_later: u32,
    pub(crate) instructions: core::ops::Range<u32>,
    pub(crate) edges: core::ops::Range<u32>,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Runs the kernel.
    Run,
    /// Runs the kernel, which takes long: the clock is looked at afterwards.
    RunHeavy,
    /// Begins the kernel, which may wait.
    Wait,
    /// Makes the input available as a fetch.
    Fetch(u32),
}

/// A kernel with its arguments.
pub(crate) struct Instruction {
    pub(crate) kernel: Box<dyn Kernel>,
    pub(crate) args: u32,
    pub(crate) num_inputs: u16,
    pub(crate) num_outputs: u16,
    pub(crate) node: u32,
    pub(crate) action: Action,
    /// Whether an argument word has the last-use mark.
    pub(crate) releases: bool,
}

/// Where a tail edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EdgeKind {
    /// To a block of the same iteration.
    Plain,
    /// To a block of the next iteration.
    Next,
    /// To a block of the parent's iteration; the exit's number within the frame.
    Exit(u32),
    /// To a block of the first iteration of a child frame; frame, and entry number within it.
    Enter { frame: u32, entry: u32, invariant: bool },
}

/// The condition of a tail edge: an argument word of a bool scalar and the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) pred: u32,
    pub(crate) side: bool,
    /// The Switch, for errors.
    pub(crate) node: u32,
}

/// A tail edge.
pub(crate) struct BlockEdge {
    pub(crate) kind: EdgeKind,
    pub(crate) condition: Option<Condition>,
    pub(crate) target: u32,
    /// Whether it brings a Merge its value.
    pub(crate) data: bool,
    pub(crate) moves: core::ops::Range<u32>,
}

/// A value that an edge carries: from an argument word to a slot of the target (or an invariant of the child frame).
#[derive(Clone, Copy)]
pub(crate) struct Move {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

impl Program {
    /// Compiles a run.
    ///
    /// # Errors
    /// NOT_FOUND for unknown nodes; INVALID_ARGUMENT for names, edges and loops that are wrong; UNIMPLEMENTED naming all
    /// ops that have no kernel; whatever making a kernel answers.
    pub fn compile(spec: &RunSpec, context: &CompileContext<'_>) -> Result<Program, Status> {
        let pruned = prune::prune(context.graph, spec)?;
        let plan = analyse::analyse(&pruned, spec.partial)?;
        emit::emit(spec, context, &pruned, plan)
    }

    /// The names of the fed tensors, in order.
    pub fn feed_names(&self) -> impl Iterator<Item = &str> {
        self.feeds.iter().map(|f| f.name.as_str())
    }

    /// The names of the fetched tensors, in order.
    pub fn fetch_names(&self) -> impl Iterator<Item = &str> {
        self.fetches.iter().map(|f| f.name.as_str())
    }

    /// The number of kernels in the program.
    pub fn num_instructions(&self) -> usize {
        self.instructions.len()
    }

    /// The number of blocks in the program; 1 without control flow.
    pub fn num_blocks(&self) -> usize {
        self.blocks.len()
    }
}

/// A short form of a node for error texts.
fn marked(status: Status, node: &Node) -> Status {
    status.at_node(&node.name)
}
