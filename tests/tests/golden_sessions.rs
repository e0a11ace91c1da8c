//! Golden cases that are about sessions, run by a master as a client reaches it: what creating, extending and running
//! refuses, and steps of one session after each other.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use runstep::Status;
use runstep::client;
use runstep::host::NoHost;
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::service::{CallOptions, ExtendSessionRequest, Request, Response, RunStepRequest, Service, SessionConfig};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::Tensor;
use runstep::wire::{self, ConfigProto, GraphDef, Limits, TensorProto};
use runstep_host::block_on;
use runstep_tests::runner::{Engine, Otherwise, Session, check};

struct Master {
    server: Server,
    registry: Arc<Registry>,
}

struct OpenSession {
    server: Server,
    session: client::Session,
}

fn master() -> Master {
    let registry = Arc::new(Registry::new(ALL).unwrap().with_known(KNOWN));
    let mut options = MasterOptions::new(registry.clone());
    options.job = "worker".into();
    Master { server: Server::new(options, Arc::new(NoHost)).unwrap(), registry }
}

fn graph(bytes: &[u8]) -> Result<runstep::service::GraphSpec, Status> {
    let graph: GraphDef = wire::decode(Bytes::copy_from_slice(bytes), &Limits::default())?;
    wire::graph_from_proto(graph, None)
}

impl Engine for Master {
    type Session = OpenSession;

    fn lacks(&self, graph: &[u8]) -> Option<String> {
        let graph: GraphDef = wire::decode(Bytes::copy_from_slice(graph), &Limits::default()).ok()?;
        let lacks = |op: &String| self.registry.find(op).is_ok_and(|info| info.op.is_none());
        let functions = graph.library.unwrap_or_default().function;
        let names: Vec<String> =
            functions.iter().filter_map(|f| f.signature.as_ref()).map(|signature| signature.name.clone()).collect();
        let nodes = graph.node.into_iter().chain(functions.into_iter().flat_map(|f| f.node_def));
        nodes.map(|node| node.op).filter(|op| !names.contains(op)).find(lacks)
    }

    fn create(&mut self, bytes: &[u8], config: &[u8]) -> Result<OpenSession, Status> {
        let config: ConfigProto = wire::decode(Bytes::copy_from_slice(config), &Limits::default())?;
        let config = SessionConfig { isolate_session_state: true, ..wire::config_from_proto(config) };
        let client = client::Client::new(Arc::new(self.server.clone()));
        let session = block_on(client.create_session(graph(bytes)?, config))?;
        Ok(OpenSession { server: self.server.clone(), session })
    }
}

impl OpenSession {
    fn call(&self, request: Request) -> Result<Response, Status> {
        block_on(Service::call(&self.server, request, CallOptions::default()))
    }
}

impl Session for OpenSession {
    fn extend(&mut self, bytes: &[u8], version: i64) -> Result<(), Status> {
        let request = ExtendSessionRequest {
            session_handle: self.session.handle().into(),
            graph: graph(bytes)?,
            current_graph_version: version,
        };
        self.call(Request::ExtendSession(request)).map(|_| ())
    }

    fn run(
        &mut self,
        feeds: &[(String, TensorProto)],
        fetches: &[String],
        targets: &[String],
    ) -> Result<BTreeMap<String, Tensor>, Status> {
        let feeds = feeds.iter().map(|(name, value)| Ok((name.clone(), wire::tensor_from_proto(value, None)?)));
        let request = RunStepRequest {
            session_handle: self.session.handle().into(),
            feeds: feeds.collect::<Result<_, Status>>()?,
            fetches: fetches.to_vec(),
            targets: targets.to_vec(),
            ..RunStepRequest::default()
        };
        match self.call(Request::RunStep(request))? {
            Response::RunStep(response) => Ok(response.tensors.into_iter().collect()),
            other => panic!("{other:?}"),
        }
    }
}

const TENSOR: &str = "a constant that cannot be is refused when the graph is read, not when a run needs it";

/// Where a master means to answer otherwise than TensorFlow.
const MISUSE: &Otherwise = &[
    ("create/constant: content too short", &[0], TENSOR),
    ("create/constant: content too long", &[0], TENSOR),
    ("create/constant: negative dimension", &[0], TENSOR),
    ("create/constant: overflowing dimensions", &[0], TENSOR),
    ("create/constant: huge but empty", &[0], TENSOR),
    ("create/constant: dtype 0", &[0], TENSOR),
    ("create/constant: reference dtype", &[0], TENSOR),
    ("create/constant: unknown dtype", &[0], TENSOR),
];

/// Where calls of functions mean to be answered otherwise.
const FUNCTIONS: &Otherwise = &[];

#[test]
fn misuse() {
    check(&mut master(), "misuse", MISUSE);
}

#[test]
fn control_flow() {
    check(&mut master(), "control_flow", &[]);
}

#[test]
fn functions() {
    check(&mut master(), "functions", FUNCTIONS);
}
