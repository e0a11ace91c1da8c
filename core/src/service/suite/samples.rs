//! Requests, responses and tensors of every kind.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::graph::{AttrValue, NodeSpec, PartialShape, Versions};
use crate::service::*;
use crate::tensor::{DType, HandleParts, ResourceHandle, Shape, Str, Tensor};
use crate::{Code, Status};

/// A tensor of `count` elements whose bytes differ; of a dtype that is not plain, of elements that do.
pub(super) fn tensor(dtype: DType, count: usize) -> Result<Tensor, Status> {
    let shape = Shape::new(&[count])?;
    match dtype {
        DType::String => {
            let text = |i: usize| Str::from(alloc::format!("text \0 {i}"));
            Tensor::from_strings(shape, (0..count).map(text).collect())
        }
        DType::Resource => {
            let handle = |i: usize| {
                ResourceHandle::new(HandleParts {
                    device: "/device:CPU:0".into(),
                    container: "c".into(),
                    name: alloc::format!("resource{i}").as_str().into(),
                    type_name: "t".into(),
                    value: None,
                    target: None,
                })
            };
            Tensor::from_resources(shape, (0..count).map(handle).collect())
        }
        DType::Variant => Tensor::zeros(dtype, &shape, None),
        _ => {
            let values = if dtype == DType::Bool { 2 } else { 251 };
            let byte = |i: usize| (i % values) as u8;
            let bytes: Vec<u8> = (0..shape.num_bytes(dtype.size())?).map(byte).collect();
            Tensor::from_bytes(dtype, shape, bytes.into(), None)
        }
    }
}

/// Tensors of every dtype, of one element, of few and of many, and one without elements.
pub(super) fn tensors() -> Result<Vec<Tensor>, Status> {
    let mut all = vec![Tensor::zeros(DType::Float, &Shape::new(&[3, 0, 2])?, None)?];
    for &dtype in DType::ALL {
        for count in [1, 3, 1500] {
            all.push(tensor(dtype, count)?);
        }
    }
    Ok(all)
}

fn graph() -> Result<GraphSpec, Status> {
    // By name, as they arrive.
    let attrs: Vec<(&str, AttrValue)> = vec![
        ("dtype", DType::Float.into()),
        ("empty", AttrValue::List(vec![])),
        ("flag", true.into()),
        ("list", vec![1i64, -2, 3].into()),
        ("shape", PartialShape::new(&[-1, 3]).into()),
        ("text", "some text".into()),
        ("value", tensor(DType::Float, 2000)?.into()),
    ];
    let node = |i: usize| NodeSpec {
        name: alloc::format!("node{i}"),
        op: "Const".into(),
        inputs: vec!["a".into(), "b:1".into(), "^c".into()],
        device: "/device:CPU:0".into(),
        attrs: attrs.iter().map(|(name, value)| ((*name).into(), value.clone())).collect(),
    };
    let versions = Versions { producer: 5, min_consumer: 1, bad_consumers: vec![3] };
    Ok(GraphSpec { nodes: (0..10).map(node).collect(), functions: Vec::new(), versions })
}

fn texts(text: &str) -> Vec<String> {
    vec![text.to_string(), "other".to_string()]
}

/// A request of a method with every field set.
pub(super) fn request(method: Method) -> Result<Request, Status> {
    let session_handle = String::from("session");
    let run_options = RunOptions { timeout_in_ms: 5, full_trace: true, output_partition_graphs: true };
    Ok(match method {
        Method::CreateSession => Request::CreateSession(CreateSessionRequest {
            graph: graph()?,
            config: SessionConfig {
                isolate_session_state: true,
                device_filters: texts("/job:a"),
                operation_timeout_in_ms: 77,
                ..Default::default()
            },
            target: "target".into(),
        }),
        Method::ExtendSession => {
            Request::ExtendSession(ExtendSessionRequest { session_handle, graph: graph()?, current_graph_version: 3 })
        }
        Method::PartialRunSetup => Request::PartialRunSetup(PartialRunSetupRequest {
            session_handle,
            feeds: texts("a"),
            fetches: texts("b"),
            targets: texts("c"),
            request_id: -4,
        }),
        Method::RunStep => Request::RunStep(RunStepRequest {
            session_handle,
            feeds: tensors()?.into_iter().enumerate().map(|(i, t)| (alloc::format!("t{i}:0"), t)).collect(),
            fetches: texts("b"),
            targets: texts("c"),
            options: run_options,
            partial_run_handle: "partial".into(),
            store_errors_in_response_body: true,
            request_id: 9,
        }),
        Method::CloseSession => Request::CloseSession(CloseSessionRequest { session_handle }),
        Method::ListDevices => Request::ListDevices(ListDevicesRequest { session_handle }),
        Method::Reset => Request::Reset(ResetRequest { containers: texts("a"), device_filters: texts("b") }),
        Method::MakeCallable => Request::MakeCallable(MakeCallableRequest {
            session_handle,
            options: CallableOptions {
                feeds: texts("a"),
                fetches: texts("b"),
                targets: texts("c"),
                run_options,
                tensor_connections: vec![("x".into(), "y".into())],
                device_entries: 0,
            },
            request_id: 1,
        }),
        Method::RunCallable => {
            Request::RunCallable(RunCallableRequest { session_handle, handle: 0, feeds: tensors()?, request_id: 2 })
        }
        Method::ReleaseCallable => Request::ReleaseCallable(ReleaseCallableRequest { session_handle, handle: 4 }),
    })
}

/// A response of a method with every field set.
pub(super) fn response(method: Method) -> Result<Response, Status> {
    let device = DeviceAttributes {
        name: "/device:CPU:0".into(),
        device_type: "CPU".into(),
        memory_limit: 1 << 30,
        incarnation: u64::MAX,
    };
    Ok(match method {
        Method::CreateSession => {
            Response::CreateSession(CreateSessionResponse { session_handle: "s".into(), graph_version: 2 })
        }
        Method::ExtendSession => Response::ExtendSession(ExtendSessionResponse { new_graph_version: 3 }),
        Method::PartialRunSetup => {
            Response::PartialRunSetup(PartialRunSetupResponse { partial_run_handle: "p".into() })
        }
        Method::RunStep => Response::RunStep(RunStepResponse {
            tensors: tensors()?.into_iter().enumerate().map(|(i, t)| (alloc::format!("t{i}:0"), t)).collect(),
            metadata: RunMetadata::default(),
            error: Some((Code::NotFound, "no".into())),
        }),
        Method::CloseSession => Response::CloseSession,
        Method::ListDevices => Response::ListDevices(ListDevicesResponse {
            local_devices: vec![device.clone()],
            remote_devices: vec![device],
        }),
        Method::Reset => Response::Reset,
        Method::MakeCallable => Response::MakeCallable(MakeCallableResponse { handle: -1 }),
        Method::RunCallable => {
            Response::RunCallable(RunCallableResponse { fetches: tensors()?, metadata: RunMetadata::default() })
        }
        Method::ReleaseCallable => Response::ReleaseCallable,
    })
}
