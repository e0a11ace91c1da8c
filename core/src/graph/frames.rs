//! Which loop frame each node is in.
//!
//! An Enter takes its input into the frame of its name, an Exit back to the parent; every other node is in the frame
//! of its inputs, which must agree. Computed once over the whole graph, in topological order.

use alloc::string::String;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::import::is_back_edge;
use super::{Graph, NodeId};
use crate::Status;
use crate::ops::Role;

/// The number of a static frame; 0 is the root.
pub type FrameId = u32;

/// A static frame.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The frame around it; the root is its own.
    pub parent: FrameId,
    /// The frame's name.
    pub name: String,
    /// How many iterations may be active at once.
    pub parallel_iterations: u32,
}

/// The frames of a graph.
#[derive(Clone, Debug)]
pub struct Frames {
    /// All frames, the root first.
    pub frames: Vec<Frame>,
    /// For each node, the frame that its outputs are in (for an Enter the inner one, for an Exit the outer one).
    pub of_node: Vec<FrameId>,
}

impl Frames {
    /// Finds the frames of a graph without cycles other than loops.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming the node: an Exit outside every frame, inputs from different frames, a loop whose back
    /// edge changes the frame, an Enter without frame name.
    pub fn of(graph: &Graph) -> Result<Frames, Status> {
        let count = graph.nodes().len();
        let mut result = Frames { frames: alloc::vec![Frame::default()], of_node: alloc::vec![0; count] };
        let controls_flow = |role| matches!(role, Role::Enter | Role::Exit | Role::NextIteration);
        if !graph.nodes().iter().any(|n| controls_flow(n.role())) {
            return Ok(result);
        }
        let order = graph
            .topological_order(&alloc::vec![true; count])
            .map_err(|node| Status::invalid_argument(format_args!("node '{}' is on a cycle", graph.node(node).name)))?;
        let mut by_name: HashMap<(FrameId, String), FrameId> = HashMap::new();
        for id in order {
            let node = graph.node(id);
            let mut inside: Option<(FrameId, NodeId)> = None;
            let sources = node.inputs.iter().map(|e| e.node).chain(node.controls.iter().copied());
            for from in sources.filter(|&from| !is_back_edge(graph, from, node)) {
                let frame = result.of_node[from.index()];
                match inside {
                    Some((known, first)) if known != frame => {
                        return Err(Status::invalid_argument(format_args!(
                            "The node '{}' has inputs from different frames. The input '{}' is in frame '{}'. The input \
                             '{}' is in frame '{}'.",
                            node.name,
                            graph.node(first).name,
                            result.frames[known as usize].name,
                            graph.node(from).name,
                            result.frames[frame as usize].name,
                        )));
                    }
                    Some(_) => {}
                    None => inside = Some((frame, from)),
                }
            }
            let frame = inside.map_or(0, |(frame, _)| frame);
            result.of_node[id.index()] = match node.role() {
                Role::Enter => {
                    let name = node.attrs.str("frame_name").map_err(|e| e.at_node(&node.name))?;
                    let parallel = node.attrs.int("parallel_iterations").map_err(|e| e.at_node(&node.name))?;
                    // Fewer than one is taken for one, as TensorFlow does.
                    let parallel = u32::try_from(parallel.max(1)).unwrap_or(u32::MAX);
                    if name.is_empty() {
                        let error = Status::invalid_argument("Enter needs a frame name");
                        return Err(error.at_node(&node.name));
                    }
                    let key = (frame, String::from(name));
                    match by_name.get(&key) {
                        Some(&frame) => frame,
                        None => {
                            let new = result.frames.len() as FrameId;
                            result.frames.push(Frame {
                                parent: frame,
                                name: name.into(),
                                parallel_iterations: parallel,
                            });
                            by_name.insert(key, new);
                            new
                        }
                    }
                }
                Role::Exit if frame == 0 => {
                    return Err(Status::invalid_argument(format_args!(
                        "Invalid Exit op '{}': no Enter leads to it",
                        node.name
                    )));
                }
                Role::Exit => result.frames[frame as usize].parent,
                _ => frame,
            };
        }
        for (id, node) in graph.iter() {
            for from in node.inputs.iter().map(|e| e.node).filter(|&from| is_back_edge(graph, from, node)) {
                let (a, b) = (result.of_node[from.index()], result.of_node[id.index()]);
                if a != b || a == 0 {
                    return Err(Status::invalid_argument(format_args!(
                        "The loop through NextIteration '{}' and Merge '{}' is in no single frame",
                        graph.node(from).name,
                        node.name
                    )));
                }
            }
        }
        Ok(result)
    }
}
