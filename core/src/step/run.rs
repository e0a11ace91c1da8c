//! The interpreter: runs ready blocks, kernel after kernel.

use super::state::{Position, Ready, Sample, State};
use super::{StepControl, StepOptions, deliver};
use crate::Status;
use crate::host::Time;
use crate::ops::{Ctx, Env, arg};
use crate::program::{Action, Instruction, Program};

/// How far a call of [`run`] came.
pub(super) enum Progress {
    /// Nothing is ready any more.
    Idle,
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
        let position = match state.current.take() {
            Some(position) => position,
            None => match state.ready.pop_front() {
                Some(ready) => Position { ready, instruction: program.blocks[ready.block as usize].instructions.start },
                None => return Ok(Progress::Idle),
            },
        };
        let ready = position.ready;
        if !ready.dead
            && let Some(at) = block(program, state, position, &mut clock)?
        {
            state.current = Some(Position { ready, instruction: at });
            return Ok(Progress::Yield);
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

/// Runs a block from a position to its end, or to where it yields.
fn block(
    program: &Program,
    state: &mut State,
    position: Position,
    clock: &mut Clock<'_>,
) -> Result<Option<u32>, Status> {
    let Ready { iteration, block, .. } = position.ready;
    let end = program.blocks[block as usize].instructions.end;
    let instructions = program.instructions.get(position.instruction as usize..end as usize).unwrap_or_default();
    let env = Env { host: &*clock.options.host, budget: clock.options.budget.as_ref(), step_id: clock.options.step_id };
    let it = &mut state.iterations[iteration as usize];
    let invariants = state.frames.get(it.frame as usize).map_or(&[][..], |f| &f.invariants);
    let mut ctx = Ctx {
        env: &env,
        args: &[],
        num_inputs: 0,
        slots: &mut it.slots,
        invariants,
        constants: &program.constants,
        missing: &state.missing,
        scratch: &mut state.scratch,
    };
    for (at, instruction) in (position.instruction..).zip(instructions) {
        let first = instruction.args as usize;
        let num_inputs = usize::from(instruction.num_inputs);
        let count = num_inputs + usize::from(instruction.num_outputs);
        ctx.args = program.args.get(first..first + count).unwrap_or_default();
        ctx.num_inputs = num_inputs;
        if clock.options.trace {
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
            return Ok(Some(at + 1));
        }
    }
    Ok(None)
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
            *slot = crate::tensor::Tensor::default();
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
    Ok(Sample { node: instruction.node, start_micros, nanos, outputs })
}
