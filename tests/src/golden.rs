//! The golden cases that TensorFlow made: the messages of `golden/golden.proto` and the way to load a file of them.

use std::path::Path;

use prost::Message;

/// A file of cases.
#[derive(Clone, PartialEq, Message)]
pub struct Cases {
    /// The cases, independent of one another.
    #[prost(message, repeated, tag = "1")]
    pub case: Vec<Case>,
}

/// One fresh session whose steps run in order.
#[derive(Clone, PartialEq, Message)]
pub struct Case {
    /// `OP/dtypes` or a few words; unique within a file.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The session's graph, a serialized `tensorflow.GraphDef`.
    #[prost(bytes = "vec", tag = "2")]
    pub graph: Vec<u8>,
    /// What is done in the session.
    #[prost(message, repeated, tag = "3")]
    pub step: Vec<Step>,
    /// Canonical code that creating the session answers; when it is not 0 there are no steps.
    #[prost(int32, tag = "4")]
    pub create_code: i32,
    /// A serialized `tensorflow.ConfigProto`; empty for the defaults.
    #[prost(bytes = "vec", tag = "5")]
    pub config: Vec<u8>,
}

/// One RunStep, or one ExtendSession where [`Step::extend`] is set.
#[derive(Clone, PartialEq, Message)]
pub struct Step {
    /// Values fed, by tensor name.
    #[prost(message, repeated, tag = "1")]
    pub feed: Vec<Feed>,
    /// Tensor names to fetch.
    #[prost(string, repeated, tag = "2")]
    pub fetch: Vec<String>,
    /// Nodes to run.
    #[prost(string, repeated, tag = "3")]
    pub target: Vec<String>,
    /// The fetched values, in no particular order.
    #[prost(message, repeated, tag = "4")]
    pub expected: Vec<Feed>,
    /// Canonical code of the step, 0 for success.
    #[prost(int32, tag = "5")]
    pub code: i32,
    /// TensorFlow's words for the error, for the reader only.
    #[prost(string, tag = "6")]
    pub message: String,
    /// Relative tolerance of float results.
    #[prost(double, tag = "7")]
    pub rtol: f64,
    /// Absolute tolerance of float results.
    #[prost(double, tag = "8")]
    pub atol: f64,
    /// Floats are equal bit for bit, any NaN being equal to any other.
    #[prost(bool, tag = "9")]
    pub exact: bool,
    /// The nodes that an ExtendSession adds, a serialized `tensorflow.GraphDef`.
    #[prost(bytes = "vec", optional, tag = "10")]
    pub extend: Option<Vec<u8>>,
    /// The graph version that the extension is said to start from.
    #[prost(int64, tag = "11")]
    pub extend_version: i64,
}

/// A named tensor.
#[derive(Clone, PartialEq, Message)]
pub struct Feed {
    /// The tensor's name as it is sent, `node:slot`.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A serialized `tensorflow.TensorProto`.
    #[prost(bytes = "vec", tag = "2")]
    pub tensor: Vec<u8>,
}

/// Loads `golden/data/FAMILY.bin` of this crate.
///
/// # Panics
/// When the file is missing or is not a message of cases: a test cannot go on without it.
pub fn load(family: &str) -> Cases {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/data").join(family).with_extension("bin");
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Cases::decode(bytes.as_slice()).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file holds named cases whose successful steps carry a value for each distinct fetch.
    #[test]
    fn files_are_complete() {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/data");
        let mut files = 0;
        for entry in std::fs::read_dir(data).unwrap() {
            let family = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
            files += 1;
            for case in load(&family).case {
                assert!(!case.name.is_empty(), "{family} has a case without a name");
                assert!(case.create_code == 0 || case.step.is_empty(), "{}: steps of a refused session", case.name);
                for step in case.step.iter().filter(|s| s.code == 0) {
                    for fetch in &step.fetch {
                        let found = step.expected.iter().filter(|e| e.name == *fetch).count();
                        assert_eq!(found, 1, "{family}, {}: values for {fetch}", case.name);
                    }
                }
            }
        }
        assert!(files > 0);
    }
}
