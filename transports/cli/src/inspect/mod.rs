//! `runstep inspect`: what a graph holds, needs and gives, and what of it cannot run here.

mod picture;
mod report;
mod shapes;
mod text;

use std::io::Write;
use std::path::Path;

use crate::args::Inspect;
use crate::failure::Failure;
use crate::{connect, graph_file};
use report::Report;

/// Prints the report, and writes pictures where they are asked for.
///
/// # Errors
/// A file that is no graph or cannot be written; a picture of a graph that cannot be imported.
pub(crate) fn inspect(args: &Inspect) -> Result<(), Failure> {
    let file = graph_file::read(&args.graph)?;
    let registry = connect::registry()?;
    let (report, graph) = Report::of(file, &registry);
    let mut stdout = std::io::stdout().lock();
    if args.json {
        let text = serde_json::to_string_pretty(&report).map_err(|e| Failure::Failed(e.to_string()))?;
        writeln!(stdout, "{text}")?;
    } else {
        text::write(&report, &args.graph.display().to_string(), &mut stdout)?;
    }
    stdout.flush()?;
    if args.dot.is_none() && args.svg.is_none() {
        return Ok(());
    }
    let (graph, shapes) =
        graph.ok_or_else(|| Failure::Failed("there is no picture of a graph with such faults".into()))?;
    if let Some(path) = &args.dot {
        save(path, &picture::dot(&graph, &shapes))?;
    }
    if let Some(path) = &args.svg {
        save(path, &picture::svg(&graph, &shapes))?;
    }
    Ok(())
}

fn save(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|e| Failure::at(path.display(), e))
}
