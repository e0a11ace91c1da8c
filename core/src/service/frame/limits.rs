//! What a peer may ask of us.

use crate::tensor::Budget;
use crate::wire;

/// Payloads that a call has at most: what fits into a header.
pub const PAYLOADS_MAX: usize = 4096;

/// Limits on what a peer may make this side hold. What is beyond one is refused with RESOURCE_EXHAUSTED before memory is
/// taken for it.
///
/// Worst case for one peer: [`Limits::bytes_in_flight_per_peer_max`] in each direction, and some hundred bytes for each
/// call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one call's message and payloads together, in each direction. Default 8 GiB.
    pub frame_len_max: u64,
    /// Bytes of a message without payloads. Default 256 MiB. Memory is taken as bytes arrive, and decoding takes
    /// [`Limits::decoded_len_max`] more.
    pub message_len_max: u64,
    /// Bytes of memory that a decoded message may take. Default 1 GiB.
    pub decoded_len_max: u64,
    /// Bytes of one payload, which is one tensor. Default 4 GiB. The address space is reserved when its first byte
    /// arrives; where the system gives memory by pages, pages are taken as bytes arrive.
    pub payload_len_max: u64,
    /// Payloads of a call. Default 4096, which is also the most that a sender makes.
    pub payloads_max: usize,
    /// Calls of a connection that are not answered yet. Default 4096; each holds some hundred bytes.
    pub calls_per_connection_max: usize,
    /// Connections, or for QUIC peers, that a server holds at once; further ones are closed as they come. Default 4096.
    pub connections_max: usize,
    /// Bytes of all unfinished calls of a peer: announced requests, decoded messages, answers that it has not taken yet.
    /// Default 8 GiB, all memory on 32 bits less a quarter.
    pub bytes_in_flight_per_peer_max: u64,
    /// Milliseconds that a peer may take none of the bytes that wait for it before the connection is closed.
    /// Default 30,000.
    pub stall_ms_max: u64,
    /// Milliseconds without any sign of life after which the peer counts as dead. Default 60,000; 0 for never.
    pub silence_ms_max: u64,
    /// Milliseconds of silence after which a sign of life is asked for. Default 10,000.
    pub ping_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        const GIB: u64 = 1 << 30;
        Limits {
            frame_len_max: 8 * GIB,
            message_len_max: GIB / 4,
            decoded_len_max: GIB,
            payload_len_max: 4 * GIB,
            payloads_max: PAYLOADS_MAX,
            calls_per_connection_max: 4096,
            connections_max: 4096,
            bytes_in_flight_per_peer_max: 8 * GIB,
            stall_ms_max: 30_000,
            silence_ms_max: 60_000,
            ping_ms: 10_000,
        }
    }
}

impl Limits {
    /// The budget of a new peer.
    pub fn budget(&self) -> Budget {
        let most = usize::MAX / 4 * 3;
        Budget::new("connection", usize::try_from(self.bytes_in_flight_per_peer_max).unwrap_or(most).min(most))
    }

    /// What a message may take while it is decoded.
    pub fn allowance<'a>(&self, budget: &'a Budget) -> wire::Allowance<'a> {
        let limits = wire::Limits { decoded_bytes_max: self.decoded_len_max, ..wire::Limits::default() };
        wire::Allowance { limits, budget: Some(budget) }
    }
}
