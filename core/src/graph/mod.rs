//! The in-memory graph: nodes, ports, names, attributes, function library; import, validation, builder.

mod attr;
mod builder;
mod frames;
#[path = "graph.rs"]
mod graph_type;
mod import;
mod name;

pub use attr::{AttrValue, Attrs, FuncRef, PartialShape};
pub use builder::{GraphBuilder, Output};
pub use frames::{FrameId, Frames};
pub use graph_type::{Edge, Function, Graph, Node, NodeId, Versions};
pub(crate) use import::check_attrs;
pub use import::{GRAPH_VERSION, NodeSpec};
pub use name::{Endpoint, check_node_name};
