//! Graph in, graph out.

mod functions;
mod place;

pub use functions::{ExpandOptions, Expansion, expand};
pub use place::{PlaceOptions, Placement, place};
