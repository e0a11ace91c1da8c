//! Graph in, graph out.

mod place;

pub use place::{PlaceOptions, Placement, place};
