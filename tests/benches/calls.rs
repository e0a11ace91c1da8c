//! What a call costs: in process beside a hand-over to another thread, and over each transport beside a bare echo of the
//! same bytes on the same kind of socket. All contestants take turns, round after round; figures are medians.
//!
//! `cargo bench -p runstep-tests --bench calls`; the last lines are `figure NAME VALUE UNIT`.

#[path = "calls/echo.rs"]
mod echo;
#[path = "calls/rounds.rs"]
mod rounds;

use std::sync::Arc;
use std::thread;

use runstep::client::{Callable, Client, Session};
use runstep::graph::GraphBuilder;
use runstep::host::Host;
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::service::{
    CallableOptions, Channel, GraphSpec, Request, Response, RunCallableRequest, RunCallableResponse,
};
use runstep::session::{LocalCallable, MasterOptions, Server};
use runstep::tensor::{DType, Tensor};
use runstep::wire::{Allowance, Layout, Limits, encode_request, encode_response, graph_from_bytes};
use runstep_host::{StdHost, block_on};
use runstep_quic::{ClientOptions, Identity, QuicChannel, ServerOptions, Trust};
use runstep_tcp::TcpChannel;
use runstep_tests::models;

use rounds::{Rounds, figure};

fn main() {
    let feeds = [Tensor::scalar(1.5f32), Tensor::scalar(2.25f32)];
    let one = server(1);
    let two = server(2);
    let mut rounds = Rounds::new();

    for (name, server) in [("inproc_callable_add", &one), ("inproc_callable_add_2_threads", &two)] {
        let mut callable = local(server);
        let mut outputs = [Tensor::default()];
        let feeds = feeds.clone();
        rounds.contestant(name, 2000, move || callable.run(&feeds, &mut outputs).expect("the sum"));
    }
    let session = session(Arc::new(one.clone()));
    let run = move |session: &Session, feeds: &[Tensor; 2]| {
        let feeds = [("a:0", &feeds[0]), ("b:0", &feeds[1])];
        block_on(session.run(&feeds, &["c:0"], &[])).expect("the sum");
    };
    let fed = feeds.clone();
    rounds.contestant("inproc_run_add", 500, move || run(&session, &fed));
    let hand = echo::hand_over();
    rounds.contestant("handover", 200, hand);

    let (memory, behind) = runstep_memory::channel(Arc::new(host(1)), Default::default());
    let served = behind.serve(Arc::new(one.clone()));
    thread::spawn(move || block_on(served));
    contest(&mut rounds, "memory", Arc::new(memory), &feeds);

    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a socket");
    let tcp = runstep_tcp::serve(listener, Arc::new(one.clone()), Default::default(), Default::default());
    let tcp = tcp.expect("a server");
    contest(&mut rounds, "tcp", Arc::new(block_on(TcpChannel::connect(&tcp.url())).expect("a connection")), &feeds);

    let identity = Identity::self_signed(&["localhost"]).expect("a certificate");
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = ServerOptions::new(identity);
    let quic = runstep_quic::serve(address, Arc::new(one.clone()), options).expect("a server");
    let trust = ClientOptions::new(Trust::Anyone);
    let channel = block_on(QuicChannel::connect(&quic.url(), trust)).expect("a connection");
    contest(&mut rounds, "quic", Arc::new(channel), &feeds);

    let (there, back) = lengths(&feeds);
    let tcp_echo = echo::tcp(there, back);
    rounds.contestant("tcp_echo", 100, tcp_echo);
    let blocking = echo::tcp_blocking(there, back);
    rounds.contestant("tcp_echo_blocking", 100, blocking);
    let quinn = echo::quinn(there, back);
    rounds.contestant("quinn_echo", 100, quinn);

    let train = digits(&two);
    rounds.contestant("digits_cnn_step", 3, train);

    let medians = rounds.run(41);
    let ns = |name: &str| medians.iter().find(|(n, _)| *n == name).map_or(f64::NAN, |(_, ns)| *ns);
    for (name, ns) in medians.iter().filter(|(name, _)| *name != "digits_cnn_step") {
        figure(name, *ns, "ns");
    }
    for (name, ours, other) in [
        ("inproc_callable_of_handover", "inproc_callable_add", "handover"),
        ("inproc_callable_2_threads_of_1", "inproc_callable_add_2_threads", "inproc_callable_add"),
        ("memory_of_handover", "memory_callable_add", "handover"),
        ("tcp_of_echo", "tcp_callable_add", "tcp_echo"),
        ("quic_of_quinn_echo", "quic_callable_add", "quinn_echo"),
    ] {
        figure(name, ns(ours) / ns(other), "ratio");
    }
    figure("digits_cnn", 1e9 / ns("digits_cnn_step"), "steps/s");
}

fn host(threads: usize) -> StdHost {
    StdHost::with_threads(threads).expect("threads")
}

fn server(threads: usize) -> Server {
    let registry = Arc::new(Registry::new(ALL).expect("the ops").with_known(KNOWN));
    let host: Arc<dyn Host> = Arc::new(host(threads));
    Server::new(MasterOptions::new(registry), host).expect("a server")
}

/// `c = a + b`, all scalars.
fn add() -> GraphSpec {
    let registry = Registry::new(ALL).expect("the ops");
    let mut g = GraphBuilder::new(&registry);
    let a = g.placeholder("a", DType::Float, &[]).expect("a");
    let b = g.placeholder("b", DType::Float, &[]).expect("b");
    g.op("AddV2", "c", &[&a, &b]).expect("c");
    g.take_nodes().into()
}

fn session(channel: Arc<dyn Channel>) -> Session {
    block_on(Client::new(channel).create_session(add(), Default::default())).expect("a session")
}

fn options() -> CallableOptions {
    CallableOptions { feeds: vec!["a:0".into(), "b:0".into()], fetches: vec!["c:0".into()], ..Default::default() }
}

fn local(server: &Server) -> LocalCallable {
    let session = session(Arc::new(server.clone()));
    let callable = block_on(server.local_callable(session.handle(), options())).expect("a callable");
    // The session lives as long as the bench.
    std::mem::forget(session);
    callable
}

/// RunCallable and RunStep of the add over a channel.
fn contest(rounds: &mut Rounds, name: &str, channel: Arc<dyn Channel>, feeds: &[Tensor; 2]) {
    let session = session(channel);
    let callable: Callable = block_on(session.callable(options())).expect("a callable");
    let fed = feeds.clone();
    rounds.contestant(&format!("{name}_callable_add"), 100, move || {
        block_on(callable.run(&fed)).expect("the sum");
    });
    let fed = feeds.clone();
    rounds.contestant(&format!("{name}_run_add"), 100, move || {
        block_on(session.run(&[("a:0", &fed[0]), ("b:0", &fed[1])], &["c:0"], &[])).expect("the sum");
    });
}

/// Bytes of a RunCallable of the add and of its answer, with the header of the frames.
fn lengths(feeds: &[Tensor; 2]) -> (usize, usize) {
    const FRAME: usize = 12 + 10;
    let request = RunCallableRequest {
        session_handle: "0123456789abcdef".repeat(2),
        feeds: feeds.to_vec(),
        ..Default::default()
    };
    let request = encode_request(&Request::RunCallable(request), Layout::Apart).expect("bytes");
    let response = RunCallableResponse { fetches: vec![feeds[0].clone()], ..Default::default() };
    let response = encode_response(&Response::RunCallable(response), Layout::Apart).expect("bytes");
    let len = |e: &runstep::wire::Encoded| e.message.len() + e.payloads.iter().map(|p| p.len()).sum::<usize>();
    (FRAME + len(&request), FRAME + len(&response))
}

/// A training step of the digits net in process, batches of 50.
fn digits(server: &Server) -> impl FnMut() + use<> {
    let model = models::all().into_iter().find(|model| model.name == "train_digits_cnn").expect("the model");
    let arrays = model.arrays();
    let allowed = Allowance { limits: Limits::default(), budget: None };
    let graph = graph_from_bytes(model.graph().into(), &allowed).expect("a graph");
    let client = Client::new(Arc::new(server.clone()));
    let session = block_on(client.create_session(graph, Default::default())).expect("a session");
    block_on(session.run(&[], &[], &[&model.init_op])).expect("initial values");
    let first = |name: &str| {
        let all = &arrays[name];
        let rows = all.shape().to_usize();
        let flat = runstep::tensor::Shape::new(&[&[rows[0] * rows[1]], &rows[2..]].concat()).expect("a shape");
        all.reshaped(flat).and_then(|all| all.rows(0, rows[1])).expect("a batch")
    };
    let (x, y) = (first("in_x"), first("in_y"));
    move || drop(block_on(session.run(&[("x:0", &x), ("y:0", &y)], &["loss:0"], &["train"])).expect("a step"))
}
