//! The program under test, a directory for its files, and small graphs for it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::Arc;

use runstep::graph::{GraphBuilder, NodeSpec};
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::service::GraphSpec;
use runstep::tensor::{DType, Tensor};
use runstep::wire::{encode, graph_to_proto};

/// The program.
pub(crate) fn runstep() -> Command {
    Command::new(env!("CARGO_BIN_EXE_runstep"))
}

/// Runs to the end and answers what was printed.
pub(crate) fn success(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {} {error}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// Runs to a failure with this exit code; answers the line on stderr.
pub(crate) fn failure(command: &mut Command, code: i32) -> String {
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let error = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(code), "{command:?}: {error}");
    assert!(stdout.is_empty(), "{command:?}: {}", String::from_utf8_lossy(&stdout));
    if code == 1 {
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("runstep: "), "{error}");
    }
    error
}

/// A directory that goes when the test ends.
pub(crate) struct Workspace(PathBuf);

impl Workspace {
    /// An empty one; the name is the test's own.
    pub(crate) fn new(name: &str) -> Workspace {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).expect("a directory");
        Workspace(dir)
    }

    /// The path of a file, as text.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file; answers its path.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.0.join(name), bytes).expect("a file");
        self.path(name)
    }

    /// What a file holds.
    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Writes an array of floats as NumPy would.
    pub(crate) fn write_npy(&self, name: &str, tensor: &Tensor) -> String {
        use npyz::WriterBuilder;
        assert_eq!(tensor.dtype(), DType::Float);
        let dims: Vec<u64> = tensor.shape().dims().iter().map(|&d| d.into()).collect();
        let mut file = Vec::new();
        let options = npyz::WriteOptions::new().default_dtype().shape(&dims).writer(&mut file);
        let mut writer = options.begin_nd().expect("a header");
        writer.extend(tensor.as_slice::<f32>().expect("floats").iter().copied()).expect("elements");
        writer.finish().expect("the end");
        self.write(name, &file)
    }

    /// Reads an array of floats as NumPy would.
    pub(crate) fn read_npy(&self, name: &str) -> Tensor {
        let file = npyz::NpyFile::new(&self.read(name)[..]).expect("an .npy file").into_vec::<f32>();
        let header = npyz::NpyHeader::from_reader(&self.read(name)[..]).expect("an .npy file");
        let dims: Vec<usize> = header.shape().iter().map(|&d| usize::try_from(d).expect("a dimension")).collect();
        Tensor::from_slice(&dims, &file.expect("floats")).expect("an array")
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A server that listens on free ports, killed when the test ends without stopping it.
pub(crate) struct Server {
    child: Child,
    /// The URLs that it printed, in the order of the arguments.
    pub(crate) urls: Vec<String>,
}

impl Server {
    /// Starts one that listens on each of these and waits until it is ready.
    pub(crate) fn start(listen: &[&str], more: &[&str]) -> Server {
        let mut command = runstep();
        command.arg("serve").stdout(Stdio::piped()).stderr(Stdio::piped());
        for url in listen {
            command.args(["--listen", url]);
        }
        let mut child = command.args(more).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let mut server = Server { child, urls: Vec::new() };
        for url in listen {
            let line = lines.next().unwrap_or_else(|| panic!("{}", server.log())).expect("a line");
            let real = line.strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}"));
            assert_eq!(real.split(':').next(), url.split(':').next());
            assert!(!real.ends_with(":0"), "{line}");
            server.urls.push(real.to_owned());
        }
        server
    }

    fn log(&mut self) -> String {
        let mut text = String::new();
        let _ = self.child.kill();
        let _ = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text
    }

    /// Sends a signal and waits for the end.
    pub(crate) fn stop(mut self, signal: &str) -> ExitStatus {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        self.child.wait().expect("the end")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `y = x + 1` with a variable beside it, and a node of an op that cannot run.
pub(crate) fn graph() -> Vec<u8> {
    let registry = Registry::new(ALL).expect("the registry").with_known(KNOWN);
    let mut g = GraphBuilder::new(&registry);
    let x = g.placeholder("x", DType::Float, &[-1, 2]).expect("x");
    let one = g.constant("one", Tensor::scalar(1.0f32)).expect("one");
    g.op("AddV2", "y", &[&x, &one]).expect("y");
    let v = g.variable("scope/v", DType::Float, &[]).expect("v");
    let assign = g.op("Assign", "scope/set", &[&v, &one]).expect("assign");
    g.group("init", &[assign[0].node()]).expect("init");
    g.op("Identity", "scope/value", &[&v]).expect("value");
    g.op("Betainc", "exotic", &[&one, &one, &one]).expect("exotic");
    bytes(g.take_nodes())
}

/// A loop without end; `after` is what comes of it.
pub(crate) fn looping() -> GraphSpec {
    let node = |name: &str, op: &str, inputs: &[&str], attrs: Vec<(&str, runstep::graph::AttrValue)>| NodeSpec {
        name: name.into(),
        op: op.into(),
        inputs: inputs.iter().map(|&input| input.into()).collect(),
        attrs: attrs.into_iter().map(|(name, value)| (Arc::from(name), value)).collect(),
        ..NodeSpec::default()
    };
    let t = || ("T", DType::Bool.into());
    let yes = Tensor::scalar(true);
    GraphSpec {
        nodes: vec![
            node("yes", "Const", &[], vec![("dtype", DType::Bool.into()), ("value", yes.into())]),
            node("enter", "Enter", &["yes"], vec![t(), ("frame_name", "f".into())]),
            node("merge", "Merge", &["enter", "next"], vec![t(), ("N", runstep::graph::AttrValue::Int(2))]),
            node("cond", "LoopCond", &["merge"], vec![]),
            node("switch", "Switch", &["merge", "cond"], vec![t()]),
            node("next", "NextIteration", &["switch:1"], vec![t()]),
            node("after", "Exit", &["switch:0"], vec![t()]),
        ],
        ..GraphSpec::default()
    }
}

fn bytes(nodes: Vec<NodeSpec>) -> Vec<u8> {
    encode(&graph_to_proto(&nodes.into()).expect("a graph")).to_vec()
}
