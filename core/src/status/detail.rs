//! The status of builds with an allocator: one word, a fixed text or a boxed detail.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

use super::{Code, Fixed};

/// The payload that marks an error as only an echo of another one (TensorFlow's `DerivedStatus`).
pub const DERIVED_PAYLOAD: &str = "type.googleapis.com/tensorflow.DerivedStatus";

/// Longest message kept, in bytes; longer ones are cut at a character border.
const MESSAGE_LEN_MAX: usize = 8 << 10;

/// An error: canonical code, message, node, payloads. One word, so that `Result<(), Status>` stays in a register.
///
/// The word points either to a [`Fixed`] or, with its lowest bit set, to a boxed detail that it owns.
pub struct Status(NonNull<u8>, PhantomData<Box<Detail>>);

#[derive(Clone)]
#[repr(align(8))]
struct Detail {
    code: Code,
    message: String,
    node: Option<String>,
    payloads: BTreeMap<String, Vec<u8>>,
}

enum Repr<'a> {
    Fixed(&'static Fixed),
    Boxed(&'a Detail),
}

// SAFETY: the word is a `&'static Fixed` or owns a `Detail`; both are Send and Sync.
unsafe impl Send for Status {}
// SAFETY: as above; a shared Status only gives shared access to the detail.
unsafe impl Sync for Status {}

const BOXED: usize = 1;

impl Status {
    /// The status of a compile-time text; allocates nothing.
    pub const fn fixed(fixed: &'static Fixed) -> Status {
        // SAFETY: a reference is never null.
        Status(unsafe { NonNull::new_unchecked(core::ptr::from_ref(fixed).cast_mut().cast()) }, PhantomData)
    }

    /// A status with a message; `format_args!(..)` is the usual message.
    pub fn new(code: Code, message: impl fmt::Display) -> Status {
        let mut message = message.to_string();
        if message.len() > MESSAGE_LEN_MAX {
            let mut cut = MESSAGE_LEN_MAX;
            while !message.is_char_boundary(cut) {
                cut -= 1;
            }
            message.truncate(cut);
        }
        Status::boxed(Detail { code, message, node: None, payloads: BTreeMap::new() })
    }

    /// A status that came over a wire: its message holds the node's mark already. A long message is cut.
    pub fn from_parts(code: Code, message: &str, node: Option<&str>) -> Status {
        let mut status = Status::new(code, message);
        if let Some(node) = node {
            status.detail_mut().node = Some(node.to_string());
        }
        status
    }

    fn boxed(detail: Detail) -> Status {
        let raw = Box::into_raw(Box::new(detail)).cast::<u8>().map_addr(|a| a | BOXED);
        // SAFETY: a box is never null, and setting a bit keeps it so.
        Status(unsafe { NonNull::new_unchecked(raw) }, PhantomData)
    }

    fn repr(&self) -> Repr<'_> {
        let raw = self.0.as_ptr();
        if raw.addr() & BOXED != 0 {
            // SAFETY: the bit is set only by `boxed`, whose pointer, aligned to 8, this recovers; it lives as long as
            // `self` since only drop frees it.
            Repr::Boxed(unsafe { &*raw.map_addr(|a| a & !BOXED).cast::<Detail>() })
        } else {
            // SAFETY: without the bit the word came from `fixed`, a `&'static Fixed`.
            Repr::Fixed(unsafe { &*raw.cast::<Fixed>() })
        }
    }

    /// The detail for writing, made from the fixed text first where there is none yet.
    fn detail_mut(&mut self) -> &mut Detail {
        if let Repr::Fixed(fixed) = self.repr() {
            *self = Status::new(fixed.code, fixed.message);
        }
        // SAFETY: `self` is boxed now, see `repr`; the exclusive borrow makes the detail exclusive.
        unsafe { &mut *self.0.as_ptr().map_addr(|a| a & !BOXED).cast::<Detail>() }
    }

    /// The canonical code.
    pub fn code(&self) -> Code {
        match self.repr() {
            Repr::Fixed(fixed) => fixed.code,
            Repr::Boxed(detail) => detail.code,
        }
    }

    /// What went wrong, with the node marker that Python clients look for at its end once a node is known.
    pub fn message(&self) -> &str {
        match self.repr() {
            Repr::Fixed(fixed) => fixed.message,
            Repr::Boxed(detail) => &detail.message,
        }
    }

    /// The node whose kernel failed.
    pub fn node(&self) -> Option<&str> {
        match self.repr() {
            Repr::Fixed(_) => None,
            Repr::Boxed(detail) => detail.node.as_deref(),
        }
    }

    /// Names the node that failed, unless a deeper one is named already, and appends TensorFlow's `{{node NAME}}` mark.
    #[must_use]
    pub fn at_node(mut self, node: &str) -> Status {
        if self.node().is_none() {
            let detail = self.detail_mut();
            detail.node = Some(node.to_string());
            detail.message.push_str("\n\t [[{{node ");
            detail.message.push_str(node);
            detail.message.push_str("}}]]");
        }
        self
    }

    /// Puts `context` and a colon before the message.
    #[must_use]
    pub fn context(mut self, context: impl fmt::Display) -> Status {
        let detail = self.detail_mut();
        detail.message = alloc::format!("{context}: {}", detail.message);
        self
    }

    /// The same error with another code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Status {
        self.detail_mut().code = code;
        self
    }

    /// Attaches a payload under a type URL.
    #[must_use]
    pub fn with_payload(mut self, type_url: &str, bytes: &[u8]) -> Status {
        self.detail_mut().payloads.insert(type_url.to_string(), bytes.to_vec());
        self
    }

    /// The payloads by type URL.
    pub fn payloads(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let map = match self.repr() {
            Repr::Fixed(_) => None,
            Repr::Boxed(detail) => Some(&detail.payloads),
        };
        map.into_iter().flatten().map(|(url, bytes)| (url.as_str(), bytes.as_slice()))
    }

    /// Marks the error as only an echo of another one.
    #[must_use]
    pub fn derived(self) -> Status {
        self.with_payload(DERIVED_PAYLOAD, &[])
    }

    /// Whether the error is only an echo of another one; such errors lose against real ones.
    pub fn is_derived(&self) -> bool {
        self.payloads().any(|(url, _)| url == DERIVED_PAYLOAD)
    }
}

macro_rules! constructors {
    ($($name:ident => $code:ident),* $(,)?) => {
        /// One constructor a code; `message` is usually `format_args!(..)`.
        impl Status {
            $(
                #[doc = concat!("A status with the code ", stringify!($code), ".")]
                #[cold]
                pub fn $name(message: impl fmt::Display) -> Status {
                    Status::new(Code::$code, message)
                }
            )*
        }
    };
}
constructors! {
    cancelled => Cancelled,
    unknown => Unknown,
    invalid_argument => InvalidArgument,
    deadline_exceeded => DeadlineExceeded,
    not_found => NotFound,
    already_exists => AlreadyExists,
    permission_denied => PermissionDenied,
    resource_exhausted => ResourceExhausted,
    failed_precondition => FailedPrecondition,
    aborted => Aborted,
    out_of_range => OutOfRange,
    unimplemented => Unimplemented,
    internal => Internal,
    unavailable => Unavailable,
    data_loss => DataLoss,
    unauthenticated => Unauthenticated,
}

impl Drop for Status {
    fn drop(&mut self) {
        let raw = self.0.as_ptr();
        if raw.addr() & BOXED != 0 {
            // SAFETY: `boxed` made this pointer from a Box that nobody else owns.
            drop(unsafe { Box::from_raw(raw.map_addr(|a| a & !BOXED).cast::<Detail>()) });
        }
    }
}

impl Clone for Status {
    fn clone(&self) -> Status {
        match self.repr() {
            Repr::Fixed(fixed) => Status::fixed(fixed),
            Repr::Boxed(detail) => Status::boxed(detail.clone()),
        }
    }
}

impl From<&'static Fixed> for Status {
    fn from(fixed: &'static Fixed) -> Status {
        Status::fixed(fixed)
    }
}

impl PartialEq for Status {
    /// Equal code and message; payloads do not count.
    fn eq(&self, other: &Status) -> bool {
        self.code() == other.code() && self.message() == other.message()
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size promise, and that both forms answer alike, clone and drop.
    #[test]
    fn both_forms() {
        static FULL: Fixed = Fixed { code: Code::ResourceExhausted, message: "full" };
        assert_eq!(size_of::<Status>(), size_of::<usize>());
        assert_eq!(size_of::<Result<(), Status>>(), size_of::<usize>());
        let a = Status::fixed(&FULL);
        let b = Status::resource_exhausted("full");
        assert_eq!(a, b);
        assert_eq!(a.clone(), b.clone());
        let c = a.at_node("n").at_node("outer");
        assert_eq!(c.node(), Some("n"));
        assert!(c.message().ends_with("[[{{node n}}]]"));
        assert!(!c.is_derived() && c.clone().derived().is_derived());
    }

    /// A hostile message length is bounded and never cuts a character.
    #[test]
    fn long_messages_are_cut() {
        let long = "é".repeat(MESSAGE_LEN_MAX);
        assert!(Status::internal(format_args!("x{long}")).message().len() <= MESSAGE_LEN_MAX);
    }
}
