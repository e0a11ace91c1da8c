//! A callable of this process runs without the heap once it has run: an allocator that counts says so.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use runstep::client::Client;
use runstep::graph::GraphBuilder;
use runstep::host::{Host, NoHost};
use runstep::ops::{ALL, Registry};
use runstep::service::CallableOptions;
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Tensor};
use runstep_host::{StdHost, block_on};

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// Counts allocations of the thread that makes them.
struct Counting;

// SAFETY: every call goes on to the system's allocator as it came; counting is a thread-local without a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations of a thousand runs of `c = a + b` with these feeds, after some that warm up.
fn allocations(host: Arc<dyn Host>, feeds: &[Tensor]) -> usize {
    let registry = Arc::new(Registry::new(ALL).unwrap());
    let mut g = GraphBuilder::new(&registry);
    let dims: Vec<i64> = feeds[0].shape().dims().iter().map(|&d| d.into()).collect();
    let a = g.placeholder("a", DType::Float, &dims).unwrap();
    let b = g.placeholder("b", DType::Float, &dims).unwrap();
    g.op("AddV2", "c", &[&a, &b]).unwrap();
    let nodes = g.take_nodes();
    let server = Server::new(MasterOptions::new(registry), host).unwrap();
    let client = Client::new(Arc::new(server.clone()));
    let session = block_on(client.create_session(nodes.into(), Default::default())).unwrap();
    let options =
        CallableOptions { feeds: vec!["a:0".into(), "b:0".into()], fetches: vec!["c:0".into()], ..Default::default() };
    let mut callable = block_on(server.local_callable(session.handle(), options)).unwrap();
    let mut outputs = [Tensor::default()];
    let mut run = |times: usize| (0..times).for_each(|_| callable.run(feeds, &mut outputs).unwrap());
    run(10);
    let before = COUNT.get();
    run(1000);
    let made = COUNT.get() - before;
    let sum = |i: usize| feeds[0].as_slice::<f32>().unwrap()[i] + feeds[1].as_slice::<f32>().unwrap()[i];
    let got = outputs[0].as_slice::<f32>().unwrap();
    assert!((0..got.len()).all(|i| got[i] == sum(i)));
    made
}

/// Scalars lie inline; larger results take memory that the runs before have let go.
#[test]
fn steady_state_callables_do_not_allocate() {
    let scalars = [Tensor::scalar(1.0f32), Tensor::scalar(2.0f32)];
    let vectors = [(); 2].map(|()| Tensor::from_slice(&[1000], &[0.5f32; 1000]).unwrap());
    assert!(COUNT.get() > 0, "the allocator counts");
    assert_eq!(allocations(Arc::new(NoHost), &scalars), 0);
    assert_eq!(allocations(Arc::new(NoHost), &vectors), 0);
    assert_eq!(allocations(Arc::new(StdHost::with_threads(2).unwrap()), &scalars), 0);
}
