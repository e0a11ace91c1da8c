//! Calls of a master as bytes: one message, and the large tensors in it or beside it.
//!
//! gRPC has whole messages. The native transports send the bytes of large tensors after the message, in the order in which
//! the message names them, so that they are never copied here and can be aligned. Which ones those are follows from
//! dtype and shape alone; the message holds no mark of it.

use alloc::string::String;
use alloc::vec::{self, Vec};

use bytes::Bytes;

use super::generated as g;
use super::graph::graph_to_proto;
use super::message::{Allowance, Message, decode, decode_charged, encode};
use super::options;
use super::shape::{dtype_from_proto, shape_from_proto};
use super::stream;
use super::tensor::{SHARED_LEN_MIN, tensor_from_proto, tensor_to_proto};
use crate::service::*;
use crate::tensor::{Charge, Tensor};
use crate::{Code, Status};

/// Where the bytes of large tensors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// In the message, as TensorFlow has it.
    Whole,
    /// Beside the message.
    Apart,
    /// Taken out of a whole message while it arrived: in the place of every content that is not small stands a token of
    /// [`token`], with the number of its payload.
    Sieved,
}

/// An encoded request or response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// The message.
    pub message: Bytes,
    /// The bytes of large tensors, in order; none with [`Layout::Whole`].
    pub payloads: Vec<Bytes>,
}

/// The bytes of a request.
///
/// # Errors
/// UNIMPLEMENTED for a tensor that cannot be sent.
pub fn encode_request(request: &Request, layout: Layout) -> Result<Encoded, Status> {
    let mut out = Sender { layout, payloads: Vec::new() };
    let message = match request {
        Request::CreateSession(r) => encode(&g::CreateSessionRequest {
            graph_def: Some(graph_to_proto(&r.graph)?),
            config: Some(options::config_to_proto(&r.config)),
            target: r.target.clone(),
        }),
        Request::ExtendSession(r) => encode(&g::ExtendSessionRequest {
            session_handle: r.session_handle.clone(),
            graph_def: Some(graph_to_proto(&r.graph)?),
            current_graph_version: r.current_graph_version,
        }),
        Request::PartialRunSetup(r) => encode(&g::PartialRunSetupRequest {
            session_handle: r.session_handle.clone(),
            feed: r.feeds.clone(),
            fetch: r.fetches.clone(),
            target: r.targets.clone(),
            request_id: r.request_id,
        }),
        Request::RunStep(r) => encode(&run_step_request(r, out.named(&r.feeds)?)),
        Request::CloseSession(r) => encode(&g::CloseSessionRequest { session_handle: r.session_handle.clone() }),
        Request::ListDevices(r) => encode(&g::ListDevicesRequest { session_handle: r.session_handle.clone() }),
        Request::Reset(r) => {
            encode(&g::ResetRequest { container: r.containers.clone(), device_filters: r.device_filters.clone() })
        }
        Request::MakeCallable(r) => encode(&g::MakeCallableRequest {
            session_handle: r.session_handle.clone(),
            options: Some(options::callable_options_to_proto(&r.options)),
            request_id: r.request_id,
        }),
        Request::RunCallable(r) => encode(&run_callable_request(r, out.tensors(&r.feeds)?)),
        Request::ReleaseCallable(r) => {
            encode(&g::ReleaseCallableRequest { session_handle: r.session_handle.clone(), handle: r.handle })
        }
    };
    Ok(Encoded { message, payloads: out.payloads })
}

/// The request of received bytes. Payloads and, where it pays, parts of the message are shared with it.
///
/// # Errors
/// INVALID_ARGUMENT for a malformed message, graph or tensor and for payloads too few, too many or of a wrong length;
/// RESOURCE_EXHAUSTED beyond the allowance; UNIMPLEMENTED for a tensor that cannot be received.
pub fn decode_request(
    method: Method,
    encoded: Encoded,
    layout: Layout,
    allowed: &Allowance,
) -> Result<Request, Status> {
    let Encoded { message, payloads } = encoded;
    let mut from = Receiver::new(layout, payloads, allowed);
    let request = match method {
        Method::CreateSession => {
            let r: stream::CreateSession = from.message(message)?;
            Request::CreateSession(CreateSessionRequest {
                graph: stream::graph_from_bytes(r.graph_def, allowed)?,
                config: options::config_from_proto(r.config.unwrap_or_default()),
                target: r.target,
            })
        }
        Method::ExtendSession => {
            let r: stream::ExtendSession = from.message(message)?;
            Request::ExtendSession(ExtendSessionRequest {
                session_handle: r.session_handle,
                graph: stream::graph_from_bytes(r.graph_def, allowed)?,
                current_graph_version: r.current_graph_version,
            })
        }
        Method::PartialRunSetup => {
            let r: g::PartialRunSetupRequest = from.message(message)?;
            Request::PartialRunSetup(PartialRunSetupRequest {
                session_handle: r.session_handle,
                feeds: r.feed,
                fetches: r.fetch,
                targets: r.target,
                request_id: r.request_id,
            })
        }
        Method::RunStep => {
            let r: g::RunStepRequest = from.message(message)?;
            Request::RunStep(RunStepRequest {
                session_handle: r.session_handle,
                feeds: from.named(r.feed)?,
                fetches: r.fetch,
                targets: r.target,
                options: r.options.as_ref().map(options::run_options_from_proto).unwrap_or_default(),
                partial_run_handle: r.partial_run_handle,
                store_errors_in_response_body: r.store_errors_in_response_body,
                request_id: r.request_id,
            })
        }
        Method::CloseSession => {
            let r: g::CloseSessionRequest = from.message(message)?;
            Request::CloseSession(CloseSessionRequest { session_handle: r.session_handle })
        }
        Method::ListDevices => {
            let r: g::ListDevicesRequest = from.message(message)?;
            Request::ListDevices(ListDevicesRequest { session_handle: r.session_handle })
        }
        Method::Reset => {
            let r: g::ResetRequest = from.message(message)?;
            Request::Reset(ResetRequest { containers: r.container, device_filters: r.device_filters })
        }
        Method::MakeCallable => {
            let r: g::MakeCallableRequest = from.message(message)?;
            Request::MakeCallable(MakeCallableRequest {
                session_handle: r.session_handle,
                options: options::callable_options_from_proto(r.options.unwrap_or_default()),
                request_id: r.request_id,
            })
        }
        Method::RunCallable => {
            let r: g::RunCallableRequest = from.message(message)?;
            Request::RunCallable(RunCallableRequest {
                session_handle: r.session_handle,
                handle: r.handle,
                feeds: from.tensors(r.feed)?,
                request_id: r.request_id,
            })
        }
        Method::ReleaseCallable => {
            let r: g::ReleaseCallableRequest = from.message(message)?;
            Request::ReleaseCallable(ReleaseCallableRequest { session_handle: r.session_handle, handle: r.handle })
        }
    };
    from.finish()?;
    Ok(request)
}

/// The bytes of a response.
///
/// # Errors
/// UNIMPLEMENTED for a tensor that cannot be sent.
pub fn encode_response(response: &Response, layout: Layout) -> Result<Encoded, Status> {
    let mut out = Sender { layout, payloads: Vec::new() };
    let devices = |list: &[DeviceAttributes]| list.iter().map(options::device_to_proto).collect();
    let message = match response {
        Response::CreateSession(r) => encode(&g::CreateSessionResponse {
            session_handle: r.session_handle.clone(),
            graph_version: r.graph_version,
        }),
        Response::ExtendSession(r) => encode(&g::ExtendSessionResponse { new_graph_version: r.new_graph_version }),
        Response::PartialRunSetup(r) => {
            encode(&g::PartialRunSetupResponse { partial_run_handle: r.partial_run_handle.clone() })
        }
        Response::RunStep(r) => encode(&run_step_response(r, out.named(&r.tensors)?)?),
        Response::CloseSession => encode(&g::CloseSessionResponse {}),
        Response::ListDevices(r) => encode(&g::ListDevicesResponse {
            local_device: devices(&r.local_devices),
            remote_device: devices(&r.remote_devices),
        }),
        Response::Reset => encode(&g::ResetResponse {}),
        Response::MakeCallable(r) => encode(&g::MakeCallableResponse { handle: r.handle }),
        Response::RunCallable(r) => encode(&run_callable_response(r, out.tensors(&r.fetches)?)?),
        Response::ReleaseCallable => encode(&g::ReleaseCallableResponse {}),
    };
    Ok(Encoded { message, payloads: out.payloads })
}

/// The response of received bytes, to a call of `method`.
///
/// # Errors
/// As [`decode_request`].
pub fn decode_response(
    method: Method,
    encoded: Encoded,
    layout: Layout,
    allowed: &Allowance,
) -> Result<Response, Status> {
    let Encoded { message, payloads } = encoded;
    let mut from = Receiver::new(layout, payloads, allowed);
    let devices = |list: Vec<g::DeviceAttributes>| list.into_iter().map(options::device_from_proto).collect();
    let metadata = |m: Option<g::RunMetadata>| options::metadata_from_proto(m.unwrap_or_default(), allowed.budget);
    let response = match method {
        Method::CreateSession => {
            let r: g::CreateSessionResponse = from.message(message)?;
            Response::CreateSession(CreateSessionResponse {
                session_handle: r.session_handle,
                graph_version: r.graph_version,
            })
        }
        Method::ExtendSession => {
            let r: g::ExtendSessionResponse = from.message(message)?;
            Response::ExtendSession(ExtendSessionResponse { new_graph_version: r.new_graph_version })
        }
        Method::PartialRunSetup => {
            let r: g::PartialRunSetupResponse = from.message(message)?;
            Response::PartialRunSetup(PartialRunSetupResponse { partial_run_handle: r.partial_run_handle })
        }
        Method::RunStep => {
            let r: g::RunStepResponse = from.message(message)?;
            let failed = r.status_code != Code::Ok as i32;
            Response::RunStep(RunStepResponse {
                tensors: from.named(r.tensor)?,
                metadata: metadata(r.metadata)?,
                error: failed.then(|| (Code::from_i32(r.status_code), r.status_error_message)),
            })
        }
        Method::CloseSession => from.message::<g::CloseSessionResponse>(message).map(|_| Response::CloseSession)?,
        Method::ListDevices => {
            let r: g::ListDevicesResponse = from.message(message)?;
            Response::ListDevices(ListDevicesResponse {
                local_devices: devices(r.local_device),
                remote_devices: devices(r.remote_device),
            })
        }
        Method::Reset => from.message::<g::ResetResponse>(message).map(|_| Response::Reset)?,
        Method::MakeCallable => {
            let r: g::MakeCallableResponse = from.message(message)?;
            Response::MakeCallable(MakeCallableResponse { handle: r.handle })
        }
        Method::RunCallable => {
            let r: g::RunCallableResponse = from.message(message)?;
            Response::RunCallable(RunCallableResponse {
                fetches: from.tensors(r.fetch)?,
                metadata: metadata(r.metadata)?,
            })
        }
        Method::ReleaseCallable => {
            from.message::<g::ReleaseCallableResponse>(message).map(|_| Response::ReleaseCallable)?
        }
    };
    from.finish()?;
    Ok(response)
}

pub(super) fn run_step_request(r: &RunStepRequest, feed: Vec<g::NamedTensorProto>) -> g::RunStepRequest {
    g::RunStepRequest {
        session_handle: r.session_handle.clone(),
        feed,
        fetch: r.fetches.clone(),
        target: r.targets.clone(),
        options: options::run_options_to_proto(&r.options),
        partial_run_handle: r.partial_run_handle.clone(),
        store_errors_in_response_body: r.store_errors_in_response_body,
        request_id: r.request_id,
    }
}

pub(super) fn run_callable_request(r: &RunCallableRequest, feed: Vec<g::TensorProto>) -> g::RunCallableRequest {
    g::RunCallableRequest { session_handle: r.session_handle.clone(), handle: r.handle, feed, request_id: r.request_id }
}

pub(super) fn run_step_response(
    r: &RunStepResponse,
    tensor: Vec<g::NamedTensorProto>,
) -> Result<g::RunStepResponse, Status> {
    let (code, text) = r.error.as_ref().map_or((Code::Ok, ""), |(code, text)| (*code, text.as_str()));
    Ok(g::RunStepResponse {
        tensor,
        metadata: options::metadata_to_proto(&r.metadata)?,
        status_code: code as i32,
        status_error_message: text.into(),
    })
}

pub(super) fn run_callable_response(
    r: &RunCallableResponse,
    fetch: Vec<g::TensorProto>,
) -> Result<g::RunCallableResponse, Status> {
    Ok(g::RunCallableResponse { fetch, metadata: options::metadata_to_proto(&r.metadata)? })
}

/// What stands for a content that was taken out of a message, of the length from which contents are taken out: no
/// content that was left in is as long, so that a token cannot be mistaken.
pub fn token(payload: usize) -> [u8; TOKEN_LEN] {
    let mut token = [0; TOKEN_LEN];
    if let Some(start) = token.first_chunk_mut() {
        *start = (payload as u64).to_le_bytes();
    }
    token
}

/// Bytes of a token, and the length from which a content is taken out of its message.
pub const TOKEN_LEN: usize = SHARED_LEN_MIN;

struct Sender {
    layout: Layout,
    payloads: Vec<Bytes>,
}

impl Sender {
    fn tensor(&mut self, tensor: &Tensor) -> Result<g::TensorProto, Status> {
        let mut message = tensor_to_proto(tensor)?;
        if self.layout == Layout::Apart && message.tensor_content.len() >= SHARED_LEN_MIN {
            self.payloads.push(core::mem::take(&mut message.tensor_content));
        }
        Ok(message)
    }

    fn tensors(&mut self, tensors: &[Tensor]) -> Result<Vec<g::TensorProto>, Status> {
        tensors.iter().map(|tensor| self.tensor(tensor)).collect()
    }

    fn named(&mut self, tensors: &[(String, Tensor)]) -> Result<Vec<g::NamedTensorProto>, Status> {
        let named = |(name, tensor): &(String, Tensor)| {
            let tensor = self.tensor(tensor).map_err(|error| error.context(format_args!("tensor '{name}'")))?;
            Ok(g::NamedTensorProto { name: name.clone(), tensor: Some(tensor) })
        };
        tensors.iter().map(named).collect()
    }
}

struct Receiver<'a> {
    layout: Layout,
    payloads: vec::IntoIter<Bytes>,
    allowed: &'a Allowance<'a>,
    /// Held until the call is in its native form.
    charge: Option<Charge>,
}

impl<'a> Receiver<'a> {
    fn new(layout: Layout, payloads: Vec<Bytes>, allowed: &'a Allowance<'a>) -> Self {
        Receiver { layout, payloads: payloads.into_iter(), allowed, charge: None }
    }

    fn message<M: Message>(&mut self, bytes: Bytes) -> Result<M, Status> {
        let Some(budget) = self.allowed.budget else { return decode(bytes, &self.allowed.limits) };
        let (message, charge) = decode_charged(bytes, &self.allowed.limits, budget)?;
        self.charge = Some(charge);
        Ok(message)
    }

    fn tensor(&mut self, mut message: g::TensorProto) -> Result<Tensor, Status> {
        if self.layout == Layout::Sieved && message.tensor_content.len() >= TOKEN_LEN {
            let number = message.tensor_content.first_chunk().map(|start| u64::from_le_bytes(*start));
            let payload = number.and_then(|number| self.payloads.as_slice().get(usize::try_from(number).ok()?));
            message.tensor_content =
                payload.cloned().ok_or_else(|| Status::invalid_argument("the bytes of a tensor are missing"))?;
        } else if self.layout == Layout::Apart && is_apart(&message)? {
            let payload = self.payloads.next();
            message.tensor_content =
                payload.ok_or_else(|| Status::invalid_argument("the bytes of a tensor are missing"))?;
        }
        tensor_from_proto(&message, self.allowed.budget)
    }

    fn tensors(&mut self, messages: Vec<g::TensorProto>) -> Result<Vec<Tensor>, Status> {
        messages.into_iter().map(|message| self.tensor(message)).collect()
    }

    fn named(&mut self, messages: Vec<g::NamedTensorProto>) -> Result<Vec<(String, Tensor)>, Status> {
        let named = |message: g::NamedTensorProto| match self.tensor(message.tensor.unwrap_or_default()) {
            Ok(tensor) => Ok((message.name, tensor)),
            Err(error) => Err(error.context(format_args!("tensor '{}'", message.name.escape_debug()))),
        };
        messages.into_iter().map(named).collect()
    }

    fn finish(mut self) -> Result<(), Status> {
        match self.payloads.next() {
            None => Ok(()),
            // Of a field that came again, the last counts, and the payloads of the others are nobody's.
            Some(_) if self.layout == Layout::Sieved => Ok(()),
            Some(_) => Err(Status::invalid_argument("there are bytes of more tensors than the message names")),
        }
    }
}

/// Whether a tensor's bytes are beside its message: plain ones that are not few, as [`Sender::tensor`] decides.
fn is_apart(message: &g::TensorProto) -> Result<bool, Status> {
    let dtype = dtype_from_proto(message.dtype)?;
    let shape = message.tensor_shape.as_ref().map(shape_from_proto).transpose()?.unwrap_or_default();
    Ok(dtype.is_plain() && shape.num_bytes(dtype.size())? >= SHARED_LEN_MIN)
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;
    use crate::graph::{NodeSpec, Versions};
    use crate::tensor::{Budget, DType, Shape, Str};

    fn tensors() -> Vec<(String, Tensor)> {
        let strings = vec![Str::from_static(b"a"), Str::from(vec![b'b'; 5000])];
        vec![
            ("scalar:0".into(), Tensor::scalar(1.5f32)),
            ("large:0".into(), Tensor::from_slice(&[2, 500], &[7i64; 1000]).unwrap()),
            ("empty:0".into(), Tensor::from_slice::<f32>(&[0, 9000], &[]).unwrap()),
            ("strings:0".into(), Tensor::from_strings(Shape::new(&[2]).unwrap(), strings).unwrap()),
            ("bools:0".into(), Tensor::from_slice(&[2048], &[true; 2048]).unwrap()),
        ]
    }

    fn unnamed() -> Vec<Tensor> {
        tensors().into_iter().map(|(_, tensor)| tensor).collect()
    }

    fn graph() -> GraphSpec {
        let attrs = vec![("dtype".into(), DType::Int64.into()), ("value".into(), tensors().remove(1).1.into())];
        let node = NodeSpec { name: "c".into(), op: "Const".into(), attrs, ..Default::default() };
        let versions = Versions { producer: 3, min_consumer: 1, bad_consumers: vec![2] };
        GraphSpec { nodes: vec![node], functions: Vec::new(), versions }
    }

    fn metadata() -> RunMetadata {
        let node = NodeStats {
            name: "n".into(),
            op: "Add".into(),
            start_micros: 1_700_000_000_000_000,
            run_nanos: 1_234,
            outputs: vec![(DType::Float, Shape::new(&[2, 3]).unwrap())],
        };
        let stats = DeviceStats { device: "/device:CPU:0".into(), nodes: vec![node] };
        RunMetadata { step_stats: vec![stats], partition_graphs: vec![graph()] }
    }

    fn requests() -> Vec<Request> {
        let names = |list: &[&str]| list.iter().map(|name| String::from(*name)).collect::<Vec<_>>();
        let options = RunOptions { timeout_in_ms: 9, full_trace: true, output_partition_graphs: true };
        let config = SessionConfig {
            isolate_session_state: true,
            session_inter_op_thread_pools: 2,
            device_filters: names(&["/job:a"]),
            operation_timeout_in_ms: 7,
            ..Default::default()
        };
        let session_handle: String = "0123456789abcdef".into();
        vec![
            Request::CreateSession(CreateSessionRequest { graph: graph(), config, target: "grpc://a:1".into() }),
            Request::ExtendSession(ExtendSessionRequest {
                session_handle: session_handle.clone(),
                graph: graph(),
                current_graph_version: 4,
            }),
            Request::PartialRunSetup(PartialRunSetupRequest {
                session_handle: session_handle.clone(),
                feeds: names(&["a"]),
                fetches: names(&["b", "c"]),
                targets: names(&["d"]),
                request_id: -1,
            }),
            Request::RunStep(RunStepRequest {
                session_handle: session_handle.clone(),
                feeds: tensors(),
                fetches: names(&["b:0", "c:1"]),
                targets: names(&["t"]),
                options: options.clone(),
                partial_run_handle: "0".into(),
                store_errors_in_response_body: true,
                request_id: 5,
            }),
            Request::CloseSession(CloseSessionRequest { session_handle: session_handle.clone() }),
            Request::ListDevices(ListDevicesRequest { session_handle: session_handle.clone() }),
            Request::Reset(ResetRequest { containers: names(&["x"]), device_filters: names(&["/cpu:0"]) }),
            Request::MakeCallable(MakeCallableRequest {
                session_handle: session_handle.clone(),
                options: CallableOptions {
                    feeds: names(&["a", "b"]),
                    fetches: names(&["c"]),
                    targets: names(&["d"]),
                    run_options: options,
                    tensor_connections: vec![("e".into(), "f".into())],
                    device_entries: 3,
                },
                request_id: 6,
            }),
            Request::RunCallable(RunCallableRequest {
                session_handle: session_handle.clone(),
                handle: 2,
                feeds: unnamed(),
                request_id: 7,
            }),
            Request::ReleaseCallable(ReleaseCallableRequest { session_handle, handle: 2 }),
        ]
    }

    fn responses() -> Vec<(Method, Response)> {
        let device = DeviceAttributes {
            name: "/job:a/replica:0/task:0/device:CPU:0".into(),
            device_type: "CPU".into(),
            memory_limit: 1 << 28,
            incarnation: u64::MAX,
        };
        let run = |error| RunStepResponse { tensors: tensors(), metadata: metadata(), error };
        let created = CreateSessionResponse { session_handle: "h".into(), graph_version: 0 };
        let devices = ListDevicesResponse { local_devices: vec![device.clone()], remote_devices: vec![device] };
        let callable = RunCallableResponse { fetches: unnamed(), metadata: RunMetadata::default() };
        vec![
            (Method::CreateSession, Response::CreateSession(created)),
            (Method::ExtendSession, Response::ExtendSession(ExtendSessionResponse { new_graph_version: 3 })),
            (
                Method::PartialRunSetup,
                Response::PartialRunSetup(PartialRunSetupResponse { partial_run_handle: "1".into() }),
            ),
            (Method::RunStep, Response::RunStep(run(None))),
            (Method::RunStep, Response::RunStep(run(Some((Code::NotFound, "no such fetch".into()))))),
            (Method::CloseSession, Response::CloseSession),
            (Method::ListDevices, Response::ListDevices(devices)),
            (Method::Reset, Response::Reset),
            (Method::MakeCallable, Response::MakeCallable(MakeCallableResponse { handle: 9 })),
            (Method::RunCallable, Response::RunCallable(callable)),
            (Method::ReleaseCallable, Response::ReleaseCallable),
        ]
    }

    /// Every call in both layouts comes back as it went, within a budget and with all of it given back.
    #[test]
    fn round_trip() {
        let budget = Budget::new("test", 1 << 20);
        let allowed = Allowance { budget: Some(&budget), ..Default::default() };
        for layout in [Layout::Whole, Layout::Apart] {
            for request in requests() {
                let encoded = encode_request(&request, layout).unwrap();
                let again = decode_request(request.method(), encoded.clone(), layout, &allowed).unwrap();
                assert_eq!(alloc::format!("{again:?}"), alloc::format!("{request:?}"));
                assert_eq!(encode_request(&again, layout).unwrap(), encoded);
            }
            for (method, response) in responses() {
                let encoded = encode_response(&response, layout).unwrap();
                let again = decode_response(method, encoded.clone(), layout, &allowed).unwrap();
                assert_eq!(alloc::format!("{again:?}"), alloc::format!("{response:?}"));
                assert_eq!(encode_response(&again, layout).unwrap(), encoded);
            }
        }
        assert_eq!(budget.used(), 0);
    }

    /// Apart: only large plain tensors, their bytes shared at both ends.
    #[test]
    fn large_tensors_are_not_copied() {
        let request = requests().remove(8);
        let encoded = encode_request(&request, Layout::Apart).unwrap();
        assert_eq!(encoded.payloads.iter().map(Bytes::len).collect::<Vec<_>>(), [8000, 2048]);
        let at = encoded.payloads[0].as_ptr();
        assert_eq!(unnamed_of(&request)[1].bytes().as_ptr(), at);
        let allowed = Allowance::default();
        let again = decode_request(Method::RunCallable, encoded, Layout::Apart, &allowed).unwrap();
        assert_eq!(unnamed_of(&again)[1].bytes().as_ptr(), at);
        assert!(encode_request(&request, Layout::Whole).unwrap().payloads.is_empty());
    }

    fn unnamed_of(request: &Request) -> &[Tensor] {
        match request {
            Request::RunCallable(r) => &r.feeds,
            _ => &[],
        }
    }

    /// Payloads missing, to spare, short and long; a message that is none.
    #[test]
    fn refusals() {
        let encoded = encode_request(&requests()[3], Layout::Apart).unwrap();
        let refused = |change: &dyn Fn(&mut Encoded)| {
            let mut changed = encoded.clone();
            change(&mut changed);
            let error = decode_request(Method::RunStep, changed, Layout::Apart, &Allowance::default()).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{error}");
            String::from(error.message())
        };
        assert!(refused(&|e| drop(e.payloads.pop())).contains("'bools:0'"));
        assert!(refused(&|e| e.payloads.push(Bytes::new())).contains("more tensors"));
        assert!(refused(&|e| e.payloads[0] = e.payloads[0].slice(1..)).contains("7999 bytes, not 8000"));
        assert!(refused(&|e| e.payloads[1] = Bytes::from(vec![7; 2048])).contains("no bool"));
        assert!(refused(&|e| e.payloads.swap(0, 1)).contains("'large:0'"));
        assert!(refused(&|e| e.message = e.message.slice(1..)).contains("malformed"));
    }
}
