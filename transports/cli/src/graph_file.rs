//! Reading a GraphDef from a file, and saying what a file is that holds none.

use std::path::Path;

use bytes::Bytes;
use runstep::service::GraphSpec;
use runstep::wire::{self, Allowance, graph_from_bytes};

use crate::failure::Failure;

/// A graph and the size of its file.
pub(crate) struct GraphFile {
    /// The graph, names and edges not yet checked.
    pub(crate) graph: GraphSpec,
    /// The length of the file in bytes.
    pub(crate) len: usize,
}

/// Reads a binary GraphDef.
///
/// # Errors
/// The file, why it cannot be read, and what it looks like when it holds something else.
pub(crate) fn read(path: &Path) -> Result<GraphFile, Failure> {
    if path.is_dir() {
        let saved = ["saved_model.pb", "saved_model.pbtxt"].iter().any(|name| path.join(name).exists());
        let what = if saved { "a SavedModel's directory" } else { "a directory" };
        return Err(Failure::at(path.display(), format_args!("this is {what}; {WANTED}")));
    }
    let bytes = Bytes::from(std::fs::read(path).map_err(|e| Failure::at(path.display(), e))?);
    parse(bytes).map_err(|e| Failure::at(path.display(), e))
}

const WANTED: &str = "a GraphDef in binary form is needed (a frozen graph, often named .pb)";

fn parse(bytes: Bytes) -> Result<GraphFile, String> {
    let len = bytes.len();
    if let Some(what) = signature(&bytes) {
        return Err(format!("this looks like {what}; {WANTED}"));
    }
    // A file on this machine is trusted to be worth the memory that it takes to read it.
    let limits = wire::Limits { decoded_bytes_max: u64::MAX, ..wire::Limits::default() };
    match graph_from_bytes(bytes.clone(), &Allowance { limits, budget: None }) {
        Ok(graph) if graph.nodes.is_empty() && graph.functions.is_empty() => {
            Err(format!("this is a GraphDef without nodes, or something else that reads like one; {WANTED}"))
        }
        Ok(graph) => Ok(GraphFile { graph, len }),
        Err(_) if is_meta_graph(&bytes) => Err(format!(
            "this looks like a MetaGraphDef, as a checkpoint's .meta file has it; {WANTED}: its field graph_def is one"
        )),
        Err(e) => Err(format!("this is no GraphDef, or a damaged one: {e}")),
    }
}

/// What other files begin with.
fn signature(bytes: &[u8]) -> Option<&'static str> {
    let starts = |start: &[u8]| bytes.starts_with(start);
    if bytes.is_empty() {
        return Some("an empty file");
    }
    if starts(b"PK\x03\x04") || starts(b"PK\x05\x06") {
        return Some("a zip archive, for example a .keras model, an .npz file or a packed SavedModel");
    }
    if starts(b"\x1f\x8b") {
        return Some("a gzip archive");
    }
    if bytes.get(4..8) == Some(b"TFL3") {
        return Some("a TensorFlow Lite model (.tflite)");
    }
    if starts(b"\x89HDF\r\n\x1a\n") {
        return Some("an HDF5 file, for example a Keras model (.h5)");
    }
    if starts(b"\x93NUMPY") {
        return Some("a NumPy array (.npy)");
    }
    if starts(b"\x80") && matches!(bytes.get(1), Some(2..=5)) {
        return Some("a Python pickle, for example a PyTorch checkpoint");
    }
    if starts(b"\x7fELF") || starts(b"MZ") {
        return Some("a program");
    }
    // Field 1 as a number: the schema version of a SavedModel, which is 1, or the IR version of an ONNX model, which is 3
    // or more. A GraphDef's field 1 is a node.
    if let [0x08, version, ..] = bytes {
        return Some(if *version == 1 { "a SavedModel (saved_model.pb)" } else { "an ONNX model" });
    }
    text(bytes)
}

/// What kind of text the file is, when it is text.
fn text(bytes: &[u8]) -> Option<&'static str> {
    const SAMPLE: usize = 4096;
    let sample = bytes.get(..SAMPLE).unwrap_or(bytes);
    let is_text = |b: &u8| b.is_ascii_graphic() || b" \t\r\n".contains(b) || *b >= 0x80;
    if !sample.iter().all(is_text) {
        return None;
    }
    let sample = String::from_utf8_lossy(sample);
    let first = sample.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or("");
    let begins = |words: &[&str]| {
        words
            .iter()
            .any(|word| first.strip_prefix(word).is_some_and(|rest| rest.trim_start().starts_with(['{', ':', '<'])))
    };
    Some(if begins(&["node", "library", "versions", "version"]) {
        "a GraphDef in text form (.pbtxt), which google.protobuf.text_format turns into the binary one"
    } else if begins(&["saved_model_schema_version", "meta_graphs"]) {
        "a SavedModel in text form (saved_model.pbtxt)"
    } else if begins(&["meta_info_def", "graph_def"]) {
        "a MetaGraphDef in text form"
    } else if begins(&["model_checkpoint_path"]) {
        "the text file `checkpoint` that names the latest checkpoint"
    } else if first.starts_with(['{', '[']) {
        "JSON, for example a TensorFlow.js model"
    } else if first.starts_with("version https://git-lfs") {
        "a pointer of Git LFS, whose file was not fetched"
    } else {
        "text"
    })
}

/// Whether the bytes read as a MetaGraphDef: `meta_info_def`, then `graph_def` with nodes.
fn is_meta_graph(bytes: &Bytes) -> bool {
    let limits = wire::Limits { decoded_bytes_max: u64::MAX, ..wire::Limits::default() };
    let meta = wire::decode::<wire::MetaGraphDef>(bytes.clone(), &limits);
    meta.is_ok_and(|meta| meta.graph_def.is_some_and(|graph| !graph.node.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runstep::wire::{GraphDef, MetaGraphDef, NodeDef, SavedModel, encode};

    fn graph() -> GraphDef {
        let node = NodeDef { name: "a".into(), op: "NoOp".into(), ..Default::default() };
        GraphDef { node: vec![node], ..Default::default() }
    }

    fn said(bytes: impl Into<Bytes>) -> String {
        parse(bytes.into()).err().unwrap_or_default()
    }

    /// Every kind of file that people take for a graph is recognised.
    #[test]
    fn says_what_it_is() {
        let meta = MetaGraphDef { graph_def: Some(graph()), ..Default::default() };
        let info = Some(Default::default());
        let meta_with_info = MetaGraphDef { meta_info_def: info, ..meta.clone() };
        let saved = SavedModel { saved_model_schema_version: 1, meta_graphs: vec![meta.clone()] };
        for (bytes, what) in [
            (Bytes::new(), "an empty file"),
            (Bytes::from_static(b"PK\x03\x04...."), "a zip archive"),
            (Bytes::from_static(b"\x1c\0\0\0TFL3\x14\0"), "TensorFlow Lite"),
            (Bytes::from_static(b"\x89HDF\r\n\x1a\n\0"), "HDF5"),
            (Bytes::from_static(b"\x08\x07\x12\x07pytorch"), "ONNX"),
            (Bytes::from_static(b"# made by hand\nnode {\n  name: \"a\"\n}\n"), ".pbtxt"),
            (Bytes::from_static(b"saved_model_schema_version: 1"), "text form (saved_model.pbtxt)"),
            (Bytes::from_static(b"{\"format\": \"graph-model\"}"), "JSON"),
            (Bytes::from_static(b"hello"), "text"),
            (encode(&saved), "a SavedModel"),
            (encode(&meta_with_info), "MetaGraphDef"),
            (encode(&GraphDef::default()), "an empty file"),
            (encode(&GraphDef { versions: Some(Default::default()), ..Default::default() }), "without nodes"),
            (Bytes::from_static(b"\x0a\xff\xff\xff\xff\x0f"), "no GraphDef, or a damaged one"),
        ] {
            let text = said(bytes.clone());
            assert!(text.contains(what), "{bytes:?}: {text}");
        }
        assert_eq!(parse(encode(&graph())).unwrap().graph.nodes.len(), 1);
    }
}
