//! The client's side of a connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, Endpoint, ReadError, RecvStream, SendStream, WriteError};
use runstep::Status;
use runstep::service::frame::{Kind, Limits, Outgoing};
use runstep::service::{CallFuture, CallOptions, Channel, Request, Response};
use runstep::tensor::Budget;
use smol::Timer;

use crate::ClientOptions;
use crate::endpoint::endpoint;
use crate::error::{CANCELLED, CLOSED, connection};
use crate::stream::{End, Reader, write};
use crate::tls::client_config;

/// A connection to a server; each call is a stream of its own. Dropping the channel ends calls that are not answered
/// with UNAVAILABLE.
#[derive(Debug)]
pub struct QuicChannel {
    link: Arc<Link>,
}

#[derive(Debug)]
struct Link {
    connection: Connection,
    limits: Limits,
    budget: Budget,
    address: String,
    /// Its tasks keep the socket open until the peer knows of the end.
    _endpoint: Endpoint,
}

impl QuicChannel {
    /// Connects to `HOST:PORT`, with or without `quic://` before it.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no address or no certificate; UNAUTHENTICATED when the server is not trusted;
    /// UNAVAILABLE when nobody answers there in time. A server that asks for a certificate tells the first call, not the
    /// connect.
    pub async fn connect(address: &str, options: ClientOptions) -> Result<QuicChannel, Status> {
        let address = address.strip_prefix("quic://").unwrap_or(address);
        let late = async {
            Timer::after(options.timeout).await;
            let ms = options.timeout.as_millis();
            Err(Status::unavailable(format_args!("{address} did not answer within {ms} ms")))
        };
        let (endpoint, connection) = smol::future::or(open(address, &options), late).await?;
        let budget = options.limits.budget();
        let address = address.to_owned();
        let link = Link { connection, limits: options.limits, budget, address, _endpoint: endpoint };
        Ok(QuicChannel { link: Arc::new(link) })
    }

    /// The bytes that answers hold which have not been taken yet.
    pub fn bytes_held(&self) -> usize {
        self.link.budget.used()
    }
}

async fn open(address: &str, options: &ClientOptions) -> Result<(Endpoint, Connection), Status> {
    let config = client_config(options)?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let name = options.server_name.as_deref().unwrap_or(host);
    let found: Vec<SocketAddr> = match address.parse() {
        Ok(address) => vec![address],
        Err(_) => smol::net::resolve(address)
            .await
            .map_err(|error| Status::invalid_argument(format_args!("{address:?} is no HOST:PORT: {error}")))?,
    };
    let mut last = Status::unavailable(format_args!("{address} has no address"));
    for one in found {
        let any = if one.is_ipv4() { IpAddr::from(Ipv4Addr::UNSPECIFIED) } else { Ipv6Addr::UNSPECIFIED.into() };
        let (endpoint, _) = endpoint((any, 0).into(), None)
            .map_err(|error| Status::unavailable(format_args!("no socket to reach {address}: {error}")))?;
        let connecting = endpoint
            .connect_with(config.clone(), one, name)
            .map_err(|error| Status::invalid_argument(format_args!("{address}: {error}")))?;
        match connecting.await {
            Ok(connection) => return Ok((endpoint, connection)),
            Err(error) => last = connection(&error, address),
        }
    }
    Err(last)
}

impl Drop for QuicChannel {
    fn drop(&mut self) {
        self.link.connection.close(CLOSED, b"the channel was dropped");
    }
}

impl Channel for QuicChannel {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let link = self.link.clone();
        Box::pin(async move {
            let work = link.exchange(request, options);
            let Some(ms) = options.timeout_ms else { return work.await };
            let late = async {
                Timer::after(Duration::from_millis(ms)).await;
                Err(Status::deadline_exceeded(format_args!("no answer within {ms} ms")))
            };
            smol::future::or(work, late).await
        })
    }
}

/// The two halves of a call's stream; dropping them early cancels the call.
struct Streams {
    send: SendStream,
    recv: RecvStream,
    done: bool,
}

impl Drop for Streams {
    fn drop(&mut self) {
        if !self.done {
            // Both fail when the half has ended already.
            let _ = self.send.reset(CANCELLED);
            let _ = self.recv.stop(CANCELLED);
        }
    }
}

impl Link {
    async fn exchange(&self, request: Request, options: CallOptions) -> Result<Response, Status> {
        let method = request.method();
        let out = Outgoing::request(1, &request, options)?;
        drop(request);
        let lost = |error| connection(&error, &self.address);
        let (send, recv) = self.connection.open_bi().await.map_err(lost)?;
        let mut streams = Streams { send, recv, done: false };
        match write(&mut streams.send, out).await {
            // The server needs no more of the request: it has answered.
            Ok(()) | Err(WriteError::Stopped(_)) => {}
            Err(WriteError::ConnectionLost(error)) => return Err(lost(error)),
            Err(error) => return Err(Status::unavailable(format_args!("{}: {error}", self.address))),
        }
        let _ = streams.send.finish();
        let answer = self.answer(&mut streams.recv).await;
        streams.done = true;
        let (number, all) = answer?;
        all.into_response(method, number, &self.limits, &self.budget)
    }

    async fn answer(&self, recv: &mut RecvStream) -> Result<(u8, runstep::service::frame::Assembled), Status> {
        let mut reader = Reader::new(recv);
        let read = async {
            match reader.header(&self.limits).await? {
                (Kind::Reply { method, parts }, len) => {
                    Ok((method, reader.body(&parts, len, &self.limits, &self.budget).await?))
                }
                (Kind::Error(wrong), _) => Err(End::Wrong(wrong.into())),
                _ => Err(End::Wrong(Status::internal("the server sent what only clients may"))),
            }
        };
        read.await.map_err(|end| match end {
            End::Wrong(status) => status,
            End::Gone(ReadError::ConnectionLost(error)) => connection(&error, &self.address),
            End::Gone(error) => Status::unavailable(format_args!("{}: {error}", self.address)),
            End::Early => Status::unavailable(format_args!("{}: the answer ended early", self.address)),
        })
    }
}
