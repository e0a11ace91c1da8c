//! The graph itself.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use bytes::Bytes;
use hashbrown::HashMap;

use super::{Attrs, NodeSpec};
use crate::ops::{OpInfo, Role, Signature};
use crate::tensor::DType;

/// The number of a node within its graph, in order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// An output of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The node.
    pub node: NodeId,
    /// Which of its outputs.
    pub port: u32,
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The name.
    pub name: Arc<str>,
    /// The op.
    pub op: Arc<OpInfo>,
    /// The requested device; empty when there is no request.
    pub device: Arc<str>,
    /// Data inputs. They may be fewer than the op needs; a run that needs the node then fails.
    pub inputs: Vec<Edge>,
    /// Control inputs.
    pub controls: Vec<NodeId>,
    /// Attributes, defaults filled in.
    pub attrs: Attrs,
    /// Dtype and whether it is a reference, for each input that the op needs.
    pub input_types: Vec<(DType, bool)>,
    /// Dtype and whether it is a reference, for each output.
    pub output_types: Vec<(DType, bool)>,
}

impl Node {
    /// What the node does to the flow of a step.
    pub fn role(&self) -> Role {
        self.op.role()
    }
}

/// Version constraints of a GraphDef.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    /// Version of the program that made the graph.
    pub producer: i32,
    /// The oldest consumer that may read it.
    pub min_consumer: i32,
    /// Consumers that may not.
    pub bad_consumers: Vec<i32>,
}

/// A function of a graph's library.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name that calls use.
    pub name: String,
    /// Inputs, outputs and attributes.
    pub signature: Signature,
    /// Whether a call has state or effects.
    pub stateful: bool,
    /// The body's nodes; inputs are named `node:outarg:index`.
    pub nodes: Vec<NodeSpec>,
    /// For each output of the signature, the body's tensor.
    pub ret: BTreeMap<String, String>,
    /// Nodes that must run, by name of the control output.
    pub control_ret: BTreeMap<String, String>,
    /// Attributes of the function itself.
    pub attrs: Attrs,
    /// The definition as it was received; two definitions of one name must be the same bytes.
    pub definition: Bytes,
}

impl Graph {
    /// A graph of nodes whose edges are known to be right, for rewrites; nodes are not found by name.
    pub(crate) fn from_nodes(nodes: Vec<Node>) -> Graph {
        Graph { nodes, ..Graph::default() }
    }

    /// This graph with other nodes, whose edges and names are known to be right; the functions stay.
    pub(crate) fn with_nodes(&self, nodes: Vec<Node>, by_name: HashMap<Arc<str>, NodeId>) -> Graph {
        Graph { nodes, by_name, functions: self.functions.clone(), versions: self.versions.clone() }
    }

    /// A copy of the table of names.
    pub(crate) fn names(&self) -> HashMap<Arc<str>, NodeId> {
        self.by_name.clone()
    }
}

/// A dataflow graph. Grows by [`Graph::extend`]; nodes never change or go away.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) by_name: HashMap<Arc<str>, NodeId>,
    pub(super) functions: BTreeMap<String, Arc<Function>>,
    pub(super) versions: Versions,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// All nodes in order of arrival.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Every node with its number.
    pub fn iter(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        (0..).map(NodeId).zip(&self.nodes)
    }

    /// The node of a number that this graph gave out.
    #[inline]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The node of a name.
    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The function of a name.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.get(name)
    }

    /// All functions, by name.
    pub fn functions(&self) -> impl Iterator<Item = &Arc<Function>> {
        self.functions.values()
    }

    /// Version constraints of the last GraphDef.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// The given nodes in an order in which each comes after its inputs, edges from NextIteration to Merge left out;
    /// `Err` with a node of a cycle when there is one. Linear, without recursion. Nodes outside `wanted` are as if done.
    pub fn topological_order(&self, wanted: &[bool]) -> Result<Vec<NodeId>, NodeId> {
        let included = |id: NodeId| wanted.get(id.index()).copied().unwrap_or(false);
        let sources = |node: &Node| {
            let merge = node.role() == Role::Merge;
            let inputs = node.inputs.iter().map(|e| e.node).chain(node.controls.iter().copied());
            let forward = |from: &NodeId| !(merge && self.node(*from).role() == Role::NextIteration);
            inputs.filter(move |from| included(*from) && forward(from)).collect::<Vec<_>>()
        };
        let mut pending = alloc::vec![0u32; self.nodes.len()];
        let mut consumers_start = alloc::vec![0u32; self.nodes.len() + 1];
        let mut all_sources = Vec::new();
        for (id, node) in self.iter().filter(|(id, _)| included(*id)) {
            for from in sources(node) {
                pending[id.index()] += 1;
                consumers_start[from.index() + 1] += 1;
                all_sources.push((from, id));
            }
        }
        for i in 1..consumers_start.len() {
            consumers_start[i] += consumers_start[i - 1];
        }
        let mut consumers = alloc::vec![NodeId(0); all_sources.len()];
        let mut fill = consumers_start.clone();
        for (from, id) in all_sources {
            consumers[fill[from.index()] as usize] = id;
            fill[from.index()] += 1;
        }
        let mut order: Vec<NodeId> =
            self.iter().map(|(id, _)| id).filter(|&id| included(id) && pending[id.index()] == 0).collect();
        let mut done = 0;
        while let Some(&id) = order.get(done) {
            done += 1;
            let range = consumers_start[id.index()] as usize..consumers_start[id.index() + 1] as usize;
            for &to in &consumers[range] {
                pending[to.index()] -= 1;
                if pending[to.index()] == 0 {
                    order.push(to);
                }
            }
        }
        match self.iter().find(|(id, _)| included(*id) && pending[id.index()] > 0) {
            Some((id, _)) => Err(id),
            None => Ok(order),
        }
    }
}
