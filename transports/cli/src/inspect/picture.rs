//! Pictures of a graph: DOT for Graphviz, or SVG laid out here.

use std::collections::HashMap;
use std::fmt::Write as _;

use runstep::graph::{Graph, Node, NodeId};
use runstep::ops::Role;

use super::report::is_unsupported;
use super::shapes::Shapes;

/// The graph in Graphviz' language. Constants are small, control edges dashed, what cannot run red.
pub(crate) fn dot(graph: &Graph, shapes: &Shapes) -> String {
    let mut out = String::from("digraph {\n  rankdir=TB\n  node [shape=box, fontname=\"sans-serif\", fontsize=10]\n");
    out.push_str("  edge [fontname=\"sans-serif\", fontsize=8, color=\"#555555\"]\n");
    for (id, node) in graph.iter() {
        let style = match look(graph, id) {
            Look::Constant => ", shape=ellipse, fontsize=8, color=\"#999999\"",
            Look::Input => ", style=filled, fillcolor=\"#cfe3f7\"",
            Look::Unsupported => ", style=filled, fillcolor=\"#f5b7b1\"",
            Look::Plain => "",
        };
        let label = format!("{}\\n{}", quoted(&node.name), quoted(&node.op.name));
        let _ = writeln!(out, "  n{} [label=\"{label}\"{style}]", id.0);
    }
    for (id, node) in graph.iter() {
        for &edge in &node.inputs {
            let from = graph.node(edge.node);
            let dtype = from.output_types.get(edge.port as usize).map_or("", |(dtype, _)| dtype.name());
            let shape = shapes.output(edge);
            let port = if edge.port > 0 { format!(":{} ", edge.port) } else { String::new() };
            let _ = writeln!(out, "  n{} -> n{} [label=\"{port}{dtype} {shape}\"]", edge.node.0, id.0);
        }
        for control in &node.controls {
            let _ = writeln!(out, "  n{} -> n{} [style=dashed]", control.0, id.0);
        }
    }
    out.push_str("}\n");
    out
}

const BOX_WIDTH: usize = 150;
const BOX_HEIGHT: usize = 34;
const GAP_X: usize = 24;
const GAP_Y: usize = 46;
const MARGIN: usize = 20;
/// Characters that fit a box.
const LABEL_MAX: usize = 24;

/// The graph as a drawing: inputs at the top, every node below what it takes. The title of a box, which browsers show
/// when it is pointed at, is the node's whole name.
pub(crate) fn svg(graph: &Graph, shapes: &Shapes) -> String {
    let places = place(graph);
    let at = |id: NodeId| {
        let (layer, column) = places.at.get(id.index()).copied().unwrap_or_default();
        let width = places.widths.get(layer).copied().unwrap_or(1);
        // Layers are centred.
        let left = MARGIN + (places.widest - width.min(places.widest)) * (BOX_WIDTH + GAP_X) / 2;
        (left + column * (BOX_WIDTH + GAP_X), MARGIN + layer * (BOX_HEIGHT + GAP_Y))
    };
    let width = 2 * MARGIN + places.widest * (BOX_WIDTH + GAP_X);
    let height = 2 * MARGIN + places.widths.len() * (BOX_HEIGHT + GAP_Y);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"10\" text-anchor=\"middle\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>\n"
    );
    for (id, node) in graph.iter() {
        let (x, y) = at(id);
        let to = (x + BOX_WIDTH / 2, y);
        for &edge in &node.inputs {
            let from = graph.node(edge.node);
            let dtype = from.output_types.get(edge.port as usize).map_or("", |(dtype, _)| dtype.name());
            let title = format!("{}:{} {dtype} {}", from.name, edge.port, shapes.output(edge));
            line(&mut out, at(edge.node), to, "", &title);
        }
        for &control in &node.controls {
            let title = format!("{} before {}", graph.node(control).name, node.name);
            line(&mut out, at(control), to, " stroke-dasharray=\"4 3\"", &title);
        }
    }
    for (id, node) in graph.iter() {
        draw_box(&mut out, node, at(id), look(graph, id));
    }
    out.push_str("</svg>\n");
    out
}

fn line(out: &mut String, from: (usize, usize), to: (usize, usize), style: &str, title: &str) {
    let (x1, y1) = (from.0 + BOX_WIDTH / 2, from.1 + BOX_HEIGHT);
    let (x2, y2) = to;
    let bend = GAP_Y / 2;
    let _ = writeln!(
        out,
        "<path d=\"M{x1} {y1} C{x1} {} {x2} {} {x2} {y2}\" fill=\"none\" stroke=\"#888\"{style}><title>{}</title></path>",
        y1 + bend,
        y2.saturating_sub(bend),
        escaped(title)
    );
}

fn draw_box(out: &mut String, node: &Node, (x, y): (usize, usize), look: Look) {
    let fill = match look {
        Look::Constant => "#eeeeee",
        Look::Input => "#cfe3f7",
        Look::Unsupported => "#f5b7b1",
        Look::Plain => "#ffffff",
    };
    let middle = x + BOX_WIDTH / 2;
    let _ = writeln!(
        out,
        "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{BOX_WIDTH}\" height=\"{BOX_HEIGHT}\" rx=\"4\" \
         fill=\"{fill}\" stroke=\"#444\"/><text x=\"{middle}\" y=\"{}\">{}</text><text x=\"{middle}\" y=\"{}\" \
         font-weight=\"bold\">{}</text></g>",
        escaped(&node.name),
        y + 14,
        escaped(&short(&node.name)),
        y + 27,
        escaped(&short(&node.op.name))
    );
}

/// Where nodes stand.
struct Places {
    /// Layer and place within it, by node.
    at: Vec<(usize, usize)>,
    /// Nodes in each layer.
    widths: Vec<usize>,
    widest: usize,
}

/// A node's layer is one below the lowest of what it takes; constants stand just above their consumer. Within a layer
/// nodes are ordered by the mean place of what they take, which keeps chains straight.
fn place(graph: &Graph) -> Places {
    let count = graph.nodes().len();
    let order =
        graph.topological_order(&vec![true; count]).unwrap_or_else(|_| graph.iter().map(|(id, _)| id).collect());
    let sources =
        |node: &Node| node.inputs.iter().map(|e| e.node).chain(node.controls.iter().copied()).collect::<Vec<_>>();
    let mut layers = vec![0usize; count];
    let mut seen = vec![false; count];
    for &id in &order {
        let below = sources(graph.node(id)).into_iter().filter(|from| seen.get(from.index()) == Some(&true));
        let layer = below.filter_map(|from| layers.get(from.index())).max().map_or(0, |most| most + 1);
        if let (Some(place), Some(mark)) = (layers.get_mut(id.index()), seen.get_mut(id.index())) {
            (*place, *mark) = (layer, true);
        }
    }
    let mut lowered: HashMap<usize, usize> = HashMap::new();
    for (id, node) in graph.iter() {
        let layer = layers.get(id.index()).copied().unwrap_or(0);
        for from in sources(node).into_iter().filter(|&from| graph.node(from).inputs.is_empty()) {
            let place = lowered.entry(from.index()).or_insert(usize::MAX);
            *place = (*place).min(layer.saturating_sub(1));
        }
    }
    for (index, layer) in lowered {
        if let Some(place) = layers.get_mut(index).filter(|_| layer != usize::MAX) {
            *place = layer;
        }
    }
    let mut rows: Vec<Vec<NodeId>> = vec![Vec::new(); layers.iter().max().map_or(0, |most| most + 1)];
    for &id in &order {
        if let Some(row) = layers.get(id.index()).and_then(|&layer| rows.get_mut(layer)) {
            row.push(id);
        }
    }
    let mut at = vec![(0, 0); count];
    for (layer, row) in rows.iter_mut().enumerate() {
        let mean = |id: &NodeId| {
            let from = sources(graph.node(*id));
            let sum: usize = from.iter().filter_map(|f| at.get(f.index())).map(|&(_, column)| column).sum();
            (sum * 16).checked_div(from.len()).unwrap_or(usize::MAX)
        };
        row.sort_by_cached_key(mean);
        for (column, id) in row.iter().enumerate() {
            if let Some(place) = at.get_mut(id.index()) {
                *place = (layer, column);
            }
        }
    }
    let widths: Vec<usize> = rows.iter().map(Vec::len).collect();
    let widest = widths.iter().copied().max().unwrap_or(1);
    Places { at, widths, widest }
}

enum Look {
    Constant,
    Input,
    Unsupported,
    Plain,
}

fn look(graph: &Graph, id: NodeId) -> Look {
    match graph.node(id).role() {
        Role::Const => Look::Constant,
        Role::Placeholder => Look::Input,
        _ if is_unsupported(graph, id) => Look::Unsupported,
        _ => Look::Plain,
    }
}

/// The end of a name says more than its beginning.
fn short(name: &str) -> String {
    let count = name.chars().count();
    match count > LABEL_MAX {
        true => std::iter::once('…').chain(name.chars().skip(count - LABEL_MAX + 1)).collect(),
        false => name.to_owned(),
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use runstep::graph::{GraphBuilder, Versions};
    use runstep::ops::{ALL, Registry};
    use runstep::tensor::{DType, Tensor};

    fn graph() -> Graph {
        let registry = Registry::new(ALL).unwrap();
        let mut builder = GraphBuilder::new(&registry);
        let x = builder.placeholder("x", DType::Float, &[-1, 2]).unwrap();
        let c = builder.constant("c", Tensor::scalar(1.0f32)).unwrap();
        let sum = builder.op("AddV2", "sum", &[&x, &c]).unwrap();
        builder.op("Identity", "out", &[&sum[0]]).unwrap();
        builder.group("all", &["out"]).unwrap();
        let mut graph = Graph::new();
        graph.extend(&registry, builder.take_nodes(), Vec::new(), Versions::default()).unwrap();
        graph
    }

    /// Both pictures hold every node and edge, and names cannot break out of them.
    #[test]
    fn holds_everything() {
        let graph = graph();
        let shapes = Shapes::of(&graph);
        let dot = dot(&graph, &shapes);
        assert_eq!(dot.matches("->").count(), 4);
        assert!(dot.contains("float [?,2]") && dot.contains("style=dashed"), "{dot}");
        let svg = svg(&graph, &shapes);
        assert_eq!((svg.matches("<path").count(), svg.matches("<rect").count()), (4, 6));
        assert_eq!(escaped("<a&\">"), "&lt;a&amp;&quot;&gt;");
        assert_eq!(quoted("a\"b\\"), "a\\\"b\\\\");
    }

    /// Nodes stand below what they take, the constant just above its consumer.
    #[test]
    fn layers() {
        let graph = graph();
        let places = place(&graph);
        let layer = |name| places.at[graph.find(name).unwrap().index()].0;
        assert_eq!(["x", "c", "sum", "out", "all"].map(layer), [0, 0, 1, 2, 3]);
        assert_eq!(places.widths, [2, 1, 1, 1]);
    }
}
