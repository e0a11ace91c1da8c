//! Example programs; see the files beside `src`.
