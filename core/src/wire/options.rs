//! What calls carry beside tensors and graphs: options, devices, measurements; to native forms and back.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::generated as g;
use super::graph::{graph_from_proto, graph_to_proto};
use super::shape::{dtype_from_proto, shape_from_proto, shape_to_proto};
use crate::Status;
use crate::service::{
    CallableOptions, DeviceAttributes, DeviceStats, NodeStats, RunMetadata, RunOptions, SessionConfig,
};
use crate::tensor::Budget;
use g::run_options::TraceLevel;

/// The part of a session's configuration that a master heeds.
pub fn config_from_proto(config: g::ConfigProto) -> SessionConfig {
    SessionConfig {
        isolate_session_state: config.isolate_session_state,
        allow_soft_placement: config.allow_soft_placement,
        log_device_placement: config.log_device_placement,
        use_per_session_threads: config.use_per_session_threads,
        session_inter_op_thread_pools: config.session_inter_op_thread_pool.len(),
        device_filters: config.device_filters,
        operation_timeout_in_ms: config.operation_timeout_in_ms,
    }
}

/// The message of a session's configuration.
pub fn config_to_proto(config: &SessionConfig) -> g::ConfigProto {
    let pools = (0..config.session_inter_op_thread_pools).map(|_| g::ThreadPoolOptionProto::default());
    g::ConfigProto {
        isolate_session_state: config.isolate_session_state,
        allow_soft_placement: config.allow_soft_placement,
        log_device_placement: config.log_device_placement,
        use_per_session_threads: config.use_per_session_threads,
        session_inter_op_thread_pool: pools.collect(),
        device_filters: config.device_filters.clone(),
        operation_timeout_in_ms: config.operation_timeout_in_ms,
        ..Default::default()
    }
}

/// The part of a run's options that a master heeds; traces below the full one give nothing, as in TensorFlow.
pub fn run_options_from_proto(options: &g::RunOptions) -> RunOptions {
    RunOptions {
        timeout_in_ms: options.timeout_in_ms,
        full_trace: options.trace_level == TraceLevel::FullTrace as i32,
        output_partition_graphs: options.output_partition_graphs,
    }
}

/// The message of a run's options; none where all are at their defaults.
pub fn run_options_to_proto(options: &RunOptions) -> Option<g::RunOptions> {
    (*options != RunOptions::default()).then(|| g::RunOptions {
        timeout_in_ms: options.timeout_in_ms,
        trace_level: if options.full_trace { TraceLevel::FullTrace } else { TraceLevel::NoTrace } as i32,
        output_partition_graphs: options.output_partition_graphs,
        ..Default::default()
    })
}

/// The options of a callable.
pub fn callable_options_from_proto(options: g::CallableOptions) -> CallableOptions {
    CallableOptions {
        feeds: options.feed,
        fetches: options.fetch,
        targets: options.target,
        run_options: options.run_options.as_ref().map(run_options_from_proto).unwrap_or_default(),
        tensor_connections: options.tensor_connection.into_iter().map(|c| (c.from_tensor, c.to_tensor)).collect(),
        device_entries: options.feed_devices.len().saturating_add(options.fetch_devices.len()),
    }
}

/// The message of a callable's options.
pub fn callable_options_to_proto(options: &CallableOptions) -> g::CallableOptions {
    let connection =
        |(from, to): &(String, String)| g::TensorConnection { from_tensor: from.clone(), to_tensor: to.clone() };
    let devices: BTreeMap<_, _> = (0..options.device_entries).map(|i| (i.to_string(), String::new())).collect();
    g::CallableOptions {
        feed: options.feeds.clone(),
        fetch: options.fetches.clone(),
        target: options.targets.clone(),
        run_options: run_options_to_proto(&options.run_options),
        tensor_connection: options.tensor_connections.iter().map(connection).collect(),
        feed_devices: devices,
        ..Default::default()
    }
}

/// A device.
pub fn device_from_proto(device: g::DeviceAttributes) -> DeviceAttributes {
    DeviceAttributes {
        name: device.name,
        device_type: device.device_type,
        memory_limit: device.memory_limit,
        incarnation: device.incarnation,
    }
}

/// The message of a device.
pub fn device_to_proto(device: &DeviceAttributes) -> g::DeviceAttributes {
    g::DeviceAttributes {
        name: device.name.clone(),
        device_type: device.device_type.clone(),
        memory_limit: device.memory_limit,
        locality: Some(g::DeviceLocality::default()),
        incarnation: device.incarnation,
        xla_global_id: -1,
        ..Default::default()
    }
}

/// What a run tells of itself.
///
/// # Errors
/// As [`graph_from_proto`], and INVALID_ARGUMENT for an output whose dtype or shape is none.
pub fn metadata_from_proto(metadata: g::RunMetadata, budget: Option<&Budget>) -> Result<RunMetadata, Status> {
    let devices = metadata.step_stats.map(|stats| stats.dev_stats).unwrap_or_default();
    Ok(RunMetadata {
        step_stats: devices.into_iter().map(device_stats_from_proto).collect::<Result<_, _>>()?,
        partition_graphs: metadata
            .partition_graphs
            .into_iter()
            .map(|graph| graph_from_proto(graph, budget))
            .collect::<Result<_, _>>()?,
    })
}

/// The message of what a run tells of itself; none where that is nothing.
///
/// # Errors
/// As [`graph_to_proto`].
pub fn metadata_to_proto(metadata: &RunMetadata) -> Result<Option<g::RunMetadata>, Status> {
    if metadata.step_stats.is_empty() && metadata.partition_graphs.is_empty() {
        return Ok(None);
    }
    let stats = g::StepStats { dev_stats: metadata.step_stats.iter().map(device_stats_to_proto).collect() };
    Ok(Some(g::RunMetadata {
        step_stats: (!stats.dev_stats.is_empty()).then_some(stats),
        partition_graphs: metadata.partition_graphs.iter().map(graph_to_proto).collect::<Result<_, _>>()?,
        ..Default::default()
    }))
}

fn device_stats_from_proto(stats: g::DeviceStepStats) -> Result<DeviceStats, Status> {
    let nodes = stats.node_stats.into_iter().map(node_stats_from_proto).collect::<Result<_, _>>()?;
    Ok(DeviceStats { device: stats.device, nodes })
}

fn device_stats_to_proto(stats: &DeviceStats) -> g::DeviceStepStats {
    g::DeviceStepStats {
        device: stats.device.clone(),
        node_stats: stats.nodes.iter().map(node_stats_to_proto).collect(),
        ..Default::default()
    }
}

/// The op is read out of the label, which TensorFlow writes as `name = Op(inputs)`.
fn node_stats_from_proto(stats: g::NodeExecStats) -> Result<NodeStats, Status> {
    let op = stats.timeline_label.split_once(" = ").and_then(|(_, call)| call.split_once('('));
    let mut outputs = Vec::new();
    for described in stats.output.iter().filter_map(|output| output.tensor_description.as_ref()) {
        let shape = described.shape.as_ref().map(shape_from_proto).transpose()?;
        outputs.push((dtype_from_proto(described.dtype)?, shape.unwrap_or_default()));
    }
    let rel = |nanos: i64, micros: i64| if nanos == 0 { micros.saturating_mul(1000) } else { nanos };
    let start = rel(stats.op_start_rel_nanos, stats.op_start_rel_micros);
    let end = rel(stats.op_end_rel_nanos, stats.op_end_rel_micros);
    Ok(NodeStats {
        op: op.map(|(op, _)| op.to_string()).unwrap_or_default(),
        name: stats.node_name,
        start_micros: u64::try_from(stats.all_start_micros).unwrap_or(0),
        run_nanos: u64::try_from(end.saturating_sub(start)).unwrap_or(0),
        outputs,
    })
}

fn node_stats_to_proto(stats: &NodeStats) -> g::NodeExecStats {
    let start = i64::try_from(stats.start_micros).unwrap_or(i64::MAX);
    let nanos = i64::try_from(stats.run_nanos).unwrap_or(i64::MAX);
    let output = |(slot, (dtype, shape)): (i32, &(crate::tensor::DType, crate::tensor::Shape))| g::NodeOutput {
        slot,
        tensor_description: Some(g::TensorDescription {
            dtype: dtype.number(),
            shape: Some(shape_to_proto(shape)),
            allocation_description: None,
        }),
    };
    g::NodeExecStats {
        node_name: stats.name.clone(),
        timeline_label: alloc::format!("{} = {}()", stats.name, stats.op),
        all_start_micros: start,
        all_start_nanos: start.saturating_mul(1000),
        scheduled_micros: start,
        scheduled_nanos: start.saturating_mul(1000),
        op_end_rel_micros: nanos / 1000,
        op_end_rel_nanos: nanos,
        all_end_rel_micros: nanos / 1000,
        all_end_rel_nanos: nanos,
        output: (0..).zip(&stats.outputs).map(output).collect(),
        ..Default::default()
    }
}
