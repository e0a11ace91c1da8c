//! The standard health service, `grpc.health.v1.Health`.

use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use h2::RecvStream;
use h2::SendStream;
use http::{HeaderMap, HeaderValue};
use runstep::Status;
use runstep::wire::Pieces;

use crate::answer::{Reply, head};
use crate::header::GRPC_STATUS;
use crate::inbound::{End, PREFIX_LEN, small};
use crate::outbound::{framed, send};
use crate::path::{HEALTH, MASTERS};
use crate::server::Shared;

/// Bytes of a service's name at most.
const NAME_LEN_MAX: usize = 1024;

/// Values of `ServingStatus`.
const SERVING: u8 = 1;
const NOT_SERVING: u8 = 2;
const SERVICE_UNKNOWN: u8 = 3;

/// Answers `Check`.
pub(crate) async fn check(shared: Arc<Shared>, mut reply: Reply, mut body: RecvStream) {
    match asked(&mut body).await {
        Ok(service) if is_known(&service) => reply.bytes(&response(state(&shared))).await,
        Ok(service) => reply.status(&Status::not_found(format_args!("there is no service {service:?}"))),
        Err(End::Wrong(status)) => reply.status(&status),
        Err(End::Gone(_) | End::Nothing) => {}
    }
}

/// Answers `Watch`: the state now, and again when the server stops.
pub(crate) async fn watch(shared: Arc<Shared>, mut reply: Reply, mut body: RecvStream) {
    let service = match asked(&mut body).await {
        Ok(service) => service,
        Err(End::Wrong(status)) => return reply.status(&status),
        Err(End::Gone(_) | End::Nothing) => return,
    };
    let Ok(mut stream) = reply.stream.send_response(head(), false) else { return };
    let known = is_known(&service);
    let now = if known { state(&shared) } else { SERVICE_UNKNOWN };
    if !tell(&mut stream, now, reply.stall_ms_max).await {
        return;
    }
    let stops = async {
        shared.goodbye().await;
        true
    };
    let gone = async {
        // Ends when the caller does, well or not.
        let _ = poll_fn(|cx| reply.stream.poll_reset(cx)).await;
        false
    };
    if smol::future::or(gone, stops).await && (!known || tell(&mut stream, NOT_SERVING, reply.stall_ms_max).await) {
        let mut trailers = HeaderMap::new();
        trailers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
        // An error says that the caller is gone.
        let _ = stream.send_trailers(trailers);
    }
}

async fn tell(stream: &mut SendStream<Bytes>, state: u8, stall_ms_max: u64) -> bool {
    let mut first = vec![0; PREFIX_LEN];
    first.extend(response(state));
    match framed(Pieces { first, rest: Vec::new() }, false) {
        Some(pieces) => send(stream, pieces, stall_ms_max).await.is_ok(),
        None => false,
    }
}

fn state(shared: &Shared) -> u8 {
    if shared.is_stopping() { NOT_SERVING } else { SERVING }
}

fn is_known(service: &str) -> bool {
    service.is_empty() || service == HEALTH || MASTERS.contains(&service)
}

/// The message `HealthCheckResponse { status }`.
fn response(state: u8) -> [u8; 2] {
    [0x08, state]
}

/// The name in the message `HealthCheckRequest { service }`, its only field.
async fn asked(body: &mut RecvStream) -> Result<String, End> {
    let message = small(body, NAME_LEN_MAX).await?;
    let wrong = || End::Wrong(Status::invalid_argument("malformed message: no HealthCheckRequest"));
    let name = match message.split_first() {
        None => return Ok(String::new()),
        Some((0x0a, rest)) => match rest {
            [len, name @ ..] if *len < 0x80 && usize::from(*len) == name.len() => name,
            [low, high, name @ ..]
                if *high < 0x80 && (usize::from(*low & 0x7f) | usize::from(*high) << 7) == name.len() =>
            {
                name
            }
            _ => return Err(wrong()),
        },
        Some(_) => return Err(wrong()),
    };
    String::from_utf8(name.to_vec()).map_err(|_| wrong())
}
