//! Cutting a placed graph into one graph a task, joined by pairs of `_Send` and `_Recv` nodes.
//!
//! A tensor that consumers of another part need is sent to that part once, however many they are; so is the fact that a
//! node ran, for control edges. Constants are copied instead. A loop with nodes in several parts runs in each of them: a
//! small control loop, which follows the loop's predicate, makes a part's receives happen once an iteration.
//!
//! The parts are graphs that TensorFlow's workers take: names, attributes and the layout of the control loops are as its
//! own master makes them.

mod colocate;
mod loops;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use hashbrown::HashSet;

use crate::Status;
use crate::graph::{AttrValue, Edge, Frames, Graph, Node, NodeId, NodeSpec};
use crate::ops::Role;
use crate::rendezvous::{Key, Route};
use crate::tensor::{DType, Tensor};

/// A device that nodes may be on.
#[derive(Clone, Debug)]
pub struct PartitionDevice {
    /// The full name.
    pub name: Arc<str>,
    /// Tells whether the device's task restarted.
    pub incarnation: u64,
    /// The part that its nodes go to.
    pub part: u32,
}

/// A pruned graph with a device for every node.
#[derive(Clone, Copy)]
pub struct Placed<'a> {
    /// The graph. Nodes of role [`Role::Feed`] stand for what the client gives.
    pub graph: &'a Graph,
    /// The index in `devices` of each node.
    pub device_of: &'a [u32],
    /// The devices.
    pub devices: &'a [PartitionDevice],
    /// The name that each feed has for the client, in the order of the graph's feeds.
    pub feeds: &'a [String],
    /// What the client takes, and the name that it has for the client.
    pub fetches: &'a [(String, Edge)],
    /// Whether a node of the session's graph has a name.
    pub is_taken: &'a dyn Fn(&str) -> bool,
}

/// What one task runs.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// The nodes. Feeds are `_Recv` and fetches `_Send` nodes with `client_terminated`.
    pub nodes: Vec<NodeSpec>,
    /// Feeds of this part: index among all feeds, and the key under which the part's step gets it.
    pub feeds: Vec<(usize, Key)>,
    /// Fetches of this part: index among all fetches, and the key under which its value is taken.
    pub fetches: Vec<(usize, Key)>,
}

/// Cuts a graph; answers the parts that have nodes, by number. `names` counts the names made in a session: a name is
/// given once in it, because workers share the state of nodes of one name.
///
/// # Errors
/// INVALID_ARGUMENT naming the node or the loop: a frame that is wrong, a loop over several parts without LoopCond, a
/// reference that would have to be written from another part, a fetch from inside a loop, a NextIteration whose value goes
/// to several parts.
pub fn partition(placed: Placed<'_>, names: &mut u64) -> Result<BTreeMap<u32, Part>, Status> {
    let frames = Frames::of(placed.graph)?;
    let mut device_of = placed.device_of.to_vec();
    device_of.resize(placed.graph.nodes().len(), 0);
    if device_of.iter().any(|&device| device as usize >= placed.devices.len()) {
        return Err(Status::internal("a node is on a device that is not there"));
    }
    colocate::control_flow(placed.graph, &mut device_of)?;
    let mut cut = Cut {
        placed,
        frames,
        device_of,
        names,
        parts: BTreeMap::new(),
        pairs: BTreeMap::new(),
        copies: HashSet::new(),
        merges: BTreeMap::new(),
        edges: 0,
    };
    cut.control_loops()?;
    for (id, node) in placed.graph.iter() {
        cut.node(id, node)?;
    }
    cut.fetches()?;
    Ok(cut.parts)
}

/// What a pair of nodes carries to a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Carried {
    /// A tensor.
    Tensor(Edge),
    /// That a node ran.
    Ran(NodeId),
}

struct Cut<'a> {
    placed: Placed<'a>,
    frames: Frames,
    device_of: Vec<u32>,
    names: &'a mut u64,
    parts: BTreeMap<u32, Part>,
    /// The node of the other part that stands for what is carried there.
    pairs: BTreeMap<(Carried, u32), String>,
    /// Constants that were copied to a part.
    copies: HashSet<(NodeId, u32)>,
    /// The Merge of the control loop of a frame in a part.
    merges: BTreeMap<(u32, u32), String>,
    /// Tensors sent so far.
    edges: u64,
}

impl<'a> Cut<'a> {
    fn device(&self, id: NodeId) -> u32 {
        self.device_of[id.index()]
    }

    fn part(&self, id: NodeId) -> u32 {
        self.placed.devices[self.device(id) as usize].part
    }

    fn device_name(&self, device: u32) -> String {
        self.placed.devices[device as usize].name.to_string()
    }

    /// A name that nothing in the session has.
    fn new_name(&mut self, prefix: &str) -> String {
        loop {
            let name = format!("{prefix}_S{}", self.names);
            *self.names += 1;
            if !(self.placed.is_taken)(&name) {
                return name;
            }
        }
    }

    fn add(&mut self, part: u32, node: NodeSpec) {
        self.parts.entry(part).or_default().nodes.push(node);
    }

    /// A node of the client in its part, with inputs from other parts received there.
    fn node(&mut self, id: NodeId, node: &Node) -> Result<(), Status> {
        let part = self.part(id);
        if node.role() == Role::Feed {
            return self.feed(id, node, part);
        }
        let mut inputs = Vec::with_capacity(node.inputs.len() + node.controls.len());
        for (i, &edge) in node.inputs.iter().enumerate() {
            let name = match self.part(edge.node) == part {
                true => tensor_name(&self.placed.graph.node(edge.node).name, edge.port),
                false => self.remote(id, node, i, edge, part)?,
            };
            inputs.push(name);
        }
        for &from in &node.controls {
            let name = match self.part(from) == part {
                true => self.placed.graph.node(from).name.to_string(),
                false if self.always_runs(from) => continue,
                false => self.carry(Carried::Ran(from), id, part, Vec::new())?,
            };
            inputs.push(format!("^{name}"));
        }
        let device = self.device_name(self.device(id));
        self.add(
            part,
            NodeSpec { name: node.name.to_string(), op: node.op.name.clone(), inputs, device, attrs: attrs(node) },
        );
        Ok(())
    }

    /// A constant without conditions: there is nothing to wait for.
    fn always_runs(&self, id: NodeId) -> bool {
        let node = self.placed.graph.node(id);
        node.role() == Role::Const && node.controls.is_empty()
    }

    /// The name, in `part`, of a tensor of another part that `id` takes as its input `i`.
    fn remote(&mut self, id: NodeId, node: &Node, i: usize, edge: Edge, part: u32) -> Result<String, Status> {
        let graph = self.placed.graph;
        let source = graph.node(edge.node);
        if self.always_runs(edge.node) {
            if self.copies.insert((edge.node, part)) {
                let device = self.device_name(self.device(id));
                let (name, op) = (source.name.to_string(), source.op.name.clone());
                self.add(part, NodeSpec { name, op, inputs: Vec::new(), device, attrs: attrs(source) });
            }
            return Ok(source.name.to_string());
        }
        if source.role() == Role::NextIteration && self.frames.of_node[edge.node.index()] != 0 {
            let status = Status::invalid_argument("the value of a NextIteration goes to several devices");
            return Err(status.at_node(&source.name));
        }
        if node.input_types.get(i).is_some_and(|t| t.1) {
            return Err(Status::invalid_argument(format_args!(
                "input {i} is a reference to '{}' on another task, {}",
                source.name,
                self.device_name(self.device(edge.node))
            ))
            .at_node(&node.name));
        }
        let is_ref = source.output_types.get(edge.port as usize).is_some_and(|t| t.1);
        if !is_ref || node.role() == Role::Merge {
            return self.carry(Carried::Tensor(edge), id, part, Vec::new());
        }
        // A variable is read as late as its consumer would read it: after its other inputs have come. It is not shared,
        // since another consumer may read it at another time.
        let others = node.inputs.iter().filter(|other| self.part(other.node) == part);
        let after = others.map(|other| format!("^{}", graph.node(other.node).name)).collect();
        let name = self.carry(Carried::Tensor(edge), id, part, after)?;
        self.pairs.remove(&(Carried::Tensor(edge), part));
        Ok(name)
    }

    /// The node of `part`, on the device of `id`, that stands for something of another part; made when there is none.
    fn carry(&mut self, what: Carried, id: NodeId, part: u32, mut after: Vec<String>) -> Result<String, Status> {
        if let Some(known) = self.pairs.get(&(what, part)) {
            return Ok(known.clone());
        }
        let graph = self.placed.graph;
        let from = match what {
            Carried::Tensor(edge) => edge.node,
            Carried::Ran(node) => node,
        };
        let source = graph.node(from);
        let (here, there) = (self.device(from), self.device(id));
        let (sent, dtype) = match what {
            Carried::Tensor(edge) => {
                let dtype = source.output_types.get(edge.port as usize).map_or(DType::Float, |t| t.0);
                (tensor_name(&source.name, edge.port), dtype)
            }
            Carried::Ran(_) => {
                let name = self.new_name(&format!("{}/ctrl", source.name));
                let nothing = Tensor::from_slice::<f32>(&[0], &[])?;
                let attrs =
                    alloc::vec![("dtype".into(), DType::Float.into()), ("value".into(), AttrValue::Tensor(nothing))];
                let inputs = alloc::vec![format!("^{}", source.name)];
                let device = self.device_name(here);
                self.add(self.part(from), NodeSpec { name: name.clone(), op: "Const".into(), inputs, device, attrs });
                (name, DType::Float)
            }
        };
        let frame = self.frames.of_node[from.index()];
        if let Some(merge) = self.merges.get(&(frame, part)) {
            after.push(format!("^{merge}"));
        }
        let tensor = format!("edge_{}_{}", self.edges, source.name);
        self.edges += 1;
        let ends = self.ends(&tensor, here, there, false);
        let send = NodeSpec {
            name: self.new_name(&source.name),
            op: "_Send".into(),
            inputs: alloc::vec![sent],
            device: self.device_name(here),
            attrs: with(&ends, "T", dtype),
        };
        self.add(self.part(from), send);
        let mut name = self.new_name(&source.name);
        let recv = NodeSpec {
            name: name.clone(),
            op: "_Recv".into(),
            inputs: after,
            device: self.device_name(there),
            attrs: with(&ends, "tensor_type", dtype),
        };
        self.add(part, recv);
        if let Carried::Ran(_) = what {
            let identity = NodeSpec {
                name: self.new_name(&source.name),
                op: "Identity".into(),
                inputs: alloc::vec![name],
                device: self.device_name(there),
                attrs: alloc::vec![("T".into(), dtype.into())],
            };
            name = identity.name.clone();
            self.add(part, identity);
        }
        self.pairs.insert((what, part), name.clone());
        Ok(name)
    }

    /// The attributes that both ends of a tensor's way have.
    fn ends(&self, tensor: &str, from: u32, to: u32, client: bool) -> Vec<(Arc<str>, AttrValue)> {
        let incarnation = self.placed.devices[from as usize].incarnation;
        alloc::vec![
            ("client_terminated".into(), client.into()),
            ("recv_device".into(), (&*self.placed.devices[to as usize].name).into()),
            ("send_device".into(), (&*self.placed.devices[from as usize].name).into()),
            // The attribute is signed; the bits are what counts.
            ("send_device_incarnation".into(), AttrValue::Int(incarnation as i64)),
            ("tensor_name".into(), tensor.into()),
        ]
    }

    /// The key under which the client hands over or takes a tensor on a device.
    fn client_key(&self, device: u32, tensor: &str) -> Result<Key, Status> {
        let device = &self.placed.devices[device as usize];
        Ok(Route::new(&device.name, device.incarnation, &device.name, tensor)?.at(0, 0))
    }

    fn feed(&mut self, id: NodeId, node: &Node, part: u32) -> Result<(), Status> {
        let (device, index) = (self.device(id), id.index());
        let tensor = self.placed.feeds.get(index).cloned().unwrap_or_default();
        let key = self.client_key(device, &tensor)?;
        let dtype = node.output_types.first().map_or(DType::Float, |t| t.0);
        let spec = NodeSpec {
            name: node.name.to_string(),
            op: "_Recv".into(),
            inputs: Vec::new(),
            device: self.device_name(device),
            attrs: with(&self.ends(&tensor, device, device, true), "tensor_type", dtype),
        };
        self.add(part, spec);
        self.parts.entry(part).or_default().feeds.push((index, key));
        Ok(())
    }

    fn fetches(&mut self) -> Result<(), Status> {
        for (index, (tensor, edge)) in self.placed.fetches.iter().enumerate() {
            let source = self.placed.graph.node(edge.node);
            if self.frames.of_node[edge.node.index()] != 0 {
                return Err(Status::invalid_argument(format_args!(
                    "{tensor} is inside a while loop and cannot be fetched"
                )));
            }
            let device = self.device(edge.node);
            let key = self.client_key(device, tensor)?;
            let dtype = source.output_types.get(edge.port as usize).map_or(DType::Float, |t| t.0);
            let part = self.part(edge.node);
            let spec = NodeSpec {
                name: self.new_name(&format!("_send_{}_{}", source.name, edge.port)),
                op: "_Send".into(),
                inputs: alloc::vec![tensor_name(&source.name, edge.port)],
                device: self.device_name(device),
                attrs: with(&self.ends(tensor, device, device, true), "T", dtype),
            };
            self.add(part, spec);
            self.parts.entry(part).or_default().fetches.push((index, key));
        }
        Ok(())
    }
}

/// The name of a tensor as an input.
fn tensor_name(node: &str, port: u32) -> String {
    if port == 0 { node.to_string() } else { format!("{node}:{port}") }
}

fn attrs(node: &Node) -> Vec<(Arc<str>, AttrValue)> {
    node.attrs.iter().map(|(name, value)| (Arc::from(name), value.clone())).collect()
}

fn with(attrs: &[(Arc<str>, AttrValue)], name: &str, dtype: DType) -> Vec<(Arc<str>, AttrValue)> {
    let mut attrs = attrs.to_vec();
    attrs.push((name.into(), dtype.into()));
    attrs
}
