//! Example programs; see the files beside `src`.

#![forbid(unsafe_code)]
