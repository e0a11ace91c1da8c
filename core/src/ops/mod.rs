//! Ops: one declaration each, in families; registries are explicit lists of declarations.
//!
//! To add an op: declare a static [`Op`] in its family's file, with signature, shape function and kernel, and list it in
//! the family's slice. Everything else (registry, table of supported ops, checks at import) follows from it. `known.txt`
//! has the signatures of all of TensorFlow's ops; a test holds every declaration to it.

#[cfg(feature = "alloc")]
pub mod activation;
#[cfg(feature = "alloc")]
pub mod assert;
#[cfg(feature = "alloc")]
pub mod blocks;
#[cfg(feature = "alloc")]
mod carry;
#[cfg(feature = "alloc")]
pub mod cast;
#[cfg(feature = "alloc")]
pub mod compare;
#[cfg(feature = "alloc")]
pub mod control_flow;
#[cfg(feature = "alloc")]
pub mod conv;
#[cfg(feature = "alloc")]
pub mod coordinates;
#[cfg(feature = "alloc")]
pub mod depthwise;
#[cfg(feature = "alloc")]
mod dispatch;
#[cfg(feature = "alloc")]
mod elementwise;
#[cfg(feature = "alloc")]
pub mod functions;
#[cfg(feature = "alloc")]
pub mod generate;
#[cfg(all(test, feature = "alloc"))]
mod hostile_tests;
#[cfg(feature = "alloc")]
pub mod join;
#[cfg(feature = "alloc")]
mod kernel;
#[cfg(feature = "alloc")]
mod known;
#[cfg(feature = "alloc")]
mod list_batches;
#[cfg(feature = "alloc")]
pub mod lists;
#[cfg(feature = "alloc")]
pub mod math;
#[cfg(feature = "alloc")]
pub mod matmul;
#[cfg(feature = "alloc")]
pub mod matrices;
#[cfg(feature = "alloc")]
pub mod movement;
#[cfg(feature = "alloc")]
pub mod nn;
#[cfg(feature = "alloc")]
pub mod norm;
mod op;
mod pick;
#[cfg(feature = "alloc")]
pub mod pool;
#[cfg(feature = "alloc")]
pub mod queues;
#[cfg(feature = "alloc")]
pub mod random;
#[cfg(feature = "alloc")]
pub mod reduce;
#[cfg(feature = "alloc")]
mod registry;
#[cfg(feature = "alloc")]
pub mod reorder;
#[cfg(feature = "alloc")]
mod rows;
#[cfg(feature = "alloc")]
mod scatter;
#[cfg(feature = "alloc")]
pub mod segments;
#[cfg(feature = "alloc")]
pub mod select;
#[cfg(feature = "alloc")]
pub mod shape;
#[cfg(feature = "alloc")]
pub mod shapes;
#[cfg(feature = "alloc")]
pub mod signature;
#[cfg(feature = "alloc")]
pub mod slices;
#[cfg(feature = "alloc")]
pub mod sort;
#[cfg(feature = "alloc")]
pub mod state;
#[cfg(feature = "alloc")]
pub mod summary;
#[cfg(feature = "alloc")]
mod tensor_list;
#[cfg(all(test, feature = "alloc"))]
mod testing;
#[cfg(feature = "alloc")]
pub mod training;
#[cfg(feature = "alloc")]
pub mod unary;
#[cfg(feature = "alloc")]
mod variable;
#[cfg(feature = "alloc")]
pub mod variable_rows;
#[cfg(feature = "alloc")]
mod window;

#[cfg(feature = "alloc")]
pub use kernel::{Ctx, Env, Kernel, MakeKernel, NodeContext, Waiting, describe, kernel, waiting_kernel};
#[cfg(feature = "alloc")]
pub(crate) use kernel::{SCRATCH_KEPT, arg};
#[cfg(feature = "alloc")]
pub use known::KNOWN;
pub use op::{Op, Role};
pub use pick::pick;
#[cfg(feature = "alloc")]
pub use registry::{OpInfo, Registry};
#[cfg(feature = "alloc")]
pub use signature::Signature;

/// Every family: what servers and tools know. A device lists fewer.
#[cfg(feature = "alloc")]
pub static ALL: &[&[&Op]] = &[
    control_flow::OPS,
    functions::OPS,
    math::OPS,
    compare::OPS,
    unary::OPS,
    activation::OPS,
    select::OPS,
    cast::OPS,
    shapes::OPS,
    movement::OPS,
    reorder::OPS,
    slices::OPS,
    join::OPS,
    generate::OPS,
    reduce::OPS,
    segments::OPS,
    sort::OPS,
    matmul::OPS,
    matrices::OPS,
    nn::OPS,
    conv::OPS,
    depthwise::OPS,
    pool::OPS,
    norm::OPS,
    blocks::OPS,
    coordinates::OPS,
    state::OPS,
    lists::OPS,
    variable_rows::OPS,
    queues::OPS,
    training::OPS,
    random::OPS,
    summary::OPS,
    assert::OPS,
];
