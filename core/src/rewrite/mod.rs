//! Graph in, graph out.

mod functions;
mod partition;
mod place;

pub use functions::{ExpandOptions, Expansion, expand};
pub use partition::{Part, PartitionDevice, Placed, partition};
pub use place::{PlaceOptions, Placement, place};
