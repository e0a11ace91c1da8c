//! Taking nodes into a graph: every name, edge, dtype and attribute is checked before anything changes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::{AttrValue, Attrs, Edge, Endpoint, Function, Graph, Node, NodeId, Versions, check_node_name};
use crate::Status;
use crate::ops::{OpInfo, Registry, Role, Signature};

/// The version of the graph format that this program reads: TensorFlow 2.21's.
pub const GRAPH_VERSION: i32 = 2474;

/// A node as it comes from outside: names instead of numbers.
#[derive(Clone, Debug, Default)]
pub struct NodeSpec {
    /// The node's name.
    pub name: String,
    /// The op's name.
    pub op: String,
    /// Inputs: `node`, `node:slot`, and last `^node` for control.
    pub inputs: Vec<String>,
    /// The requested device.
    pub device: String,
    /// Attributes that are given.
    pub attrs: Vec<(Arc<str>, AttrValue)>,
}

impl Graph {
    /// Adds nodes and functions. All or nothing: after an error the graph is as it was.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for illegal or duplicate names, absent inputs, ports out of range, wrong dtypes, attributes that
    /// are not allowed, cycles outside loops, versions that do not fit; NOT_FOUND for an unknown op or
    /// a required attribute that is absent. The node is named.
    pub fn extend(
        &mut self,
        registry: &Registry,
        nodes: Vec<NodeSpec>,
        functions: Vec<Function>,
        versions: Versions,
    ) -> Result<(), Status> {
        self.extend_named(registry, nodes, functions, versions, check_node_name)
    }

    /// As [`Graph::extend`], for what a master sends to workers: names that it made itself begin with `_`.
    ///
    /// # Errors
    /// As [`Graph::extend`].
    pub fn extend_part(
        &mut self,
        registry: &Registry,
        nodes: Vec<NodeSpec>,
        functions: Vec<Function>,
        versions: Versions,
    ) -> Result<(), Status> {
        self.extend_named(registry, nodes, functions, versions, check_part_node_name)
    }

    fn extend_named(
        &mut self,
        registry: &Registry,
        nodes: Vec<NodeSpec>,
        functions: Vec<Function>,
        versions: Versions,
        check_name: fn(&str) -> Result<(), Status>,
    ) -> Result<(), Status> {
        check_versions(&versions)?;
        let old_nodes = self.nodes.len();
        let added = self.add_functions(registry, functions)?;
        let result = self.add_nodes(registry, nodes, check_name);
        if let Err(error) = result {
            for node in self.nodes.drain(old_nodes..) {
                self.by_name.remove(&node.name);
            }
            for name in added {
                self.functions.remove(&name);
            }
            return Err(error);
        }
        self.versions = versions;
        Ok(())
    }

    fn add_functions(&mut self, registry: &Registry, functions: Vec<Function>) -> Result<Vec<String>, Status> {
        let mut added: Vec<String> = Vec::new();
        for function in functions {
            let known = self.functions.get(&function.name);
            let taken = if known.is_some_and(|known| known.definition != function.definition) {
                Some("a different function with the same name already exists")
            } else if registry.find(&function.name).is_ok() {
                Some("an op with the same name already exists")
            } else {
                None
            };
            if let Some(taken) = taken {
                let error = Status::invalid_argument(format_args!(
                    "Cannot add function '{}' because {taken}.",
                    function.name.escape_debug()
                ));
                for name in added {
                    self.functions.remove(&name);
                }
                return Err(error);
            }
            if known.is_none() {
                added.push(function.name.clone());
                self.functions.insert(function.name.clone(), Arc::new(function));
            }
        }
        Ok(added)
    }

    fn add_nodes(
        &mut self,
        registry: &Registry,
        specs: Vec<NodeSpec>,
        check_name: fn(&str) -> Result<(), Status>,
    ) -> Result<(), Status> {
        let first = self.nodes.len();
        if u32::try_from(first.saturating_add(specs.len())).is_err() {
            return Err(Status::resource_exhausted("a graph has at most 2^32 nodes"));
        }
        // Each op of the graph is looked up once; a graph has few ops and many nodes.
        let mut ops: HashMap<String, Arc<OpInfo>> = HashMap::new();
        let mut devices: Vec<Arc<str>> = Vec::new();
        let mut inputs = Vec::with_capacity(specs.len());
        for spec in specs {
            check_name(&spec.name)?;
            check_input_order(&spec)?;
            let op = match ops.get(&spec.op) {
                Some(op) => op.clone(),
                None => {
                    let op = self.find_op(registry, &spec.op).map_err(|e| e.at_node(&spec.name))?;
                    ops.insert(spec.op.clone(), op.clone());
                    op
                }
            };
            let name: Arc<str> = spec.name.into();
            let attrs = check_attrs(&op.signature, spec.attrs).map_err(|e| e.at_node(&name))?;
            let types = |args| Signature::arg_types(args, &attrs).map_err(|e| e.at_node(&name));
            let input_types = types(&op.signature.inputs)?;
            let output_types = types(&op.signature.outputs)?;
            let device = match devices.iter().find(|d| ***d == *spec.device) {
                Some(device) => device.clone(),
                None => {
                    let device: Arc<str> = spec.device.into();
                    devices.push(device.clone());
                    device
                }
            };
            let id = NodeId(self.nodes.len() as u32);
            if self.by_name.contains_key(&name) {
                return Err(Status::invalid_argument(format_args!("Node '{name}' is not unique")));
            }
            self.by_name.insert(name.clone(), id);
            self.nodes.push(Node {
                name,
                op,
                device,
                inputs: Vec::new(),
                controls: Vec::new(),
                attrs,
                input_types,
                output_types,
            });
            inputs.push(spec.inputs);
        }
        for (at, names) in (first..).zip(inputs) {
            let (data, controls) = self.resolve_inputs(at, &names)?;
            self.nodes[at].inputs = data;
            self.nodes[at].controls = controls;
        }
        let mut new = alloc::vec![false; self.nodes.len()];
        new[first..].fill(true);
        if let Err(node) = self.topological_order(&new) {
            return Err(Status::invalid_argument(format_args!(
                "The graph has a cycle that does not pass through a NextIteration into a Merge; node '{}' is on it",
                self.node(node).name
            )));
        }
        Ok(())
    }

    fn find_op(&self, registry: &Registry, name: &str) -> Result<Arc<OpInfo>, Status> {
        match self.functions.get(name) {
            Some(function) => {
                Ok(Arc::new(OpInfo { name: name.into(), signature: function.signature.clone(), op: None }))
            }
            None => registry.find(name),
        }
    }

    fn resolve_inputs(&self, at: usize, names: &[String]) -> Result<(Vec<Edge>, Vec<NodeId>), Status> {
        let node = &self.nodes[at];
        let mut data = Vec::new();
        let mut controls = Vec::new();
        for text in names {
            let endpoint = Endpoint::parse(text);
            let Some(&from) = self.by_name.get(endpoint.node) else {
                return Err(Status::invalid_argument(format_args!(
                    "Node '{}': Unknown input node '{}'",
                    node.name,
                    text.escape_debug()
                )));
            };
            let Some(port) = endpoint.slot else {
                if !controls.contains(&from) {
                    controls.push(from);
                }
                continue;
            };
            let source = self.node(from);
            let Some(&(dtype, is_ref)) = source.output_types.get(port as usize) else {
                return Err(Status::invalid_argument(format_args!(
                    "Node '{}': Connecting to invalid output {port} of source node {} which has {} outputs.",
                    node.name,
                    source.name,
                    source.output_types.len()
                )));
            };
            let Some(&(wanted, wants_ref)) = node.input_types.get(data.len()) else {
                return Err(Status::invalid_argument(format_args!(
                    "Node '{}': op {} takes {} inputs, more are given",
                    node.name,
                    node.op.name,
                    node.input_types.len()
                )));
            };
            if dtype != wanted || (wants_ref && !is_ref) {
                return Err(Status::invalid_argument(format_args!(
                    "Input {} of node {} was passed {dtype}{} from {text} incompatible with expected {wanted}{}.",
                    data.len(),
                    node.name,
                    if is_ref { "_ref" } else { "" },
                    if wants_ref { "_ref" } else { "" },
                )));
            }
            data.push(Edge { node: from, port });
        }
        Ok((data, controls))
    }
}

/// Checks the name of a node of a part: as a client's, or with `_` before that.
fn check_part_node_name(name: &str) -> Result<(), Status> {
    check_node_name(match name.trim_start_matches('_') {
        "" => name,
        rest => rest,
    })
}

fn check_versions(versions: &Versions) -> Result<(), Status> {
    if versions.min_consumer > GRAPH_VERSION {
        return Err(Status::invalid_argument(format_args!(
            "GraphDef min consumer version {} above current version {GRAPH_VERSION}",
            versions.min_consumer
        )));
    }
    if versions.producer < 0 {
        return Err(Status::invalid_argument(format_args!(
            "GraphDef producer version {} below min producer 0",
            versions.producer
        )));
    }
    if versions.bad_consumers.contains(&GRAPH_VERSION) {
        return Err(Status::invalid_argument(format_args!("GraphDef disallows consumer version {GRAPH_VERSION}")));
    }
    Ok(())
}

fn check_input_order(spec: &NodeSpec) -> Result<(), Status> {
    let data_after_control = spec.inputs.windows(2).any(|pair| pair[0].starts_with('^') && !pair[1].starts_with('^'));
    if data_after_control {
        return Err(Status::invalid_argument(format_args!(
            "Node '{}': Control inputs must come after regular inputs",
            spec.name
        )));
    }
    Ok(())
}

/// Checks the given attributes against the declaration and fills in defaults. Undeclared ones are kept.
pub(crate) fn check_attrs(signature: &Signature, given: Vec<(Arc<str>, AttrValue)>) -> Result<Attrs, Status> {
    let mut attrs = Attrs::new(given);
    for def in &signature.attrs {
        match (attrs.get(&def.name), &def.default) {
            (Some(AttrValue::Placeholder(name)), _) => {
                return Err(Status::invalid_argument(format_args!(
                    "attr '{}' is the placeholder '{}' outside a function",
                    def.name,
                    name.escape_debug()
                )));
            }
            (Some(value), _) => def.check(value)?,
            (None, Some(default)) => attrs.set(&def.name, default.clone()),
            (None, None) => {
                return Err(Status::not_found(format_args!("NodeDef is missing the required attr '{}'", def.name)));
            }
        }
    }
    Ok(attrs)
}

/// Whether an edge closes a loop.
pub(super) fn is_back_edge(graph: &Graph, from: NodeId, to: &Node) -> bool {
    to.role() == Role::Merge && graph.node(from).role() == Role::NextIteration
}
