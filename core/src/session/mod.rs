//! The master: sessions, graph versions, cached runs, partial runs, callables, garbage collection.
//!
//! [`Master`] is a state machine without I/O: requests and moments go in, [`Action`]s come out. [`Server`] drives it: it
//! polls steps in the tasks of their callers and is what transports serve, or a client in the same process calls.
//!
//! ```text
//! request ─▶ Master::call ─▶ Reply ───────────────────────────────▶ response
//!                  ▲       ├▶ StartStep ─▶ begin ─▶ poll ─▶ finish ─▶ response
//!                  │       ├▶ ContinuePartial ─▶ poll ─────────────▶ response
//!                  └─resume┴─ Wait (cancel, wait)
//! ```

mod action;
mod callables;
mod latch;
mod local;
mod lru;
mod master;
mod options;
mod partial;
mod partition_graphs;
mod recent;
mod running;
mod runs;
mod server;
#[path = "session.rs"]
mod session_state;
mod signature;

use session_state as session;

pub use action::{Action, ReplyForm, RunningStep, StartStep, Wait};
pub use local::LocalCallable;
pub use master::{Master, SessionUsage};
pub use options::MasterOptions;
pub use partial::ContinuePartial;
pub use server::{Maintain, Server};
