//! What happens when a block ends: its tail edges carry liveness and values on; iterations and frames begin and end.

use alloc::collections::VecDeque;

use super::state::{Frame, Iteration, NONE, ROOT, Ready, State, prepare, release};
use crate::Status;
use crate::ops::arg;
use crate::program::{BlockEdge, Condition, EdgeKind, Program};
use crate::tensor::Tensor;

/// Follows the tail edges of a block that ended.
///
/// # Errors
/// INVALID_ARGUMENT when a predicate is not a scalar.
pub(super) fn finish(program: &Program, state: &mut State, ready: Ready) -> Result<(), Status> {
    let block = &program.blocks[ready.block as usize];
    for at in block.edges.clone() {
        let edge = &program.edges[at as usize];
        let live = match edge.condition {
            _ if ready.dead => false,
            None => true,
            Some(condition) => taken(program, state, ready.iteration, condition)?,
        };
        follow(program, state, ready.iteration, edge, live);
    }
    let it = &mut state.iterations[ready.iteration as usize];
    it.outstanding -= 1;
    if it.outstanding == 0 && ready.iteration != ROOT {
        let frame = it.frame;
        end_iterations(program, state, frame);
    }
    Ok(())
}

/// Whether a conditional edge's side is taken.
fn taken(program: &Program, state: &State, iteration: u32, condition: Condition) -> Result<bool, Status> {
    let pred = read(program, state, iteration, condition.pred);
    match pred.inline_scalar::<bool>() {
        Some(value) => Ok(value == condition.side),
        None => {
            let node = program.nodes.get(condition.node as usize).map_or("?", |n| &n.name);
            Err(Status::invalid_argument(format_args!(
                "The second input must be a scalar, but it has shape {}",
                pred.shape()
            ))
            .at_node(node))
        }
    }
}

fn read<'a>(program: &'a Program, state: &'a State, iteration: u32, word: u32) -> &'a Tensor {
    let at = (word & arg::INDEX) as usize;
    let it = &state.iterations[iteration as usize];
    let found = match word & arg::SPACE {
        arg::SLOT => it.slots.get(at),
        arg::INVARIANT => state.frames.get(it.frame as usize).and_then(|f| f.invariants.get(at)),
        _ => program.constants.get(at),
    };
    found.unwrap_or(&state.missing)
}

/// Takes a moved value: swapped out when the edge is its last reader, so that memory goes round, else shared.
fn take(program: &Program, state: &mut State, iteration: u32, word: u32, old: &mut Tensor) {
    if word & arg::SPACE == arg::SLOT
        && word & arg::LAST_USE != 0
        && let Some(slot) = state.iterations[iteration as usize].slots.get_mut((word & arg::INDEX) as usize)
    {
        core::mem::swap(slot, old);
        return;
    }
    *old = read(program, state, iteration, word).clone();
}

/// Carries an edge's values into slots of iteration `to`.
fn move_values(program: &Program, state: &mut State, from: u32, to: u32, edge: &BlockEdge) {
    for at in edge.moves.clone() {
        let moved = program.moves[at as usize];
        let mut value = match state.iterations[to as usize].slots.get_mut(moved.to as usize) {
            Some(slot) => core::mem::take(slot),
            None => continue,
        };
        take(program, state, from, moved.from, &mut value);
        if let Some(slot) = state.iterations[to as usize].slots.get_mut(moved.to as usize) {
            *slot = value;
        }
    }
}

fn follow(program: &Program, state: &mut State, from: u32, edge: &BlockEdge, live: bool) {
    match edge.kind {
        EdgeKind::Plain => arrive(program, state, from, from, edge, live),
        EdgeKind::Next if live => {
            let to = next_iteration(program, state, from);
            arrive(program, state, from, to, edge, true);
        }
        // A dead NextIteration stops; a dead Exit counts only when the frame ends.
        EdgeKind::Next => {}
        EdgeKind::Exit(number) if live => {
            let frame = &mut state.frames[state.iterations[from as usize].frame as usize];
            if let Some(exited) = frame.exited.get_mut(number as usize) {
                *exited = true;
            }
            let to = frame.parent;
            arrive(program, state, from, to, edge, true);
        }
        EdgeKind::Exit(_) => {}
        EdgeKind::Enter { frame, entry, invariant } => {
            enter(program, state, from, edge, live, (frame, entry, invariant))
        }
    }
}

/// Delivers an edge, with its values when it is live and its target still wants them.
fn arrive(program: &Program, state: &mut State, from: u32, to: u32, edge: &BlockEdge, live: bool) {
    if live && !(edge.data && state.has_value(program, to, edge.target)) {
        move_values(program, state, from, to, edge);
    }
    state.arrive(program, to, edge.target, live, edge.data);
}

/// The child frame of an iteration, begun if it has not.
fn child(program: &Program, state: &mut State, parent: u32, info: u32) -> u32 {
    let frame_info = &program.frames[info as usize];
    let ordinal = frame_info.ordinal as usize;
    let known = state.iterations[parent as usize].children.get(ordinal).copied().unwrap_or(NONE);
    if known != NONE {
        return known;
    }
    let frame = match state.free_frames[info as usize].pop() {
        Some(frame) => frame,
        None => {
            state.frames.push(Frame { iterations: VecDeque::new(), ..Frame::default() });
            (state.frames.len() - 1) as u32
        }
    };
    let fresh = &mut state.frames[frame as usize];
    fresh.info = info;
    fresh.parent = parent;
    fresh.invariants.resize_with(frame_info.num_invariants as usize, Tensor::default);
    fresh.arrived.clear();
    fresh.arrived.resize(frame_info.num_entries as usize, 0);
    fresh.entries_left = frame_info.num_entries;
    fresh.iterations.clear();
    fresh.next_number = 0;
    fresh.exited.clear();
    fresh.exited.resize(frame_info.exits.len(), false);
    let parent = &mut state.iterations[parent as usize];
    parent.outstanding += 1;
    if let Some(slot) = parent.children.get_mut(ordinal) {
        *slot = frame;
    }
    new_iteration(program, state, frame);
    frame
}

fn enter(
    program: &Program,
    state: &mut State,
    from: u32,
    edge: &BlockEdge,
    live: bool,
    (info, entry, invariant): (u32, u32, bool),
) {
    let frame = child(program, state, from, info);
    let this = &mut state.frames[frame as usize];
    if let Some(arrived) = this.arrived.get_mut(entry as usize)
        && *arrived == 0
    {
        *arrived = if live { 1 } else { 2 };
        this.entries_left -= 1;
    }
    if invariant {
        if live {
            for at in edge.moves.clone() {
                let moved = program.moves[at as usize];
                let value = read(program, state, from, moved.from).clone();
                if let Some(slot) = state.frames[frame as usize].invariants.get_mut(moved.to as usize) {
                    *slot = value;
                }
            }
        }
        for at in 0..state.frames[frame as usize].iterations.len() {
            if let Some(&to) = state.frames[frame as usize].iterations.get(at) {
                state.arrive(program, to, edge.target, live, false);
            }
        }
    } else if let Some(&first) = state.frames[frame as usize].iterations.front() {
        arrive(program, state, from, first, edge, live);
    }
    end_iterations(program, state, frame);
}

/// The iteration after `from`, begun if it has not.
fn next_iteration(program: &Program, state: &mut State, from: u32) -> u32 {
    let it = &state.iterations[from as usize];
    let (frame, number) = (it.frame, it.number);
    let this = &state.frames[frame as usize];
    // Iterations end in order, so the numbers of those that live are consecutive.
    let oldest = this.iterations.front().map_or(0, |&i| state.iterations[i as usize].number);
    let at = usize::try_from(number + 1 - oldest).unwrap_or(usize::MAX);
    match this.iterations.get(at) {
        Some(&next) => next,
        None => new_iteration(program, state, frame),
    }
}

fn new_iteration(program: &Program, state: &mut State, frame: u32) -> u32 {
    let info = state.frames[frame as usize].info;
    let iteration = match state.free_iterations[info as usize].pop() {
        Some(iteration) => iteration,
        None => {
            state.iterations.push(Iteration::default());
            (state.iterations.len() - 1) as u32
        }
    };
    let this = &mut state.frames[frame as usize];
    let number = this.next_number;
    this.next_number += 1;
    let parallel = program.frames[info as usize].parallel_iterations as usize;
    let started = this.iterations.len() < parallel;
    this.iterations.push_back(iteration);
    let fresh = &mut state.iterations[iteration as usize];
    prepare(fresh, program, info, number);
    fresh.frame = frame;
    fresh.started = started;
    for &(entry, block) in &program.frames[info as usize].invariant_blocks {
        let arrived = state.frames[frame as usize].arrived.get(entry as usize).copied().unwrap_or(0);
        if arrived != 0 {
            state.arrive(program, iteration, block, arrived == 1, false);
        }
    }
    iteration
}

/// Ends iterations that have nothing left to do, oldest first, and the frame when none is left.
fn end_iterations(program: &Program, state: &mut State, frame: u32) {
    let info = state.frames[frame as usize].info;
    let frame_info = &program.frames[info as usize];
    loop {
        let this = &mut state.frames[frame as usize];
        if this.entries_left > 0 {
            return;
        }
        let Some(&oldest) = this.iterations.front() else { break };
        if state.iterations[oldest as usize].outstanding > 0 {
            return;
        }
        this.iterations.pop_front();
        release(&mut state.iterations[oldest as usize], &frame_info.shared_slots);
        state.free_iterations[info as usize].push(oldest);
        // The youngest may have waited for this one to end.
        let at = (frame_info.parallel_iterations as usize).saturating_sub(1);
        if let Some(&waiting) = state.frames[frame as usize].iterations.get(at)
            && !state.iterations[waiting as usize].started
        {
            state.iterations[waiting as usize].started = true;
            let held = core::mem::take(&mut state.iterations[waiting as usize].held);
            state.ready.extend(held.iter().copied());
            state.iterations[waiting as usize].held = held;
            state.iterations[waiting as usize].held.clear();
        }
    }
    let this = &mut state.frames[frame as usize];
    let parent = this.parent;
    let exited = core::mem::take(&mut this.exited);
    for value in &mut this.invariants {
        *value = Tensor::default();
    }
    for (&edge, _) in frame_info.exits.iter().zip(&exited).filter(|(_, exited)| !**exited) {
        let edge = &program.edges[edge as usize];
        state.arrive(program, parent, edge.target, false, edge.data);
    }
    state.frames[frame as usize].exited = exited;
    state.free_frames[info as usize].push(frame);
    let it = &mut state.iterations[parent as usize];
    if let Some(slot) = it.children.get_mut(frame_info.ordinal as usize) {
        *slot = NONE;
    }
    it.outstanding -= 1;
    if it.outstanding == 0 && parent != ROOT {
        let outer = it.frame;
        end_iterations(program, state, outer);
    }
}
