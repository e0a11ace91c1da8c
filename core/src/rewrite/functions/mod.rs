//! Calls of functions become part of the graph: PartitionedCall and calls by a function's name, If, Case and While.
//!
//! A call's node is replaced by the function's nodes, named `call/node`, and by a node of the call's own name that passes
//! on what the function returns, so that it can be fetched. There are two ways, and TensorFlow's differ in the same points:
//!
//! * As a *kernel* would run it: all inputs first, then the body with everything in it that has effects, then all outputs.
//!   So are PartitionedCall, calls by name, and If, Case and While that are not marked for lowering.
//! * *Lowered*: each part of the body runs once its own inputs are there, and effects that nothing waits for are only those
//!   that the function names as its control outputs. So are branches and loops with `_lower_using_switch_merge`.
//!
//! If and Case become Switch and Merge nodes around a call a branch, While becomes a loop frame; those calls are then
//! expanded in turn, until none is left. A call that cannot be expanded becomes a node that answers why to the runs that
//! need it. Functions that call themselves are expanded to a depth, and what lies deeper fails when it is run.

mod body;
mod branches;
mod calls;
mod loops;
mod ops;
mod sizes;

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::Status;
use crate::graph::{AttrValue, Attrs, Edge, FuncRef, Graph, Node, NodeId};
use crate::ops::{OpInfo, Registry, Role};
use crate::tensor::{Budget, Charge, DType};

use body::{Body, Library};
use ops::{Ops, REASON};
use sizes::Sizes;

/// How far to expand.
#[derive(Clone, Copy, Debug)]
pub struct ExpandOptions<'a> {
    /// Most nodes that calls may add to the graph; calls that would add more fail with RESOURCE_EXHAUSTED when they are run.
    pub nodes_max: usize,
    /// What the added nodes are charged to.
    pub budget: Option<&'a Budget>,
}

/// A graph without calls.
#[derive(Debug)]
pub struct Expansion {
    /// The graph. The nodes of the given one have the same numbers and names.
    pub graph: Graph,
    /// Holds the bytes of the added nodes in the budget.
    pub charges: Vec<Charge>,
}

/// Expands all calls of a graph; `None` when there are none.
///
/// # Errors
/// INVALID_ARGUMENT for a call of a function that the library does not have, NOT_FOUND for one without an attribute that its
/// function needs; RESOURCE_EXHAUSTED when the budget is used up.
/// Whatever else is wrong with a call is answered to the runs that need it.
pub fn expand(graph: &Graph, registry: &Registry, options: ExpandOptions<'_>) -> Result<Option<Expansion>, Status> {
    if !graph.nodes().iter().any(|node| is_call(graph, node)) {
        return Ok(None);
    }
    let mut expander = Expander::new(graph, registry, options)?;
    let mut next = 0;
    while next < expander.nodes.len() {
        expander.node(NodeId(next as u32))?;
        next += 1;
    }
    Ok(Some(expander.finish()))
}

/// How often a function may be within itself.
const RECURSION_MAX: usize = 64;
/// Most nodes made by functions within themselves.
const RECURSIVE_NODES_MAX: usize = 1 << 16;
/// How deep calls may be within calls.
const DEPTH_MAX: u32 = 1024;
/// Bytes of a node with its edges and attributes, as they are charged; names come on top.
const NODE_BYTES: usize = 512;

fn is_call(graph: &Graph, node: &Node) -> bool {
    node.role() == Role::Call || node.op.op.is_none() && graph.function(&node.op.name).is_some()
}

/// How a call is expanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// As a kernel would run it, and whether all nodes go where the call is.
    Kernel { single_device: bool },
    /// Part by part.
    Lowered,
}

/// The function that a node is from.
struct Scope {
    function: String,
    parent: u32,
    depth: u32,
}

/// What stands for a node that was expanded, where it is not the node of its name.
#[derive(Default)]
struct Replaced {
    outputs: Vec<Option<Edge>>,
    control: Option<NodeId>,
}

struct Expander<'a> {
    library: &'a Graph,
    registry: &'a Registry,
    options: ExpandOptions<'a>,
    ops: Ops,
    nodes: Vec<Node>,
    names: HashMap<Arc<str>, NodeId>,
    /// For each node the scope it is in; 0 is the graph itself.
    scope_of: Vec<u32>,
    scopes: Vec<Scope>,
    /// Calls that lowering made.
    calls: HashMap<NodeId, (Arc<FuncRef>, Mode)>,
    replaced: HashMap<NodeId, Replaced>,
    /// Bodies of functions without attributes.
    bodies: HashMap<String, Arc<Body>>,
    known_ops: HashMap<String, Arc<OpInfo>>,
    sizes: Sizes,
    /// Nodes that the graph's own calls were granted, and that functions within themselves made.
    granted: usize,
    recursive: usize,
    name_bytes: usize,
    /// Numbers of made-up names.
    counter: u32,
    charges: Vec<Charge>,
}

impl<'a> Expander<'a> {
    fn new(library: &'a Graph, registry: &'a Registry, options: ExpandOptions<'a>) -> Result<Expander<'a>, Status> {
        Ok(Expander {
            library,
            registry,
            options,
            ops: Ops::new()?,
            nodes: library.nodes().to_vec(),
            names: library.names(),
            scope_of: alloc::vec![0; library.nodes().len()],
            scopes: alloc::vec![Scope { function: String::new(), parent: 0, depth: 0 }],
            calls: HashMap::new(),
            replaced: HashMap::new(),
            bodies: HashMap::new(),
            known_ops: HashMap::new(),
            sizes: Sizes::default(),
            granted: 0,
            recursive: 0,
            name_bytes: 0,
            counter: 0,
            charges: Vec::new(),
        })
    }

    /// Expands a node if it is a call.
    fn node(&mut self, id: NodeId) -> Result<(), Status> {
        if !is_call(self.library, &self.nodes[id.index()]) {
            return Ok(());
        }
        let node = self.nodes[id.index()].clone();
        match self.expanded(id, &node) {
            Ok(()) => Ok(()),
            Err(Failure::Session(error)) => Err(error),
            Err(Failure::Run(error)) => {
                self.fail(id, &error, self.ops.failed.clone());
                Ok(())
            }
            Err(Failure::Depth(error)) => {
                self.fail(id, &error, self.ops.too_deep.clone());
                Ok(())
            }
        }
    }

    fn expanded(&mut self, id: NodeId, node: &Node) -> Result<(), Failure> {
        if let Some((func, mode)) = self.calls.remove(&id) {
            return self.call(id, node, &func, mode);
        }
        if node.op.op.is_none() {
            // A call by the function's name: the node's attributes are the function's.
            let attrs = node.attrs.iter().map(|(name, value)| (Arc::from(name), value.clone())).collect();
            let func = FuncRef { name: node.op.name.clone(), attrs };
            return self.call(id, node, &func, Mode::Kernel { single_device: true });
        }
        if node.inputs.len() != node.input_types.len() {
            return Err(Failure::Run(Status::invalid_argument(format_args!(
                "op {} needs {} inputs, {} are given",
                node.op.name,
                node.input_types.len(),
                node.inputs.len()
            ))));
        }
        let func = |name: &str| func_attr(&node.attrs, name);
        match &*node.op.name {
            "If" | "StatelessIf" | "_If" => {
                let branches = alloc::vec![func("else_branch")?, func("then_branch")?];
                self.branches(id, node, &branches, true)
            }
            "Case" | "StatelessCase" => {
                let branches = match node.attrs.get("branches") {
                    Some(AttrValue::List(values)) => values.iter().map(func_value).collect::<Result<Vec<_>, _>>()?,
                    _ => Vec::new(),
                };
                if branches.is_empty() {
                    return Err(Failure::Run(Status::invalid_argument("attr 'branches' has no function")));
                }
                self.branches(id, node, &branches, false)
            }
            "While" | "StatelessWhile" | "_While" => self.whilst(id, node, &func("cond")?, &func("body")?),
            _ => self.call(id, node, &*func("f")?, Mode::Kernel { single_device: false }),
        }
    }

    /// The body of a function.
    fn body(&mut self, func: &FuncRef) -> Result<Arc<Body>, Status> {
        if let Some(body) = self.bodies.get(&func.name) {
            return Ok(body.clone());
        }
        let function = self
            .library
            .function(&func.name)
            .ok_or_else(|| Status::not_found(format_args!("Function {} is not defined.", func.name.escape_debug())))?;
        let mut library = Library {
            functions: self.library,
            registry: self.registry,
            argument: &self.ops.identity,
            ops: &mut self.known_ops,
        };
        let body = Arc::new(Body::new(function, &Attrs::new(func.attrs.clone()), &mut library)?);
        if function.signature.attrs.is_empty() {
            self.bodies.insert(func.name.clone(), body.clone());
        }
        Ok(body)
    }

    /// Checks that a call may be expanded, and answers the scope that its nodes are in.
    fn enter(&mut self, id: NodeId, func: &FuncRef, body: &Body) -> Result<u32, Failure> {
        let parent = self.scope_of[id.index()];
        let too_large = |what: core::fmt::Arguments<'_>| {
            let name = func.name.escape_debug();
            Failure::Run(Status::resource_exhausted(format_args!("the call of function '{name}' {what}")))
        };
        let size = self.sizes.of(self.library, &func.name);
        if parent == 0 {
            let granted = self.granted.saturating_add(size);
            if granted > self.options.nodes_max {
                let max = self.options.nodes_max;
                return Err(too_large(format_args!("has {size} nodes; all calls of a graph may have {max}")));
            }
            self.granted = granted;
        }
        let mut scope = parent;
        let mut within = 0;
        while scope != 0 {
            let Some(known) = self.scopes.get(scope as usize) else { break };
            within += usize::from(known.function == func.name);
            scope = known.parent;
        }
        let count = body.graph.nodes().len() + body.args.len() + body.rets.len() + 4;
        if within > 0 {
            self.recursive = self.recursive.saturating_add(count);
            if within >= RECURSION_MAX || self.recursive > RECURSIVE_NODES_MAX {
                let name = func.name.escape_debug();
                return Err(Failure::Depth(Status::resource_exhausted(format_args!(
                    "function '{name}' calls itself more than {within} times, which is deeper than recursion may go"
                ))));
            }
        }
        let depth = self.scopes.get(parent as usize).map_or(0, |scope| scope.depth) + 1;
        if depth > DEPTH_MAX {
            return Err(too_large(format_args!("is within {DEPTH_MAX} other calls, and may be in no more")));
        }
        let prefix = self.nodes[id.index()].name.len() + 1;
        let names = count.saturating_mul(prefix).saturating_add(body.name_bytes);
        self.name_bytes = self.name_bytes.saturating_add(names);
        let added = self.nodes.len() - self.library.nodes().len();
        if added.saturating_add(count) > self.options.nodes_max || self.name_bytes / NODE_BYTES > self.options.nodes_max
        {
            return Err(too_large(format_args!("makes more than {} nodes", self.options.nodes_max)));
        }
        if let Some(budget) = self.options.budget {
            let charge = budget.charge(count.saturating_mul(NODE_BYTES).saturating_add(names));
            self.charges.push(charge.map_err(|error| Failure::Session(error.at_node(&self.nodes[id.index()].name)))?);
        }
        self.scopes.push(Scope { function: func.name.clone(), parent, depth });
        Ok((self.scopes.len() - 1) as u32)
    }

    /// Makes a call a node that answers an error.
    fn fail(&mut self, id: NodeId, error: &Status, op: Arc<OpInfo>) {
        let [code, message, place] = REASON;
        let node = &mut self.nodes[id.index()];
        let mut attrs: Vec<(Arc<str>, AttrValue)> = alloc::vec![
            (code.into(), i64::from(error.code() as i32).into()),
            (message.into(), error.message().into()),
        ];
        attrs.extend(error.node().map(|node| (place.into(), node.into())));
        node.op = op;
        node.attrs = Attrs::new(attrs);
    }

    /// Every edge to what stands for its source, and the graph of all.
    fn finish(mut self) -> Expansion {
        for node in &mut self.nodes {
            for edge in &mut node.inputs {
                let known = self.replaced.get(&edge.node).and_then(|r| *r.outputs.get(edge.port as usize)?);
                *edge = known.unwrap_or(*edge);
            }
            for control in &mut node.controls {
                *control = self.replaced.get(control).and_then(|r| r.control).unwrap_or(*control);
            }
        }
        Expansion { graph: self.library.with_nodes(self.nodes, self.names), charges: self.charges }
    }
}

/// Making nodes.
impl Expander<'_> {
    /// The dtype of a tensor.
    fn dtype(&self, edge: Edge) -> DType {
        let node = self.nodes.get(edge.node.index());
        node.and_then(|node| node.output_types.get(edge.port as usize)).map_or(DType::Float, |output| output.0)
    }

    /// A name beginning with `name` that no node has.
    fn unique(&mut self, name: String) -> Arc<str> {
        if !self.names.contains_key(name.as_str()) {
            return name.into();
        }
        loop {
            let numbered = format!("{name}/_{}", self.counter);
            self.counter += 1;
            if !self.names.contains_key(numbered.as_str()) {
                return numbered.into();
            }
        }
    }

    /// A name for a part of what a node becomes, numbered as TensorFlow does.
    fn part(&mut self, of: &str, part: &str) -> Arc<str> {
        let name = format!("{of}/{part}/_{}", self.counter);
        self.counter += 1;
        self.unique(name)
    }

    fn push(&mut self, node: Node, scope: u32) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.names.insert(node.name.clone(), id);
        self.nodes.push(node);
        self.scope_of.push(scope);
        id
    }

    /// A node whose outputs have the dtypes `outputs`.
    fn add(&mut self, new: New<'_>, inputs: Vec<Edge>, controls: Vec<NodeId>, outputs: &[DType]) -> NodeId {
        let New { of, part, op, attrs } = new;
        let name = self.part(&of.name, part);
        let input_types = inputs.iter().map(|edge| (self.dtype(*edge), false)).collect();
        let node = Node {
            name,
            op,
            device: of.device.clone(),
            inputs,
            controls,
            attrs: Attrs::new(attrs),
            input_types,
            output_types: outputs.iter().map(|dtype| (*dtype, false)).collect(),
        };
        self.push(node, of.scope)
    }

    /// Passes a tensor on.
    fn identity(&mut self, of: &Of, part: &str, input: Edge, controls: Vec<NodeId>) -> Edge {
        let dtype = self.dtype(input);
        let attrs = alloc::vec![("T".into(), dtype.into())];
        let new = New { of, part, op: self.ops.identity.clone(), attrs };
        Edge { node: self.add(new, alloc::vec![input], controls, &[dtype]), port: 0 }
    }

    fn no_op(&mut self, of: &Of, part: &str, controls: Vec<NodeId>) -> NodeId {
        let new = New { of, part, op: self.ops.no_op.clone(), attrs: Vec::new() };
        self.add(new, Vec::new(), controls, &[])
    }

    /// Tensors that are there once all of them are. Resources tie nodes to devices, so each goes its own way, but waits for
    /// the others as well. Answers the tensors, and a node to wait for where there is anything to wait for.
    fn gate(&mut self, of: &Of, inputs: &[Edge], mut controls: Vec<NodeId>) -> (Vec<Edge>, Option<NodeId>) {
        let mut passed = inputs.to_vec();
        let placed = |expander: &Self, edge: Edge| ops::is_placed(expander.dtype(edge));
        for edge in passed.iter_mut() {
            if placed(self, *edge) {
                *edge = self.identity(of, "input", *edge, Vec::new());
                controls.push(edge.node);
            }
        }
        let values: Vec<Edge> = passed.iter().copied().filter(|edge| !placed(self, *edge)).collect();
        if values.is_empty() && controls.is_empty() {
            return (passed, None);
        }
        let gate = match values.is_empty() {
            true => self.no_op(of, "inputs", controls),
            false => {
                let types: Vec<DType> = values.iter().map(|edge| self.dtype(*edge)).collect();
                let attrs = alloc::vec![("T".into(), types.clone().into())];
                let new = New { of, part: "inputs", op: self.ops.identity_n.clone(), attrs };
                self.add(new, values, controls, &types)
            }
        };
        let mut ports = 0u32..;
        for edge in passed.iter_mut() {
            *edge = match placed(self, *edge) {
                true => self.identity(of, "input", *edge, alloc::vec![gate]),
                false => Edge { node: gate, port: ports.next().unwrap_or_default() },
            };
        }
        (passed, Some(gate))
    }

    /// Puts a node that passes on `outputs` in the place of an expanded one.
    fn stand_in(&mut self, id: NodeId, outputs: Vec<Edge>, controls: Vec<NodeId>) {
        let types: Vec<(DType, bool)> = outputs.iter().map(|edge| (self.dtype(*edge), false)).collect();
        let (op, attrs) = match outputs.is_empty() {
            true => (self.ops.no_op.clone(), Attrs::default()),
            false => {
                let types: Vec<DType> = types.iter().map(|output| output.0).collect();
                (self.ops.identity_n.clone(), Attrs::new(alloc::vec![("T".into(), types.into())]))
            }
        };
        let node = &mut self.nodes[id.index()];
        node.op = op;
        node.attrs = attrs;
        node.inputs = outputs;
        node.controls = controls;
        node.input_types = types;
    }
}

/// What a made-up node belongs to.
struct Of {
    name: Arc<str>,
    device: Arc<str>,
    scope: u32,
}

/// A made-up node.
struct New<'a> {
    of: &'a Of,
    part: &'a str,
    op: Arc<OpInfo>,
    attrs: Vec<(Arc<str>, AttrValue)>,
}

/// Why a call is not expanded.
enum Failure {
    /// The graph is refused.
    Session(Status),
    /// Runs that need the call are refused.
    Run(Status),
    /// Runs that come to the call fail.
    Depth(Status),
}

impl From<Status> for Failure {
    fn from(error: Status) -> Failure {
        Failure::Run(error)
    }
}

fn func_attr(attrs: &Attrs, name: &str) -> Result<Arc<FuncRef>, Status> {
    let value = attrs.get(name).ok_or_else(|| Status::not_found(format_args!("no attr named '{name}'")))?;
    func_value(value)
}

fn func_value(value: &AttrValue) -> Result<Arc<FuncRef>, Status> {
    match value {
        AttrValue::Func(func) => Ok(func.clone()),
        other => {
            let kind = other.kind();
            Err(Status::invalid_argument(format_args!("an attribute has a value of kind {kind}, not func")))
        }
    }
}
