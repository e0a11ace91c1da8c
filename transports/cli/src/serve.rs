//! `runstep serve`: a master behind QUIC, TCP and gRPC until a signal ends it.

use std::io::Write;
use std::net::TcpListener;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use async_signal::{Signal, Signals};
use runstep::host::Host;
use runstep::service::Service;
use runstep::session::{MasterOptions, Server};
use runstep_quic::{ClientAuth, Identity, ServerOptions};
use smol::Executor;
use smol::stream::StreamExt;
use tracing::info;

use crate::args::Serve;
use crate::connect;
use crate::endpoint::{Endpoint, Scheme};
use crate::failure::Failure;

/// How long answers may take to leave after the signal; steps are cancelled at once.
const GRACE: Duration = Duration::from_secs(2);

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// Addresses that cannot be listened on; certificates that cannot be read; a system that refuses threads.
pub(crate) fn serve(args: &Serve) -> Result<(), Failure> {
    let host: Arc<dyn Host> = Arc::new(connect::host(args.threads)?);
    let mut options = MasterOptions::new(connect::registry()?);
    options.job.clone_from(&args.job);
    options.cpus = args.device_count;
    options.session_idle_ms_max = u64::try_from(args.session_idle_limit.as_millis()).unwrap_or(u64::MAX);
    options.session_bytes_max = args.memory_limit;
    let server = Server::new(options, host)?;

    let threads = args.threads.or_else(|| thread::available_parallelism().ok().map(NonZero::get)).unwrap_or(1);
    let executor = Arc::new(Executor::new());
    let (running, stop) = smol::channel::bounded::<()>(1);
    // The main thread is one of them.
    let others = (1..threads).map(|i| {
        let (executor, stop) = (executor.clone(), stop.clone());
        let work = move || {
            // Ends when the sender is gone.
            let _ = smol::block_on(executor.run(stop.recv()));
        };
        thread::Builder::new().name(format!("runstep-serve-{i}")).spawn(work)
    });
    let others = others.collect::<Result<Vec<_>, _>>().map_err(|e| Failure::at("no thread for serving", e))?;
    let result = smol::block_on(executor.run(until_signal(args, &server, executor.clone())));
    drop(running);
    for other in others {
        // A thread that panicked has said so.
        let _ = other.join();
    }
    result
}

async fn until_signal(args: &Serve, server: &Server, executor: Arc<Executor<'static>>) -> Result<(), Failure> {
    // Before anybody can know that the server is ready, so that no signal is lost.
    let mut signals = Signals::new([Signal::Int, Signal::Term]).map_err(|e| Failure::at("signals", e))?;
    let maintain = executor.spawn(server.maintain());
    let service: Arc<dyn Service> = Arc::new(server.clone());
    let mut listeners = Vec::new();
    for endpoint in &args.listen {
        listeners.push(Listener::bind(endpoint, args, &service, &executor)?);
    }
    let mut stdout = std::io::stdout();
    for listener in &listeners {
        writeln!(stdout, "listening on {}", listener.url())?;
    }
    stdout.flush()?;
    let signal = signals.next().await;
    info!("{} ends the server", if matches!(signal, Some(Ok(Signal::Int))) { "SIGINT" } else { "SIGTERM" });
    let stop = async {
        // Cancels all steps, whose callers are told before the connections go.
        server.shut_down().await;
        for listener in listeners {
            listener.shut_down().await;
        }
        Ok(())
    };
    let again = async {
        signals.next().await;
        Err(Failure::Failed("a second signal; steps that ran are not waited for".to_owned()))
    };
    let result = smol::future::or(stop, again).await;
    drop(maintain);
    info!("stopped");
    result
}

/// A bound address.
enum Listener {
    Quic(runstep_quic::Server),
    Tcp(runstep_tcp::Server),
    Grpc(runstep_grpc::Server),
}

impl Listener {
    /// Listens on the first of the name's addresses that the system gives.
    fn bind(
        endpoint: &Endpoint,
        args: &Serve,
        service: &Arc<dyn Service>,
        executor: &Arc<Executor<'static>>,
    ) -> Result<Listener, Failure> {
        match endpoint.scheme {
            Scheme::Tcp => {
                let listen = || {
                    let listener = TcpListener::bind(&*endpoint.resolve().map_err(|e| e.to_string())?);
                    let listener = listener.map_err(|e| e.to_string())?;
                    let spawn = runstep_tcp::Spawn::On(executor.clone());
                    runstep_tcp::serve(listener, service.clone(), runstep_tcp::Limits::default(), spawn)
                        .map_err(|e| e.to_string())
                };
                listen().map(Listener::Tcp).map_err(|e| Failure::at(endpoint, e))
            }
            Scheme::Grpc => {
                let listen = || {
                    let listener = TcpListener::bind(&*endpoint.resolve().map_err(|e| e.to_string())?);
                    let listener = listener.map_err(|e| e.to_string())?;
                    let mut options = runstep_grpc::ServerOptions::default();
                    options.spawn = runstep_grpc::Spawn::On(executor.clone());
                    runstep_grpc::serve(listener, service.clone(), options).map_err(|e| e.to_string())
                };
                listen().map(Listener::Grpc).map_err(|e| Failure::at(endpoint, e))
            }
            Scheme::Quic => {
                let mut options = ServerOptions::new(own_identity(args)?);
                options.spawn = runstep_quic::Spawn::On(executor.clone());
                if let Some(path) = &args.client_ca {
                    options.clients = ClientAuth::Required(connect::text(path)?);
                }
                let mut last = Failure::at(endpoint, "the name has no address");
                for address in endpoint.resolve()? {
                    match runstep_quic::serve(address, service.clone(), options.clone()) {
                        Ok(server) => return Ok(Listener::Quic(server)),
                        Err(e) => last = e.into(),
                    }
                }
                Err(last)
            }
        }
    }

    fn url(&self) -> String {
        match self {
            Listener::Quic(server) => server.url(),
            Listener::Tcp(server) => server.url(),
            Listener::Grpc(server) => server.url(),
        }
    }

    async fn shut_down(self) {
        match self {
            Listener::Quic(server) => server.shutdown(GRACE).await,
            Listener::Tcp(server) => server.shutdown(GRACE).await,
            Listener::Grpc(server) => server.shutdown(GRACE).await,
        }
    }
}

/// Who the server is: the given certificate, or one made now for this machine and the names that are listened on.
fn own_identity(args: &Serve) -> Result<Identity, Failure> {
    if let Some(identity) = connect::identity(args.cert.as_deref(), args.key.as_deref())? {
        return Ok(identity);
    }
    let mut names = vec!["localhost", "127.0.0.1", "::1"];
    for endpoint in &args.listen {
        if !names.contains(&endpoint.host()) {
            names.push(endpoint.host());
        }
    }
    Ok(Identity::self_signed(&names)?)
}
