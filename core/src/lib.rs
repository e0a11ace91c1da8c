//! `runstep`: a TensorFlow master and worker without sockets, threads, an executor or a clock.
//!
//! A client opens a session on a master, sends it a dataflow graph and drives the graph with RunStep. This crate holds
//! all of that but the sockets (`runstep-tcp`, `runstep-quic`, `runstep-memory`) and the bare arithmetic
//! (`runstep-kernels`, re-exported as [`kernels`]).
//!
//! A module uses only the ones above it in this list:
//!
//! | module | what it is |
//! | --- | --- |
//! | [`status`] | canonical codes and the one-word [`Status`] error that every fallible call returns |
//! | [`sync`] | the few locks there are |
//! | [`host`] | what the outside gives: clock, entropy, threads, log |
//! | [`device`] | device names, constraints on them, and what a device says of itself |
//! | [`tensor`] | dtypes, shapes, shared tensors, and the borrowed forms that kernels see |
//! | [`wire`] | the protobuf messages and their conversions; nothing else knows prost |
//! | `graph` | the in-memory graph: import, validation, builder |
//! | `resource` | variables and kernel state, by container and name |
//! | `rendezvous` | where the parts of a step hand tensors to each other, by key |
//! | `ops` | one declaration an op: signature, shape function, kernels |
//! | `rewrite` | graph in, graph out: placement |
//! | `program` | a pruned graph compiled to straight blocks with buffer slots |
//! | `step` | one running program, a `Future` |
//! | `session` | the master: sessions, versions, cached runs, partial runs, callables |
//! | `service` | the trait pair that transports implement |
//! | `client` | `Client`, `Session`, `Callable` over any channel |
//!
//! Start with [`Status`], [`tensor::Tensor`], `session::Master` and `client::Client`.
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[cfg(feature = "alloc")]
pub mod client;
#[cfg(feature = "alloc")]
pub mod device;
#[cfg(feature = "alloc")]
pub mod graph;
pub mod host;
pub mod ops;
#[cfg(feature = "alloc")]
pub mod program;
#[cfg(feature = "alloc")]
pub mod rendezvous;
#[cfg(feature = "alloc")]
pub mod resource;
#[cfg(feature = "alloc")]
pub mod rewrite;
#[cfg(feature = "alloc")]
pub mod service;
#[cfg(feature = "alloc")]
pub mod session;
pub mod status;
#[cfg(feature = "alloc")]
pub mod step;
pub mod sync;
pub mod tensor;
#[cfg(feature = "alloc")]
pub mod wire;

pub use runstep_kernels as kernels;
pub use status::{Code, Status};
