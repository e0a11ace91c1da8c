//! The table of supported ops and dtypes, made from the declarations.

use std::fmt::Write as _;
use std::path::PathBuf;

use runstep::ops::{ALL, Op, Registry, Role};
use runstep::tensor::DType;

/// Where the table is checked in.
pub fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../core/OPS.md")
}

/// The table's text: an op a line, sorted, with the dtypes that its kernel takes by attribute.
///
/// # Panics
/// When a declaration does not parse.
pub fn table() -> String {
    let registry = Registry::new(ALL).expect("declarations parse");
    let ops: Vec<&'static Op> = registry.ops().into_iter().filter_map(|info| info.op).collect();
    let mut text = format!(
        "# Supported ops\n\n{} ops. Made from the declarations by `cargo run -p runstep-tests --bin op-table`. \
         Signatures, defaults and errors are TensorFlow 2.21's; an op that TensorFlow has and this table has not is \
         accepted in a graph, and a run that needs it answers UNIMPLEMENTED.\n\n| op | dtypes of the kernel |\n\
         | --- | --- |\n",
        ops.len()
    );
    for op in ops {
        let _ = writeln!(text, "| {} | {} |", op.name, dtypes(&registry, op));
    }
    text
}

fn dtypes(registry: &Registry, op: &Op) -> String {
    if op.role == Role::Call {
        return "any; its functions become part of the graph".into();
    }
    if op.role != Role::Kernel {
        return "any; done by the scheduler".into();
    }
    let names = |types: &[DType]| types.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ");
    let info = registry.find(op.name).expect("a listed op is found");
    let attrs = info.signature.attrs.iter().filter(|a| a.kind == "type");
    let parts: Vec<String> = attrs
        .map(|attr| {
            let kernel = op.types.iter().find(|(name, _)| *name == attr.name).map(|(_, types)| *types);
            let types = match kernel {
                Some(types) => names(types),
                None if attr.types.is_empty() => "any".into(),
                None => names(&attr.types),
            };
            format!("`{}`: {types}", attr.name)
        })
        .collect();
    if parts.is_empty() { "as the signature says".into() } else { parts.join("; ") }
}
