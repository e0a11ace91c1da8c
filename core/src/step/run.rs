//! The interpreter: runs ready blocks, kernel after kernel.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::task::{Context, Poll};

use super::state::{Frame, Iteration, Position, Ready, Sample, Started, State, Wait};
use super::{StepControl, StepOptions, deliver};
use crate::Status;
use crate::host::Time;
use crate::ops::{Ctx, Env, Waiting, arg};
use crate::program::{Action, Instruction, Program};
use crate::tensor::Tensor;

/// How far a call of [`run`] came.
pub(super) enum Progress {
    /// Nothing is ready any more.
    Idle,
    /// Nothing is ready until what kernels wait for comes; the task is then woken.
    Wait,
    /// Much is left, but others should have their turn.
    Yield,
}

/// Instructions between two looks at the clock.
const INSTRUCTIONS_PER_LOOK: u32 = 128;

/// Time after which a step yields to others on its thread.
const SLICE_NANOS: u64 = 500_000;

/// Looks after which a step yields where there is no clock.
const LOOKS_PER_SLICE: u32 = 64;

/// Runs until nothing is ready, an error, or the end of the time slice.
///
/// # Errors
/// The first kernel's that fails, with its node; the reason of a cancellation; DEADLINE_EXCEEDED.
pub(super) fn run(
    program: &Program,
    options: &StepOptions,
    control: &StepControl,
    state: &mut State,
    cx: &mut Context<'_>,
) -> Result<Progress, Status> {
    state.begin();
    let mut clock = Clock { options, control, start: None, left: INSTRUCTIONS_PER_LOOK, looks: 0 };
    if let Some(reason) = control.reason() {
        return Err(reason);
    }
    if options.deadline.is_some() && clock.look()? {
        // A deadline that has passed is noticed before anything runs.
        clock.start = None;
    }
    loop {
        let position = match state.current.take().or_else(|| state.resumed.pop_front()) {
            Some(position) => position,
            None => match state.ready.pop_front() {
                Some(ready) => Position { ready, instruction: program.blocks[ready.block as usize].instructions.start },
                None if state.waits.is_empty() => return Ok(Progress::Idle),
                None => {
                    waits(program, options, state, cx)?;
                    if state.resumed.is_empty() {
                        return Ok(Progress::Wait);
                    }
                    continue;
                }
            },
        };
        let ready = position.ready;
        if !ready.dead {
            match block(program, state, position, &mut clock)? {
                End::Done => {}
                End::Yield(at) => {
                    state.current = Some(Position { ready, instruction: at });
                    return Ok(Progress::Yield);
                }
                End::Wait(at, waiting, started) => {
                    state.waits.push(Wait { position: Position { ready, instruction: at }, waiting, started });
                    continue;
                }
            }
        }
        deliver::finish(program, state, ready)?;
        clock.left = clock.left.saturating_sub(1);
        if clock.left == 0 && clock.look()? {
            return Ok(Progress::Yield);
        }
    }
}

/// When to look at the clock, at the deadline and at cancellation.
struct Clock<'a> {
    options: &'a StepOptions,
    control: &'a StepControl,
    start: Option<Time>,
    left: u32,
    looks: u32,
}

impl Clock<'_> {
    /// Checks for cancellation and deadline; whether the time slice is over.
    #[cold]
    fn look(&mut self) -> Result<bool, Status> {
        self.left = INSTRUCTIONS_PER_LOOK;
        if let Some(reason) = self.control.reason() {
            return Err(reason);
        }
        let Some(now) = self.options.host.now() else {
            self.looks += 1;
            return Ok(self.looks > LOOKS_PER_SLICE);
        };
        if self.options.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(Status::deadline_exceeded("the step did not finish before its deadline"));
        }
        let start = *self.start.get_or_insert(now);
        Ok(now.since(start) > SLICE_NANOS)
    }
}

/// Where a block was left.
enum End {
    /// At its end.
    Done,
    /// Before this instruction, for others to have their turn.
    Yield(u32),
    /// At this instruction, which waits, and since when if that is measured.
    Wait(u32, Box<dyn Waiting>, Option<Started>),
}

/// What kernels of an iteration see; arguments are set by instruction.
fn context<'a>(
    program: &'a Program,
    env: &'a Env<'a>,
    iteration: &'a mut Iteration,
    frames: &'a [Frame],
    missing: &'a Tensor,
    scratch: &'a mut Vec<Tensor>,
) -> Ctx<'a> {
    let invariants = frames.get(iteration.frame as usize).map_or(&[][..], |f| &f.invariants);
    let (slots, constants) = (&mut iteration.slots, &program.constants);
    Ctx { env, args: &[], num_inputs: 0, slots, invariants, constants, missing, scratch }
}

/// Points a context to an instruction's arguments.
#[inline]
fn aim<'a>(ctx: &mut Ctx<'a>, program: &'a Program, instruction: &Instruction) {
    let first = instruction.args as usize;
    let num_inputs = usize::from(instruction.num_inputs);
    let count = num_inputs + usize::from(instruction.num_outputs);
    ctx.args = program.args.get(first..first + count).unwrap_or_default();
    ctx.num_inputs = num_inputs;
}

/// Looks at every kernel that waits; those that are ready go on.
fn waits(program: &Program, options: &StepOptions, state: &mut State, cx: &mut Context<'_>) -> Result<(), Status> {
    let env = Env {
        host: &*options.host,
        budget: options.budget.as_ref(),
        step_id: options.step_id,
        resources: &state.resources,
    };
    let mut failure = None;
    let mut ready = |wait: &mut Wait| {
        let Position { ready, instruction: at } = wait.position;
        let instruction = &program.instructions[at as usize];
        let it = &mut state.iterations[ready.iteration as usize];
        let mut ctx = context(program, &env, it, &state.frames, &state.missing, &mut state.scratch);
        aim(&mut ctx, program, instruction);
        match wait.waiting.poll(cx, &mut ctx) {
            Poll::Pending => return false,
            Poll::Ready(Err(error)) => {
                failure.get_or_insert_with(|| failed(program, instruction, error));
            }
            Poll::Ready(Ok(())) => {
                if let Some((start_micros, start)) = wait.started {
                    state.samples.push(sample(instruction, &ctx, start_micros, start));
                }
                if instruction.releases {
                    release(&mut ctx);
                }
                state.resumed.push_back(Position { ready, instruction: at + 1 });
            }
        }
        true
    };
    state.waits.retain_mut(|wait| !ready(wait));
    match failure {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Runs a block from a position to its end, or to where it yields or waits.
fn block(program: &Program, state: &mut State, position: Position, clock: &mut Clock<'_>) -> Result<End, Status> {
    let Ready { iteration, block, .. } = position.ready;
    let end = program.blocks[block as usize].instructions.end;
    let instructions = program.instructions.get(position.instruction as usize..end as usize).unwrap_or_default();
    let env = Env {
        host: &*clock.options.host,
        budget: clock.options.budget.as_ref(),
        step_id: clock.options.step_id,
        resources: &state.resources,
    };
    let it = &mut state.iterations[iteration as usize];
    let mut ctx = context(program, &env, it, &state.frames, &state.missing, &mut state.scratch);
    for (at, instruction) in (position.instruction..).zip(instructions) {
        aim(&mut ctx, program, instruction);
        if instruction.action == Action::Wait {
            let start = clock.options.trace.then(|| (env.host.unix_micros(), env.host.now()));
            let begun = instruction.kernel.begin(&mut ctx).map_err(|error| failed(program, instruction, error))?;
            if let Some(waiting) = begun {
                return Ok(End::Wait(at, waiting, start));
            }
            if let Some((start_micros, start)) = start {
                state.samples.push(sample(instruction, &ctx, start_micros, start));
            }
        } else if clock.options.trace {
            let sample = measured(instruction, &mut ctx, program)?;
            state.samples.push(sample);
        } else if let Err(error) = instruction.kernel.run(&mut ctx) {
            return Err(failed(program, instruction, error));
        }
        if let Action::Fetch(index) = instruction.action
            && let Some(fetch) = state.fetches.get_mut(index as usize)
        {
            *fetch = Some(ctx.input(0).clone());
        }
        if instruction.releases {
            release(&mut ctx);
        }
        clock.left = clock.left.saturating_sub(1);
        if (clock.left == 0 || instruction.action == Action::RunHeavy) && clock.look()? && at + 1 < end {
            return Ok(End::Yield(at + 1));
        }
    }
    Ok(End::Done)
}

/// Lets go of inputs that were read for the last time and that others hold as well: a variable's value must be ours
/// alone to be written in place.
#[inline]
fn release(ctx: &mut Ctx<'_>) {
    for &word in ctx.args.get(..ctx.num_inputs).unwrap_or_default() {
        if word & arg::LAST_USE != 0
            && let Some(slot) = ctx.slots.get_mut((word & arg::INDEX) as usize)
            && !slot.is_unique()
        {
            *slot = Tensor::default();
        }
    }
}

#[cold]
fn failed(program: &Program, instruction: &Instruction, error: Status) -> Status {
    match program.nodes.get(instruction.node as usize) {
        Some(node) => error.at_node(&node.name),
        None => error,
    }
}

/// Runs a kernel and measures it.
fn measured(instruction: &Instruction, ctx: &mut Ctx<'_>, program: &Program) -> Result<Sample, Status> {
    let start_micros = ctx.env.host.unix_micros();
    let start = ctx.env.host.now();
    instruction.kernel.run(ctx).map_err(|error| failed(program, instruction, error))?;
    Ok(sample(instruction, ctx, start_micros, start))
}

/// What is told of a run that began then and ends now.
fn sample(instruction: &Instruction, ctx: &Ctx<'_>, start_micros: u64, start: Option<Time>) -> Sample {
    let nanos = match (start, ctx.env.host.now()) {
        (Some(start), Some(end)) => end.since(start),
        _ => 0,
    };
    let outputs = ctx.args.get(ctx.num_inputs..).unwrap_or_default();
    let outputs = outputs
        .iter()
        .filter_map(|word| ctx.slots.get((word & arg::INDEX) as usize))
        .map(|value| (value.dtype(), value.shape().clone()))
        .collect();
    Sample { node: instruction.node, start_micros, nanos, outputs }
}
