//! The recorded models of `data/models`: what `manifest.json` says of each, its graph and its arrays.

use std::collections::BTreeMap;
use std::path::PathBuf;

use runstep::tensor::Tensor;
use serde::Deserialize;

/// A model that TensorFlow ran.
#[derive(Debug, Deserialize)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// `inference` or `train`.
    pub kind: String,
    /// File of the GraphDef.
    graph: String,
    /// File of the arrays.
    arrays: String,
    /// Key in the arrays (`in_KEY`) → tensor name.
    pub inputs: BTreeMap<String, String>,
    /// Key in the arrays (`out_KEY`) → tensor name; of inference only.
    #[serde(default)]
    pub outputs: BTreeMap<String, String>,
    /// Of training: the target that initialises the variables.
    #[serde(default)]
    pub init_op: String,
    /// Of training: the target that makes one step.
    #[serde(default)]
    pub train_op: String,
    /// Of training: the tensor of the loss.
    #[serde(default)]
    pub loss: String,
    /// Of training: variable → tensor that reads it; arrays `var0_NAME` and `varN_NAME` with "/" written "|".
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Of training: more tensors, whose values on the held-out images are `eval_KEY`.
    #[serde(default)]
    pub extra: BTreeMap<String, String>,
    /// Of training: how many steps were made.
    #[serde(default)]
    pub steps: usize,
    /// How close results have to be.
    pub tolerance: Closeness,
}

/// Tolerances of a model.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Closeness {
    /// Relative part.
    pub rtol: f64,
    /// Absolute part.
    pub atol: f64,
}

impl Model {
    /// The serialized GraphDef.
    ///
    /// # Panics
    /// When the file is missing.
    pub fn graph(&self) -> Vec<u8> {
        let path = dir().join(&self.graph);
        std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The recorded arrays.
    ///
    /// # Panics
    /// When the file is missing or damaged.
    pub fn arrays(&self) -> BTreeMap<String, Tensor> {
        arrays(&self.arrays)
    }
}

/// The arrays of a file beside the models.
///
/// # Panics
/// When the file is missing or damaged.
pub fn arrays(file: &str) -> BTreeMap<String, Tensor> {
    crate::npz::load(&dir().join(file)).unwrap_or_else(|e| panic!("{e}"))
}

/// All recorded models.
///
/// # Panics
/// When the manifest is missing or damaged.
pub fn all() -> Vec<Model> {
    let path = dir().join("manifest.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn dir() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/models")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The files are there, and the arrays that the manifest speaks of are in them.
    #[test]
    fn manifest_is_complete() {
        let models = all();
        assert!(models.len() >= 9);
        for model in models {
            let arrays = model.arrays();
            assert!(!model.graph().is_empty());
            let inputs = model.inputs.keys().map(|k| format!("in_{k}"));
            let outputs = model.outputs.keys().map(|k| format!("out_{k}"));
            let variables = model.variables.keys().map(|k| format!("var0_{}", k.replace('/', "|")));
            for key in inputs.chain(outputs).chain(variables) {
                assert!(arrays.contains_key(&key), "{}: no array {key}", model.name);
            }
            if model.kind == "train" {
                assert_eq!(arrays["losses"].num_elements(), model.steps, "{}", model.name);
            }
        }
    }
}
