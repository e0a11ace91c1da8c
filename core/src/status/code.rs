//! The seventeen canonical codes.

use core::fmt;

/// A canonical status code, numbered as in gRPC and `tensorflow.error.Code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// Not an error.
    Ok = 0,
    /// The caller gave up.
    Cancelled = 1,
    /// No better code is known.
    Unknown = 2,
    /// The request is wrong whatever the state of the system.
    InvalidArgument = 3,
    /// The deadline passed first.
    DeadlineExceeded = 4,
    /// A named thing does not exist.
    NotFound = 5,
    /// A thing to be made exists.
    AlreadyExists = 6,
    /// The caller may not do this.
    PermissionDenied = 7,
    /// A budget, quota or memory is used up.
    ResourceExhausted = 8,
    /// The system is not in the state that the request needs.
    FailedPrecondition = 9,
    /// The other side lost its state; start over.
    Aborted = 10,
    /// Past the end of input.
    OutOfRange = 11,
    /// Not implemented here; the message names what is missing.
    Unimplemented = 12,
    /// An invariant of the system is broken.
    Internal = 13,
    /// The other side cannot be reached now.
    Unavailable = 14,
    /// Data are damaged or lost.
    DataLoss = 15,
    /// The caller did not prove who it is.
    Unauthenticated = 16,
}

impl Code {
    /// The code of a number from the wire; numbers outside 0–16 are [`Code::Unknown`].
    pub fn from_i32(number: i32) -> Code {
        use Code::*;
        const ALL: [Code; 17] = [
            Ok,
            Cancelled,
            Unknown,
            InvalidArgument,
            DeadlineExceeded,
            NotFound,
            AlreadyExists,
            PermissionDenied,
            ResourceExhausted,
            FailedPrecondition,
            Aborted,
            OutOfRange,
            Unimplemented,
            Internal,
            Unavailable,
            DataLoss,
            Unauthenticated,
        ];
        usize::try_from(number).ok().and_then(|n| ALL.get(n).copied()).unwrap_or(Unknown)
    }

    /// The name as TensorFlow writes it, for example `INVALID_ARGUMENT`.
    pub fn name(self) -> &'static str {
        match self {
            Code::Ok => "OK",
            Code::Cancelled => "CANCELLED",
            Code::Unknown => "UNKNOWN",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Code::NotFound => "NOT_FOUND",
            Code::AlreadyExists => "ALREADY_EXISTS",
            Code::PermissionDenied => "PERMISSION_DENIED",
            Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::Aborted => "ABORTED",
            Code::OutOfRange => "OUT_OF_RANGE",
            Code::Unimplemented => "UNIMPLEMENTED",
            Code::Internal => "INTERNAL",
            Code::Unavailable => "UNAVAILABLE",
            Code::DataLoss => "DATA_LOSS",
            Code::Unauthenticated => "UNAUTHENTICATED",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number round trips and foreign numbers are UNKNOWN.
    #[test]
    fn numbers() {
        for n in 0..17 {
            assert_eq!(Code::from_i32(n) as i32, n);
        }
        for n in [-1, 17, i32::MIN, i32::MAX] {
            assert_eq!(Code::from_i32(n), Code::Unknown);
        }
    }
}
