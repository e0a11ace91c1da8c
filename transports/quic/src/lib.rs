//! Placeholder, replaced by the first working version.

#![forbid(unsafe_code)]
