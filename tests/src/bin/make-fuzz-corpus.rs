//! Writes the kept inputs of the fuzz targets in `fuzz/corpus`: small graphs of the golden cases, one an op, the calls that
//! carry them, and frames with those calls.
//!
//! `cargo run -p runstep-tests --bin make-fuzz-corpus`; what it makes is checked in.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use runstep::Status;
use runstep::service::frame::{Kind, Outgoing};
use runstep::service::*;
use runstep::tensor::{Budget, DType, Shape, Str, Tensor};
use runstep::wire::{Allowance, Layout, Limits, encode_request, encode_response, graph_from_bytes};
use runstep_tests::golden;

/// Graphs longer than this teach a fuzzer little.
const GRAPH_LEN_MAX: usize = 1500;
const FAMILIES: [&str; 10] =
    ["arrays", "control_flow", "elementwise", "linear", "misuse", "nn", "reductions", "sources", "state", "streams"];

fn main() -> Result<(), Box<dyn Error>> {
    let graphs = graphs();
    for (name, graph) in &graphs {
        write("graph", name, graph)?;
    }
    let (requests, responses) = calls(&graphs)?;
    let budget = Budget::new("corpus", 1 << 20);
    let mut stream = Vec::new();
    for (call, request) in (1..).zip(&requests) {
        let whole = encode_request(request, Layout::Whole)?;
        let number = request.method() as u8;
        let name = format!("{:?}-{call}", request.method());
        write("messages", &name, &[&[number][..], &whole.message].concat())?;
        let frame = Outgoing::request(call, request, CallOptions { timeout_ms: Some(9) })?.into_packet()?;
        write("frames", &name, &frame)?;
        stream.extend(frame);
    }
    for (call, response) in (1..).zip(&responses) {
        let whole = encode_response(response, Layout::Whole)?;
        let number = response.method() as u8 | 16;
        let name = format!("{:?}-{call}-answer", response.method());
        write("messages", &name, &[&[number][..], &whole.message].concat())?;
        write("frames", &name, &Outgoing::answer(call, Ok(response.clone()), &budget).into_packet()?)?;
    }
    for kind in [Kind::Cancel, Kind::Ping, Kind::Pong, Kind::Goodbye] {
        stream.extend(Outgoing::control(1, kind).into_packet()?);
    }
    stream.extend(
        Outgoing::error(3, &Status::not_found("no such node").at_node("n").with_payload("u", b"p")).into_packet()?,
    );
    write("frames", "stream", &stream)?;
    Ok(())
}

/// For each op, and each kind of misuse, its smallest case.
fn graphs() -> BTreeMap<String, Vec<u8>> {
    let mut smallest: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for family in FAMILIES {
        for case in golden::load(family).case {
            let first = case.name.split('/').next().unwrap_or_default();
            let name: String = first.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            let known = smallest.get(&name).map_or(GRAPH_LEN_MAX, Vec::len);
            if !case.graph.is_empty() && case.graph.len() < known {
                smallest.insert(name, case.graph);
            }
        }
    }
    smallest
}

fn calls(graphs: &BTreeMap<String, Vec<u8>>) -> Result<(Vec<Request>, Vec<Response>), Status> {
    let allowed = Allowance { limits: Limits::default(), budget: None };
    let graph = |name: &str| match graphs.get(name) {
        Some(graph) => graph_from_bytes(graph.clone().into(), &allowed),
        None => Ok(GraphSpec::default()),
    };
    let handle = || "0123456789abcdef".to_owned();
    let tensors = || -> Result<Vec<Tensor>, Status> {
        Ok(vec![
            Tensor::scalar(1.5f32),
            Tensor::from_slice(&[2, 3], &[1i64, 2, 3, 4, 5, 6])?,
            Tensor::from_slice(&[64], &[0.25f64; 64])?,
            Tensor::from_strings(Shape::new(&[2])?, vec![Str::from_static(b"a"), Str::new()])?,
            Tensor::zeros(DType::Bool, &Shape::new(&[0, 3])?, None)?,
        ])
    };
    let named =
        || -> Result<Vec<(String, Tensor)>, Status> { Ok((0..).map(|i| format!("t{i}:0")).zip(tensors()?).collect()) };
    let names = || vec!["a:0".to_owned(), "b".to_owned()];
    let options = || RunOptions { timeout_in_ms: 5, full_trace: true, output_partition_graphs: true };
    let config = SessionConfig { isolate_session_state: true, device_filters: names(), ..Default::default() };
    let requests = vec![
        Request::CreateSession(CreateSessionRequest { graph: graph("AddV2")?, config, target: "t".into() }),
        Request::CreateSession(CreateSessionRequest { graph: graph("Conv2D")?, ..Default::default() }),
        Request::ExtendSession(ExtendSessionRequest {
            session_handle: handle(),
            graph: graph("Switch")?,
            current_graph_version: 3,
        }),
        Request::PartialRunSetup(PartialRunSetupRequest {
            session_handle: handle(),
            feeds: names(),
            fetches: names(),
            targets: names(),
            request_id: 5,
        }),
        Request::RunStep(RunStepRequest {
            session_handle: handle(),
            feeds: named()?,
            fetches: names(),
            targets: names(),
            options: options(),
            partial_run_handle: "p".into(),
            store_errors_in_response_body: true,
            request_id: 6,
        }),
        Request::CloseSession(CloseSessionRequest { session_handle: handle() }),
        Request::ListDevices(ListDevicesRequest { session_handle: handle() }),
        Request::Reset(ResetRequest { containers: names(), device_filters: names() }),
        Request::MakeCallable(MakeCallableRequest {
            session_handle: handle(),
            options: CallableOptions {
                feeds: names(),
                fetches: names(),
                targets: names(),
                run_options: options(),
                tensor_connections: vec![("a:0".into(), "b:0".into())],
                device_entries: 0,
            },
            request_id: 7,
        }),
        Request::RunCallable(RunCallableRequest {
            session_handle: handle(),
            handle: 1,
            feeds: tensors()?,
            request_id: 8,
        }),
        Request::ReleaseCallable(ReleaseCallableRequest { session_handle: handle(), handle: 1 }),
    ];
    let nodes = vec![NodeStats { name: "n".into(), op: "NoOp".into(), start_micros: 1, run_nanos: 2, outputs: vec![] }];
    let metadata = || RunMetadata {
        step_stats: vec![DeviceStats { device: "d".into(), nodes: nodes.clone() }],
        partition_graphs: vec![],
    };
    let responses = vec![
        Response::CreateSession(CreateSessionResponse { session_handle: handle(), graph_version: 0 }),
        Response::ExtendSession(ExtendSessionResponse { new_graph_version: 4 }),
        Response::PartialRunSetup(PartialRunSetupResponse { partial_run_handle: "p".into() }),
        Response::RunStep(RunStepResponse { tensors: named()?, metadata: metadata(), error: None }),
        Response::ListDevices(ListDevicesResponse::default()),
        Response::MakeCallable(MakeCallableResponse { handle: 1 }),
        Response::RunCallable(RunCallableResponse { fetches: tensors()?, metadata: metadata() }),
    ];
    Ok((requests, responses))
}

fn write(target: &str, name: &str, data: &[u8]) -> std::io::Result<()> {
    let dir: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    fs::create_dir_all(&dir)?;
    fs::write(dir.join(name), data)
}
