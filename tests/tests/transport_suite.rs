//! Every transport passes the suite for transports.

use std::net::TcpListener;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use runstep::Status;
use runstep::service::Service;
use runstep::service::frame::Limits;
use runstep::service::suite::{self, Boxed, Connected, Subject, Traits};
use runstep_grpc::GrpcChannel;
use runstep_host::StdHost;
use runstep_quic::{ClientOptions, Identity, QuicChannel, ServerOptions, Trust};
use runstep_tcp::{Spawn, TcpChannel};

/// A case that takes longer hangs.
const CASE_TIME_MAX: Duration = Duration::from_secs(120);

/// Runs the suite on a thread of its own and watches its cases.
fn pass(subject: impl Subject + Send + 'static) {
    let (begun, cases) = channel();
    let suite = thread::spawn(move || suite::run(&subject, &|case| begun.send(case).unwrap()));
    let mut running = "the first case";
    loop {
        match cases.recv_timeout(CASE_TIME_MAX) {
            Ok(case) => {
                println!("{case}");
                running = case;
            }
            Err(RecvTimeoutError::Timeout) => panic!("hangs: {running}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    let count = suite.join().unwrap().unwrap_or_else(|failure| panic!("{failure}"));
    assert!(count >= 14, "only {count} cases");
}

/// Something that several closures may end.
type Shared<T> = Arc<Mutex<Option<T>>>;

struct Memory(Arc<StdHost>);

impl Subject for Memory {
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>> {
        let mut own = runstep_memory::Limits::default();
        own.running_max = limits.calls_per_connection_max;
        let (channel, server) = runstep_memory::channel(self.0.clone(), own);
        let (cut, cuts) = smol::channel::bounded::<()>(1);
        thread::spawn(move || {
            let dies = async {
                let _ = cuts.recv().await;
            };
            runstep_host::block_on(smol::future::or(dies, server.serve(service)))
        });
        let connected = Connected {
            channel: Arc::new(channel),
            cut: Box::new(move || drop(cut)),
            shutdown: Box::new(|_| Box::pin(async {})),
            bytes_held: Box::new(|| 0),
        };
        Box::pin(async { Ok(connected) })
    }

    fn run(&self, future: Boxed<'_, ()>) {
        runstep_host::block_on(future);
    }

    fn traits(&self) -> Traits {
        Traits { clock: true, wire: false, shutdown: false }
    }
}

struct Tcp;

impl Subject for Tcp {
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>> {
        Box::pin(async move {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(Status::unavailable)?;
            let server = runstep_tcp::serve(listener, service, limits, Spawn::Global).map_err(Status::unavailable)?;
            let channel = TcpChannel::connect(&server.url()).await?;
            let server: Shared<runstep_tcp::Server> = Arc::new(Mutex::new(Some(server)));
            let (ended, held) = (server.clone(), server.clone());
            Ok(Connected {
                channel: Arc::new(channel),
                cut: Box::new(move || drop(server.lock().unwrap().take())),
                shutdown: Box::new(move |wait| {
                    let server = ended.lock().unwrap().take().unwrap();
                    Box::pin(server.shutdown(Duration::from_secs(if wait { 100 } else { 0 })))
                }),
                bytes_held: Box::new(move || held.lock().unwrap().as_ref().map_or(0, |server| server.bytes_held())),
            })
        })
    }

    fn run(&self, future: Boxed<'_, ()>) {
        smol::block_on(future);
    }
}

struct Quic(Identity);

impl Subject for Quic {
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>> {
        Box::pin(async move {
            let mut options = ServerOptions::new(self.0.clone());
            options.limits = limits;
            let server = runstep_quic::serve(([127, 0, 0, 1], 0).into(), service, options)?;
            let roots = self.0.to_pem().map(|(certificate, _)| certificate.to_owned());
            let options = ClientOptions::new(Trust::Roots(roots.unwrap_or_default()));
            let channel = QuicChannel::connect(&server.url(), options).await?;
            let server: Shared<runstep_quic::Server> = Arc::new(Mutex::new(Some(server)));
            let (ended, held) = (server.clone(), server.clone());
            Ok(Connected {
                channel: Arc::new(channel),
                cut: Box::new(move || drop(server.lock().unwrap().take())),
                shutdown: Box::new(move |wait| {
                    let server = ended.lock().unwrap().take().unwrap();
                    Box::pin(server.shutdown(Duration::from_secs(if wait { 100 } else { 0 })))
                }),
                bytes_held: Box::new(move || held.lock().unwrap().as_ref().map_or(0, |server| server.bytes_held())),
            })
        })
    }

    fn run(&self, future: Boxed<'_, ()>) {
        smol::block_on(future);
    }
}

struct Grpc;

impl Subject for Grpc {
    fn connect(&self, service: Arc<dyn Service>, limits: Limits) -> Boxed<'_, Result<Connected, Status>> {
        Box::pin(async move {
            let listener = TcpListener::bind("127.0.0.1:0").map_err(Status::unavailable)?;
            let mut options = runstep_grpc::ServerOptions::default();
            options.limits = limits;
            let server = runstep_grpc::serve(listener, service, options).map_err(Status::unavailable)?;
            let channel = GrpcChannel::connect(&server.url()).await?;
            let server: Shared<runstep_grpc::Server> = Arc::new(Mutex::new(Some(server)));
            let (ended, held) = (server.clone(), server.clone());
            Ok(Connected {
                channel: Arc::new(channel),
                cut: Box::new(move || drop(server.lock().unwrap().take())),
                shutdown: Box::new(move |wait| {
                    let server = ended.lock().unwrap().take().unwrap();
                    Box::pin(server.shutdown(Duration::from_secs(if wait { 100 } else { 0 })))
                }),
                bytes_held: Box::new(move || held.lock().unwrap().as_ref().map_or(0, |server| server.bytes_held())),
            })
        })
    }

    fn run(&self, future: Boxed<'_, ()>) {
        smol::block_on(future);
    }
}

#[test]
fn memory() {
    pass(Memory(Arc::new(StdHost::with_threads(1).unwrap())));
}

#[test]
fn tcp() {
    pass(Tcp);
}

#[test]
fn quic() {
    pass(Quic(Identity::self_signed(&["127.0.0.1"]).unwrap()));
}

#[test]
fn grpc() {
    pass(Grpc);
}
