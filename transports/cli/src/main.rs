//! The runstep program.
fn main() {}
