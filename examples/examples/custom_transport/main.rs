//! A transport of one's own, on an executor of one's own: no sockets, no threads, no smol. Started, it passes the suite
//! that every transport passes. The transport is `transport.rs`, in less than 150 lines.
//!
//! `cargo run --release -p runstep-examples --example custom_transport`

mod executor;
mod transport;

use std::future::poll_fn;
use std::sync::Arc;

use runstep::Status;
use runstep::service::Service;
use runstep::service::frame::Limits;
use runstep::service::suite::{self, Boxed, Connected, Failure, Subject, Traits};

use executor::Executor;
use transport::{Line, Link, PacketChannel, Running};

struct Packets(Executor);

impl Subject for Packets {
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>> {
        let link = Link::new(limits);
        let (server, cut, held) = (link.clone(), link.clone(), link.clone());
        let mut running = Running::new();
        self.0.spawn(poll_fn(move |cx| server.serve(&*service, &mut running, cx)));
        let connected = Connected {
            channel: Arc::new(PacketChannel(link)),
            cut: Box::new(move || [&cut.up, &cut.down].into_iter().for_each(Line::cut)),
            shutdown: Box::new(|_| Box::pin(async {})),
            bytes_held: Box::new(move || held.budget.used()),
        };
        Box::pin(async { Ok(connected) })
    }

    fn run(&self, future: Boxed<'_, ()>) {
        self.0.run(future);
    }

    /// A program on an executor without a clock has no deadlines.
    fn traits(&self) -> Traits {
        Traits { clock: false, wire: true, shutdown: false }
    }
}

fn main() -> Result<(), Failure> {
    let count = suite::run(&Packets(Executor::default()), &|case| println!("{case}"))?;
    println!("passed {count} cases");
    Ok(())
}
