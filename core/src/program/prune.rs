//! From the names of a run to the part of the graph that the run needs.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::RunSpec;
use crate::Status;
use crate::graph::{Attrs, Edge, Endpoint, Graph, Node, NodeId};
use crate::ops::{Op, OpInfo, Role, Signature};

/// What a fed tensor becomes.
static ARG: Op = Op::new("_Arg", "-> output: T", "T: type").role(Role::Feed);

/// The nodes that a run needs, with feeds in place of what they replace.
pub(super) struct Pruned {
    /// The nodes; feeds come first, in the order of the run's feeds.
    pub(super) graph: Graph,
    /// For each node, its number in the session's graph; feeds have none.
    pub(super) original: Vec<Option<NodeId>>,
    /// The fetched tensors, in the order of the run's fetches.
    pub(super) fetches: Vec<Edge>,
}

/// Resolves a run's names and keeps what fetches and targets reach backwards, up to feeds.
///
/// # Errors
/// INVALID_ARGUMENT: nothing to run, a name given twice, fed and fetched, a slot out of range, a control name as feed or
/// fetch, a node with too few inputs, a tensor connection that closes a cycle. NOT_FOUND: an unknown node.
/// UNIMPLEMENTED: ops without kernel, all of them named.
pub(super) fn prune(graph: &Graph, spec: &RunSpec) -> Result<Pruned, Status> {
    if spec.fetches.is_empty() && spec.targets.is_empty() {
        return Err(Status::invalid_argument("Must specify at least one target to fetch or execute."));
    }
    check_repeats(spec)?;
    let mut replaced: HashMap<Edge, Replacement> = HashMap::new();
    let mut feeds = Vec::with_capacity(spec.feeds.len());
    for (k, name) in spec.feeds.iter().enumerate() {
        let edge = tensor(graph, name, "feed")?;
        feeds.push(edge);
        replaced.insert(edge, Replacement::Feed(NodeId(k as u32)));
    }
    for (from, to) in &spec.tensor_connections {
        let not_found = |e: Status| match e.code() {
            crate::Code::NotFound => e.with_code(crate::Code::InvalidArgument),
            _ => e,
        };
        let from = tensor(graph, from, "from_tensor of a tensor connection").map_err(not_found)?;
        let to_edge = tensor(graph, to, "to_tensor of a tensor connection").map_err(not_found)?;
        let clash = spec.fetches.iter().any(|f| Endpoint::parse(f) == Endpoint::parse(to));
        if clash || replaced.insert(to_edge, Replacement::Tensor(from)).is_some() {
            return Err(Status::invalid_argument(format_args!(
                "Tensor {to} is the target of a tensor connection and is fed, fetched or connected as well"
            )));
        }
    }
    let fetches = spec.fetches.iter().map(|name| tensor(graph, name, "fetch")).collect::<Result<Vec<_>, _>>()?;
    let mut targets = Vec::with_capacity(spec.targets.len());
    for name in &spec.targets {
        let node = Endpoint::parse(name).node;
        targets.push(graph.find(node).ok_or_else(|| {
            Status::not_found(format_args!("PruneForTargets: Some target nodes not found: {}", node.escape_debug()))
        })?);
    }
    Pruner::new(graph, &feeds, replaced).run(&fetches, &targets)
}

#[derive(Clone, Copy)]
enum Replacement {
    Feed(NodeId),
    Tensor(Edge),
}

fn check_repeats(spec: &RunSpec) -> Result<(), Status> {
    let mut seen = hashbrown::HashSet::new();
    for name in &spec.feeds {
        if !seen.insert(name) {
            return Err(Status::invalid_argument(format_args!("Endpoint \"{name}\" fed more than once.")));
        }
    }
    if let Some(name) = spec.fetches.iter().find(|name| seen.contains(name)) {
        return Err(Status::invalid_argument(format_args!("Endpoint \"{name}\" is both fed and fetched.")));
    }
    Ok(())
}

/// The tensor of a name.
fn tensor(graph: &Graph, name: &str, what: &str) -> Result<Edge, Status> {
    let endpoint = Endpoint::parse(name);
    let shown = name.escape_debug();
    let Some(port) = endpoint.slot else {
        return Err(Status::invalid_argument(format_args!("'{shown}' is a control name, not a tensor to {what}")));
    };
    let node = graph
        .find(endpoint.node)
        .ok_or_else(|| Status::not_found(format_args!("{what} {shown}: not found in the graph")))?;
    let outputs = graph.node(node).output_types.len();
    if port as usize >= outputs {
        return Err(Status::invalid_argument(format_args!(
            "{what} {shown}: output {port} of a node that has {outputs} outputs"
        )));
    }
    Ok(Edge { node, port })
}

/// A constant's value is of the dtype that it declares.
fn check_constant(node: &Node) -> Result<(), Status> {
    let (value, declared) = (node.attrs.tensor("value")?.dtype(), node.attrs.dtype("dtype")?);
    if value == declared {
        return Ok(());
    }
    Err(Status::invalid_argument(format_args!("Type mismatch between value ({value}) and dtype ({declared})")))
}

struct Pruner<'a> {
    graph: &'a Graph,
    replaced: HashMap<Edge, Replacement>,
    /// For each node of the graph, its number in the result.
    numbers: Vec<Option<NodeId>>,
    nodes: Vec<Node>,
    original: Vec<Option<NodeId>>,
    /// Nodes numbered but not yet given their inputs.
    waiting: Vec<NodeId>,
}

impl<'a> Pruner<'a> {
    fn new(graph: &'a Graph, feeds: &[Edge], replaced: HashMap<Edge, Replacement>) -> Pruner<'a> {
        let signature = Signature::parse(ARG.args, ARG.attrs).unwrap_or_default();
        let arg = Arc::new(OpInfo { name: ARG.name.into(), signature, op: Some(&ARG) });
        let nodes: Vec<Node> = feeds
            .iter()
            .map(|edge| {
                let source = graph.node(edge.node);
                // A fed reference is a value: nothing can be assigned through it.
                let dtype = source.output_types.get(edge.port as usize).map_or(crate::tensor::DType::Float, |t| t.0);
                Node {
                    name: format!("_arg_{}_{}", source.name, edge.port).into(),
                    op: arg.clone(),
                    device: source.device.clone(),
                    inputs: Vec::new(),
                    controls: Vec::new(),
                    attrs: Attrs::default(),
                    input_types: Vec::new(),
                    output_types: alloc::vec![(dtype, false)],
                }
            })
            .collect();
        let original = alloc::vec![None; nodes.len()];
        let numbers = alloc::vec![None; graph.nodes().len()];
        Pruner { graph, replaced, numbers, nodes, original, waiting: Vec::new() }
    }

    fn run(mut self, fetches: &[Edge], targets: &[NodeId]) -> Result<Pruned, Status> {
        let fetches = fetches.iter().map(|&edge| self.resolve(edge)).collect::<Result<Vec<_>, _>>()?;
        for &target in targets {
            self.number(target);
        }
        while let Some(id) = self.waiting.pop() {
            let node = self.graph.node(id);
            if node.inputs.len() < node.input_types.len() {
                return Err(Status::invalid_argument(format_args!(
                    "op {} needs {} inputs, {} are given",
                    node.op.name,
                    node.input_types.len(),
                    node.inputs.len()
                ))
                .at_node(&node.name));
            }
            for def in &node.op.signature.attrs {
                if let Some(value) = node.attrs.get(&def.name) {
                    def.check_when_needed(value).map_err(|e| e.at_node(&node.name))?;
                }
            }
            if node.role() == Role::Const {
                check_constant(node).map_err(|e| e.at_node(&node.name))?;
            }
            let mut inputs = Vec::with_capacity(node.inputs.len());
            for (&edge, &(dtype, wants_ref)) in node.inputs.iter().zip(&node.input_types) {
                let from = self.resolve(edge)?;
                let (have, is_ref) = self.output_type(from);
                if have != dtype || (wants_ref && !is_ref) {
                    return Err(Status::invalid_argument(format_args!(
                        "an input expects {dtype}{}, and is fed or connected to {have}{}",
                        if wants_ref { "_ref" } else { "" },
                        if is_ref { "_ref" } else { "" }
                    ))
                    .at_node(&node.name));
                }
                inputs.push(from);
            }
            let controls = node.controls.iter().map(|&from| self.control(from)).collect();
            if let Some(number) = self.numbers.get(id.index()).copied().flatten()
                && let Some(new) = self.nodes.get_mut(number.index())
            {
                new.inputs = inputs;
                new.controls = controls;
            }
        }
        self.check_supported()?;
        Ok(Pruned { graph: Graph::from_nodes(self.nodes), original: self.original, fetches })
    }

    /// The tensor that stands for `edge` in the result.
    fn resolve(&mut self, mut edge: Edge) -> Result<Edge, Status> {
        // Each connection is followed at most once; more means that connections form a cycle.
        for _ in 0..=self.replaced.len() {
            match self.replaced.get(&edge) {
                Some(&Replacement::Feed(node)) => return Ok(Edge { node, port: 0 }),
                Some(&Replacement::Tensor(from)) => edge = from,
                None => return Ok(Edge { node: self.number(edge.node), port: edge.port }),
            }
        }
        Err(Status::invalid_argument("tensor connections form a cycle"))
    }

    /// The node that stands for a control input: a fed placeholder's feed, else the node itself.
    fn control(&mut self, from: NodeId) -> NodeId {
        if self.graph.node(from).role() == Role::Placeholder
            && let Some(&Replacement::Feed(feed)) = self.replaced.get(&Edge { node: from, port: 0 })
        {
            return feed;
        }
        self.number(from)
    }

    fn number(&mut self, id: NodeId) -> NodeId {
        if let Some(number) = self.numbers[id.index()] {
            return number;
        }
        let number = NodeId(self.nodes.len() as u32);
        self.numbers[id.index()] = Some(number);
        let node = self.graph.node(id);
        self.nodes.push(Node { inputs: Vec::new(), controls: Vec::new(), ..node.clone() });
        self.original.push(Some(id));
        self.waiting.push(id);
        number
    }

    fn output_type(&self, edge: Edge) -> (crate::tensor::DType, bool) {
        let node = self.nodes.get(edge.node.index());
        node.and_then(|n| n.output_types.get(edge.port as usize))
            .copied()
            .unwrap_or((crate::tensor::DType::Float, false))
    }

    fn check_supported(&self) -> Result<(), Status> {
        let lacks = |node: &&Node| match node.role() {
            Role::Kernel => node.op.op.is_none_or(|op| op.kernel.is_none()),
            role => role == Role::Call,
        };
        let mut missing: Vec<(&str, Vec<&str>)> = Vec::new();
        for node in self.nodes.iter().filter(lacks) {
            match missing.iter_mut().find(|(op, _)| *op == node.op.name) {
                Some((_, nodes)) => nodes.push(&node.name),
                None => missing.push((&node.op.name, alloc::vec![&node.name])),
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        /// Enough to find an op's nodes; a graph may have thousands.
        const NODES_SHOWN: usize = 3;
        let list: Vec<String> = missing
            .iter()
            .map(|(op, nodes)| {
                let shown = nodes.iter().take(NODES_SHOWN).map(|n| format!("{{{{node {n}}}}}")).collect::<Vec<_>>();
                let more = nodes.len().saturating_sub(NODES_SHOWN);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{op} ({}{more})", shown.join(", "))
            })
            .collect();
        Err(Status::unimplemented(format_args!("ops that are not supported: {}", list.join("; "))))
    }
}
