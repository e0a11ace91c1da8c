//! The nodes that steer loops and conditionals go where their values are, whatever was asked for: they cost nothing there
//! and a transfer elsewhere.

use crate::Status;
use crate::graph::{Edge, Graph, NodeId};
use crate::ops::Role;

/// Moves every Switch and Exit to the device of its data input, and every Enter (of a value) and NextIteration to that of
/// its first consumer.
///
/// # Errors
/// INVALID_ARGUMENT for a graph with a cycle outside loops.
pub(super) fn control_flow(graph: &Graph, device_of: &mut [u32]) -> Result<(), Status> {
    let steers = |role| matches!(role, Role::Switch | Role::Exit | Role::Enter | Role::NextIteration);
    if !graph.nodes().iter().any(|node| steers(node.role())) {
        return Ok(());
    }
    let order = graph
        .topological_order(&alloc::vec![true; graph.nodes().len()])
        .map_err(|node| Status::invalid_argument(format_args!("node '{}' is on a cycle", graph.node(node).name)))?;
    let mut first_consumer: alloc::vec::Vec<Option<NodeId>> = alloc::vec![None; graph.nodes().len()];
    for (id, node) in graph.iter() {
        for Edge { node: from, .. } in &node.inputs {
            first_consumer[from.index()].get_or_insert(id);
        }
    }
    // An Enter may lead to an Enter, so consumers come first here, and sources first below.
    for &id in order.iter().rev() {
        let node = graph.node(id);
        let is_ref = node.input_types.first().is_some_and(|t| t.1);
        if matches!(node.role(), Role::Enter | Role::NextIteration)
            && !is_ref
            && let Some(to) = first_consumer[id.index()]
        {
            device_of[id.index()] = device_of[to.index()];
        }
    }
    for &id in &order {
        let node = graph.node(id);
        if matches!(node.role(), Role::Switch | Role::Exit)
            && let Some(from) = node.inputs.first()
        {
            device_of[id.index()] = device_of[from.node.index()];
        }
    }
    Ok(())
}
