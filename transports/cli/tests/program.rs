//! The program as its users call it: what it prints and writes, which codes it answers, how it ends.

mod common;

use std::sync::Arc;

use common::{Server, Workspace, failure, graph, looping, runstep, success};
use runstep::Code;
use runstep::client::Client;
use runstep::tensor::Tensor;
use runstep_tcp::TcpChannel;
use runstep_tests::{compare, models};

/// A recorded model gives what TensorFlow gave, through files, in this process and on a server.
#[test]
fn run_gives_what_tensorflow_gave() {
    let model = models::all().into_iter().find(|model| model.name == "digits_cnn").expect("the model");
    let arrays = model.arrays();
    let dir = Workspace::new("run_model");
    let file = dir.write("digits.pb", &model.graph());
    let feed = format!("x:0={}", dir.write_npy("x.npy", &arrays["in_x"]));
    let run = |more: &[&str]| {
        let out = dir.path("out");
        let args = ["run", &file, "--feed", &feed, "--fetch", "probs:0", "--out", &out];
        let said = success(runstep().args(args).args(more));
        assert!(said.contains("out/probs_0.npy: float [297,10]"), "{said}");
        let tolerance = compare::Tolerance { rtol: model.tolerance.rtol, atol: model.tolerance.atol, exact: false };
        let probs = dir.read_npy("out/probs_0.npy");
        assert_eq!(compare::mismatch(&probs, &arrays["out_probs"], tolerance), None);
    };
    run(&["--threads", "2"]);
    let server = Server::start(&["quic://127.0.0.1:0", "tcp://127.0.0.1:0"], &[]);
    for url in &server.urls {
        run(&["--connect", url]);
    }
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

/// Fetches are printed as NumPy prints them; targets run; a run is repeated; a server runs the same.
#[test]
fn run_prints() {
    let dir = Workspace::new("run_prints");
    let file = dir.write("g.pb", &graph());
    let x = dir.write_npy("x.npy", &Tensor::from_slice(&[1, 2], &[1.5f32, -2.0]).unwrap());
    let feed = format!("x:0={x}");
    let y = "y:0 float [1,2]\n[[2.5 -1.]]\n";
    let server = Server::start(&["tcp://localhost:0", "quic://localhost:0"], &["--log", "warn", "--device-count", "2"]);
    for place in [vec![], vec!["--connect", &server.urls[0]], vec!["--connect", &server.urls[1]]] {
        let run = |args: &[&str]| success(runstep().args(["run", &file]).args(&place).args(args));
        assert_eq!(run(&["--feed", &feed, "--fetch", "y:0"]), y);
        assert_eq!(run(&["--feed", &feed, "--fetch", "y:0", "--repeat", "3"]), y);
        assert_eq!(run(&["--init", "init", "--fetch", "scope/value:0"]), "scope/value:0 float []\n1.\n");
        assert_eq!(run(&["--target", "init"]), "");
        let said = failure(runstep().args(["run", &file, "--fetch", "nothing:0"]).args(&place), 1);
        assert!(said.contains("NOT_FOUND") && said.contains("nothing"), "{said}");
        let said = failure(runstep().args(["run", &file, "--fetch", "exotic:0"]).args(&place), 1);
        assert!(said.contains("UNIMPLEMENTED") && said.contains("Betainc"), "{said}");
    }
    assert_eq!(server.stop("-INT").code(), Some(0));
}

/// A step that would never end is cancelled by the signal; its caller is told, and the server ends well.
#[test]
fn a_signal_cancels_running_steps() {
    let server = Server::start(&["tcp://127.0.0.1:0"], &[]);
    let error = smol::block_on(async {
        let client = Client::new(Arc::new(TcpChannel::connect(&server.urls[0]).await.unwrap()));
        let session = client.create_session(looping(), Default::default()).await.unwrap();
        let endless = smol::spawn(async move { session.run(&[], &["after:0"], &[]).await.unwrap_err() });
        // Calls of one connection are begun in order, so after this answer the step runs.
        while client.list_devices().await.unwrap().is_empty() {}
        assert_eq!(server.stop("-TERM").code(), Some(0));
        endless.await
    });
    assert!([Code::Cancelled, Code::Unavailable, Code::Aborted].contains(&error.code()), "{error}");
}

/// Certificates made by the program serve it: a client is believed with one and refused without.
#[test]
fn certificates() {
    let dir = Workspace::new("certificates");
    let file = dir.write("g.pb", &graph());
    let certs = dir.path("certs");
    let made = success(runstep().args(["cert", "localhost", "127.0.0.1", "--out", &certs]));
    assert_eq!(made.lines().count(), 6, "{made}");
    let again = failure(runstep().args(["cert", "localhost", "--out", &certs]), 1);
    assert!(again.contains("ca.pem"), "{again}");
    let [ca, cert, key, client, client_key] =
        ["ca.pem", "server.pem", "server.key", "client.pem", "client.key"].map(|name| format!("{certs}/{name}"));
    let server = Server::start(
        &["quic://127.0.0.1:0"],
        &["--cert", &cert, "--key", &key, "--client-ca", &ca, "--job", "worker"],
    );
    let run = |more: &[&str]| {
        let mut command = runstep();
        command.args(["run", &file, "--target", "init", "--connect", &server.urls[0]]).args(more);
        command
    };
    success(&mut run(&["--ca", &ca, "--cert", &client, "--key", &client_key]));
    let said = failure(&mut run(&["--ca", &ca]), 1);
    assert!(said.contains("UNAUTHENTICATED"), "{said}");
    let stranger = dir.path("stranger");
    success(runstep().args(["cert", "localhost", "--out", &stranger]));
    let said = failure(&mut run(&["--ca", &format!("{stranger}/ca.pem"), "--cert", &client, "--key", &client_key]), 1);
    assert!(said.contains("UNAUTHENTICATED"), "{said}");
    assert_eq!(server.stop("-TERM").code(), Some(0));
}

/// The report names inputs, outputs and what cannot run, for people and as JSON; pictures are written.
#[test]
fn inspect_reports() {
    let dir = Workspace::new("inspect");
    let file = dir.write("g.pb", &graph());
    let text = success(runstep().args(["inspect", &file]));
    for part in ["x:0  float [?,2]", "y:0", "init", "scope/v  float []", "Betainc (no kernel): exotic", "constants: 1"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let (dot, svg) = (dir.path("g.dot"), dir.path("g.svg"));
    let json = success(runstep().args(["inspect", &file, "--json", "--dot", &dot, "--svg", &svg]));
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["unsupported"][0]["op"], "Betainc");
    assert_eq!(report["inputs"][0]["shape"], serde_json::json!([-1, 2]));
    assert_eq!(report["outputs"][0]["name"], "y:0");
    assert!(dir.read("g.dot").starts_with(b"digraph {"));
    assert!(dir.read("g.svg").starts_with(b"<svg "));
    let model = models::all().into_iter().find(|model| model.name == "kws_dscnn").expect("the model");
    let file = dir.write("kws.pb", &model.graph());
    let report: serde_json::Value =
        serde_json::from_str(&success(runstep().args(["inspect", &file, "--json"]))).unwrap();
    assert_eq!(report["problems"], serde_json::json!([]));
    assert_eq!(report["inputs"].as_array().map(Vec::len), Some(1));
}

/// What is no graph, no array or no argument says so in one line, with the exit code of its kind.
#[test]
fn failures() {
    let dir = Workspace::new("failures");
    let good = dir.write("g.pb", &graph());
    let mut bad = graph();
    bad.truncate(bad.len() - 3);
    for (name, bytes, said) in [
        ("empty.pb", &b""[..], "an empty file"),
        ("model.tflite", b"\x1c\0\0\0TFL3", "TensorFlow Lite"),
        ("graph.pbtxt", b"node {\n  name: \"a\"\n}\n", "text form"),
        ("model.zip", b"PK\x03\x04", "zip archive"),
        ("saved_model.pb", b"\x08\x01\x12\x02\x0a\x00", "SavedModel"),
        ("cut.pb", &bad, "no GraphDef, or a damaged one"),
    ] {
        let file = dir.write(name, bytes);
        for command in [vec!["inspect", &file], vec!["run", &file, "--fetch", "y:0"]] {
            let line = failure(runstep().args(command), 1);
            assert!(line.contains(said) && line.contains(name), "{line}");
        }
    }
    let absent = failure(runstep().args(["inspect", &dir.path("absent.pb")]), 1);
    assert!(absent.contains("absent.pb"), "{absent}");
    let feed = format!("x:0={good}");
    let line = failure(runstep().args(["run", &good, "--feed", &feed, "--fetch", "y:0"]), 1);
    assert!(line.contains("no .npy file"), "{line}");
    let line = failure(runstep().args(["run", &good, "--fetch", "y:0"]), 1);
    assert!(line.contains("INVALID_ARGUMENT") && line.contains("placeholder"), "{line}");
    let line = failure(runstep().args(["run", &good, "--fetch", "y:0", "--connect", "tcp://127.0.0.1:1"]), 1);
    assert!(line.contains("UNAVAILABLE"), "{line}");
    let line = failure(runstep().args(["serve", "--listen", "tcp://192.0.2.1:1"]), 1);
    assert!(line.contains("tcp://192.0.2.1:1"), "{line}");
    for wrong in [vec!["run", &good], vec!["serve"], vec!["serve", "--listen", "ftp://h:1"], vec!["dance"]] {
        failure(runstep().args(wrong), 2);
    }
}
