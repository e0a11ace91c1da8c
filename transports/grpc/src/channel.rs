//! The client's side of a connection.

use std::future::poll_fn;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong, Reason, RecvStream};
use http::header::{CONTENT_TYPE as CONTENT_TYPE_NAME, TE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method as HttpMethod, Request as Head, StatusCode, Uri};
use runstep::Status;
use runstep::service::frame::Limits;
use runstep::service::{CallFuture, CallOptions, Channel, Method, Request, Response};
use runstep::tensor::Budget;
use runstep::wire::request_pieces;
use smol::{Async, Task, Timer};

use crate::encoding::{ACCEPTED, Encoding};
use crate::header::{self, CONTENT_TYPE, GRPC_ACCEPT_ENCODING};
use crate::inbound::{Direction, End, Expected, PREFIX_LEN, message};
use crate::io::{Io, Pulse};
use crate::outbound::{BUFFER_LEN, framed, queue};
use crate::path::path;
use crate::wait::{Waited, until};
use crate::{CONNECTION_WINDOW, FRAME_LEN, HEADERS_READ_MAX, STREAM_WINDOW, Spawn};

/// A connection to a server that speaks TensorFlow's gRPC. Calls are concurrent; dropping the channel ends those that are
/// not answered with UNAVAILABLE.
///
/// Once the connection is lost every call answers UNAVAILABLE; connect again then.
#[derive(Debug)]
pub struct GrpcChannel {
    shared: Arc<Shared>,
    _task: Task<()>,
}

#[derive(Debug)]
struct Shared {
    sender: SendRequest<Bytes>,
    authority: String,
    limits: Limits,
    budget: Budget,
}

impl GrpcChannel {
    /// Connects to `HOST:PORT`, with or without `grpc://` before it, within 10 seconds.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no address; UNAVAILABLE when nobody answers there.
    pub async fn connect(address: &str) -> Result<GrpcChannel, Status> {
        GrpcChannel::connect_with(address, Limits::default(), Spawn::Global, Duration::from_secs(10)).await
    }

    /// As [`GrpcChannel::connect`], with limits on what the server may make this side hold, an executor for the
    /// connection's task, and a time within which the connection must stand.
    ///
    /// # Errors
    /// As [`GrpcChannel::connect`].
    pub async fn connect_with(
        address: &str,
        limits: Limits,
        spawn: Spawn,
        timeout: Duration,
    ) -> Result<GrpcChannel, Status> {
        let address = address.strip_prefix("grpc://").unwrap_or(address);
        let deadline = Instant::now().checked_add(timeout);
        let pulse = Arc::new(Pulse::new());
        let connected = until(deadline, async {
            let socket = Io::new(open(address).await?, pulse.clone());
            let handshake = h2::client::Builder::new()
                .initial_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_frame_size(FRAME_LEN)
                .max_header_list_size(HEADERS_READ_MAX)
                .max_send_buffer_size(BUFFER_LEN)
                .enable_push(false)
                .handshake::<_, Bytes>(socket);
            handshake.await.map_err(|error| lost(address, &error))
        });
        let (sender, mut connection) = match connected.await {
            Waited::Done(connected) => connected?,
            Waited::Late => {
                let ms = timeout.as_millis();
                return Err(Status::unavailable(format_args!("{address} did not answer within {ms} ms")));
            }
        };
        let pings = connection.ping_pong();
        let watched = limits.clone();
        let task = spawn.spawn(smol::future::or(
            async {
                // Why the connection ended is told to each of its calls.
                let _ = connection.await;
            },
            async move { watch(&watched, &pulse, pings).await },
        ));
        let budget = limits.budget();
        let shared = Arc::new(Shared { sender, authority: address.to_owned(), limits, budget });
        Ok(GrpcChannel { shared, _task: task })
    }

    /// The bytes that answers hold which have not been taken yet.
    pub fn bytes_held(&self) -> usize {
        self.shared.budget.used()
    }
}

async fn open(address: &str) -> Result<Async<TcpStream>, Status> {
    let found: Vec<SocketAddr> = match address.parse() {
        Ok(address) => vec![address],
        Err(_) => smol::net::resolve(address)
            .await
            .map_err(|error| Status::invalid_argument(format_args!("{address:?} is no HOST:PORT: {error}")))?,
    };
    let mut last = Status::unavailable(format_args!("{address} has no address"));
    for one in found {
        match Async::<TcpStream>::connect(one).await {
            Ok(socket) => {
                // Slower without it, and no worse.
                let _ = socket.get_ref().set_nodelay(true);
                return Ok(socket);
            }
            Err(error) => last = Status::unavailable(format_args!("no connection to {address}: {error}")),
        }
    }
    Err(last)
}

/// Asks for signs of life, and ends when there are none or the server takes no bytes.
async fn watch(limits: &Limits, pulse: &Pulse, mut pings: Option<PingPong>) {
    let unit = Duration::from_millis(limits.ping_ms.clamp(10, 3_600_000));
    loop {
        Timer::after(unit).await;
        let silence = pulse.silence_ms();
        let dead = limits.silence_ms_max > 0 && silence >= limits.silence_ms_max;
        if dead || pulse.stall_ms() >= limits.stall_ms_max {
            return;
        }
        if silence >= limits.ping_ms
            && let Some(pings) = &mut pings
        {
            // An error says that one is under way, or that the connection is gone, which others see.
            let _ = pings.send_ping(Ping::opaque());
        }
    }
}

impl Channel for GrpcChannel {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let shared = self.shared.clone();
        Box::pin(async move {
            let deadline = options.timeout_ms.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
            match until(deadline, shared.call(request, options)).await {
                Waited::Done(result) => result,
                Waited::Late => {
                    let ms = options.timeout_ms.unwrap_or_default();
                    Err(Status::deadline_exceeded(format_args!("no answer within {ms} ms")))
                }
            }
        })
    }
}

impl Shared {
    async fn call(&self, request: Request, options: CallOptions) -> Result<Response, Status> {
        let method = request.method();
        let pieces = request_pieces(&request, PREFIX_LEN)?;
        drop(request);
        let pieces = framed(pieces, false)
            .ok_or_else(|| Status::resource_exhausted("a request of 4 GiB or more, which gRPC cannot carry"))?;
        let mut sender = self.sender.clone();
        poll_fn(|cx| sender.poll_ready(cx)).await.map_err(|error| self.lost(&error))?;
        let (response, mut stream) =
            sender.send_request(self.head(method, options)?, false).map_err(|error| self.lost(&error))?;
        // All at once: h2 refers to the tensors' bytes until the server takes them, and goes on without this call being
        // polled. A stream that takes no more says why in its response.
        let _ = queue(&mut stream, pieces);
        let (head, mut body) = response.await.map_err(|error| self.lost(&error))?.into_parts();
        if let Some(status) = header::status(&head.headers) {
            return Err(status.err().unwrap_or_else(|| Status::internal("an answer without a message")));
        }
        if head.status != StatusCode::OK {
            return Err(not_grpc(head.status));
        }
        self.read(method, &head.headers, &mut body).await
    }

    fn head(&self, method: Method, options: CallOptions) -> Result<Head<()>, Status> {
        let uri = Uri::builder().scheme("http").authority(self.authority.as_str()).path_and_query(path(method));
        let uri = uri.build().map_err(|error| Status::invalid_argument(format_args!("{}: {error}", self.authority)))?;
        let mut head = Head::new(());
        *head.method_mut() = HttpMethod::POST;
        *head.uri_mut() = uri;
        let headers = head.headers_mut();
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONTENT_TYPE_NAME, CONTENT_TYPE);
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("grpc-runstep/", env!("CARGO_PKG_VERSION"))));
        headers.insert(GRPC_ACCEPT_ENCODING, ACCEPTED);
        if let Some(ms) = options.timeout_ms {
            header::put_timeout(headers, ms);
        }
        Ok(head)
    }

    async fn read(&self, method: Method, headers: &HeaderMap, body: &mut RecvStream) -> Result<Response, Status> {
        let expected = Expected {
            direction: Direction::Response,
            method,
            encoding: Encoding::of(headers)?,
            limits: &self.limits,
            budget: &self.budget,
        };
        let message = message(body, &expected).await;
        if let Err(End::Wrong(status)) = message {
            return Err(status);
        }
        if let Err(End::Gone(error)) = message {
            return Err(self.lost(&error));
        }
        let trailers = poll_fn(|cx| body.poll_trailers(cx)).await.map_err(|error| self.lost(&error))?;
        match (trailers.as_ref().and_then(header::status), message) {
            (Some(Err(status)), _) => Err(status),
            (Some(Ok(())), Ok(gather)) => gather.into_response(&self.limits, &self.budget),
            (Some(Ok(())), Err(_)) => Err(Status::internal("an answer without a message")),
            (None, _) => Err(Status::internal("an answer without a status")),
        }
    }

    fn lost(&self, error: &h2::Error) -> Status {
        lost(&self.authority, error)
    }
}

/// What a failure of HTTP/2 means for a call.
fn lost(address: &str, error: &h2::Error) -> Status {
    match error.reason() {
        Some(Reason::CANCEL) if error.is_reset() => Status::cancelled("the server cancelled the call"),
        Some(Reason::ENHANCE_YOUR_CALM) => Status::resource_exhausted(format_args!("{address}: {error}")),
        Some(reason @ (Reason::PROTOCOL_ERROR | Reason::INTERNAL_ERROR)) if error.is_reset() => {
            Status::internal(format_args!("{address} reset the call: {reason}"))
        }
        _ => Status::unavailable(format_args!("the connection to {address} is lost: {error}")),
    }
}

/// The code that gRPC gives to an answer of HTTP without a status of its own.
fn not_grpc(status: StatusCode) -> Status {
    let what = format_args!("an answer of HTTP that is not gRPC: {status}").to_string();
    match status.as_u16() {
        400 => Status::internal(what),
        401 => Status::unauthenticated(what),
        403 => Status::permission_denied(what),
        404 => Status::unimplemented(what),
        429 | 502..=504 => Status::unavailable(what),
        _ => Status::unknown(what),
    }
}
