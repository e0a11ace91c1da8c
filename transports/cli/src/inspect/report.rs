//! What there is to say about a graph, gathered.

use std::collections::{BTreeMap, HashSet};

use runstep::graph::{Edge, Graph, Node, NodeId, NodeSpec};
use runstep::ops::{Registry, Role};
use runstep::tensor::DType;
use serde::Serialize;

use super::shapes::{Shapes, constant};
use crate::graph_file::GraphFile;

/// The report on a graph.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The length of the file in bytes.
    pub(crate) file_bytes: usize,
    /// How many nodes there are, without those inside functions.
    pub(crate) nodes: usize,
    /// The names of the functions in the library.
    pub(crate) functions: Vec<String>,
    /// The version of the format that the maker wrote.
    pub(crate) producer: i32,
    /// How often each op occurs, inside functions too; the most frequent first.
    pub(crate) ops: Vec<OpCount>,
    /// Sizes of constants.
    pub(crate) constants: Constants,
    /// What must be fed.
    pub(crate) inputs: Vec<Value>,
    /// Tensors that no other node takes.
    pub(crate) outputs: Vec<Value>,
    /// Nodes that are only run for their effect.
    pub(crate) targets: Vec<String>,
    /// Variables.
    pub(crate) variables: Vec<Value>,
    /// What cannot run here, and where.
    pub(crate) unsupported: Vec<Unsupported>,
    /// What is wrong with the graph.
    pub(crate) problems: Vec<Problem>,
}

/// How often an op occurs.
#[derive(Debug, Serialize)]
pub(crate) struct OpCount {
    pub(crate) op: String,
    pub(crate) count: usize,
    pub(crate) supported: bool,
}

/// Sizes of constants.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Constants {
    pub(crate) count: usize,
    pub(crate) bytes: usize,
    /// The largest ones, at most ten.
    pub(crate) largest: Vec<Value>,
}

/// A tensor of the graph.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Value {
    /// `node:port`.
    pub(crate) name: String,
    pub(crate) dtype: String,
    /// −1 for an unknown dimension; absent when not even the rank is known.
    pub(crate) shape: Option<Vec<i64>>,
    /// Of constants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<usize>,
}

/// An op that cannot run here.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Unsupported {
    pub(crate) op: String,
    /// `unknown op`, `no kernel`, or the dtype for which there is none.
    pub(crate) why: String,
    /// Its nodes; those inside a function as `function/node`.
    pub(crate) nodes: Vec<String>,
}

/// Something that is wrong.
#[derive(Debug, Serialize)]
pub(crate) struct Problem {
    /// The node, empty where it is the whole graph.
    pub(crate) node: String,
    pub(crate) what: String,
}

const LARGEST_SHOWN: usize = 10;

impl Report {
    /// Reports on a graph; also the graph itself, when it can be imported.
    pub(crate) fn of(file: GraphFile, registry: &Registry) -> (Report, Option<(Graph, Shapes)>) {
        let GraphFile { graph: spec, len } = file;
        let mut report = Report {
            file_bytes: len,
            nodes: spec.nodes.len(),
            functions: spec.functions.iter().map(|f| f.name.clone()).collect(),
            producer: spec.versions.producer,
            ..Report::default()
        };
        let functions: HashSet<&str> = spec.functions.iter().map(|f| f.name.as_str()).collect();
        let mut found = Found::default();
        for node in &spec.nodes {
            found.node("", node, registry, &functions);
        }
        for function in &spec.functions {
            for node in &function.nodes {
                found.node(&function.name, node, registry, &functions);
            }
        }
        let unknown = found.unsupported.keys().any(|(_, why)| why == UNKNOWN);
        let mut graph = Graph::new();
        let imported = graph.extend(registry, spec.nodes, spec.functions, spec.versions);
        let imported = match imported {
            Ok(()) => {
                let shapes = Shapes::of(&graph);
                found.dtypes(&graph);
                report.describe(&graph, &shapes);
                Some((graph, shapes))
            }
            // That an op is unknown stands in its own list.
            Err(_) if unknown => None,
            Err(e) => {
                let node = e.node().unwrap_or_default().to_owned();
                report.problems.push(Problem { node, what: e.message().to_owned() });
                None
            }
        };
        report.ops = found.counts();
        report.unsupported = found.unsupported();
        (report, imported)
    }

    fn describe(&mut self, graph: &Graph, shapes: &Shapes) {
        let mut taken = HashSet::new();
        let mut awaited = HashSet::new();
        for node in graph.nodes() {
            taken.extend(node.inputs.iter().copied());
            awaited.extend(node.controls.iter().copied());
        }
        let mut constants = Vec::new();
        for (id, node) in graph.iter() {
            let value = |port: u32| value(node, Edge { node: id, port }, shapes);
            if let Some(tensor) = constant(graph, id) {
                self.constants.count += 1;
                self.constants.bytes += tensor.num_bytes();
                constants.push(Value { bytes: Some(tensor.num_bytes()), ..value(0) });
                continue;
            }
            if node.role() == Role::Placeholder || node.op.name == "PlaceholderWithDefault" {
                self.inputs.push(value(0));
            } else if is_variable(node) {
                self.variables.push(variable(node));
            } else {
                let ports = 0..u32::try_from(node.output_types.len()).unwrap_or(u32::MAX);
                let free: Vec<u32> = ports.filter(|&port| !taken.contains(&Edge { node: id, port })).collect();
                let whole = free.len() == node.output_types.len();
                match (node.output_types.is_empty(), awaited.contains(&id)) {
                    (true, false) => self.targets.push(node.name.to_string()),
                    // What others wait for, or take in part, is hardly a result.
                    (false, false) if whole => self.outputs.extend(free.into_iter().map(value)),
                    _ => {}
                }
            }
        }
        constants.sort_by_key(|value| std::cmp::Reverse(value.bytes));
        constants.truncate(LARGEST_SHOWN);
        self.constants.largest = constants;
        let problems = shapes.problems.iter().cloned();
        self.problems.extend(problems.map(|(node, what)| Problem { node, what }));
    }
}

fn value(node: &Node, edge: Edge, shapes: &Shapes) -> Value {
    let dtype = node.output_types.get(edge.port as usize).map_or("", |(dtype, _)| dtype.name());
    let name = format!("{}:{}", node.name, edge.port);
    Value { name, dtype: dtype.to_owned(), shape: shapes.output(edge).dims, bytes: None }
}

fn is_variable(node: &Node) -> bool {
    ["Variable", "VariableV2", "VarHandleOp", "TemporaryVariable"].contains(&node.op.name.as_str())
}

fn variable(node: &Node) -> Value {
    Value {
        name: node.name.to_string(),
        dtype: node.attrs.dtype("dtype").map_or("", DType::name).to_owned(),
        shape: node.attrs.shape("shape").ok().and_then(|shape| shape.dims.clone()),
        bytes: None,
    }
}

const UNKNOWN: &str = "unknown op";
const NO_KERNEL: &str = "no kernel";

/// Ops as they are met.
#[derive(Default)]
struct Found {
    counts: BTreeMap<String, (usize, bool)>,
    unsupported: BTreeMap<(String, String), Vec<String>>,
}

impl Found {
    fn node(&mut self, function: &str, node: &NodeSpec, registry: &Registry, functions: &HashSet<&str>) {
        let why = match registry.find(&node.op) {
            _ if functions.contains(node.op.as_str()) => None,
            Err(_) => Some(UNKNOWN),
            Ok(info) => match info.op {
                Some(op) if op.role != Role::Kernel || op.kernel.is_some() => None,
                _ => Some(NO_KERNEL),
            },
        };
        let (count, supported) = self.counts.entry(node.op.clone()).or_insert((0, true));
        *count += 1;
        *supported = why.is_none();
        if let Some(why) = why {
            let name = if function.is_empty() { node.name.clone() } else { format!("{function}/{}", node.name) };
            self.unsupported.entry((node.op.clone(), why.to_owned())).or_default().push(name);
        }
    }

    /// Adds nodes whose op has kernels, but none for their dtypes.
    fn dtypes(&mut self, graph: &Graph) {
        for (_, node) in graph.iter() {
            if let Some(why) = lacking(node) {
                self.unsupported.entry((node.op.name.clone(), why)).or_default().push(node.name.to_string());
            }
        }
    }

    fn counts(&self) -> Vec<OpCount> {
        let counts = self.counts.iter();
        let mut counts: Vec<_> =
            counts.map(|(op, &(count, supported))| OpCount { op: op.clone(), count, supported }).collect();
        counts.sort_by_key(|one| std::cmp::Reverse(one.count));
        counts
    }

    fn unsupported(self) -> Vec<Unsupported> {
        self.unsupported.into_iter().map(|((op, why), nodes)| Unsupported { op, why, nodes }).collect()
    }
}

/// The attribute and dtype for which a node's op has no kernel.
fn lacking(node: &Node) -> Option<String> {
    let op = node.op.op.filter(|op| op.kernel.is_some())?;
    op.types.iter().find_map(|(name, types)| {
        let given = node.attrs.dtypes(name).or_else(|_| node.attrs.dtype(name).map(|dtype| vec![dtype])).ok()?;
        let dtype = given.into_iter().find(|dtype| !types.contains(dtype))?;
        Some(format!("no kernel for {name} = {dtype}"))
    })
}

/// Whether a node cannot run here.
pub(crate) fn is_unsupported(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let runs = node.role() != Role::Kernel || node.op.op.is_some_and(|op| op.kernel.is_some());
    !runs || lacking(node).is_some()
}
