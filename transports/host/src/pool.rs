//! Threads for kernels: one job at a time, cut into numbered tasks that the caller and the workers take in turn.
//!
//! The caller takes part and never waits for a worker that has not begun, so on a busy machine nothing but help is lost.
//! Workers spin for a while after a job, because kernels come in quick succession, and then park. Measured on two
//! cores: an empty job of two tasks costs under 1 µs, a job of 2 × 50 µs takes 51 µs; parking at once made that 84 µs,
//! and waking rayon's workers cost 15 µs a job.
//!
//! # The gate
//! One word tells who may touch the job: an epoch, whether the job is open, and how many workers are inside.
//!
//! | who | what | when |
//! | --- | --- | --- |
//! | caller | writes the job, opens the gate with the next epoch | it holds the slot; the gate is closed and empty |
//! | worker | goes in (+1) | the gate is open, with an epoch it has not seen |
//! | worker | goes out (-1), wakes the caller if it was the last and the caller sleeps | no task is left |
//! | caller | closes the gate, waits until nobody is inside, gives back the slot | no task is left |
//!
//! A worker reads the job only while it is inside, so the job may live on the caller's stack.

use runstep::host::Parallel;
use std::any::Any;
use std::fmt;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// A job is offered.
const OPEN: usize = 1;
/// The caller sleeps until the last worker has gone out.
const WAITING: usize = 2;
/// One worker inside; the field has room for `THREADS_MAX`.
const INSIDE: usize = 4;
const INSIDE_MASK: usize = EPOCH - INSIDE;
/// One job later. The field wraps, which at worst lets a worker miss one job.
const EPOCH: usize = 1 << 13;

/// Most threads a pool has, the caller included.
const THREADS_MAX: usize = 1024;

/// Looks at the gate before a worker parks, or a caller that waits for workers; about a millisecond.
const SPINS: usize = 20_000;

/// Threads lent to kernels. Two callers at once are served: one has the workers, the other runs its tasks itself, as
/// does a task that calls its own pool. A panic in a task leaves out the tasks not yet begun and goes on in the caller,
/// once no thread is in the job any more; the pool stays usable. Dropping the pool ends its threads.
pub struct Pool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl Pool {
    /// A pool of `threads` threads, the caller's included: 0 and 1 both mean no thread but the caller's, and at most
    /// 1024 are taken. Where the system gives fewer threads, the pool has fewer: see [`Parallel::threads`].
    pub fn new(threads: usize) -> Pool {
        let shared = Arc::new(Shared::default());
        let worker = |i| {
            let shared = shared.clone();
            thread::Builder::new().name(format!("runstep-{i}")).spawn(move || shared.work()).ok()
        };
        let workers = (1..threads.min(THREADS_MAX)).map_while(worker).collect();
        Pool { shared, workers }
    }
}

impl Parallel for Pool {
    fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    fn parallel_for(&self, tasks: usize, f: &(dyn Fn(usize) + Sync)) {
        if tasks <= 1 || self.workers.is_empty() || self.shared.taken.swap(true, Acquire) {
            return (0..tasks).for_each(f);
        }
        // The slot is ours. Nothing below unwinds until it is given back.
        self.shared.run(&Job { f, tasks, next: AtomicUsize::new(0), panic: Mutex::new(None) }, self.workers.len());
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.closing.store(true, SeqCst);
        drop(self.shared.sleep());
        self.shared.work_came.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

/// A call of `parallel_for`, on its caller's stack.
struct Job<'a> {
    f: &'a (dyn Fn(usize) + Sync),
    tasks: usize,
    next: AtomicUsize,
    /// What the first task that panicked said.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job<'_> {
    /// Takes tasks until none is left. Does not unwind.
    fn work(&self) {
        let all = || {
            loop {
                let task = self.next.fetch_add(1, Relaxed);
                if task >= self.tasks {
                    return;
                }
                (self.f)(task);
            }
        };
        if let Err(said) = catch_unwind(AssertUnwindSafe(all)) {
            // Leaves out the rest. Each thread adds at most one more, so the count cannot wrap.
            self.next.store(self.tasks, Relaxed);
            let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
            match *first {
                None => *first = Some(said),
                // Dropping a foreign payload may itself panic; a leak after two panics in one job does not matter.
                Some(_) => std::mem::forget(said),
            }
        }
    }
}

#[derive(Default)]
struct Shared {
    /// Whether some caller has the slot.
    taken: AtomicBool,
    gate: AtomicUsize,
    /// The [`Job`] behind an open gate; the gate's Release and Acquire order its writes before its reads.
    job: AtomicPtr<()>,
    closing: AtomicBool,
    /// Workers that sleep or are about to; changed under `asleep`.
    sleepers: AtomicUsize,
    asleep: Mutex<()>,
    work_came: Condvar,
    all_out: Condvar,
}

impl Shared {
    /// The caller's side of a job. The slot was taken by the caller and is given back here; what a task's panic said is
    /// thrown on after that.
    fn run(&self, job: &Job<'_>, workers: usize) {
        self.job.store(std::ptr::from_ref(job).cast_mut().cast(), Relaxed);
        let epoch = (self.gate.load(Relaxed) & !(EPOCH - 1)).wrapping_add(EPOCH);
        self.gate.store(epoch | OPEN, SeqCst);
        // Either we see a sleeper here, or it sees the open gate: both sides write before they read, in one total order.
        let sleepers = self.sleepers.load(SeqCst).min(workers).min(job.tasks - 1);
        if sleepers > 0 {
            // A worker between its look at the gate and its sleep holds the lock.
            drop(self.sleep());
            (0..sleepers).for_each(|_| self.work_came.notify_one());
        }
        job.work();
        self.close();
        let panic = job.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.taken.store(false, Release);
        if let Some(said) = panic {
            resume_unwind(said);
        }
    }

    /// Closes the gate and waits until nobody is inside.
    fn close(&self) {
        let mut gate = self.gate.fetch_and(!OPEN, AcqRel);
        for _ in 0..SPINS {
            if gate & INSIDE_MASK == 0 {
                return;
            }
            spin_loop();
            gate = self.gate.load(Acquire);
        }
        let mut asleep = self.sleep();
        gate = self.gate.fetch_or(WAITING, AcqRel);
        while gate & INSIDE_MASK != 0 {
            asleep = self.all_out.wait(asleep).unwrap_or_else(PoisonError::into_inner);
            gate = self.gate.load(Acquire);
        }
        self.gate.fetch_and(!WAITING, Relaxed);
    }

    /// A worker's life.
    fn work(&self) {
        let mut seen = 0;
        while let Some(epoch) = self.next_job(seen) {
            seen = epoch;
            // SAFETY: we are inside, so the caller is still in `run`, which stored this pointer to a job that it borrows
            // and does not return before we are out. A `Job` is Sync.
            let job = unsafe { &*self.job.load(Relaxed).cast::<Job<'_>>() };
            job.work();
            let gate = self.gate.fetch_sub(INSIDE, AcqRel);
            if gate & WAITING != 0 && gate & INSIDE_MASK == INSIDE {
                drop(self.sleep());
                self.all_out.notify_all();
            }
        }
    }

    /// Waits for a job with another epoch than `seen` and goes inside; `None` when the pool closes.
    fn next_job(&self, seen: usize) -> Option<usize> {
        for _ in 0..SPINS {
            if self.closing.load(Relaxed) {
                return None;
            }
            if let Some(epoch) = self.enter(seen) {
                return Some(epoch);
            }
            spin_loop();
        }
        let mut asleep = self.sleep();
        self.sleepers.fetch_add(1, SeqCst);
        let found = loop {
            if self.closing.load(SeqCst) {
                break None;
            }
            if let Some(epoch) = self.enter(seen) {
                break Some(epoch);
            }
            asleep = self.work_came.wait(asleep).unwrap_or_else(PoisonError::into_inner);
        };
        self.sleepers.fetch_sub(1, SeqCst);
        found
    }

    fn enter(&self, seen: usize) -> Option<usize> {
        let mut gate = self.gate.load(SeqCst);
        loop {
            let epoch = gate & !(EPOCH - 1);
            if gate & OPEN == 0 || epoch == seen {
                return None;
            }
            match self.gate.compare_exchange_weak(gate, gate + INSIDE, AcqRel, SeqCst) {
                Ok(_) => return Some(epoch),
                Err(now) => gate = now,
            }
        }
    }

    fn sleep(&self) -> MutexGuard<'_, ()> {
        self.asleep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    fn each_once(pool: &Pool, tasks: usize) {
        let calls: Vec<AtomicUsize> = (0..tasks).map(|_| AtomicUsize::new(0)).collect();
        pool.parallel_for(tasks, &|i| {
            calls[i].fetch_add(1, Relaxed);
        });
        // Not atomic any more: all tasks have returned.
        assert!(calls.into_iter().all(|c| c.into_inner() == 1));
    }

    /// Every task runs once, for any number of threads and tasks, with workers awake and asleep.
    #[test]
    fn each_task_once() {
        for threads in [0, 1, 2, 3, 8] {
            let pool = Pool::new(threads);
            assert_eq!(pool.threads(), threads.max(1));
            for round in 0..300 {
                each_once(&pool, round % 23);
            }
        }
    }

    /// Workers really take part: tasks that wait for each other end only on as many threads as there are tasks.
    #[test]
    fn workers_take_part() {
        let pool = Pool::new(4);
        for _ in 0..20 {
            let meet = Barrier::new(4);
            pool.parallel_for(4, &|_| {
                meet.wait();
            });
        }
    }

    /// Many callers at once, each seeing only its own tasks; those without the slot run inline.
    #[test]
    fn many_callers() {
        let pool = Pool::new(3);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| (0..500).for_each(|i| each_once(&pool, 2 + i % 5)));
            }
        });
    }

    /// A task may use the pool it runs on.
    #[test]
    fn nested() {
        let pool = Pool::new(3);
        let calls = AtomicUsize::new(0);
        pool.parallel_for(5, &|_| {
            pool.parallel_for(7, &|_| {
                calls.fetch_add(1, Relaxed);
            });
        });
        assert_eq!(calls.into_inner(), 35);
    }

    /// A panic comes back to the caller with its message, whichever thread it was on, and the pool works on.
    #[test]
    fn a_panic_is_the_callers() {
        let pool = Pool::new(4);
        for bad in 0..40 {
            let said = catch_unwind(AssertUnwindSafe(|| {
                pool.parallel_for(40, &|i| {
                    if i >= bad {
                        resume_unwind(Box::new("from a task"));
                    }
                });
            }));
            assert_eq!(said.unwrap_err().downcast_ref::<&str>(), Some(&"from a task"));
            each_once(&pool, 16);
        }
        // On a worker for certain: the caller's own task waits for the one that panics to have begun.
        let meet = Barrier::new(2);
        let caller = thread::current().id();
        let pool = Pool::new(2);
        let said = catch_unwind(AssertUnwindSafe(|| {
            pool.parallel_for(2, &|_| {
                meet.wait();
                if thread::current().id() != caller {
                    resume_unwind(Box::new(5));
                }
            });
        }));
        assert_eq!(said.unwrap_err().downcast_ref::<i32>(), Some(&5));
        each_once(&pool, 9);
    }

    /// A caller that waits long for a worker's task sleeps and is woken.
    #[test]
    fn a_slow_worker_is_waited_for() {
        let pool = Pool::new(2);
        let caller = thread::current().id();
        let slow = AtomicUsize::new(0);
        let meet = Barrier::new(2);
        pool.parallel_for(2, &|_| {
            meet.wait();
            if thread::current().id() != caller {
                // Until the caller has set WAITING: the only way out of this loop.
                while pool.shared.gate.load(Acquire) & WAITING == 0 {
                    slow.fetch_add(1, Relaxed);
                    thread::yield_now();
                }
            }
        });
        assert_eq!(pool.shared.gate.load(Acquire) & (EPOCH - 1), 0);
    }

    /// What `work` relies on when it shares a job.
    #[test]
    fn a_job_is_sync() {
        fn sync<T: Sync>() {}
        sync::<Job<'_>>();
    }

    /// A pool ends at once, used or not, its workers awake or asleep.
    #[test]
    fn drops() {
        for round in 0..50 {
            let pool = Pool::new(3);
            if round % 2 == 0 {
                each_once(&pool, 8);
            }
        }
    }
}
