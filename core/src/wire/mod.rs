//! The protobuf messages of sessions, workers and graphs, and their way to and from native types.
//!
//! Nothing outside this module knows prost. Messages of outside origin are [scanned](scan()) before they are decoded, so
//! that what they ask for can be refused first; byte fields share the received buffer.

mod attr;
mod call;
#[allow(missing_docs, unreachable_pub, clippy::all)]
#[rustfmt::skip]
mod generated;
mod graph;
mod message;
mod object;
mod options;
mod pieces;
pub mod scan;
#[rustfmt::skip]
mod schema;
pub mod service;
mod shape;
mod stream;
mod tensor;

pub use attr::{attr_from_proto, attr_to_proto, attrs_from_proto, attrs_to_proto};
pub use call::{Encoded, Layout, TOKEN_LEN, decode_request, decode_response, encode_request, encode_response, token};
pub use generated::*;
pub use graph::{
    function_from_proto, graph_from_proto, graph_to_proto, node_from_proto, node_to_proto, signature_from_proto,
};
pub use message::{Allowance, Message, decode, decode_charged, encode, encoded_len};
pub use object::{handle_from_proto, handle_to_proto};
pub use options::{
    callable_options_from_proto, callable_options_to_proto, config_from_proto, config_to_proto, device_from_proto,
    device_to_proto, metadata_from_proto, metadata_to_proto, run_options_from_proto, run_options_to_proto,
};
pub use pieces::{Pieces, request_pieces, response_pieces};
pub use scan::{Limits, Scan, ScanError, ScanErrorKind, Scanned, scan};
pub use shape::{dtype_from_proto, partial_shape_from_proto, partial_shape_to_proto, shape_from_proto, shape_to_proto};
pub use stream::graph_from_bytes;
pub use tensor::{tensor_from_proto, tensor_to_proto};
