//! What a message may hold, for the scanner. Made by `cargo run -p runstep-tests --bin regenerate-wire`.

// This file is @generated.
use core::mem::size_of;

use alloc::string::String;
use bytes::Bytes;

use super::generated as g;
use super::scan::{Field, Kind, Message, Scanned, Wire};

impl Scanned for g::AllocationDescription {
    const MESSAGE: &'static Message = &ALLOCATION_DESCRIPTION;
}

static ALLOCATION_DESCRIPTION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::AllocationRecord {
    const MESSAGE: &'static Message = &ALLOCATION_RECORD;
}

static ALLOCATION_RECORD: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::AllocatorMemoryUsed {
    const MESSAGE: &'static Message = &ALLOCATOR_MEMORY_USED;
}

static ALLOCATOR_MEMORY_USED: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Many(&ALLOCATION_RECORD, size_of::<g::AllocationRecord>()) },
    ],
};

impl Scanned for g::Any {
    const MESSAGE: &'static Message = &ANY;
}

static ANY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Blob },
    ],
};

impl Scanned for g::AssetFileDef {
    const MESSAGE: &'static Message = &ASSET_FILE_DEF;
}

static ASSET_FILE_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&TENSOR_INFO) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::AttrValue {
    const MESSAGE: &'static Message = &ATTR_VALUE;
}

static ATTR_VALUE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Boxed(&ATTR_VALUE_LIST_VALUE, size_of::<g::attr_value::ListValue>()) },
        Field { number: 2, kind: Kind::Blob },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Fixed32) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 8, kind: Kind::Boxed(&TENSOR_PROTO, size_of::<g::TensorProto>()) },
        Field { number: 9, kind: Kind::Text },
        Field { number: 10, kind: Kind::Boxed(&NAME_ATTR_LIST, size_of::<g::NameAttrList>()) },
    ],
};

impl Scanned for g::attr_value::ListValue {
    const MESSAGE: &'static Message = &ATTR_VALUE_LIST_VALUE;
}

static ATTR_VALUE_LIST_VALUE: Message = Message {
    fields: &[
        Field { number: 2, kind: Kind::Blobs },
        Field { number: 3, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 4, kind: Kind::Scalars(Wire::Fixed32, size_of::<f32>()) },
        Field { number: 5, kind: Kind::Scalars(Wire::Varint, size_of::<bool>()) },
        Field { number: 6, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
        Field { number: 7, kind: Kind::Many(&TENSOR_SHAPE_PROTO, size_of::<g::TensorShapeProto>()) },
        Field { number: 8, kind: Kind::Many(&TENSOR_PROTO, size_of::<g::TensorProto>()) },
        Field { number: 9, kind: Kind::Many(&NAME_ATTR_LIST, size_of::<g::NameAttrList>()) },
    ],
};

impl Scanned for g::AutoParallelOptions {
    const MESSAGE: &'static Message = &AUTO_PARALLEL_OPTIONS;
}

static AUTO_PARALLEL_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::BundleEntryProto {
    const MESSAGE: &'static Message = &BUNDLE_ENTRY_PROTO;
}

static BUNDLE_ENTRY_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Fixed32) },
        Field { number: 7, kind: Kind::Many(&TENSOR_SLICE_PROTO, size_of::<g::TensorSliceProto>()) },
    ],
};

impl Scanned for g::BundleHeaderProto {
    const MESSAGE: &'static Message = &BUNDLE_HEADER_PROTO;
}

static BUNDLE_HEADER_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&VERSION_DEF) },
    ],
};

impl Scanned for g::CallableOptions {
    const MESSAGE: &'static Message = &CALLABLE_OPTIONS;
}

static CALLABLE_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
        Field { number: 2, kind: Kind::Texts },
        Field { number: 3, kind: Kind::Texts },
        Field { number: 4, kind: Kind::One(&RUN_OPTIONS) },
        Field { number: 5, kind: Kind::Many(&TENSOR_CONNECTION, size_of::<g::TensorConnection>()) },
        Field { number: 6, kind: Kind::Map(&CALLABLE_OPTIONS_FEED_DEVICES_ENTRY, size_of::<(String, String)>()) },
        Field { number: 7, kind: Kind::Map(&CALLABLE_OPTIONS_FETCH_DEVICES_ENTRY, size_of::<(String, String)>()) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
    ],
};

static CALLABLE_OPTIONS_FEED_DEVICES_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

static CALLABLE_OPTIONS_FETCH_DEVICES_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::CheckpointState {
    const MESSAGE: &'static Message = &CHECKPOINT_STATE;
}

static CHECKPOINT_STATE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Texts },
        Field { number: 3, kind: Kind::Scalars(Wire::Fixed64, size_of::<f64>()) },
        Field { number: 4, kind: Kind::Scalar(Wire::Fixed64) },
    ],
};

impl Scanned for g::CleanupAllRequest {
    const MESSAGE: &'static Message = &CLEANUP_ALL_REQUEST;
}

static CLEANUP_ALL_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
    ],
};

impl Scanned for g::CleanupAllResponse {
    const MESSAGE: &'static Message = &CLEANUP_ALL_RESPONSE;
}

static CLEANUP_ALL_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::CleanupGraphRequest {
    const MESSAGE: &'static Message = &CLEANUP_GRAPH_REQUEST;
}

static CLEANUP_GRAPH_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CleanupGraphResponse {
    const MESSAGE: &'static Message = &CLEANUP_GRAPH_RESPONSE;
}

static CLEANUP_GRAPH_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::CloseSessionRequest {
    const MESSAGE: &'static Message = &CLOSE_SESSION_REQUEST;
}

static CLOSE_SESSION_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
    ],
};

impl Scanned for g::CloseSessionResponse {
    const MESSAGE: &'static Message = &CLOSE_SESSION_RESPONSE;
}

static CLOSE_SESSION_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::ClusterDef {
    const MESSAGE: &'static Message = &CLUSTER_DEF;
}

static CLUSTER_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&JOB_DEF, size_of::<g::JobDef>()) },
    ],
};

impl Scanned for g::ClusterDeviceFilters {
    const MESSAGE: &'static Message = &CLUSTER_DEVICE_FILTERS;
}

static CLUSTER_DEVICE_FILTERS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&JOB_DEVICE_FILTERS, size_of::<g::JobDeviceFilters>()) },
    ],
};

impl Scanned for g::CollectionDef {
    const MESSAGE: &'static Message = &COLLECTION_DEF;
}

static COLLECTION_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&COLLECTION_DEF_NODE_LIST) },
        Field { number: 2, kind: Kind::One(&COLLECTION_DEF_BYTES_LIST) },
        Field { number: 3, kind: Kind::One(&COLLECTION_DEF_INT64_LIST) },
        Field { number: 4, kind: Kind::One(&COLLECTION_DEF_FLOAT_LIST) },
        Field { number: 5, kind: Kind::One(&COLLECTION_DEF_ANY_LIST) },
    ],
};

impl Scanned for g::collection_def::AnyList {
    const MESSAGE: &'static Message = &COLLECTION_DEF_ANY_LIST;
}

static COLLECTION_DEF_ANY_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&ANY, size_of::<g::Any>()) },
    ],
};

impl Scanned for g::collection_def::BytesList {
    const MESSAGE: &'static Message = &COLLECTION_DEF_BYTES_LIST;
}

static COLLECTION_DEF_BYTES_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Blobs },
    ],
};

impl Scanned for g::collection_def::FloatList {
    const MESSAGE: &'static Message = &COLLECTION_DEF_FLOAT_LIST;
}

static COLLECTION_DEF_FLOAT_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalars(Wire::Fixed32, size_of::<f32>()) },
    ],
};

impl Scanned for g::collection_def::Int64List {
    const MESSAGE: &'static Message = &COLLECTION_DEF_INT64_LIST;
}

static COLLECTION_DEF_INT64_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
    ],
};

impl Scanned for g::collection_def::NodeList {
    const MESSAGE: &'static Message = &COLLECTION_DEF_NODE_LIST;
}

static COLLECTION_DEF_NODE_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
    ],
};

impl Scanned for g::ConfigProto {
    const MESSAGE: &'static Message = &CONFIG_PROTO;
}

static CONFIG_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Map(&CONFIG_PROTO_DEVICE_COUNT_ENTRY, size_of::<(String, i32)>()) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::One(&GPU_OPTIONS) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::One(&GRAPH_OPTIONS) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 12, kind: Kind::Many(&THREAD_POOL_OPTION_PROTO, size_of::<g::ThreadPoolOptionProto>()) },
        Field { number: 13, kind: Kind::One(&RPC_OPTIONS) },
        Field { number: 14, kind: Kind::One(&CLUSTER_DEF) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::One(&CONFIG_PROTO_EXPERIMENTAL) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 18, kind: Kind::One(&GPU_OPTIONS) },
    ],
};

static CONFIG_PROTO_DEVICE_COUNT_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::config_proto::Experimental {
    const MESSAGE: &'static Message = &CONFIG_PROTO_EXPERIMENTAL;
}

static CONFIG_PROTO_EXPERIMENTAL: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::One(&SESSION_METADATA) },
        Field { number: 12, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 13, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 18, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 21, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 22, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 23, kind: Kind::One(&COORDINATION_SERVICE_CONFIG) },
        Field { number: 24, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 26, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 27, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 28, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 29, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 30, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 31, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 32, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 33, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 34, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 35, kind: Kind::Text },
        Field { number: 36, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CoordinatedJob {
    const MESSAGE: &'static Message = &COORDINATED_JOB;
}

static COORDINATED_JOB: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CoordinationServiceConfig {
    const MESSAGE: &'static Message = &COORDINATION_SERVICE_CONFIG;
}

static COORDINATION_SERVICE_CONFIG: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Texts },
        Field { number: 10, kind: Kind::Many(&COORDINATED_JOB, size_of::<g::CoordinatedJob>()) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 12, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 13, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CostGraphDef {
    const MESSAGE: &'static Message = &COST_GRAPH_DEF;
}

static COST_GRAPH_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&COST_GRAPH_DEF_NODE, size_of::<g::cost_graph_def::Node>()) },
        Field { number: 2, kind: Kind::Many(&COST_GRAPH_DEF_AGGREGATED_COST, size_of::<g::cost_graph_def::AggregatedCost>()) },
    ],
};

impl Scanned for g::cost_graph_def::AggregatedCost {
    const MESSAGE: &'static Message = &COST_GRAPH_DEF_AGGREGATED_COST;
}

static COST_GRAPH_DEF_AGGREGATED_COST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Fixed32) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::cost_graph_def::Node {
    const MESSAGE: &'static Message = &COST_GRAPH_DEF_NODE;
}

static COST_GRAPH_DEF_NODE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Many(&COST_GRAPH_DEF_NODE_INPUT_INFO, size_of::<g::cost_graph_def::node::InputInfo>()) },
        Field { number: 5, kind: Kind::Many(&COST_GRAPH_DEF_NODE_OUTPUT_INFO, size_of::<g::cost_graph_def::node::OutputInfo>()) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 12, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::cost_graph_def::node::InputInfo {
    const MESSAGE: &'static Message = &COST_GRAPH_DEF_NODE_INPUT_INFO;
}

static COST_GRAPH_DEF_NODE_INPUT_INFO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::cost_graph_def::node::OutputInfo {
    const MESSAGE: &'static Message = &COST_GRAPH_DEF_NODE_OUTPUT_INFO;
}

static COST_GRAPH_DEF_NODE_OUTPUT_INFO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CreateSessionRequest {
    const MESSAGE: &'static Message = &CREATE_SESSION_REQUEST;
}

static CREATE_SESSION_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&GRAPH_DEF) },
        Field { number: 2, kind: Kind::One(&CONFIG_PROTO) },
        Field { number: 3, kind: Kind::Text },
    ],
};

impl Scanned for g::CreateSessionResponse {
    const MESSAGE: &'static Message = &CREATE_SESSION_RESPONSE;
}

static CREATE_SESSION_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CreateWorkerSessionRequest {
    const MESSAGE: &'static Message = &CREATE_WORKER_SESSION_REQUEST;
}

static CREATE_WORKER_SESSION_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&SERVER_DEF) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Many(&DEVICE_ATTRIBUTES, size_of::<g::DeviceAttributes>()) },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::CreateWorkerSessionResponse {
    const MESSAGE: &'static Message = &CREATE_WORKER_SESSION_RESPONSE;
}

static CREATE_WORKER_SESSION_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::DebugOptions {
    const MESSAGE: &'static Message = &DEBUG_OPTIONS;
}

static DEBUG_OPTIONS: Message = Message {
    fields: &[
        Field { number: 4, kind: Kind::Many(&DEBUG_TENSOR_WATCH, size_of::<g::DebugTensorWatch>()) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::DebugTensorWatch {
    const MESSAGE: &'static Message = &DEBUG_TENSOR_WATCH;
}

static DEBUG_TENSOR_WATCH: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Texts },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::DeleteWorkerSessionRequest {
    const MESSAGE: &'static Message = &DELETE_WORKER_SESSION_REQUEST;
}

static DELETE_WORKER_SESSION_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
    ],
};

impl Scanned for g::DeleteWorkerSessionResponse {
    const MESSAGE: &'static Message = &DELETE_WORKER_SESSION_RESPONSE;
}

static DELETE_WORKER_SESSION_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::DeregisterGraphRequest {
    const MESSAGE: &'static Message = &DEREGISTER_GRAPH_REQUEST;
}

static DEREGISTER_GRAPH_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::DeregisterGraphResponse {
    const MESSAGE: &'static Message = &DEREGISTER_GRAPH_RESPONSE;
}

static DEREGISTER_GRAPH_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::DeviceAttributes {
    const MESSAGE: &'static Message = &DEVICE_ATTRIBUTES;
}

static DEVICE_ATTRIBUTES: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::One(&DEVICE_LOCALITY) },
        Field { number: 6, kind: Kind::Scalar(Wire::Fixed64) },
        Field { number: 7, kind: Kind::Text },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::DeviceLocality {
    const MESSAGE: &'static Message = &DEVICE_LOCALITY;
}

static DEVICE_LOCALITY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&LOCAL_LINKS) },
    ],
};

impl Scanned for g::DeviceStepStats {
    const MESSAGE: &'static Message = &DEVICE_STEP_STATS;
}

static DEVICE_STEP_STATS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Many(&NODE_EXEC_STATS, size_of::<g::NodeExecStats>()) },
        Field { number: 3, kind: Kind::Map(&DEVICE_STEP_STATS_THREAD_NAMES_ENTRY, size_of::<(u32, String)>()) },
    ],
};

static DEVICE_STEP_STATS_THREAD_NAMES_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::ExecutorOpts {
    const MESSAGE: &'static Message = &EXECUTOR_OPTS;
}

static EXECUTOR_OPTS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::ExtendSessionRequest {
    const MESSAGE: &'static Message = &EXTEND_SESSION_REQUEST;
}

static EXTEND_SESSION_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&GRAPH_DEF) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::ExtendSessionResponse {
    const MESSAGE: &'static Message = &EXTEND_SESSION_RESPONSE;
}

static EXTEND_SESSION_RESPONSE: Message = Message {
    fields: &[
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::FullTypeDef {
    const MESSAGE: &'static Message = &FULL_TYPE_DEF;
}

static FULL_TYPE_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Many(&FULL_TYPE_DEF, size_of::<g::FullTypeDef>()) },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::FunctionDef {
    const MESSAGE: &'static Message = &FUNCTION_DEF;
}

static FUNCTION_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&OP_DEF) },
        Field { number: 3, kind: Kind::Many(&NODE_DEF, size_of::<g::NodeDef>()) },
        Field { number: 4, kind: Kind::Map(&FUNCTION_DEF_RET_ENTRY, size_of::<(String, String)>()) },
        Field { number: 5, kind: Kind::Map(&FUNCTION_DEF_ATTR_ENTRY, size_of::<(String, g::AttrValue)>()) },
        Field { number: 6, kind: Kind::Map(&FUNCTION_DEF_CONTROL_RET_ENTRY, size_of::<(String, String)>()) },
        Field { number: 7, kind: Kind::Map(&FUNCTION_DEF_ARG_ATTR_ENTRY, size_of::<(u32, g::function_def::ArgAttrs)>()) },
        Field { number: 8, kind: Kind::Map(&FUNCTION_DEF_RESOURCE_ARG_UNIQUE_ID_ENTRY, size_of::<(u32, u32)>()) },
    ],
};

static FUNCTION_DEF_ARG_ATTR_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&FUNCTION_DEF_ARG_ATTRS) },
    ],
};

impl Scanned for g::function_def::ArgAttrs {
    const MESSAGE: &'static Message = &FUNCTION_DEF_ARG_ATTRS;
}

static FUNCTION_DEF_ARG_ATTRS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Map(&FUNCTION_DEF_ARG_ATTRS_ATTR_ENTRY, size_of::<(String, g::AttrValue)>()) },
    ],
};

static FUNCTION_DEF_ARG_ATTRS_ATTR_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&ATTR_VALUE) },
    ],
};

static FUNCTION_DEF_ATTR_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&ATTR_VALUE) },
    ],
};

static FUNCTION_DEF_CONTROL_RET_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

static FUNCTION_DEF_RESOURCE_ARG_UNIQUE_ID_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

static FUNCTION_DEF_RET_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::FunctionDefLibrary {
    const MESSAGE: &'static Message = &FUNCTION_DEF_LIBRARY;
}

static FUNCTION_DEF_LIBRARY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&FUNCTION_DEF, size_of::<g::FunctionDef>()) },
        Field { number: 2, kind: Kind::Many(&GRADIENT_DEF, size_of::<g::GradientDef>()) },
        Field { number: 3, kind: Kind::Many(&REGISTERED_GRADIENT, size_of::<g::RegisteredGradient>()) },
    ],
};

impl Scanned for g::GpuOptions {
    const MESSAGE: &'static Message = &GPU_OPTIONS;
}

static GPU_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Fixed64) },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::One(&GPU_OPTIONS_EXPERIMENTAL) },
    ],
};

impl Scanned for g::gpu_options::Experimental {
    const MESSAGE: &'static Message = &GPU_OPTIONS_EXPERIMENTAL;
}

static GPU_OPTIONS_EXPERIMENTAL: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&GPU_OPTIONS_EXPERIMENTAL_VIRTUAL_DEVICES, size_of::<g::gpu_options::experimental::VirtualDevices>()) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Text },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Fixed64) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 12, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 13, kind: Kind::Scalar(Wire::Fixed32) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 18, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 19, kind: Kind::One(&GPU_OPTIONS_EXPERIMENTAL_STREAM_MERGE_OPTIONS) },
    ],
};

impl Scanned for g::gpu_options::experimental::StreamMergeOptions {
    const MESSAGE: &'static Message = &GPU_OPTIONS_EXPERIMENTAL_STREAM_MERGE_OPTIONS;
}

static GPU_OPTIONS_EXPERIMENTAL_STREAM_MERGE_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::gpu_options::experimental::VirtualDevices {
    const MESSAGE: &'static Message = &GPU_OPTIONS_EXPERIMENTAL_VIRTUAL_DEVICES;
}

static GPU_OPTIONS_EXPERIMENTAL_VIRTUAL_DEVICES: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalars(Wire::Fixed32, size_of::<f32>()) },
        Field { number: 2, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
        Field { number: 3, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
    ],
};

impl Scanned for g::GetStatusRequest {
    const MESSAGE: &'static Message = &GET_STATUS_REQUEST;
}

static GET_STATUS_REQUEST: Message = Message {
    fields: &[],
};

impl Scanned for g::GetStatusResponse {
    const MESSAGE: &'static Message = &GET_STATUS_RESPONSE;
}

static GET_STATUS_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&DEVICE_ATTRIBUTES, size_of::<g::DeviceAttributes>()) },
    ],
};

impl Scanned for g::GradientDef {
    const MESSAGE: &'static Message = &GRADIENT_DEF;
}

static GRADIENT_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::GraphDef {
    const MESSAGE: &'static Message = &GRAPH_DEF;
}

static GRAPH_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&NODE_DEF, size_of::<g::NodeDef>()) },
        Field { number: 2, kind: Kind::One(&FUNCTION_DEF_LIBRARY) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::One(&VERSION_DEF) },
    ],
};

impl Scanned for g::GraphOptions {
    const MESSAGE: &'static Message = &GRAPH_OPTIONS;
}

static GRAPH_OPTIONS: Message = Message {
    fields: &[
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&OPTIMIZER_OPTIONS) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::One(&REWRITER_CONFIG) },
    ],
};

impl Scanned for g::GrpcPayloadContainer {
    const MESSAGE: &'static Message = &GRPC_PAYLOAD_CONTAINER;
}

static GRPC_PAYLOAD_CONTAINER: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Map(&GRPC_PAYLOAD_CONTAINER_PAYLOADS_ENTRY, size_of::<(String, Bytes)>()) },
    ],
};

static GRPC_PAYLOAD_CONTAINER_PAYLOADS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Blob },
    ],
};

impl Scanned for g::InterconnectLink {
    const MESSAGE: &'static Message = &INTERCONNECT_LINK;
}

static INTERCONNECT_LINK: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::JobDef {
    const MESSAGE: &'static Message = &JOB_DEF;
}

static JOB_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Map(&JOB_DEF_TASKS_ENTRY, size_of::<(i32, String)>()) },
    ],
};

static JOB_DEF_TASKS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::JobDeviceFilters {
    const MESSAGE: &'static Message = &JOB_DEVICE_FILTERS;
}

static JOB_DEVICE_FILTERS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Map(&JOB_DEVICE_FILTERS_TASKS_ENTRY, size_of::<(i32, g::TaskDeviceFilters)>()) },
    ],
};

static JOB_DEVICE_FILTERS_TASKS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&TASK_DEVICE_FILTERS) },
    ],
};

impl Scanned for g::LabeledStepStats {
    const MESSAGE: &'static Message = &LABELED_STEP_STATS;
}

static LABELED_STEP_STATS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&STEP_STATS) },
    ],
};

impl Scanned for g::ListDevicesRequest {
    const MESSAGE: &'static Message = &LIST_DEVICES_REQUEST;
}

static LIST_DEVICES_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
    ],
};

impl Scanned for g::ListDevicesResponse {
    const MESSAGE: &'static Message = &LIST_DEVICES_RESPONSE;
}

static LIST_DEVICES_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&DEVICE_ATTRIBUTES, size_of::<g::DeviceAttributes>()) },
        Field { number: 2, kind: Kind::Many(&DEVICE_ATTRIBUTES, size_of::<g::DeviceAttributes>()) },
    ],
};

impl Scanned for g::LocalLinks {
    const MESSAGE: &'static Message = &LOCAL_LINKS;
}

static LOCAL_LINKS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&INTERCONNECT_LINK, size_of::<g::InterconnectLink>()) },
    ],
};

impl Scanned for g::LoggingRequest {
    const MESSAGE: &'static Message = &LOGGING_REQUEST;
}

static LOGGING_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::LoggingResponse {
    const MESSAGE: &'static Message = &LOGGING_RESPONSE;
}

static LOGGING_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&LABELED_STEP_STATS, size_of::<g::LabeledStepStats>()) },
    ],
};

impl Scanned for g::MakeCallableRequest {
    const MESSAGE: &'static Message = &MAKE_CALLABLE_REQUEST;
}

static MAKE_CALLABLE_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&CALLABLE_OPTIONS) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::MakeCallableResponse {
    const MESSAGE: &'static Message = &MAKE_CALLABLE_RESPONSE;
}

static MAKE_CALLABLE_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::MarkRecvFinishedRequest {
    const MESSAGE: &'static Message = &MARK_RECV_FINISHED_REQUEST;
}

static MARK_RECV_FINISHED_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::MarkRecvFinishedResponse {
    const MESSAGE: &'static Message = &MARK_RECV_FINISHED_RESPONSE;
}

static MARK_RECV_FINISHED_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::MemoryStats {
    const MESSAGE: &'static Message = &MEMORY_STATS;
}

static MEMORY_STATS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 6, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
    ],
};

impl Scanned for g::MetaGraphDef {
    const MESSAGE: &'static Message = &META_GRAPH_DEF;
}

static META_GRAPH_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&META_GRAPH_DEF_META_INFO_DEF) },
        Field { number: 2, kind: Kind::One(&GRAPH_DEF) },
        Field { number: 3, kind: Kind::One(&SAVER_DEF) },
        Field { number: 4, kind: Kind::Map(&META_GRAPH_DEF_COLLECTION_DEF_ENTRY, size_of::<(String, g::CollectionDef)>()) },
        Field { number: 5, kind: Kind::Map(&META_GRAPH_DEF_SIGNATURE_DEF_ENTRY, size_of::<(String, g::SignatureDef)>()) },
        Field { number: 6, kind: Kind::Many(&ASSET_FILE_DEF, size_of::<g::AssetFileDef>()) },
    ],
};

static META_GRAPH_DEF_COLLECTION_DEF_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&COLLECTION_DEF) },
    ],
};

impl Scanned for g::meta_graph_def::MetaInfoDef {
    const MESSAGE: &'static Message = &META_GRAPH_DEF_META_INFO_DEF;
}

static META_GRAPH_DEF_META_INFO_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&OP_LIST) },
        Field { number: 3, kind: Kind::One(&ANY) },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Text },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Map(&META_GRAPH_DEF_META_INFO_DEF_FUNCTION_ALIASES_ENTRY, size_of::<(String, String)>()) },
    ],
};

static META_GRAPH_DEF_META_INFO_DEF_FUNCTION_ALIASES_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

static META_GRAPH_DEF_SIGNATURE_DEF_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&SIGNATURE_DEF) },
    ],
};

impl Scanned for g::NameAttrList {
    const MESSAGE: &'static Message = &NAME_ATTR_LIST;
}

static NAME_ATTR_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Map(&NAME_ATTR_LIST_ATTR_ENTRY, size_of::<(String, g::AttrValue)>()) },
    ],
};

static NAME_ATTR_LIST_ATTR_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&ATTR_VALUE) },
    ],
};

impl Scanned for g::NamedTensorProto {
    const MESSAGE: &'static Message = &NAMED_TENSOR_PROTO;
}

static NAMED_TENSOR_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&TENSOR_PROTO) },
    ],
};

impl Scanned for g::NodeDef {
    const MESSAGE: &'static Message = &NODE_DEF;
}

static NODE_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Texts },
        Field { number: 4, kind: Kind::Text },
        Field { number: 5, kind: Kind::Map(&NODE_DEF_ATTR_ENTRY, size_of::<(String, g::AttrValue)>()) },
        Field { number: 6, kind: Kind::One(&NODE_DEF_EXPERIMENTAL_DEBUG_INFO) },
        Field { number: 7, kind: Kind::One(&FULL_TYPE_DEF) },
    ],
};

static NODE_DEF_ATTR_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&ATTR_VALUE) },
    ],
};

impl Scanned for g::node_def::ExperimentalDebugInfo {
    const MESSAGE: &'static Message = &NODE_DEF_EXPERIMENTAL_DEBUG_INFO;
}

static NODE_DEF_EXPERIMENTAL_DEBUG_INFO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
        Field { number: 2, kind: Kind::Texts },
    ],
};

impl Scanned for g::NodeExecStats {
    const MESSAGE: &'static Message = &NODE_EXEC_STATS;
}

static NODE_EXEC_STATS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Many(&ALLOCATOR_MEMORY_USED, size_of::<g::AllocatorMemoryUsed>()) },
        Field { number: 7, kind: Kind::Many(&NODE_OUTPUT, size_of::<g::NodeOutput>()) },
        Field { number: 8, kind: Kind::Text },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::Many(&ALLOCATION_DESCRIPTION, size_of::<g::AllocationDescription>()) },
        Field { number: 12, kind: Kind::One(&MEMORY_STATS) },
        Field { number: 13, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::NodeOutput {
    const MESSAGE: &'static Message = &NODE_OUTPUT;
}

static NODE_OUTPUT: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&TENSOR_DESCRIPTION) },
    ],
};

impl Scanned for g::OpDef {
    const MESSAGE: &'static Message = &OP_DEF;
}

static OP_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Many(&OP_DEF_ARG_DEF, size_of::<g::op_def::ArgDef>()) },
        Field { number: 3, kind: Kind::Many(&OP_DEF_ARG_DEF, size_of::<g::op_def::ArgDef>()) },
        Field { number: 4, kind: Kind::Many(&OP_DEF_ATTR_DEF, size_of::<g::op_def::AttrDef>()) },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Text },
        Field { number: 8, kind: Kind::One(&OP_DEPRECATION) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 18, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 19, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 20, kind: Kind::Texts },
        Field { number: 21, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::op_def::ArgDef {
    const MESSAGE: &'static Message = &OP_DEF_ARG_DEF;
}

static OP_DEF_ARG_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Text },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Text },
        Field { number: 7, kind: Kind::Many(&RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE, size_of::<g::resource_handle_proto::DtypeAndShape>()) },
        Field { number: 16, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 17, kind: Kind::One(&FULL_TYPE_DEF) },
    ],
};

impl Scanned for g::op_def::AttrDef {
    const MESSAGE: &'static Message = &OP_DEF_ATTR_DEF;
}

static OP_DEF_ATTR_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::One(&ATTR_VALUE) },
        Field { number: 4, kind: Kind::Text },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::One(&ATTR_VALUE) },
    ],
};

impl Scanned for g::OpDeprecation {
    const MESSAGE: &'static Message = &OP_DEPRECATION;
}

static OP_DEPRECATION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::OpList {
    const MESSAGE: &'static Message = &OP_LIST;
}

static OP_LIST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&OP_DEF, size_of::<g::OpDef>()) },
    ],
};

impl Scanned for g::OptimizerOptions {
    const MESSAGE: &'static Message = &OPTIMIZER_OPTIONS;
}

static OPTIMIZER_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::PartialRunSetupRequest {
    const MESSAGE: &'static Message = &PARTIAL_RUN_SETUP_REQUEST;
}

static PARTIAL_RUN_SETUP_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Texts },
        Field { number: 3, kind: Kind::Texts },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::PartialRunSetupResponse {
    const MESSAGE: &'static Message = &PARTIAL_RUN_SETUP_RESPONSE;
}

static PARTIAL_RUN_SETUP_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
    ],
};

impl Scanned for g::RpcOptions {
    const MESSAGE: &'static Message = &RPC_OPTIONS;
}

static RPC_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RecvTensorRequest {
    const MESSAGE: &'static Message = &RECV_TENSOR_REQUEST;
}

static RECV_TENSOR_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::One(&DEVICE_LOCALITY) },
        Field { number: 5, kind: Kind::One(&DEVICE_LOCALITY) },
        Field { number: 6, kind: Kind::One(&ANY) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RecvTensorResponse {
    const MESSAGE: &'static Message = &RECV_TENSOR_RESPONSE;
}

static RECV_TENSOR_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&TENSOR_PROTO) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::One(&ANY) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RegisterGraphRequest {
    const MESSAGE: &'static Message = &REGISTER_GRAPH_REQUEST;
}

static REGISTER_GRAPH_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&GRAPH_DEF) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::One(&GRAPH_OPTIONS) },
        Field { number: 5, kind: Kind::One(&DEBUG_OPTIONS) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::One(&CONFIG_PROTO) },
    ],
};

impl Scanned for g::RegisterGraphResponse {
    const MESSAGE: &'static Message = &REGISTER_GRAPH_RESPONSE;
}

static REGISTER_GRAPH_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
    ],
};

impl Scanned for g::RegisteredGradient {
    const MESSAGE: &'static Message = &REGISTERED_GRADIENT;
}

static REGISTERED_GRADIENT: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::ReleaseCallableRequest {
    const MESSAGE: &'static Message = &RELEASE_CALLABLE_REQUEST;
}

static RELEASE_CALLABLE_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::ReleaseCallableResponse {
    const MESSAGE: &'static Message = &RELEASE_CALLABLE_RESPONSE;
}

static RELEASE_CALLABLE_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::ResetRequest {
    const MESSAGE: &'static Message = &RESET_REQUEST;
}

static RESET_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
        Field { number: 2, kind: Kind::Texts },
    ],
};

impl Scanned for g::ResetResponse {
    const MESSAGE: &'static Message = &RESET_RESPONSE;
}

static RESET_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::ResourceHandleProto {
    const MESSAGE: &'static Message = &RESOURCE_HANDLE_PROTO;
}

static RESOURCE_HANDLE_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Many(&RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE, size_of::<g::resource_handle_proto::DtypeAndShape>()) },
    ],
};

impl Scanned for g::resource_handle_proto::DtypeAndShape {
    const MESSAGE: &'static Message = &RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE;
}

static RESOURCE_HANDLE_PROTO_DTYPE_AND_SHAPE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
    ],
};

impl Scanned for g::RewriterConfig {
    const MESSAGE: &'static Message = &REWRITER_CONFIG;
}

static REWRITER_CONFIG: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::One(&AUTO_PARALLEL_OPTIONS) },
        Field { number: 6, kind: Kind::Text },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 12, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 13, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 14, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 15, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 16, kind: Kind::One(&SCOPED_ALLOCATOR_OPTIONS) },
        Field { number: 17, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 18, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 19, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 20, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 21, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 22, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 23, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 24, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 25, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 26, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 27, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 28, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 29, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 30, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 31, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 32, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 50, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 100, kind: Kind::Texts },
        Field { number: 200, kind: Kind::Many(&REWRITER_CONFIG_CUSTOM_GRAPH_OPTIMIZER, size_of::<g::rewriter_config::CustomGraphOptimizer>()) },
        Field { number: 300, kind: Kind::One(&VERIFIER_CONFIG) },
        Field { number: 301, kind: Kind::One(&VERIFIER_CONFIG) },
    ],
};

impl Scanned for g::rewriter_config::CustomGraphOptimizer {
    const MESSAGE: &'static Message = &REWRITER_CONFIG_CUSTOM_GRAPH_OPTIMIZER;
}

static REWRITER_CONFIG_CUSTOM_GRAPH_OPTIMIZER: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Map(&REWRITER_CONFIG_CUSTOM_GRAPH_OPTIMIZER_PARAMETER_MAP_ENTRY, size_of::<(String, g::AttrValue)>()) },
    ],
};

static REWRITER_CONFIG_CUSTOM_GRAPH_OPTIMIZER_PARAMETER_MAP_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&ATTR_VALUE) },
    ],
};

impl Scanned for g::RunCallableRequest {
    const MESSAGE: &'static Message = &RUN_CALLABLE_REQUEST;
}

static RUN_CALLABLE_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Many(&TENSOR_PROTO, size_of::<g::TensorProto>()) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RunCallableResponse {
    const MESSAGE: &'static Message = &RUN_CALLABLE_RESPONSE;
}

static RUN_CALLABLE_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&TENSOR_PROTO, size_of::<g::TensorProto>()) },
        Field { number: 2, kind: Kind::One(&RUN_METADATA) },
    ],
};

impl Scanned for g::RunGraphRequest {
    const MESSAGE: &'static Message = &RUN_GRAPH_REQUEST;
}

static RUN_GRAPH_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Many(&NAMED_TENSOR_PROTO, size_of::<g::NamedTensorProto>()) },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::One(&EXECUTOR_OPTS) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Text },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 10, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 11, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RunGraphResponse {
    const MESSAGE: &'static Message = &RUN_GRAPH_RESPONSE;
}

static RUN_GRAPH_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&NAMED_TENSOR_PROTO, size_of::<g::NamedTensorProto>()) },
        Field { number: 2, kind: Kind::One(&STEP_STATS) },
        Field { number: 3, kind: Kind::One(&COST_GRAPH_DEF) },
        Field { number: 4, kind: Kind::Many(&GRAPH_DEF, size_of::<g::GraphDef>()) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Text },
    ],
};

impl Scanned for g::RunMetadata {
    const MESSAGE: &'static Message = &RUN_METADATA;
}

static RUN_METADATA: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&STEP_STATS) },
        Field { number: 2, kind: Kind::One(&COST_GRAPH_DEF) },
        Field { number: 3, kind: Kind::Many(&GRAPH_DEF, size_of::<g::GraphDef>()) },
        Field { number: 4, kind: Kind::Many(&RUN_METADATA_FUNCTION_GRAPHS, size_of::<g::run_metadata::FunctionGraphs>()) },
        Field { number: 5, kind: Kind::One(&SESSION_METADATA) },
    ],
};

impl Scanned for g::run_metadata::FunctionGraphs {
    const MESSAGE: &'static Message = &RUN_METADATA_FUNCTION_GRAPHS;
}

static RUN_METADATA_FUNCTION_GRAPHS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&GRAPH_DEF, size_of::<g::GraphDef>()) },
        Field { number: 2, kind: Kind::One(&GRAPH_DEF) },
        Field { number: 3, kind: Kind::One(&GRAPH_DEF) },
    ],
};

impl Scanned for g::RunOptions {
    const MESSAGE: &'static Message = &RUN_OPTIONS;
}

static RUN_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::One(&DEBUG_OPTIONS) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::One(&RUN_OPTIONS_EXPERIMENTAL) },
    ],
};

impl Scanned for g::run_options::Experimental {
    const MESSAGE: &'static Message = &RUN_OPTIONS_EXPERIMENTAL;
}

static RUN_OPTIONS_EXPERIMENTAL: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&RUN_OPTIONS_EXPERIMENTAL_RUN_HANDLER_POOL_OPTIONS) },
    ],
};

impl Scanned for g::run_options::experimental::RunHandlerPoolOptions {
    const MESSAGE: &'static Message = &RUN_OPTIONS_EXPERIMENTAL_RUN_HANDLER_POOL_OPTIONS;
}

static RUN_OPTIONS_EXPERIMENTAL_RUN_HANDLER_POOL_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RunStepRequest {
    const MESSAGE: &'static Message = &RUN_STEP_REQUEST;
}

static RUN_STEP_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Many(&NAMED_TENSOR_PROTO, size_of::<g::NamedTensorProto>()) },
        Field { number: 3, kind: Kind::Texts },
        Field { number: 4, kind: Kind::Texts },
        Field { number: 5, kind: Kind::One(&RUN_OPTIONS) },
        Field { number: 6, kind: Kind::Text },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::RunStepResponse {
    const MESSAGE: &'static Message = &RUN_STEP_RESPONSE;
}

static RUN_STEP_RESPONSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&NAMED_TENSOR_PROTO, size_of::<g::NamedTensorProto>()) },
        Field { number: 2, kind: Kind::One(&RUN_METADATA) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Text },
    ],
};

impl Scanned for g::SaveSliceInfoDef {
    const MESSAGE: &'static Message = &SAVE_SLICE_INFO_DEF;
}

static SAVE_SLICE_INFO_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 3, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 4, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
    ],
};

impl Scanned for g::SavedModel {
    const MESSAGE: &'static Message = &SAVED_MODEL;
}

static SAVED_MODEL: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Many(&META_GRAPH_DEF, size_of::<g::MetaGraphDef>()) },
    ],
};

impl Scanned for g::SaverDef {
    const MESSAGE: &'static Message = &SAVER_DEF;
}

static SAVER_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Fixed32) },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::ScopedAllocatorOptions {
    const MESSAGE: &'static Message = &SCOPED_ALLOCATOR_OPTIONS;
}

static SCOPED_ALLOCATOR_OPTIONS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
    ],
};

impl Scanned for g::ServerDef {
    const MESSAGE: &'static Message = &SERVER_DEF;
}

static SERVER_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&CLUSTER_DEF) },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::One(&CONFIG_PROTO) },
        Field { number: 5, kind: Kind::Text },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 7, kind: Kind::One(&CLUSTER_DEVICE_FILTERS) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::SessionMetadata {
    const MESSAGE: &'static Message = &SESSION_METADATA;
}

static SESSION_METADATA: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::SignatureDef {
    const MESSAGE: &'static Message = &SIGNATURE_DEF;
}

static SIGNATURE_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Map(&SIGNATURE_DEF_INPUTS_ENTRY, size_of::<(String, g::TensorInfo)>()) },
        Field { number: 2, kind: Kind::Map(&SIGNATURE_DEF_OUTPUTS_ENTRY, size_of::<(String, g::TensorInfo)>()) },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::Map(&SIGNATURE_DEF_DEFAULTS_ENTRY, size_of::<(String, g::TensorProto)>()) },
    ],
};

static SIGNATURE_DEF_DEFAULTS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&TENSOR_PROTO) },
    ],
};

static SIGNATURE_DEF_INPUTS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&TENSOR_INFO) },
    ],
};

static SIGNATURE_DEF_OUTPUTS_ENTRY: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::One(&TENSOR_INFO) },
    ],
};

impl Scanned for g::StepStats {
    const MESSAGE: &'static Message = &STEP_STATS;
}

static STEP_STATS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&DEVICE_STEP_STATS, size_of::<g::DeviceStepStats>()) },
    ],
};

impl Scanned for g::TaskDeviceFilters {
    const MESSAGE: &'static Message = &TASK_DEVICE_FILTERS;
}

static TASK_DEVICE_FILTERS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Texts },
    ],
};

impl Scanned for g::TensorConnection {
    const MESSAGE: &'static Message = &TENSOR_CONNECTION;
}

static TENSOR_CONNECTION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::TensorDescription {
    const MESSAGE: &'static Message = &TENSOR_DESCRIPTION;
}

static TENSOR_DESCRIPTION: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 4, kind: Kind::One(&ALLOCATION_DESCRIPTION) },
    ],
};

impl Scanned for g::TensorInfo {
    const MESSAGE: &'static Message = &TENSOR_INFO;
}

static TENSOR_INFO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 4, kind: Kind::One(&TENSOR_INFO_COO_SPARSE) },
        Field { number: 5, kind: Kind::One(&TENSOR_INFO_COMPOSITE_TENSOR) },
    ],
};

impl Scanned for g::tensor_info::CompositeTensor {
    const MESSAGE: &'static Message = &TENSOR_INFO_COMPOSITE_TENSOR;
}

static TENSOR_INFO_COMPOSITE_TENSOR: Message = Message {
    fields: &[
        Field { number: 2, kind: Kind::Many(&TENSOR_INFO, size_of::<g::TensorInfo>()) },
    ],
};

impl Scanned for g::tensor_info::CooSparse {
    const MESSAGE: &'static Message = &TENSOR_INFO_COO_SPARSE;
}

static TENSOR_INFO_COO_SPARSE: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Text },
    ],
};

impl Scanned for g::TensorProto {
    const MESSAGE: &'static Message = &TENSOR_PROTO;
}

static TENSOR_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::One(&TENSOR_SHAPE_PROTO) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Blob },
        Field { number: 5, kind: Kind::Scalars(Wire::Fixed32, size_of::<f32>()) },
        Field { number: 6, kind: Kind::Scalars(Wire::Fixed64, size_of::<f64>()) },
        Field { number: 7, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
        Field { number: 8, kind: Kind::Blobs },
        Field { number: 9, kind: Kind::Scalars(Wire::Fixed32, size_of::<f32>()) },
        Field { number: 10, kind: Kind::Scalars(Wire::Varint, size_of::<i64>()) },
        Field { number: 11, kind: Kind::Scalars(Wire::Varint, size_of::<bool>()) },
        Field { number: 12, kind: Kind::Scalars(Wire::Fixed64, size_of::<f64>()) },
        Field { number: 13, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
        Field { number: 14, kind: Kind::Many(&RESOURCE_HANDLE_PROTO, size_of::<g::ResourceHandleProto>()) },
        Field { number: 15, kind: Kind::Many(&VARIANT_TENSOR_DATA_PROTO, size_of::<g::VariantTensorDataProto>()) },
        Field { number: 16, kind: Kind::Scalars(Wire::Varint, size_of::<u32>()) },
        Field { number: 17, kind: Kind::Scalars(Wire::Varint, size_of::<u64>()) },
        Field { number: 18, kind: Kind::Blob },
    ],
};

impl Scanned for g::TensorShapeProto {
    const MESSAGE: &'static Message = &TENSOR_SHAPE_PROTO;
}

static TENSOR_SHAPE_PROTO: Message = Message {
    fields: &[
        Field { number: 2, kind: Kind::Many(&TENSOR_SHAPE_PROTO_DIM, size_of::<g::tensor_shape_proto::Dim>()) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::tensor_shape_proto::Dim {
    const MESSAGE: &'static Message = &TENSOR_SHAPE_PROTO_DIM;
}

static TENSOR_SHAPE_PROTO_DIM: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::TensorSliceProto {
    const MESSAGE: &'static Message = &TENSOR_SLICE_PROTO;
}

static TENSOR_SLICE_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Many(&TENSOR_SLICE_PROTO_EXTENT, size_of::<g::tensor_slice_proto::Extent>()) },
    ],
};

impl Scanned for g::tensor_slice_proto::Extent {
    const MESSAGE: &'static Message = &TENSOR_SLICE_PROTO_EXTENT;
}

static TENSOR_SLICE_PROTO_EXTENT: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::ThreadPoolOptionProto {
    const MESSAGE: &'static Message = &THREAD_POOL_OPTION_PROTO;
}

static THREAD_POOL_OPTION_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Text },
    ],
};

impl Scanned for g::TraceOpts {
    const MESSAGE: &'static Message = &TRACE_OPTS;
}

static TRACE_OPTS: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Fixed64) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 4, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::TracingRequest {
    const MESSAGE: &'static Message = &TRACING_REQUEST;
}

static TRACING_REQUEST: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::One(&TRACE_OPTS) },
    ],
};

impl Scanned for g::TracingResponse {
    const MESSAGE: &'static Message = &TRACING_RESPONSE;
}

static TRACING_RESPONSE: Message = Message {
    fields: &[],
};

impl Scanned for g::VariableDef {
    const MESSAGE: &'static Message = &VARIABLE_DEF;
}

static VARIABLE_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Text },
        Field { number: 3, kind: Kind::Text },
        Field { number: 4, kind: Kind::One(&SAVE_SLICE_INFO_DEF) },
        Field { number: 5, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 6, kind: Kind::Text },
        Field { number: 7, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 8, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 9, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::VariantTensorDataProto {
    const MESSAGE: &'static Message = &VARIANT_TENSOR_DATA_PROTO;
}

static VARIANT_TENSOR_DATA_PROTO: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Text },
        Field { number: 2, kind: Kind::Blob },
        Field { number: 3, kind: Kind::Many(&TENSOR_PROTO, size_of::<g::TensorProto>()) },
    ],
};

impl Scanned for g::VerifierConfig {
    const MESSAGE: &'static Message = &VERIFIER_CONFIG;
}

static VERIFIER_CONFIG: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
    ],
};

impl Scanned for g::VersionDef {
    const MESSAGE: &'static Message = &VERSION_DEF;
}

static VERSION_DEF: Message = Message {
    fields: &[
        Field { number: 1, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 2, kind: Kind::Scalar(Wire::Varint) },
        Field { number: 3, kind: Kind::Scalars(Wire::Varint, size_of::<i32>()) },
    ],
};

impl Scanned for g::WorkerPossiblyRestarted {
    const MESSAGE: &'static Message = &WORKER_POSSIBLY_RESTARTED;
}

static WORKER_POSSIBLY_RESTARTED: Message = Message {
    fields: &[],
};
