//! What quinn's errors mean to a caller.

use quinn::{ConnectionError, VarInt};
use runstep::{Code, Status};

/// Codes of closed connections and reset streams; any peer of ours reads them the same way.
pub(crate) const CLOSED: VarInt = VarInt::from_u32(0);
/// The caller has lost interest.
pub(crate) const CANCELLED: VarInt = VarInt::from_u32(1);

/// TLS alerts that say that someone did not prove who they are; 116 is a missing certificate.
const UNTRUSTED: [u64; 12] = [40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 51, 116];

/// The status of a lost connection: UNAUTHENTICATED when one side does not believe the other, else UNAVAILABLE.
pub(crate) fn connection(error: &ConnectionError, peer: &str) -> Status {
    let alert = match error {
        ConnectionError::TransportError(error) => u64::from(error.code),
        ConnectionError::ConnectionClosed(close) => u64::from(close.error_code),
        _ => 0,
    };
    let untrusted = alert.checked_sub(0x100).is_some_and(|alert| UNTRUSTED.contains(&alert));
    let code = if untrusted { Code::Unauthenticated } else { Code::Unavailable };
    Status::new(code, format_args!("{peer}: {error}"))
}
