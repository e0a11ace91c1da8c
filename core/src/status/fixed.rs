//! The status of builds without an allocator: a reference to a fixed text.

use core::fmt;

use super::{Code, Fixed};

/// An error: a code and a fixed text. One word.
#[derive(Clone, Copy)]
pub struct Status(&'static Fixed);

impl Status {
    /// The status of a compile-time text.
    pub const fn fixed(fixed: &'static Fixed) -> Status {
        Status(fixed)
    }

    /// The canonical code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What went wrong.
    pub fn message(&self) -> &str {
        self.0.message
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl core::error::Error for Status {}
