//! How kernels reach variables: through the handle in a reference or resource input, and into the value under its lock.

use alloc::sync::Arc;

use super::{Ctx, NodeContext};
use crate::Status;
use crate::resource::{ResourceManager, Variable};
use crate::sync::MutexGuard;
use crate::tensor::{ResourceHandle, Shape, Tensor};

/// The guard of a variable's value.
pub(super) type Value<'a> = MutexGuard<'a, Option<Tensor>>;

/// Finds variables: a handle made in this process points to its variable, one from outside is looked up by name.
#[derive(Clone)]
pub(super) struct Variables(Arc<ResourceManager>);

impl Variables {
    pub(super) fn new(node: &NodeContext<'_>) -> Variables {
        Variables(node.resources.clone())
    }

    /// The variable that input `i` names.
    pub(super) fn get(&self, c: &Ctx<'_>, i: usize) -> Result<Arc<Variable>, Status> {
        let handle = handle(c, i)?;
        if let Some(variable) = handle.target_arc::<Variable>() {
            return Ok(variable);
        }
        let parts = handle.parts();
        if parts.target.is_some() {
            return Err(Status::invalid_argument(format_args!(
                "input {i} is a handle of a {}, expected one of a variable",
                parts.type_name
            )));
        }
        if parts.device != *self.0.device() {
            return Err(Status::invalid_argument(format_args!(
                "resource {} is on device {}, not on {}",
                parts.name,
                parts.device,
                self.0.device()
            )));
        }
        let found = self.0.find::<Variable>(&parts.container, "Variable", &parts.name);
        found.ok_or_else(|| {
            Status::not_found(format_args!("resource {}/{} does not exist", parts.container, parts.name))
        })
    }
}

/// The handle in input `i`.
pub(super) fn handle<'a>(c: &'a Ctx<'_>, i: usize) -> Result<&'a ResourceHandle, Status> {
    match c.input(i).resources()? {
        [handle] => Ok(handle),
        handles => Err(Status::invalid_argument(format_args!("input {i} has {} handles, expected one", handles.len()))),
    }
}

/// The name of the variable of input `i`, for errors.
pub(super) fn name(c: &Ctx<'_>, i: usize) -> Arc<str> {
    handle(c, i).map(|h| h.parts().name.clone()).unwrap_or_default()
}

/// The answer to a use of a variable before its first assignment.
#[cold]
pub(super) fn uninitialized(c: &Ctx<'_>, i: usize) -> Status {
    Status::failed_precondition(format_args!("Attempting to use uninitialized value {}", name(c, i)))
}

/// INVALID_ARGUMENT unless two shapes are equal.
pub(super) fn same_shape(what: [&str; 2], a: &Shape, b: &Shape) -> Result<(), Status> {
    if a == b {
        return Ok(());
    }
    let [x, y] = what;
    Err(Status::invalid_argument(format_args!("{x} and {y} do not have the same shape: {a} vs. {b}")))
}

/// The locks of several variables, taken in the order of their addresses so that no two kernels wait for each other.
///
/// # Errors
/// INVALID_ARGUMENT when two of them are the same.
pub(super) fn lock_all<const N: usize>(variables: &[Arc<Variable>; N]) -> Result<[Value<'_>; N], Status> {
    let address = |i: usize| Arc::as_ptr(&variables[i]).addr();
    let mut order: [usize; N] = core::array::from_fn(|i| i);
    order.sort_unstable_by_key(|&i| address(i));
    if order.windows(2).any(|w| address(w[0]) == address(w[1])) {
        return Err(Status::invalid_argument("two of the variables of an update are one and the same"));
    }
    let mut guards: [Option<Value<'_>>; N] = [const { None }; N];
    for i in order {
        guards[i] = Some(variables[i].value.lock());
    }
    // Every place was filled above; the fallback keeps this total.
    Ok(core::array::from_fn(|i| guards[i].take().unwrap_or_else(|| variables[i].value.lock())))
}
