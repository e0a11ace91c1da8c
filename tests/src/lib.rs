//! Tests of the whole system and what they share: golden cases and recorded arrays. The tests are in `tests/`.

#![forbid(unsafe_code)]

pub mod compare;
pub mod golden;
pub mod models;
pub mod npz;
pub mod op_table;
pub mod runner;
pub mod wire;

/// The program in README.md, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
