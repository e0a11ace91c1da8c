//! A function's body as a graph: attributes bound, names resolved, arguments as its first nodes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Range;

use hashbrown::HashMap;

use crate::Status;
use crate::graph::{
    AttrValue, Attrs, Edge, Frames, FuncRef, Function, Graph, Node, NodeId, NodeSpec, check_attrs, check_node_name,
};
use crate::ops::signature::Arg;
use crate::ops::{OpInfo, Registry, Role, Signature};
use crate::tensor::DType;

/// What a call of a function becomes, with the numbers of the body's own graph.
pub(super) struct Body {
    /// The nodes; the arguments come first.
    pub(super) graph: Graph,
    /// The dtypes of the arguments.
    pub(super) args: Vec<DType>,
    /// For each tensor returned where it comes from.
    pub(super) rets: Vec<Edge>,
    /// The dtypes of what is returned.
    pub(super) ret_types: Vec<DType>,
    /// The nodes that must run, by the function's own account.
    pub(super) control_rets: Vec<NodeId>,
    /// Those and all that have effects: what a call runs that is not lowered.
    pub(super) effects: Vec<NodeId>,
    /// Whether parts of the body may be dead while the call is not.
    pub(super) has_switch: bool,
    /// Nodes by name.
    pub(super) names: HashMap<String, NodeId>,
    /// Bytes of all names.
    pub(super) name_bytes: usize,
}

/// Where functions and ops are found.
pub(super) struct Library<'a> {
    pub(super) functions: &'a Graph,
    pub(super) registry: &'a Registry,
    /// What an argument is.
    pub(super) argument: &'a Arc<OpInfo>,
    /// Ops found before.
    pub(super) ops: &'a mut HashMap<String, Arc<OpInfo>>,
}

impl Library<'_> {
    fn op(&mut self, name: &str) -> Result<Arc<OpInfo>, Status> {
        if let Some(op) = self.ops.get(name) {
            return Ok(op.clone());
        }
        let op = match self.functions.function(name) {
            Some(function) => Arc::new(OpInfo { name: name.into(), signature: function.signature.clone(), op: None }),
            None => self.registry.find(name)?,
        };
        self.ops.insert(name.into(), op.clone());
        Ok(op)
    }

    fn is_stateful(&self, node: &Node) -> bool {
        match (node.op.op, self.functions.function(&node.op.name)) {
            (Some(op), _) => op.stateful,
            (None, Some(function)) => function.stateful,
            (None, None) => self.registry.is_stateful(&node.op.name),
        }
    }
}

impl Body {
    /// The body of `function` under the attributes of a call.
    ///
    /// # Errors
    /// NOT_FOUND for an attribute that the call does not give, and for an unknown op; INVALID_ARGUMENT for whatever else is
    /// wrong with the body. The function and the node in it are named.
    pub(super) fn new(function: &Function, given: &Attrs, library: &mut Library<'_>) -> Result<Body, Status> {
        let body = Builder::new(function, given).and_then(|mut builder| {
            builder.args(library)?;
            builder.nodes(library)?;
            builder.inputs()?;
            builder.finish(library)
        });
        body.map_err(|error| error.context(format_args!("function '{}'", function.name.escape_debug())))
    }
}

/// What a name in a body stands for.
enum Named {
    /// Arguments.
    Args(Range<u32>),
    /// A node.
    Node(NodeId),
}

struct Builder<'a> {
    function: &'a Function,
    attrs: Attrs,
    nodes: Vec<Node>,
    args: Vec<DType>,
    named: HashMap<&'a str, Named>,
    /// For each node, the outputs of each of its op's output arguments.
    ports: Vec<Vec<Range<u32>>>,
}

impl<'a> Builder<'a> {
    fn new(function: &'a Function, given: &Attrs) -> Result<Builder<'a>, Status> {
        let mut bound = Vec::with_capacity(function.signature.attrs.len());
        for def in &function.signature.attrs {
            let value = given.get(&def.name).or(def.default.as_ref()).ok_or_else(|| {
                Status::not_found(format_args!("Attr {} is not found from {}", def.name, function.name))
            })?;
            def.check(value)?;
            bound.push((Arc::from(&*def.name), value.clone()));
        }
        Ok(Builder {
            function,
            attrs: Attrs::new(bound),
            nodes: Vec::with_capacity(function.nodes.len() + function.signature.inputs.len()),
            args: Vec::new(),
            named: HashMap::with_capacity(function.nodes.len()),
            ports: Vec::new(),
        })
    }

    fn args(&mut self, library: &Library<'_>) -> Result<(), Status> {
        for arg in &self.function.signature.inputs {
            let first = self.args.len() as u32;
            for (dtype, is_ref) in Signature::arg_types(core::slice::from_ref(arg), &self.attrs)? {
                if is_ref {
                    return Err(Status::invalid_argument(format_args!("argument '{}' is a reference", arg.name)));
                }
                self.args.push(dtype);
                self.nodes.push(Node {
                    name: arg.name.as_str().into(),
                    op: library.argument.clone(),
                    device: "".into(),
                    inputs: Vec::new(),
                    controls: Vec::new(),
                    attrs: Attrs::default(),
                    input_types: Vec::new(),
                    output_types: alloc::vec![(dtype, false)],
                });
                self.ports.push(Vec::new());
            }
            self.name(&arg.name, Named::Args(first..self.args.len() as u32))?;
        }
        Ok(())
    }

    fn name(&mut self, name: &'a str, named: Named) -> Result<(), Status> {
        match self.named.insert(name, named) {
            None => Ok(()),
            Some(_) => Err(Status::invalid_argument(format_args!("Duplicated node name: {}", name.escape_debug()))),
        }
    }

    fn nodes(&mut self, library: &mut Library<'_>) -> Result<(), Status> {
        for spec in &self.function.nodes {
            let id = NodeId(self.nodes.len() as u32);
            check_node_name(&spec.name)?;
            self.name(&spec.name, Named::Node(id))?;
            self.node(spec, library).map_err(|e| e.at_node(&spec.name))?;
        }
        Ok(())
    }

    fn node(&mut self, spec: &NodeSpec, library: &mut Library<'_>) -> Result<(), Status> {
        let op = library.op(&spec.op)?;
        let given = spec.attrs.iter().map(|(name, value)| Ok((name.clone(), bind(value, &self.attrs, false)?)));
        let attrs = check_attrs(&op.signature, given.collect::<Result<_, Status>>()?)?;
        let input_types = Signature::arg_types(&op.signature.inputs, &attrs)?;
        let mut output_types = Vec::new();
        let mut ports = Vec::with_capacity(op.signature.outputs.len());
        for arg in &op.signature.outputs {
            let first = output_types.len() as u32;
            output_types.extend(Signature::arg_types(core::slice::from_ref(arg), &attrs)?);
            ports.push(first..output_types.len() as u32);
        }
        self.ports.push(ports);
        self.nodes.push(Node {
            name: spec.name.as_str().into(),
            op,
            device: spec.device.as_str().into(),
            inputs: Vec::new(),
            controls: Vec::new(),
            attrs,
            input_types,
            output_types,
        });
        Ok(())
    }

    fn inputs(&mut self) -> Result<(), Status> {
        let first = self.args.len();
        for (at, spec) in (first..).zip(&self.function.nodes) {
            let (inputs, controls) = self.node_inputs(at, spec).map_err(|e| e.at_node(&spec.name))?;
            self.nodes[at].inputs = inputs;
            self.nodes[at].controls = controls;
        }
        Ok(())
    }

    fn node_inputs(&self, at: usize, spec: &NodeSpec) -> Result<(Vec<Edge>, Vec<NodeId>), Status> {
        let node = &self.nodes[at];
        let mut inputs = Vec::with_capacity(node.input_types.len());
        let mut controls = Vec::new();
        for text in &spec.inputs {
            if let Some(name) = text.strip_prefix('^') {
                let from = self.control(name).ok_or_else(|| not_found("input", text))?;
                controls.extend(Some(from).filter(|from| !controls.contains(from)));
                continue;
            }
            if !controls.is_empty() {
                return Err(Status::invalid_argument("Control inputs must come after regular inputs"));
            }
            for edge in self.tensors(text).ok_or_else(|| not_found("input", text))? {
                let wanted = node.input_types.get(inputs.len());
                let have = self.output_type(edge);
                if wanted.is_none_or(|wanted| wanted.0 != have.0 || (wanted.1 && !have.1)) {
                    let expected = wanted.map_or("no more", |wanted| wanted.0.name());
                    return Err(Status::invalid_argument(format_args!(
                        "input {}[{}] expected type {expected} != {}, the type of {}",
                        spec.name,
                        inputs.len(),
                        have.0,
                        text.escape_debug()
                    )));
                }
                inputs.push(edge);
            }
        }
        if inputs.len() < node.input_types.len() {
            return Err(Status::invalid_argument(format_args!(
                "op {} needs {} inputs, {} are given",
                node.op.name,
                node.input_types.len(),
                inputs.len()
            )));
        }
        Ok((inputs, controls))
    }

    fn output_type(&self, edge: Edge) -> (DType, bool) {
        let node = self.nodes.get(edge.node.index());
        node.and_then(|n| n.output_types.get(edge.port as usize)).copied().unwrap_or((DType::Float, false))
    }

    fn control(&self, name: &str) -> Option<NodeId> {
        match self.named.get(name)? {
            Named::Args(range) => (!range.is_empty()).then_some(NodeId(range.start)),
            Named::Node(id) => Some(*id),
        }
    }

    /// The tensors of `argument`, `argument:index`, `node:output` or `node:output:index`; without an index all of a list.
    fn tensors(&self, text: &str) -> Option<Vec<Edge>> {
        let mut parts = text.splitn(3, ':');
        let (name, second, third) = (parts.next()?, parts.next(), parts.next());
        let index = |text: &str| text.parse::<u32>().ok();
        match (self.named.get(name)?, second, third) {
            (Named::Args(range), at, None) => {
                let picked = pick(range, at.map(index))?;
                Some(picked.map(|arg| Edge { node: NodeId(arg), port: 0 }).collect())
            }
            (Named::Node(id), Some(output), at) => {
                let outputs: &[Arg] = &self.nodes.get(id.index())?.op.signature.outputs;
                let number = outputs.iter().position(|arg| arg.name == output)?;
                let range = self.ports.get(id.index())?.get(number)?;
                Some(pick(range, at.map(index))?.map(|port| Edge { node: *id, port }).collect())
            }
            _ => None,
        }
    }

    fn finish(self, library: &Library<'_>) -> Result<Body, Status> {
        let mut rets = Vec::new();
        let mut ret_types = Vec::new();
        for output in &self.function.signature.outputs {
            let text = self.function.ret.get(&output.name);
            let text = text.ok_or_else(|| {
                Status::invalid_argument(format_args!("Return {} missing.", output.name.escape_debug()))
            })?;
            let found = self.tensors(text).ok_or_else(|| {
                let (name, text) = (output.name.escape_debug(), text.escape_debug());
                Status::invalid_argument(format_args!("Return {name} -> {text} is not found."))
            })?;
            let wanted = Signature::arg_types(core::slice::from_ref(output), &self.attrs)?;
            let fits = |(edge, wanted): (&Edge, &(DType, bool))| self.output_type(*edge).0 == wanted.0;
            if found.len() != wanted.len() || !found.iter().zip(&wanted).all(fits) {
                return Err(Status::invalid_argument(format_args!(
                    "Invalid ret types of output {}: {} tensors, and not of the types declared",
                    output.name.escape_debug(),
                    found.len()
                )));
            }
            rets.extend(found);
            ret_types.extend(wanted.iter().map(|wanted| wanted.0));
        }
        // Names that no node has are passed over, as TensorFlow does.
        let mut control_rets: Vec<NodeId> =
            self.function.control_ret.values().filter_map(|name| self.control(name)).collect();
        control_rets.sort_unstable();
        control_rets.dedup();
        let names =
            self.function.nodes.iter().map(|spec| spec.name.clone()).zip((self.args.len() as u32..).map(NodeId));
        let names: HashMap<String, NodeId> = names.collect();
        let name_bytes = names.keys().map(String::len).sum();
        let graph = Graph::from_nodes(self.nodes);
        let all = alloc::vec![true; graph.nodes().len()];
        graph.topological_order(&all).map_err(|node| {
            Status::invalid_argument(format_args!("the node '{}' is on a cycle", graph.node(node).name))
        })?;
        let frames = Frames::of(&graph)?;
        let outermost = |id: NodeId| frames.of_node.get(id.index()) == Some(&0);
        let stateful = graph.iter().skip(self.args.len()).filter(|(_, node)| library.is_stateful(node));
        let mut effects: Vec<NodeId> = stateful.map(|(id, _)| id).chain(control_rets.iter().copied()).collect();
        effects.retain(|id| outermost(*id));
        effects.sort_unstable();
        effects.dedup();
        control_rets.retain(|id| outermost(*id));
        let has_switch = graph.nodes().iter().any(|node| node.role() == Role::Switch);
        Ok(Body { graph, args: self.args, rets, ret_types, control_rets, effects, has_switch, names, name_bytes })
    }
}

/// All of a range, or the one of an index (`Some(None)` for one that is no number).
fn pick(range: &Range<u32>, index: Option<Option<u32>>) -> Option<Range<u32>> {
    let Some(index) = index else { return Some(range.clone()) };
    let at = range.start.checked_add(index?)?;
    range.contains(&at).then(|| at..at + 1)
}

fn not_found(what: &str, text: &str) -> Status {
    Status::invalid_argument(format_args!("{what} {} is not found", text.escape_debug()))
}

/// An attribute's value with the function's attributes in place of their names. Recurses as deep as functions are the
/// attributes of functions, which importing bounds.
///
/// # Errors
/// INVALID_ARGUMENT for a name that is no attribute; UNIMPLEMENTED for functions that would nest deeper with every call.
fn bind(value: &AttrValue, bound: &Attrs, nested: bool) -> Result<AttrValue, Status> {
    Ok(match value {
        AttrValue::Placeholder(name) => match bound.get(name) {
            Some(value)
                if nested
                    && functions(value).any(|func| func.attrs.iter().any(|(_, v)| functions(v).next().is_some())) =>
            {
                let name = name.escape_debug();
                return Err(Status::unimplemented(format_args!(
                    "functions nested in the attribute '{name}' of a function"
                )));
            }
            Some(value) => value.clone(),
            None => {
                let name = name.escape_debug();
                return Err(Status::invalid_argument(format_args!("Failed to bind the placeholder '{name}'")));
            }
        },
        AttrValue::List(values) => {
            AttrValue::List(values.iter().map(|value| bind(value, bound, nested)).collect::<Result<_, _>>()?)
        }
        AttrValue::Func(func) if !func.attrs.is_empty() => {
            let attrs = func.attrs.iter().map(|(name, value)| Ok((name.clone(), bind(value, bound, true)?)));
            let attrs = attrs.collect::<Result<_, Status>>()?;
            AttrValue::Func(Arc::new(FuncRef { name: func.name.clone(), attrs }))
        }
        other => other.clone(),
    })
}

/// The functions of a value that is one or a list of them.
fn functions(value: &AttrValue) -> impl Iterator<Item = &FuncRef> {
    let values = match value {
        AttrValue::List(values) => values.as_slice(),
        value => core::slice::from_ref(value),
    };
    values.iter().filter_map(|value| match value {
        AttrValue::Func(func) => Some(&**func),
        _ => None,
    })
}
