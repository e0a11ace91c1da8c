//! The placer: which device each node of a graph runs on.
//!
//! Nodes fall into groups that must share a device: those that a reference or resource edge joins, and those that a
//! `_class` attribute joins. Each group has three constraints, of which the requested one is always the narrowest: what
//! its stateful nodes were given before (assigned), what its variables ask for (resource), and what its nodes ask for
//! (requested). Nodes are then visited in graph order and take the first device that fits, local ones first; each choice
//! narrows the group.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Write as _;

use hashbrown::HashMap;

use crate::Status;
use crate::device::DeviceSpec;
use crate::graph::{AttrValue, Graph, Node, NodeId};
use crate::tensor::DType;

/// How to place.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaceOptions<'a> {
    /// Requests of a type or number that does not exist are met by another device of the same task.
    pub allow_soft_placement: bool,
    /// Which of the devices are of this process: they come before others. The first when `None`.
    pub local_task: Option<&'a DeviceSpec>,
}

/// For each node of a graph the index of its device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement(Vec<u32>);

impl Placement {
    /// The index of a node's device, 0 for a node that was not placed.
    pub fn device_of(&self, node: NodeId) -> usize {
        self.0.get(node.index()).map_or(0, |&d| d as usize)
    }

    /// The number of nodes placed.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The same for nodes of the same names in another graph: what this one does not have is on no device.
    pub(crate) fn renumbered(&self, from: &Graph, to: &Graph) -> Placement {
        let device = |node: &Node| Some(*self.0.get(from.find(&node.name)?.index())?);
        Placement(to.nodes().iter().map(|node| device(node).unwrap_or(u32::MAX)).collect())
    }

    /// Whether no node was placed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Places every node of `graph` on one of `devices` (full names). Stateful nodes that `previous` knows stay where they are.
///
/// # Errors
/// INVALID_ARGUMENT naming the node: a device that does not parse, a request that no device meets (those that exist are
/// named), nodes that must share a device and cannot.
pub fn place(
    graph: &Graph,
    devices: &[DeviceSpec],
    previous: &Placement,
    options: PlaceOptions<'_>,
) -> Result<Placement, Status> {
    let requests = parse_requests(graph)?;
    if let [only] = devices
        && requests.values().all(|request| request.admits(only))
    {
        return Ok(Placement(alloc::vec![0; graph.nodes().len()]));
    }
    if devices.is_empty() {
        return Err(Status::invalid_argument("there is no device to place nodes on"));
    }
    let mut placer = Placer::new(graph, devices, previous, &requests, options)?;
    placer.join_edges()?;
    placer.join_classes()?;
    placer.choose()
}

/// Ops that take resources only to hand them on, to where they may be of several devices.
const PASSERS_ON: &[&str] = &[
    "PartitionedCall",
    "StatefulPartitionedCall",
    "RemoteCall",
    "SymbolicGradient",
    "If",
    "StatelessIf",
    "Case",
    "StatelessCase",
    "While",
    "StatelessWhile",
    "For",
    "ReduceDataset",
    // What stands for a call that was expanded; resources that it returns may be of several devices.
    "IdentityN",
];

/// Ops that look only at the shape of their input.
const METADATA_OPS: &[&str] = &["Shape", "ShapeN", "Size", "Rank"];

/// Each distinct request, parsed once.
fn parse_requests(graph: &Graph) -> Result<HashMap<Arc<str>, DeviceSpec>, Status> {
    let mut requests: HashMap<Arc<str>, DeviceSpec> = HashMap::new();
    for node in graph.nodes() {
        if !requests.contains_key(&node.device) {
            let spec = DeviceSpec::parse(&node.device).ok_or_else(|| {
                Status::invalid_argument(format_args!(
                    "Malformed device specification '{}' in node: {}",
                    node.device.escape_debug(),
                    node.name
                ))
                .at_node(&node.name)
            })?;
            requests.insert(node.device.clone(), spec);
        }
    }
    Ok(requests)
}

/// What is known of a group; kept at its root.
#[derive(Clone, Debug, Default)]
struct Group {
    assigned: DeviceSpec,
    resource: DeviceSpec,
    requested: DeviceSpec,
}

struct Placer<'a> {
    graph: &'a Graph,
    devices: &'a [DeviceSpec],
    /// Device numbers in the order of preference.
    preferred: Vec<u32>,
    soft: bool,
    /// Union-find: each node's parent, itself at a root; and at roots the number of nodes.
    parent: Vec<u32>,
    size: Vec<u32>,
    groups: Vec<Group>,
    chosen: Vec<Option<u32>>,
}

impl<'a> Placer<'a> {
    fn new(
        graph: &'a Graph,
        devices: &'a [DeviceSpec],
        previous: &Placement,
        requests: &HashMap<Arc<str>, DeviceSpec>,
        options: PlaceOptions<'_>,
    ) -> Result<Placer<'a>, Status> {
        let count = graph.nodes().len();
        let Some(local) = options.local_task.or(devices.first()) else {
            return Err(Status::invalid_argument("there is no device to place nodes on"));
        };
        let mut preferred: Vec<(bool, String, u32)> =
            (0..).zip(devices).map(|(i, d)| (!d.is_same_task(local), d.to_string(), i)).collect();
        preferred.sort();
        let mut chosen = alloc::vec![None; count];
        let mut groups = Vec::with_capacity(count);
        for (id, node) in graph.iter() {
            let kept = previous.0.get(id.index()).filter(|_| node.op.is_stateful());
            if let Some((&number, device)) = kept.and_then(|n| Some((n, devices.get(*n as usize)?))) {
                if let Some(place) = chosen.get_mut(id.index()) {
                    *place = Some(number);
                }
                groups.push(Group {
                    assigned: device.clone(),
                    resource: if makes_resource(node) { device.clone() } else { DeviceSpec::default() },
                    requested: device.clone(),
                });
                continue;
            }
            let requested = requests.get(&node.device).cloned().unwrap_or_default();
            let resource = if makes_resource(node) { requested.clone() } else { DeviceSpec::default() };
            groups.push(Group { assigned: DeviceSpec::default(), resource, requested });
        }
        Ok(Placer {
            graph,
            devices,
            preferred: preferred.into_iter().map(|(_, _, i)| i).collect(),
            soft: options.allow_soft_placement,
            parent: (0..count as u32).collect(),
            size: alloc::vec![1; count],
            groups,
            chosen,
        })
    }

    fn root(&mut self, mut node: usize) -> usize {
        while self.parent[node] as usize != node {
            // Halving keeps paths short without recursion.
            self.parent[node] = self.parent[self.parent[node] as usize];
            node = self.parent[node] as usize;
        }
        node
    }

    /// Joins the groups of two roots under what holds for both.
    fn link(&mut self, a: usize, b: usize, group: Group) {
        let (root, child) = if self.size[a] < self.size[b] { (b, a) } else { (a, b) };
        self.parent[child] = root as u32;
        self.size[root] += self.size[child];
        self.groups[root] = group;
    }

    /// Joins the two ends of every edge that carries a reference or a resource.
    fn join_edges(&mut self) -> Result<(), Status> {
        let graph = self.graph;
        for (id, node) in graph.iter() {
            if node.op.op.is_none() && graph.function(&node.op.name).is_some() || PASSERS_ON.contains(&&*node.op.name) {
                continue;
            }
            for (edge, &(dtype, is_ref)) in node.inputs.iter().zip(&node.input_types) {
                let source = graph.node(edge.node);
                let datasets = dtype == DType::Variant && is_dataset(node) && is_dataset(source);
                if is_ref || dtype == DType::Resource || datasets {
                    self.join_edge(edge.node, id)?;
                }
            }
        }
        Ok(())
    }

    fn join_edge(&mut self, from: NodeId, to: NodeId) -> Result<(), Status> {
        let (a, b) = (self.root(from.index()), self.root(to.index()));
        if a == b {
            return Ok(());
        }
        let (source, sink) = (&self.groups[a], &self.groups[b]);
        let conflict = |what: &str, mine: &DeviceSpec, other: &DeviceSpec| {
            let (from, to) = (self.graph.node(from), self.graph.node(to));
            Status::invalid_argument(format_args!(
                "Cannot place the graph because a reference or resource edge connects colocation groups with \
                 incompatible {what} devices: {mine} vs {other}. The edge src node is {{{{node {}}}}}, and the dst node \
                 is {{{{node {}}}}}",
                from.name, to.name
            ))
        };
        let assigned = source.assigned.merged(&sink.assigned, false);
        let assigned = assigned.map_err(|_| conflict("assigned", &source.assigned, &sink.assigned))?;
        let resource = source.resource.merged(&sink.resource, false);
        let resource = resource.map_err(|_| conflict("resource", &source.resource, &sink.resource))?;
        // Where the requests disagree the sink's gives way to the source's: the state is where it is.
        let requested = source.requested.merged(&sink.requested, false).unwrap_or_else(|_| source.requested.clone());
        let requested = requested.narrowed_to(&resource).narrowed_to(&assigned);
        self.link(a, b, Group { assigned, resource, requested });
        Ok(())
    }

    /// Joins nodes by the `loc:@` entries of their `_class` attributes. A name that no node has is only the group's key.
    fn join_classes(&mut self) -> Result<(), Status> {
        let graph = self.graph;
        let mut keys: HashMap<&str, NodeId> = HashMap::new();
        for (id, node) in graph.iter() {
            let Some(class) = node.attrs.get("_class") else { continue };
            let AttrValue::List(entries) = class else {
                return Err(Status::invalid_argument(format_args!(
                    "attr '_class' has a value of kind {}, expected list(string)",
                    class.kind()
                ))
                .at_node(&node.name));
            };
            for entry in entries {
                let AttrValue::Str(text) = entry else { continue };
                let Some(key) = core::str::from_utf8(text).ok().and_then(|t| t.strip_prefix("loc:@")) else { continue };
                let first = *keys.entry(key).or_insert_with(|| graph.find(key).unwrap_or(id));
                self.join_class(id, first)?;
            }
        }
        Ok(())
    }

    fn join_class(&mut self, node: NodeId, first: NodeId) -> Result<(), Status> {
        let (a, b) = (self.root(node.index()), self.root(first.index()));
        if a == b {
            return Ok(());
        }
        let (mine, theirs) = (&self.groups[a], &self.groups[b]);
        let joined = mine.assigned.merged(&theirs.assigned, false).and_then(|assigned| {
            let resource = mine.resource.merged(&theirs.resource, false)?;
            let requested = mine.requested.merged(&theirs.requested, self.soft)?;
            let requested = requested.narrowed_to(&resource).narrowed_to(&assigned);
            Ok(Group { assigned, resource, requested })
        });
        match joined {
            Ok(group) => self.link(a, b, group),
            Err(_) if self.soft => {}
            Err(error) => {
                let (node, first) = (self.graph.node(node), self.graph.node(first));
                return Err(error.context(format_args!(
                    "Cannot colocate nodes {{{{colocation_node {}}}}} and {{{{colocation_node {}}}}}",
                    node.name, first.name
                )));
            }
        }
        Ok(())
    }

    fn choose(mut self) -> Result<Placement, Status> {
        let graph = self.graph;
        let mut consumers = ConsumerDevices::new(graph);
        let mut second_pass = Vec::new();
        for (id, node) in graph.iter() {
            if self.chosen[id.index()].is_some() {
                continue;
            }
            if is_source(node) {
                second_pass.push(id);
                continue;
            }
            let candidates = self.candidates(id)?;
            let followed = METADATA_OPS.contains(&&*node.op.name).then(|| node.inputs.first()).flatten();
            let followed = followed.and_then(|edge| self.chosen[edge.node.index()]).filter(|d| candidates.contains(d));
            self.assign(id, followed.or_else(|| candidates.first().copied()));
        }
        if !second_pass.is_empty() {
            consumers.fill(graph, &self.chosen);
        }
        for id in second_pass {
            let candidates = self.candidates(id)?;
            let followed = consumers.only_device(id).filter(|d| candidates.contains(d));
            self.assign(id, followed.or_else(|| candidates.first().copied()));
        }
        Ok(Placement(self.chosen.into_iter().map(|d| d.unwrap_or(0)).collect()))
    }

    fn assign(&mut self, node: NodeId, device: Option<u32>) {
        self.chosen[node.index()] = device;
        let root = self.root(node.index());
        if let Some(device) = device.and_then(|d| self.devices.get(d as usize))
            && !self.groups[root].requested.is_full()
        {
            self.groups[root].requested = device.clone();
        }
    }

    /// The devices that the node's group may be on, the preferred one first; never empty.
    fn candidates(&mut self, id: NodeId) -> Result<Vec<u32>, Status> {
        let root = self.root(id.index());
        let matching = |spec: &DeviceSpec| -> Vec<u32> {
            let fits = |d: &u32| self.devices.get(*d as usize).is_some_and(|device| spec.admits(device));
            self.preferred.iter().copied().filter(fits).collect()
        };
        let group = &self.groups[root];
        let mut found = matching(&group.requested);
        if found.is_empty() && self.soft {
            let relaxed = group.requested.task_only().narrowed_to(&group.assigned);
            found = matching(&relaxed.narrowed_to(&group.resource));
            if found.is_empty() {
                found = matching(&relaxed);
            }
        }
        if found.is_empty() { Err(self.no_device(id, &group.requested)) } else { Ok(found) }
    }

    fn no_device(&self, id: NodeId, requested: &DeviceSpec) -> Status {
        let node = self.graph.node(id);
        let mut exist = String::new();
        for (i, device) in self.devices.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(exist, "{}{device}", if i == 0 { "" } else { ", " });
        }
        let why = if node.device.is_empty() {
            alloc::format!("its colocated nodes and the variables it refers to need device '{requested}'")
        } else {
            alloc::format!("{{{{node {}}}}} was explicitly assigned to {}", node.name, node.device)
        };
        Status::invalid_argument(format_args!(
            "Cannot assign a device for operation {}: {why} but available devices are [ {exist} ]. Make sure the device \
             specification refers to a valid device.",
            node.name
        ))
        .at_node(&node.name)
    }
}

/// Whether the node makes the variable or resource that it puts out: its request then binds whoever uses the resource.
fn makes_resource(node: &Node) -> bool {
    let makes = |&(dtype, is_ref): &(DType, bool)| is_ref || dtype == DType::Resource;
    node.input_types.is_empty() && matches!(&node.output_types[..], [output] if makes(output))
}

/// Whether the node has no input and one value as output, so that it is best placed where it is used.
fn is_source(node: &Node) -> bool {
    node.input_types.is_empty() && matches!(&node.output_types[..], [(_, false)])
}

fn is_dataset(node: &Node) -> bool {
    let name = node.op.name.trim_end_matches(|c: char| c.is_ascii_digit());
    node.op.name.ends_with("Dataset") || name.ends_with("DatasetV")
}

/// For nodes without inputs, the device that all consumers share.
struct ConsumerDevices(Vec<Consumers>);

#[derive(Clone, Copy)]
enum Consumers {
    None,
    On(u32),
    Differ,
}

impl ConsumerDevices {
    fn new(graph: &Graph) -> ConsumerDevices {
        ConsumerDevices(alloc::vec![Consumers::None; graph.nodes().len()])
    }

    fn fill(&mut self, graph: &Graph, chosen: &[Option<u32>]) {
        for (id, node) in graph.iter() {
            let device = chosen.get(id.index()).copied().flatten();
            for from in node.inputs.iter().map(|e| e.node).chain(node.controls.iter().copied()) {
                let Some(entry) = self.0.get_mut(from.index()) else { continue };
                *entry = match (*entry, device) {
                    (Consumers::None, Some(device)) => Consumers::On(device),
                    (Consumers::On(known), Some(device)) if known == device => Consumers::On(known),
                    _ => Consumers::Differ,
                };
            }
        }
    }

    fn only_device(&self, node: NodeId) -> Option<u32> {
        match self.0.get(node.index()) {
            Some(Consumers::On(device)) => Some(*device),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
