//! The client's way to a master: in this process, or on a server.

use std::path::Path;
use std::sync::Arc;

use runstep::client::Client;
use runstep::host::Host;
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::session::{MasterOptions, Server};
use runstep_grpc::GrpcChannel;
use runstep_host::StdHost;
use runstep_memory::Direct;
use runstep_quic::{ClientOptions, Identity, QuicChannel};
use runstep_tcp::TcpChannel;

use crate::args::Trust;
use crate::endpoint::{Endpoint, Scheme};
use crate::failure::Failure;

/// A master in this process, whose kernels run on `threads` threads.
///
/// # Errors
/// A system that refuses threads.
pub(crate) fn in_process(threads: Option<usize>) -> Result<Client, Failure> {
    let host: Arc<dyn Host> = Arc::new(host(threads)?);
    let server = Server::new(MasterOptions::new(registry()?), host.clone())?;
    Ok(Client::new(Arc::new(Direct::new(Arc::new(server), host))))
}

/// A master on a server.
///
/// # Errors
/// A server that does not answer or is not believed; certificates that cannot be read; over QUIC to another machine,
/// when it is not said whom to believe.
pub(crate) async fn remote(endpoint: &Endpoint, trust: &Trust) -> Result<Client, Failure> {
    match endpoint.scheme {
        Scheme::Tcp => Ok(Client::new(Arc::new(TcpChannel::connect(&endpoint.address).await?))),
        Scheme::Grpc => Ok(Client::new(Arc::new(GrpcChannel::connect(&endpoint.address).await?))),
        Scheme::Quic => {
            let believed = match &trust.ca {
                Some(path) => runstep_quic::Trust::Roots(text(path)?),
                None if trust.insecure || is_local(endpoint)? => runstep_quic::Trust::Anyone,
                None => {
                    let what = "say which server to believe: --ca FILE, or for trials --insecure";
                    return Err(Failure::Usage(format!("{endpoint}: {what}")));
                }
            };
            let mut options = ClientOptions::new(believed);
            options.server_name = trust.server_name.clone();
            options.identity = identity(trust.cert.as_deref(), trust.key.as_deref())?;
            Ok(Client::new(Arc::new(QuicChannel::connect(&endpoint.address, options).await?)))
        }
    }
}

/// The ops of servers and tools.
///
/// # Errors
/// A declaration that cannot be parsed.
pub(crate) fn registry() -> Result<Arc<Registry>, Failure> {
    Ok(Arc::new(Registry::new(ALL)?.with_known(KNOWN)))
}

/// The host with a number of threads for kernels.
///
/// # Errors
/// A system that refuses threads.
pub(crate) fn host(threads: Option<usize>) -> Result<StdHost, Failure> {
    Ok(match threads {
        Some(threads) => StdHost::with_threads(threads)?,
        None => StdHost::new()?,
    })
}

/// Certificate and key from their files.
///
/// # Errors
/// Files that cannot be read or hold none.
pub(crate) fn identity(cert: Option<&Path>, key: Option<&Path>) -> Result<Option<Identity>, Failure> {
    match (cert, key) {
        (Some(cert), Some(key)) => Ok(Some(
            Identity::from_pem(&text(cert)?, &text(key)?)
                .map_err(|e| Failure::at(format_args!("{}, {}", cert.display(), key.display()), e.message()))?,
        )),
        _ => Ok(None),
    }
}

/// The text of a file.
///
/// # Errors
/// The file and why it cannot be read.
pub(crate) fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|e| Failure::at(path.display(), e))
}

/// Whether every address behind the name is this machine's: what is sent there does not leave it.
fn is_local(endpoint: &Endpoint) -> Result<bool, Failure> {
    Ok(endpoint.resolve()?.iter().all(|address| address.ip().is_loopback()))
}
