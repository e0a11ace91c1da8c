//! The report for people.

use std::io::{self, Write};

use super::report::{Report, Value};
use crate::units::show_bytes;

/// Nodes of an unsupported op that are named; a graph may have thousands.
const NODES_SHOWN: usize = 8;

/// Writes the report.
///
/// # Errors
/// The writer's.
pub(crate) fn write(report: &Report, name: &str, to: &mut impl Write) -> io::Result<()> {
    let functions = match report.functions.len() {
        0 => String::new(),
        1 => ", 1 function".to_owned(),
        n => format!(", {n} functions"),
    };
    let nodes = report.nodes;
    writeln!(to, "{name}: {}, {nodes} nodes{functions}, producer {}", show_bytes(report.file_bytes), report.producer)?;
    values(to, "inputs", &report.inputs)?;
    values(to, "outputs", &report.outputs)?;
    if !report.targets.is_empty() {
        writeln!(to, "\ntargets")?;
        for target in &report.targets {
            writeln!(to, "  {target}")?;
        }
    }
    values(to, "variables", &report.variables)?;
    let constants = &report.constants;
    if constants.count > 0 {
        writeln!(to, "\nconstants: {}, together {}", constants.count, show_bytes(constants.bytes))?;
        rows(to, &constants.largest)?;
    }
    writeln!(to, "\nops")?;
    let width = report.ops.first().map_or(1, |most| most.count.to_string().len());
    for op in &report.ops {
        let mark = if op.supported { "" } else { "  (not supported)" };
        writeln!(to, "  {:>width$}  {}{mark}", op.count, op.op)?;
    }
    if report.unsupported.is_empty() {
        writeln!(to, "\neverything is supported")?;
    } else {
        writeln!(to, "\nunsupported")?;
        for one in &report.unsupported {
            let shown: Vec<&str> = one.nodes.iter().take(NODES_SHOWN).map(String::as_str).collect();
            let more = one.nodes.len() - shown.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            writeln!(to, "  {} ({}): {}{more}", one.op, one.why, shown.join(", "))?;
        }
    }
    if !report.problems.is_empty() {
        writeln!(to, "\nproblems")?;
        for problem in &report.problems {
            let node = if problem.node.is_empty() { String::new() } else { format!("{}: ", problem.node) };
            writeln!(to, "  {node}{}", problem.what)?;
        }
    }
    Ok(())
}

fn values(to: &mut impl Write, title: &str, values: &[Value]) -> io::Result<()> {
    if values.is_empty() {
        return Ok(());
    }
    writeln!(to, "\n{title}")?;
    rows(to, values)
}

fn rows(to: &mut impl Write, values: &[Value]) -> io::Result<()> {
    let width = values.iter().map(|value| value.name.len()).max().unwrap_or(0);
    for value in values {
        let bytes = value.bytes.map(|bytes| format!("  {}", show_bytes(bytes))).unwrap_or_default();
        writeln!(to, "  {:width$}  {} {}{bytes}", value.name, value.dtype, shape(value))?;
    }
    Ok(())
}

/// A shape as TensorFlow writes it.
fn shape(value: &Value) -> String {
    runstep::graph::PartialShape { dims: value.shape.clone() }.to_string()
}
