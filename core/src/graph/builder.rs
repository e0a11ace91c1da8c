//! Building graphs in Rust, for programs that have no Python at hand.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::{AttrValue, Attrs, NodeSpec, PartialShape};
use crate::Status;
use crate::ops::signature::ArgType;
use crate::ops::{Registry, Signature};
use crate::tensor::{DType, Tensor};

/// An output of a node in a [`GraphBuilder`].
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    node: String,
    port: u32,
    dtype: DType,
    is_ref: bool,
}

impl Output {
    /// The name that feeds and fetches use: `node:port`.
    pub fn name(&self) -> String {
        format!("{}:{}", self.node, self.port)
    }

    /// The name of the node, for targets.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }
}

/// Collects nodes; type attributes are inferred from inputs, names are made unique.
///
/// ```
/// use runstep::graph::GraphBuilder;
/// use runstep::ops::{ALL, Registry};
/// use runstep::tensor::{DType, Tensor};
///
/// let registry = Registry::new(ALL)?;
/// let mut g = GraphBuilder::new(&registry);
/// let x = g.placeholder("x", DType::Float, &[-1, 2])?;
/// let w = g.constant("w", Tensor::from_slice(&[2, 1], &[1.0f32, 2.0])?)?;
/// let y = g.op("MatMul", "y", &[&x, &w])?;
/// assert_eq!(y[0].name(), "y:0");
/// # Ok::<(), runstep::Status>(())
/// ```
pub struct GraphBuilder<'a> {
    registry: &'a Registry,
    nodes: Vec<NodeSpec>,
    names: HashMap<String, u32>,
    device: String,
    controls: Vec<String>,
}

impl<'a> GraphBuilder<'a> {
    /// A builder of graphs of these ops.
    pub fn new(registry: &'a Registry) -> GraphBuilder<'a> {
        GraphBuilder { registry, nodes: Vec::new(), names: HashMap::new(), device: String::new(), controls: Vec::new() }
    }

    /// Requests a device for the nodes that follow; empty for none.
    pub fn device(&mut self, device: &str) -> &mut Self {
        self.device = device.into();
        self
    }

    /// Makes the nodes that follow wait for these nodes; an empty list ends that.
    pub fn control_dependencies(&mut self, nodes: &[&str]) -> &mut Self {
        self.controls = nodes.iter().map(|n| format!("^{n}")).collect();
        self
    }

    /// Adds a node whose attributes all follow from its inputs or have defaults.
    ///
    /// # Errors
    /// As [`GraphBuilder::op_with`].
    pub fn op(&mut self, op: &str, name: &str, inputs: &[&Output]) -> Result<Vec<Output>, Status> {
        self.op_with(op, name, inputs, Vec::new())
    }

    /// Adds a node; answers its outputs. `name` gets a suffix when it is taken.
    ///
    /// # Errors
    /// NOT_FOUND for an unknown op; INVALID_ARGUMENT when inputs do not fit it or an attribute is wrong or absent.
    pub fn op_with(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[&Output],
        attrs: Vec<(&str, AttrValue)>,
    ) -> Result<Vec<Output>, Status> {
        let info = self.registry.find(op)?;
        let given = attrs.into_iter().map(|(name, value)| (Arc::from(name), value)).collect();
        let mut attrs = Attrs::new(given);
        infer_attrs(&info.signature, inputs, &mut attrs).map_err(|e| e.at_node(name))?;
        for def in &info.signature.attrs {
            match (attrs.get(&def.name), &def.default) {
                (Some(value), _) => {
                    let checked = def.check(value).and_then(|()| def.check_when_needed(value));
                    checked.map_err(|e| e.at_node(name))?;
                }
                (None, Some(default)) => attrs.set(&def.name, default.clone()),
                (None, None) => {
                    let error = Status::invalid_argument(format_args!("op {op} needs the attr '{}'", def.name));
                    return Err(error.at_node(name));
                }
            }
        }
        let types = Signature::arg_types(&info.signature.outputs, &attrs)?;
        let name = self.unique(name);
        let outputs = (0u32..)
            .zip(types)
            .map(|(port, (dtype, is_ref))| Output { node: name.clone(), port, dtype, is_ref })
            .collect();
        self.nodes.push(NodeSpec {
            name,
            op: op.into(),
            inputs: inputs.iter().map(|i| i.name()).chain(self.controls.iter().cloned()).collect(),
            device: self.device.clone(),
            attrs: attrs.iter().map(|(name, value)| (Arc::from(name), value.clone())).collect(),
        });
        Ok(outputs)
    }

    /// Adds a node and answers its first output.
    ///
    /// # Errors
    /// As [`GraphBuilder::op_with`]; INVALID_ARGUMENT for an op without outputs.
    pub fn op1(
        &mut self,
        op: &str,
        name: &str,
        inputs: &[&Output],
        attrs: Vec<(&str, AttrValue)>,
    ) -> Result<Output, Status> {
        let outputs = self.op_with(op, name, inputs, attrs)?;
        outputs.into_iter().next().ok_or_else(|| Status::invalid_argument(format_args!("op {op} has no output")))
    }

    /// A constant.
    ///
    /// # Errors
    /// NOT_FOUND when the registry has no Const.
    pub fn constant(&mut self, name: &str, value: Tensor) -> Result<Output, Status> {
        let dtype = value.dtype();
        self.op1("Const", name, &[], alloc::vec![("value", value.into()), ("dtype", dtype.into())])
    }

    /// A placeholder; −1 for a dimension that may be anything.
    ///
    /// # Errors
    /// NOT_FOUND when the registry has no Placeholder.
    pub fn placeholder(&mut self, name: &str, dtype: DType, dims: &[i64]) -> Result<Output, Status> {
        let shape = AttrValue::Shape(PartialShape::new(dims));
        self.op1("Placeholder", name, &[], alloc::vec![("dtype", dtype.into()), ("shape", shape)])
    }

    /// A reference variable; it is uninitialised until an Assign ran.
    ///
    /// # Errors
    /// NOT_FOUND when the registry has no VariableV2.
    pub fn variable(&mut self, name: &str, dtype: DType, dims: &[i64]) -> Result<Output, Status> {
        let shape = AttrValue::Shape(PartialShape::new(dims));
        self.op1("VariableV2", name, &[], alloc::vec![("dtype", dtype.into()), ("shape", shape)])
    }

    /// A node that runs when all of `nodes` have run; its name is the target to run.
    ///
    /// # Errors
    /// NOT_FOUND when the registry has no NoOp.
    pub fn group(&mut self, name: &str, nodes: &[&str]) -> Result<String, Status> {
        self.registry.find("NoOp")?;
        let name = self.unique(name);
        self.nodes.push(NodeSpec {
            name: name.clone(),
            op: "NoOp".into(),
            inputs: nodes.iter().map(|n| format!("^{n}")).chain(self.controls.iter().cloned()).collect(),
            device: self.device.clone(),
            attrs: Vec::new(),
        });
        Ok(name)
    }

    /// The nodes so far, for a session's graph; the builder goes on empty but remembers names, so that what follows is
    /// an extension.
    pub fn take_nodes(&mut self) -> Vec<NodeSpec> {
        core::mem::take(&mut self.nodes)
    }

    fn unique(&mut self, name: &str) -> String {
        let mut candidate = name.to_string();
        while self.names.contains_key(&candidate) {
            let used = self.names.entry(name.to_string()).or_insert(0);
            *used += 1;
            candidate = format!("{name}_{used}");
        }
        self.names.insert(candidate.clone(), 0);
        candidate
    }
}

/// Sets type and count attributes that follow from the inputs.
fn infer_attrs(signature: &Signature, inputs: &[&Output], attrs: &mut Attrs) -> Result<(), Status> {
    let wrong_number = || Status::invalid_argument(format_args!("{} inputs do not fit the op", inputs.len()));
    let mut rest = inputs;
    for (at, arg) in signature.inputs.iter().enumerate() {
        let list = matches!(&arg.ty, ArgType::Attr(name) if signature.attr(name).is_some_and(|a| a.is_list));
        let later = signature.inputs.len() - at - 1;
        let count = match (&arg.count, list) {
            (None, false) => 1,
            _ => rest.len().checked_sub(later).ok_or_else(wrong_number)?,
        };
        let (mine, others) = rest.split_at_checked(count).ok_or_else(wrong_number)?;
        rest = others;
        if let Some(name) = &arg.count
            && attrs.get(name).is_none()
        {
            attrs.set(name, AttrValue::Int(count as i64));
        }
        if let ArgType::Attr(name) = &arg.ty
            && attrs.get(name).is_none()
        {
            if list {
                attrs.set(name, mine.iter().map(|o| o.dtype).collect::<Vec<_>>().into());
            } else if let Some(first) = mine.first() {
                attrs.set(name, first.dtype.into());
            }
        }
        if arg.is_ref && mine.iter().any(|o| !o.is_ref) {
            return Err(Status::invalid_argument(format_args!("input '{}' must be a variable", arg.name)));
        }
    }
    if rest.is_empty() { Ok(()) } else { Err(wrong_number()) }
}
