//! Tests of the whole system; see `tests/`.
