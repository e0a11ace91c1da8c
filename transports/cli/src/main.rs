//! The runstep program.

#![forbid(unsafe_code)]

fn main() {}
