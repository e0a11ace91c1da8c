//! Steps that wait for queues: they hold no thread, are served in order, and end in every way that a step can end.
//!
//! Calls are polled by hand on one thread: what is pending after a poll waits, and its waker tells when it goes on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use runstep::client::{Client, Session};
use runstep::graph::{AttrValue, NodeSpec, PartialShape};
use runstep::host::{Host, NoHost};
use runstep::ops::{ALL, Registry};
use runstep::service::{CallOptions, CallableOptions, Request, Response, RunOptions, RunStepRequest, Service};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Tensor};
use runstep::{Code, Status};
use runstep_host::{StdHost, block_on};

fn node(name: &str, op: &str, inputs: &[&str], attrs: Vec<(&str, AttrValue)>) -> NodeSpec {
    NodeSpec {
        name: name.into(),
        op: op.into(),
        inputs: inputs.iter().map(ToString::to_string).collect(),
        attrs: attrs.into_iter().map(|(name, value)| (name.into(), value)).collect(),
        ..NodeSpec::default()
    }
}

fn constant(name: &str, value: Tensor) -> NodeSpec {
    node(name, "Const", &[], vec![("dtype", value.dtype().into()), ("value", value.into())])
}

fn types(name: &'static str) -> (&'static str, AttrValue) {
    (name, AttrValue::List(vec![DType::Int32.into()]))
}

/// A queue of int32 scalars: `put` what is fed to `x`, `get` one, `two` at once, `close`, `cancel`, `size`; a variable that
/// is never set, `v`, and `broken`, which reads it; a loop whose body takes an element each time, `sum` of `n` of them.
fn graph(capacity: i64) -> Vec<NodeSpec> {
    let shapes = ("shapes", AttrValue::List(vec![PartialShape::new(&[]).into()]));
    let int = || ("T", AttrValue::from(DType::Int32));
    let frame = |invariant: bool| {
        vec![
            int(),
            ("frame_name", "loop".into()),
            ("is_constant", invariant.into()),
            ("parallel_iterations", 10i64.into()),
        ]
    };
    let take = vec![types("component_types")];
    vec![
        node("q", "FIFOQueueV2", &[], vec![types("component_types"), shapes, ("capacity", capacity.into())]),
        node("x", "Placeholder", &[], vec![("dtype", DType::Int32.into())]),
        node("put", "QueueEnqueueV2", &["q", "x"], vec![types("Tcomponents")]),
        node("get", "QueueDequeueV2", &["q"], take.clone()),
        constant("2", Tensor::scalar(2i32)),
        node("two", "QueueDequeueManyV2", &["q", "2"], take.clone()),
        node("close", "QueueCloseV2", &["q"], vec![]),
        node("cancel", "QueueCloseV2", &["q"], vec![("cancel_pending_enqueues", true.into())]),
        node("size", "QueueSizeV2", &["q"], vec![]),
        node("twice", "AddV2", &["x", "x"], vec![int()]),
        node("v", "VariableV2", &[], vec![("dtype", DType::Int32.into()), ("shape", PartialShape::new(&[]).into())]),
        node("broken", "Identity", &["v", "^put"], vec![int()]),
        constant("0", Tensor::scalar(0i32)),
        constant("1", Tensor::scalar(1i32)),
        node("n", "Placeholder", &[], vec![("dtype", DType::Int32.into())]),
        node("loop/n", "Enter", &["n"], frame(true)),
        node("loop/one", "Enter", &["1"], frame(true)),
        node(
            "loop/q",
            "Enter",
            &["q"],
            vec![("T", DType::Resource.into()), ("frame_name", "loop".into()), ("is_constant", true.into())],
        ),
        node("loop/i", "Enter", &["0"], frame(false)),
        node("loop/s", "Enter", &["0"], frame(false)),
        node("loop/mi", "Merge", &["loop/i", "loop/ni"], vec![int(), ("N", 2i64.into())]),
        node("loop/ms", "Merge", &["loop/s", "loop/ns"], vec![int(), ("N", 2i64.into())]),
        node("loop/less", "Less", &["loop/mi", "loop/n"], vec![int()]),
        node("loop/cond", "LoopCond", &["loop/less"], vec![]),
        node("loop/si", "Switch", &["loop/mi", "loop/cond"], vec![int()]),
        node("loop/ss", "Switch", &["loop/ms", "loop/cond"], vec![int()]),
        node("loop/in", "Identity", &["loop/si:1"], vec![int()]),
        node("loop/get", "QueueDequeueV2", &["loop/q", "^loop/in"], take),
        node("loop/add", "AddV2", &["loop/ss:1", "loop/get"], vec![int()]),
        node("loop/inc", "AddV2", &["loop/in", "loop/one"], vec![int()]),
        node("loop/ni", "NextIteration", &["loop/inc"], vec![int()]),
        node("loop/ns", "NextIteration", &["loop/add"], vec![int()]),
        node("sum", "Exit", &["loop/ss"], vec![int()]),
    ]
}

struct Rig {
    server: Server,
    session: Session,
}

fn rig_on(host: Arc<dyn Host>, capacity: i64) -> Rig {
    let server = Server::new(MasterOptions::new(Arc::new(Registry::new(ALL).unwrap())), host).unwrap();
    let client = Client::new(Arc::new(server.clone()));
    let session = block_on(client.create_session(graph(capacity).into(), Default::default())).unwrap();
    Rig { server, session }
}

fn rig(capacity: i64) -> Rig {
    rig_on(Arc::new(NoHost), capacity)
}

/// How often a task was woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A call that the test polls.
struct Running {
    call: Pin<Box<dyn Future<Output = Result<Response, Status>> + Send>>,
    woken: Arc<Count>,
}

impl Running {
    fn poll(&mut self) -> Poll<Result<Vec<Tensor>, Code>> {
        let waker = Waker::from(self.woken.clone());
        let polled = self.call.as_mut().poll(&mut Context::from_waker(&waker));
        polled.map(|result| match result {
            Ok(Response::RunStep(step)) => Ok(step.tensors.into_iter().map(|(_, tensor)| tensor).collect()),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.code()),
        })
    }

    fn value(&mut self) -> Poll<Result<i32, Code>> {
        self.poll().map(|result| result.map(|tensors| tensors[0].to_scalar().unwrap()))
    }

    fn waits(&mut self) -> bool {
        self.poll().is_pending()
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::SeqCst)
    }
}

impl Rig {
    fn start_with(&self, feeds: &[(&str, i32)], fetches: &[&str], targets: &[&str], timeout_in_ms: i64) -> Running {
        let request = RunStepRequest {
            session_handle: self.session.handle().into(),
            feeds: feeds.iter().map(|(name, value)| ((*name).into(), Tensor::scalar(*value))).collect(),
            fetches: fetches.iter().map(ToString::to_string).collect(),
            targets: targets.iter().map(ToString::to_string).collect(),
            options: RunOptions { timeout_in_ms, ..RunOptions::default() },
            ..RunStepRequest::default()
        };
        let call = Service::call(&self.server, Request::RunStep(request), CallOptions::default());
        Running { call, woken: Arc::default() }
    }

    fn get(&self) -> Running {
        self.start_with(&[], &["get:0"], &[], 0)
    }

    fn put(&self, x: i32) -> Running {
        self.start_with(&[("x:0", x)], &[], &["put"], 0)
    }

    fn done(&self, target: &str) -> Result<(), Code> {
        match self.start_with(&[], &[], &[target], 0).poll() {
            Poll::Ready(result) => result.map(|_| ()),
            Poll::Pending => panic!("{target} waits"),
        }
    }

    fn size(&self) -> i32 {
        match self.start_with(&[], &["size:0"], &[], 0).value() {
            Poll::Ready(Ok(size)) => size,
            other => panic!("{other:?}"),
        }
    }
}

/// A step that takes from an empty queue waits until another puts something in, and is woken just then.
#[test]
fn one_step_waits_for_another() {
    let rig = rig(1);
    let mut get = rig.get();
    assert!(get.waits() && get.waits());
    assert_eq!(get.woken(), 0);
    assert!(rig.put(7).poll().is_ready());
    assert_eq!(get.woken(), 1);
    assert_eq!(get.value(), Poll::Ready(Ok(7)));
    let mut first = rig.put(1);
    let mut second = rig.put(2);
    assert!(first.poll().is_ready() && second.waits());
    assert_eq!(rig.get().value(), Poll::Ready(Ok(1)));
    assert!(second.woken() == 1 && second.poll().is_ready());
}

/// Within one step an op that waits holds up nothing that does not depend on it: the step serves itself.
#[test]
fn within_a_step() {
    let rig = rig(1);
    for x in 0..4 {
        let mut step = rig.start_with(&[("x:0", x)], &["get:0"], &["put"], 0);
        assert_eq!(step.value(), Poll::Ready(Ok(x)));
    }
    let mut both = rig.start_with(&[("x:0", 5)], &["get:0", "twice:0"], &[], 0);
    assert!(both.waits());
    assert!(rig.put(9).poll().is_ready());
    let Poll::Ready(Ok(values)) = both.poll() else { panic!("it goes on") };
    let mut values: Vec<i32> = values.iter().map(|v| v.to_scalar().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, [9, 10]);
}

/// Many steps wait on one thread and are served in the order of their arrival.
#[test]
fn many_wait_in_order() {
    let rig = rig(-1);
    let mut all: Vec<Running> = (0..500).map(|_| rig.get()).collect();
    assert!(all.iter_mut().all(Running::waits));
    for x in 0..500 {
        assert!(rig.put(x).poll().is_ready());
    }
    for (x, get) in all.iter_mut().enumerate() {
        assert_eq!((get.woken(), get.value()), (1, Poll::Ready(Ok(x as i32))));
    }
}

/// Elements come to a loop one after the other while it runs.
#[test]
fn in_a_loop() {
    let rig = rig(-1);
    let mut sum = rig.start_with(&[("n:0", 20)], &["sum:0"], &[], 0);
    for x in 1..=20 {
        assert!(sum.waits(), "{x}");
        assert!(rig.put(x).poll().is_ready());
    }
    assert_eq!(sum.value(), Poll::Ready(Ok(210)));
    assert_eq!(rig.size(), 0);
}

/// Closing ends those that wait for what cannot come any more, each side as TensorFlow does.
#[test]
fn closing() {
    let first = rig(1);
    let (mut get, mut two) = (first.get(), first.start_with(&[], &["two:0"], &[], 0));
    assert!(get.waits() && two.waits());
    first.done("close").unwrap();
    assert_eq!(get.value(), Poll::Ready(Err(Code::OutOfRange)));
    assert_eq!(two.poll().map(|r| r.unwrap_err()), Poll::Ready(Code::OutOfRange));
    assert_eq!(first.put(1).poll().map(|r| r.unwrap_err()), Poll::Ready(Code::Cancelled));
    assert_eq!(first.done("close"), Err(Code::Cancelled));

    let second = rig(1);
    let (mut stays, mut waits) = (second.put(1), second.put(2));
    assert!(stays.poll().is_ready() && waits.waits());
    second.done("cancel").unwrap();
    assert_eq!(waits.poll().map(|r| r.unwrap_err()), Poll::Ready(Code::Cancelled));
    assert_eq!(second.get().value(), Poll::Ready(Ok(1)));
}

/// A step that waits ends with its session, and with what cancels it; the queue forgets it.
#[test]
fn cancellation() {
    let rig = rig(1);
    let mut get = rig.get();
    assert!(get.waits());
    drop(get);
    assert!(rig.put(1).poll().is_ready());
    assert_eq!(rig.size(), 1, "who was dropped takes nothing");
    let mut put = rig.put(2);
    assert!(put.waits());
    let close =
        Request::CloseSession(runstep::service::CloseSessionRequest { session_handle: rig.session.handle().into() });
    let mut closing = Service::call(&rig.server, close, CallOptions::default());
    let mut cx = Context::from_waker(Waker::noop());
    assert!(closing.as_mut().poll(&mut cx).is_pending());
    assert_eq!(put.woken(), 1);
    assert_eq!(put.poll().map(|r| r.unwrap_err()), Poll::Ready(Code::Cancelled));
    assert!(closing.as_mut().poll(&mut cx).is_ready());
}

/// A step that waits ends with its deadline, without anybody else.
#[test]
fn deadline() {
    let rig = rig_on(Arc::new(StdHost::with_threads(1).unwrap()), 1);
    let step = rig.start_with(&[], &["get:0"], &[], 20);
    assert_eq!(block_on(step.call).unwrap_err().code(), Code::DeadlineExceeded);
    assert!(rig.put(3).poll().is_ready());
    assert_eq!(rig.size(), 1, "who is late takes nothing");
}

/// When another node of its step fails, what waits is given up.
#[test]
fn error_of_another_node() {
    let rig = rig(10);
    let mut step = rig.start_with(&[("x:0", 1)], &["two:0", "broken:0"], &[], 0);
    assert_eq!(step.poll().map(|r| r.unwrap_err()), Poll::Ready(Code::FailedPrecondition));
    let before = rig.size();
    assert!(rig.put(2).poll().is_ready());
    assert_eq!(rig.size(), before + 1, "the failed step takes no more");
}

/// A callable of the process sleeps while it waits where the host lets it, else it says why not.
#[test]
fn local_callables() {
    let options = |fetch: &str| CallableOptions { fetches: vec![fetch.into()], ..CallableOptions::default() };
    let rig = rig_on(Arc::new(StdHost::with_threads(1).unwrap()), 1);
    let mut get = block_on(rig.server.local_callable(rig.session.handle(), options("get:0"))).unwrap();
    let mut outputs = [Tensor::default()];
    thread::scope(|scope| {
        scope.spawn(|| (0..50).for_each(|x| assert!(block_on(rig.put(x).call).is_ok())));
        for x in 0..50 {
            get.run(&[], &mut outputs).unwrap();
            assert_eq!(outputs[0].to_scalar::<i32>().unwrap(), x);
        }
    });
    {
        let mut waits = Box::pin(get.run_async(&[], &mut outputs));
        assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    assert!(rig.put(3).poll().is_ready());
    assert_eq!(rig.size(), 1, "a run that was dropped takes nothing");
    get.run(&[], &mut outputs).unwrap();
    assert_eq!(outputs[0].to_scalar::<i32>().unwrap(), 3);

    let bare = self::rig(1);
    let mut get = block_on(bare.server.local_callable(bare.session.handle(), options("get:0"))).unwrap();
    let error = get.run(&[], &mut outputs).unwrap_err();
    assert_eq!(error.code(), Code::Unimplemented);
    assert!(error.message().contains("get"), "{error}");
    assert!(bare.put(3).poll().is_ready());
    get.run(&[], &mut outputs).unwrap();
    assert_eq!(outputs[0].to_scalar::<i32>().unwrap(), 3);
}

/// A request of a partial run gets what does not wait, and a later one what did.
#[test]
fn partial_runs() {
    let rig = rig(1);
    block_on(async {
        let run = rig.session.partial_run(&["x:0"], &["twice:0", "get:0"], &[]).await?;
        let twice = run.run(&[("x:0", &Tensor::scalar(4i32))], &["twice:0"]).await?;
        assert_eq!(twice.scalar::<i32>("twice:0")?, 8);
        assert!(rig.put(6).poll().is_ready());
        assert_eq!(run.run(&[], &["get:0"]).await?.scalar::<i32>("get:0")?, 6);
        Ok::<(), Status>(())
    })
    .unwrap();
}
