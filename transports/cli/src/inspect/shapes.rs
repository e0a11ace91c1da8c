//! What is known of every tensor's shape before anything runs.

use runstep::graph::{Edge, Graph, NodeId, PartialShape};
use runstep::ops::Role;
use runstep::ops::shape::ShapeContext;
use runstep::tensor::Tensor;

/// Shapes by node and output, and what shape functions had against nodes.
pub(crate) struct Shapes {
    by_node: Vec<Vec<PartialShape>>,
    /// Nodes whose inputs cannot be right, with what is wrong.
    pub(crate) problems: Vec<(String, String)>,
}

impl Shapes {
    /// Derives the shapes of a graph. Ops without a shape function, and loops, leave theirs unknown.
    pub(crate) fn of(graph: &Graph) -> Shapes {
        let mut shapes = Shapes { by_node: vec![Vec::new(); graph.nodes().len()], problems: Vec::new() };
        let all = vec![true; graph.nodes().len()];
        let order = graph.topological_order(&all).unwrap_or_default();
        for id in order {
            let derived = shapes.derive(graph, id);
            if let Some(place) = shapes.by_node.get_mut(id.index()) {
                *place = derived;
            }
        }
        shapes
    }

    /// What is known of an output's shape.
    pub(crate) fn output(&self, edge: Edge) -> PartialShape {
        let outputs = self.by_node.get(edge.node.index());
        outputs.and_then(|outputs| outputs.get(edge.port as usize)).cloned().unwrap_or_default()
    }

    fn derive(&mut self, graph: &Graph, id: NodeId) -> Vec<PartialShape> {
        let node = graph.node(id);
        let inputs: Vec<PartialShape> = node.inputs.iter().map(|&edge| self.output(edge)).collect();
        let first = || vec![inputs.first().cloned().unwrap_or_default(); node.output_types.len()];
        match node.role() {
            Role::Const => vec![constant(graph, id).map_or_else(PartialShape::unknown, |t| t.shape().into())],
            Role::Placeholder => vec![node.attrs.shape("shape").cloned().unwrap_or_default()],
            Role::Alias | Role::Switch => first(),
            _ => {
                let Some(shape) = node.op.op.and_then(|op| op.shape) else { return Vec::new() };
                let constants: Vec<Option<Tensor>> =
                    node.inputs.iter().map(|edge| constant(graph, edge.node)).collect();
                match shape(&ShapeContext { node, inputs: &inputs, constants: &constants }) {
                    Ok(shapes) => shapes,
                    Err(e) => {
                        self.problems.push((node.name.to_string(), e.message().to_owned()));
                        Vec::new()
                    }
                }
            }
        }
    }
}

/// The value of a constant.
pub(crate) fn constant(graph: &Graph, id: NodeId) -> Option<Tensor> {
    let node = graph.node(id);
    (node.role() == Role::Const).then(|| node.attrs.tensor("value").ok().cloned()).flatten()
}
