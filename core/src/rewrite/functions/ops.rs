//! The ops that expanded calls consist of, beside those of the functions themselves.

use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::Code;
use crate::ops::{Ctx, Kernel, NodeContext, Op, OpInfo, Role, Signature, control_flow, functions, kernel, shape};
use crate::status::Status;
use crate::tensor::DType;

/// The name of [`CALL`].
pub(super) const CALL_NAME: &str = "_Call";

/// A call whose function is known: what lowering makes of branches and loop bodies.
static CALL: Op = Op::new(CALL_NAME, "->", "").role(Role::Call);

/// For each of N branches whether an index takes it. An index that is out of range takes the last one.
static TAKES_BRANCH: Op = Op::new("_TakesBranch", "branch_index: int32 -> taken: N * bool", "N: int >= 1")
    .shape(shape::scalar)
    .kernel(&[], |_| {
        kernel(|c: &mut Ctx<'_>| {
            let count = c.num_outputs();
            let index = c.input(0);
            if index.shape().rank() != 0 {
                return Err(Status::invalid_argument(format_args!(
                    "branch_index is a tensor of shape {}, not a scalar",
                    index.shape()
                )));
            }
            let index = usize::try_from(index.to_scalar::<i32>()?).ok();
            let taken = index.filter(|index| *index < count).unwrap_or(count.saturating_sub(1));
            (0..count).for_each(|branch| c.set_scalar(branch, branch == taken));
            Ok(())
        })
    });

/// A call that cannot be expanded: a run that needs it answers the reason.
static FAILED: Op = Op::new("_FailedCall", "->", "").shape(shape::unknown).kernel(&[], |node| Err(reason(node)));

/// A call deeper than the limit on recursion: a run that comes to it answers the reason.
static TOO_DEEP: Op = Op::new("_DeepCall", "->", "").shape(shape::unknown).kernel(&[], |node| {
    let reason = reason(node);
    let fails: Box<dyn Kernel> = Box::new(move |_: &mut Ctx<'_>| Err(reason.clone()));
    Ok(fails)
});

/// The attributes in which a failed call keeps why.
pub(super) const REASON: [&str; 3] = ["code", "message", "node"];

fn reason(node: &NodeContext<'_>) -> Status {
    let [code, message, place] = REASON;
    let code = node.attrs().int(code).ok().and_then(|code| i32::try_from(code).ok());
    let message = node.attrs().str(message).unwrap_or_default();
    Status::from_parts(code.map_or(Code::Internal, Code::from_i32), message, node.attrs().str(place).ok())
}

/// The ops, ready for nodes.
pub(super) struct Ops {
    pub(super) identity: Arc<OpInfo>,
    pub(super) identity_n: Arc<OpInfo>,
    pub(super) no_op: Arc<OpInfo>,
    pub(super) trigger: Arc<OpInfo>,
    pub(super) switch: Arc<OpInfo>,
    pub(super) merge: Arc<OpInfo>,
    pub(super) enter: Arc<OpInfo>,
    pub(super) exit: Arc<OpInfo>,
    pub(super) next_iteration: Arc<OpInfo>,
    pub(super) loop_cond: Arc<OpInfo>,
    pub(super) to_bool: Arc<OpInfo>,
    pub(super) call: Arc<OpInfo>,
    pub(super) takes_branch: Arc<OpInfo>,
    pub(super) failed: Arc<OpInfo>,
    pub(super) too_deep: Arc<OpInfo>,
}

impl Ops {
    /// # Errors
    /// INTERNAL when a declaration does not parse.
    pub(super) fn new() -> Result<Ops, Status> {
        let info = |op: &'static Op| {
            let signature = Signature::parse(op.args, op.attrs)?;
            Ok::<_, Status>(Arc::new(OpInfo { name: op.name.into(), signature, op: Some(op) }))
        };
        Ok(Ops {
            identity: info(&control_flow::IDENTITY)?,
            identity_n: info(&control_flow::IDENTITY_N)?,
            no_op: info(&control_flow::NO_OP)?,
            trigger: info(&control_flow::CONTROL_TRIGGER)?,
            switch: info(&control_flow::SWITCH)?,
            merge: info(&control_flow::MERGE)?,
            enter: info(&control_flow::ENTER)?,
            exit: info(&control_flow::EXIT)?,
            next_iteration: info(&control_flow::NEXT_ITERATION)?,
            loop_cond: info(&control_flow::LOOP_COND)?,
            to_bool: info(&functions::TO_BOOL)?,
            call: info(&CALL)?,
            takes_branch: info(&TAKES_BRANCH)?,
            failed: info(&FAILED)?,
            too_deep: info(&TOO_DEEP)?,
        })
    }
}

/// Whether values of a dtype tie nodes to a device.
pub(super) fn is_placed(dtype: DType) -> bool {
    dtype == DType::Resource
}
