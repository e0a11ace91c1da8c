//! The executor: one thread, and everything is polled whenever anything was woken.

use std::future::Future;
use std::mem::take;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};

type Task<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

#[derive(Default)]
pub(crate) struct Executor(Mutex<Vec<Task<'static>>>);

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Executor {
    /// Adds a task, which runs while [`Executor::run`] does.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.lock().unwrap().push(Box::pin(task));
    }

    /// Runs until `main` is done.
    pub(crate) fn run(&self, mut main: Task<'_>) {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut cx = Context::from_waker(&waker);
        while main.as_mut().poll(&mut cx).is_pending() {
            let mut tasks = take(&mut *self.0.lock().unwrap());
            tasks.retain_mut(|task| task.as_mut().poll(&mut cx).is_pending());
            self.0.lock().unwrap().extend(tasks);
            thread::park();
        }
    }
}
