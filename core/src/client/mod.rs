//! `Client`, `Session`, `Callable`: a program's side of a master, over any channel.
//!
//! Everything is async and needs no executor: the futures do their work when polled. The same code runs against a
//! [`crate::session::Server`] of this process and against one behind a wire. `runstep-host` has a blocking form.
//!
//! ```
//! # use core::{future::Future, pin::pin, task::{Context, Poll, Waker}};
//! # fn block_on<F: Future>(future: F) -> F::Output {
//! #     let mut future = pin!(future);
//! #     loop {
//! #         if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
//! #             return output;
//! #         }
//! #     }
//! # }
//! use runstep::client::Client;
//! use runstep::graph::GraphBuilder;
//! use runstep::host::NoHost;
//! use runstep::ops::{ALL, Registry};
//! use runstep::session::{MasterOptions, Server};
//! use runstep::tensor::{DType, Tensor};
//! use std::sync::Arc;
//!
//! let registry = Arc::new(Registry::new(ALL)?);
//! let mut g = GraphBuilder::new(&registry);
//! let x = g.placeholder("x", DType::Float, &[])?;
//! g.op("Identity", "y", &[&x])?;
//! let nodes = g.take_nodes();
//!
//! let server = Server::new(MasterOptions::new(registry), Arc::new(NoHost))?;
//! let client = Client::new(Arc::new(server));
//! block_on(async {
//!     let session = client.create_session(nodes.into(), Default::default()).await?;
//!     let outputs = session.run(&[("x:0", &Tensor::scalar(2.5f32))], &["y:0"], &[]).await?;
//!     assert_eq!(outputs.scalar::<f32>("y:0")?, 2.5);
//!     session.close().await
//! })?;
//! # Ok::<(), runstep::Status>(())
//! ```

mod callable;
mod connection;
mod outputs;
mod partial;
mod session;

pub use callable::Callable;
pub use connection::Client;
pub use outputs::Outputs;
pub use partial::PartialRun;
pub use session::Session;
