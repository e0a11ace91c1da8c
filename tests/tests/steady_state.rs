//! A callable of the own process allocates nothing once it has run at the shapes it is given.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use runstep::client::Client;
use runstep::graph::GraphBuilder;
use runstep::ops::{ALL, Registry};
use runstep::service::CallableOptions;
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Tensor};
use runstep_host::{StdHost, block_on};

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller's promises are the system allocator's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller's promises are the system allocator's.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn steady_callables_allocate_nothing() {
    let registry = Arc::new(Registry::new(ALL).unwrap());
    let mut g = GraphBuilder::new(&registry);
    let a = g.placeholder("a", DType::Float, &[]).unwrap();
    let b = g.placeholder("b", DType::Float, &[]).unwrap();
    g.op1("AddV2", "sum", &[&a, &b], vec![]).unwrap();
    let x = g.placeholder("x", DType::Float, &[-1]).unwrap();
    let y = g.op1("Mul", "y", &[&x, &x], vec![]).unwrap();
    g.op1("AddV2", "z", &[&y, &x], vec![]).unwrap();
    let nodes = g.take_nodes();
    let server = Server::new(MasterOptions::new(registry), Arc::new(StdHost::with_threads(1).unwrap())).unwrap();
    let client = Client::new(Arc::new(server.clone()));
    let session = block_on(client.create_session(nodes.into(), Default::default())).unwrap();
    let cases: [(&str, &[&str], Vec<Tensor>); 2] = [
        ("sum", &["a", "b"], vec![Tensor::scalar(1f32), Tensor::scalar(2f32)]),
        ("z", &["x"], vec![Tensor::from_slice(&[1000], &[1.5f32; 1000]).unwrap()]),
    ];
    for (fetch, names, feeds) in cases {
        let options = CallableOptions {
            feeds: names.iter().map(ToString::to_string).collect(),
            fetches: vec![fetch.into()],
            ..CallableOptions::default()
        };
        let mut callable = block_on(server.local_callable(session.handle(), options)).unwrap();
        let mut outputs = [Tensor::default()];
        for _ in 0..3 {
            callable.run(&feeds, &mut outputs).unwrap();
        }
        let before = CALLS.get();
        for _ in 0..100 {
            callable.run(&feeds, &mut outputs).unwrap();
            block_on(callable.run_async(&feeds, &mut outputs)).unwrap();
        }
        assert_eq!(CALLS.get() - before, 0, "{fetch}");
        assert!(outputs[0].as_slice::<f32>().unwrap()[0] > 2.9);
    }
}
