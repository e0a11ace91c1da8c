//! The graphs that a run consisted of, one a device, for RunMetadata.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::graph::{Edge, Endpoint, Graph, Node, NodeId, NodeSpec};
use crate::program::{DeviceEnv, RunSpec};
use crate::service::GraphSpec;

/// The nodes that `spec` reaches, by device; feeds stand as `_Recv` nodes and fetches as `_Send` nodes of the first
/// device, as in a distributed TensorFlow session.
pub(super) fn partition_graphs(
    graph: &Graph,
    spec: &RunSpec,
    devices: &[DeviceEnv],
    device_of: &dyn Fn(NodeId) -> usize,
) -> Vec<GraphSpec> {
    let edge = |name: &String| {
        let endpoint = Endpoint::parse(name);
        Some(Edge { node: graph.find(endpoint.node)?, port: endpoint.slot? })
    };
    let fed: Vec<Edge> = spec.feeds.iter().filter_map(edge).collect();
    let replaced: Vec<(Edge, Edge)> =
        spec.tensor_connections.iter().filter_map(|(from, to)| Some((edge(to)?, edge(from)?))).collect();
    let resolve = |e: Edge| replaced.iter().find(|(to, _)| *to == e).map_or(e, |(_, from)| *from);
    let fetched: Vec<Edge> = spec.fetches.iter().filter_map(edge).map(resolve).collect();
    let targets = spec.targets.iter().filter_map(|name| graph.find(name));
    let mut waiting: Vec<NodeId> = fetched.iter().filter(|e| !fed.contains(e)).map(|e| e.node).chain(targets).collect();
    let mut needed = alloc::vec![false; graph.nodes().len()];
    while let Some(id) = waiting.pop() {
        match needed.get_mut(id.index()) {
            Some(needed) if !*needed => *needed = true,
            _ => continue,
        }
        let node = graph.node(id);
        waiting.extend(node.inputs.iter().map(|e| resolve(*e)).filter(|e| !fed.contains(e)).map(|e| e.node));
        waiting.extend(node.controls.iter().copied());
    }
    let mut parts: Vec<GraphSpec> =
        devices.iter().map(|_| GraphSpec { versions: graph.versions().clone(), ..GraphSpec::default() }).collect();
    let mut add = |device: usize, node: NodeSpec| {
        if let Some(part) = parts.get_mut(device) {
            part.nodes.push(node);
        }
    };
    let device_name = |device: usize| devices.get(device).map(|d| String::from(&*d.name)).unwrap_or_default();
    let tensor = |e: Edge| -> String {
        let e = resolve(e);
        let name = &graph.node(e.node).name;
        match (fed.contains(&e), e.port) {
            (true, port) => format!("_recv_{name}_{port}"),
            (false, 0) => String::from(&**name),
            (false, port) => format!("{name}:{port}"),
        }
    };
    for &e in &fed {
        let node = graph.node(e.node);
        let name = format!("_recv_{}_{}", node.name, e.port);
        add(0, end_point(name, "_Recv", "tensor_type", Vec::new(), node, e, device_name(0)));
    }
    for (id, node) in graph.iter().filter(|(id, _)| needed.get(id.index()).copied().unwrap_or(false)) {
        let device = device_of(id);
        let data = node.inputs.iter().map(|e| tensor(*e));
        let controls = node.controls.iter().map(|from| format!("^{}", graph.node(*from).name));
        add(
            device,
            NodeSpec {
                name: (*node.name).into(),
                op: node.op.name.clone(),
                inputs: data.chain(controls).collect(),
                device: device_name(device),
                attrs: node.attrs.iter().map(|(name, value)| (Arc::from(name), value.clone())).collect(),
            },
        );
    }
    for &e in &fetched {
        let node = graph.node(e.node);
        let name = format!("_send_{}_{}", node.name, e.port);
        add(0, end_point(name, "_Send", "T", alloc::vec![tensor(e)], node, e, device_name(0)));
    }
    parts.retain(|part| !part.nodes.is_empty());
    parts
}

/// A node through which a value comes from, or goes to, the client.
fn end_point(
    name: String,
    op: &str,
    type_attr: &str,
    inputs: Vec<String>,
    node: &Node,
    edge: Edge,
    device: String,
) -> NodeSpec {
    let mut attrs: Vec<(Arc<str>, crate::graph::AttrValue)> = alloc::vec![
        ("tensor_name".into(), format!("{}:{}", node.name, edge.port).as_str().into()),
        ("client_terminated".into(), true.into()),
    ];
    if let Some(&(dtype, _)) = node.output_types.get(edge.port as usize) {
        attrs.push((type_attr.into(), dtype.into()));
    }
    NodeSpec { name, op: op.into(), inputs, device, attrs }
}
