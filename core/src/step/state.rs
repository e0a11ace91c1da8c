//! The changing part of a step: frames, iterations, slots, what is ready.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::host::Time;
use crate::ops::Waiting;
use crate::program::{Head, Program};
use crate::resource::StepResources;
use crate::tensor::{DType, Shape, Tensor};

/// Marks the absence of an index.
pub(super) const NONE: u32 = u32::MAX;

/// A block that may run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) iteration: u32,
    pub(super) block: u32,
    pub(super) dead: bool,
}

/// How far a block's head is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeadState {
    /// Edges still to come (of a Merge: control edges).
    pub(super) pending: u32,
    /// Data edges of a Merge that may still come.
    pub(super) data: u32,
    /// A Join: one edge was dead. A Merge: a live value came.
    pub(super) flag: bool,
    /// It became ready.
    pub(super) fired: bool,
}

/// One iteration of one frame.
#[derive(Default)]
pub(super) struct Iteration {
    pub(super) frame: u32,
    pub(super) number: u64,
    pub(super) slots: Vec<Tensor>,
    pub(super) heads: Vec<HeadState>,
    /// Blocks ready or running, and child frames that live.
    pub(super) outstanding: u32,
    /// The child frames, by ordinal.
    pub(super) children: Vec<u32>,
    /// Blocks that became ready before the iteration may start.
    pub(super) held: Vec<Ready>,
    pub(super) started: bool,
}

/// A frame that runs.
#[derive(Default)]
pub(super) struct Frame {
    /// The static frame.
    pub(super) info: u32,
    /// The iteration of the parent that it belongs to.
    pub(super) parent: u32,
    pub(super) invariants: Vec<Tensor>,
    /// Which entries have come: 0 no, 1 live, 2 dead.
    pub(super) arrived: Vec<u8>,
    pub(super) entries_left: u32,
    /// The iterations that live, oldest first.
    pub(super) iterations: VecDeque<u32>,
    pub(super) next_number: u64,
    /// Which exits have delivered a live value.
    pub(super) exited: Vec<bool>,
}

/// One measured run of a node.
pub(super) struct Sample {
    pub(super) node: u32,
    pub(super) start_micros: u64,
    pub(super) nanos: u64,
    pub(super) outputs: Vec<(DType, Shape)>,
}

/// Where a block was left to yield.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) ready: Ready,
    pub(super) instruction: u32,
}

/// When a measured run began: microseconds since the epoch, and by the monotonic clock.
pub(super) type Started = (u64, Option<Time>);

/// A block that waits at one of its instructions.
pub(super) struct Wait {
    pub(super) position: Position,
    pub(super) waiting: Box<dyn Waiting>,
    pub(super) started: Option<Started>,
}

/// The state of a step.
pub(super) struct State {
    pub(super) frames: Vec<Frame>,
    pub(super) iterations: Vec<Iteration>,
    pub(super) ready: VecDeque<Ready>,
    pub(super) fetches: Vec<Option<Tensor>>,
    pub(super) scratch: Vec<Tensor>,
    pub(super) missing: Tensor,
    pub(super) current: Option<Position>,
    /// Blocks whose kernels wait.
    pub(super) waits: Vec<Wait>,
    /// Blocks that waited and go on.
    pub(super) resumed: VecDeque<Position>,
    /// Resources that live as long as the step.
    pub(super) resources: StepResources,
    pub(super) samples: Vec<Sample>,
    /// Frames and iterations, by static frame, that ended and may be used again.
    pub(super) free_frames: Vec<Vec<u32>>,
    pub(super) free_iterations: Vec<Vec<u32>>,
    begun: bool,
}

/// The root frame and its only iteration.
pub(super) const ROOT: u32 = 0;

impl State {
    /// The state of no program; allocates nothing.
    pub(super) fn empty() -> State {
        State {
            frames: Vec::new(),
            iterations: Vec::new(),
            ready: VecDeque::new(),
            fetches: Vec::new(),
            scratch: Vec::new(),
            missing: Tensor::default(),
            current: None,
            waits: Vec::new(),
            resumed: VecDeque::new(),
            resources: StepResources::default(),
            samples: Vec::new(),
            free_frames: Vec::new(),
            free_iterations: Vec::new(),
            begun: false,
        }
    }

    pub(super) fn new(program: &Program) -> State {
        let mut state = State {
            frames: alloc::vec![Frame::default()],
            iterations: alloc::vec![Iteration::default()],
            fetches: program.fetches.iter().map(|_| None).collect(),
            free_frames: program.frames.iter().map(|_| Vec::new()).collect(),
            free_iterations: program.frames.iter().map(|_| Vec::new()).collect(),
            ..State::empty()
        };
        state.frames[0].parent = NONE;
        state.prepare_root(program);
        state
    }

    /// Whether anything ran or was fed since the last reset.
    pub(super) fn has_begun(&self) -> bool {
        self.begun
    }

    /// Lets go of what others may hold as well: the state may lie idle for long.
    pub(super) fn end(&mut self, program: &Program) {
        self.give_up();
        release(&mut self.iterations[0], &program.frames[0].shared_slots);
    }

    /// Lets go of what kernels wait for and of the step's resources.
    pub(super) fn give_up(&mut self) {
        self.waits.clear();
        self.resumed.clear();
        self.resources.clear();
    }

    /// Back to the beginning after a run that ended well; memory is kept.
    pub(super) fn reset(&mut self, program: &Program) {
        self.fetches.iter_mut().for_each(|f| *f = None);
        self.samples.clear();
        self.current = None;
        self.ready.clear();
        self.give_up();
        self.begun = false;
        // Frames that never ended (their Enters did not all come) are given up.
        if self.iterations.len() > 1 {
            self.reclaim(program);
        }
        self.prepare_root(program);
    }

    fn reclaim(&mut self, program: &Program) {
        for list in self.free_frames.iter_mut().chain(&mut self.free_iterations) {
            list.clear();
        }
        for (at, frame) in self.frames.iter_mut().enumerate().skip(1) {
            frame.iterations.clear();
            if let Some(free) = self.free_frames.get_mut(frame.info as usize) {
                free.push(at as u32);
            }
        }
        let frames = &self.frames;
        for (at, iteration) in self.iterations.iter_mut().enumerate().skip(1) {
            let info = frames.get(iteration.frame as usize).map_or(0, |f| f.info);
            release(iteration, &program.frames[info as usize].shared_slots);
            if let Some(free) = self.free_iterations.get_mut(info as usize) {
                free.push(at as u32);
            }
        }
    }

    fn prepare_root(&mut self, program: &Program) {
        let root = &mut self.iterations[0];
        prepare(root, program, 0, 0);
        root.started = true;
        let info = &program.frames[0];
        for block in info.blocks.clone() {
            let info = &program.blocks[block as usize];
            if info.pending == 0 && info.head != Head::Merge {
                self.start(ROOT, block, false);
            }
        }
    }

    /// Puts a block in the queue, or aside while its iteration may not start.
    pub(super) fn start(&mut self, iteration: u32, block: u32, dead: bool) {
        let it = &mut self.iterations[iteration as usize];
        it.outstanding += 1;
        let ready = Ready { iteration, block, dead };
        if it.started {
            self.ready.push_back(ready);
        } else {
            it.held.push(ready);
        }
    }

    /// Takes a fed value.
    pub(super) fn feed(&mut self, program: &Program, slot: u32, block: Option<u32>, value: Tensor) {
        self.begun = true;
        if let Some(place) = self.iterations[0].slots.get_mut(slot as usize) {
            *place = value;
        }
        if let Some(block) = block {
            self.arrive(program, ROOT, block, true, false);
        }
    }

    /// Marks that something ran.
    pub(super) fn begin(&mut self) {
        self.begun = true;
    }

    /// Counts an edge at a block's head and starts the block when it is complete.
    pub(super) fn arrive(&mut self, program: &Program, iteration: u32, block: u32, live: bool, data: bool) {
        let it = &mut self.iterations[iteration as usize];
        let info = &program.frames[self.frames[it.frame as usize].info as usize];
        let Some(head) = block.checked_sub(info.blocks.start).and_then(|at| it.heads.get_mut(at as usize)) else {
            return;
        };
        let kind = program.blocks[block as usize].head;
        if data {
            head.data = head.data.saturating_sub(1);
            head.flag |= live;
        } else {
            head.pending = head.pending.saturating_sub(1);
            head.flag |= kind == Head::Join && !live;
        }
        let complete = head.pending == 0 && (kind != Head::Merge || head.flag || head.data == 0);
        if head.fired || !complete {
            return;
        }
        head.fired = true;
        let dead = match kind {
            Head::Join => head.flag,
            Head::Merge => !head.flag,
            Head::Trigger => false,
        };
        self.start(iteration, block, dead);
    }

    /// Whether a Merge already has its value.
    pub(super) fn has_value(&self, program: &Program, iteration: u32, block: u32) -> bool {
        let it = &self.iterations[iteration as usize];
        let info = &program.frames[self.frames[it.frame as usize].info as usize];
        let head = block.checked_sub(info.blocks.start).and_then(|at| it.heads.get(at as usize));
        head.is_none_or(|h| h.flag)
    }
}

/// Lays out an iteration's slots and heads; slots keep the memory they had.
pub(super) fn prepare(iteration: &mut Iteration, program: &Program, info: u32, number: u64) {
    let frame = &program.frames[info as usize];
    iteration.number = number;
    iteration.outstanding = 0;
    iteration.started = false;
    iteration.held.clear();
    iteration.slots.resize_with(frame.num_slots as usize, Tensor::default);
    iteration.children.clear();
    iteration.children.resize(frame.num_children as usize, NONE);
    iteration.heads.clear();
    iteration.heads.extend(frame.blocks.clone().map(|block| {
        let block = &program.blocks[block as usize];
        let data = if number == 0 { block.data_first } else { block.data_later };
        HeadState { pending: block.pending, data, flag: false, fired: false }
    }));
}

/// Lets go of values that others may hold as well, so that variables can be written in place and clients' tensors are
/// not kept.
pub(super) fn release(iteration: &mut Iteration, shared: &[u32]) {
    for &slot in shared {
        if let Some(value) = iteration.slots.get_mut(slot as usize)
            && !value.is_unique()
        {
            *value = Tensor::default();
        }
    }
}
