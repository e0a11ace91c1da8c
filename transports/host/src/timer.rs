//! Alarms: one thread that sleeps until the earliest moment asked for and then wakes its task.
//!
//! A task has one alarm, the earliest it asked for, and asks again when it is polled and still waits. So a task holds one
//! place however many steps with far deadlines it runs; the place of a task that has ended is free when its alarm rings.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::thread::{self, JoinHandle};
use std::time::Instant;

/// The thread and the table of alarms it works off. Dropping it forgets the alarms that have not rung.
#[derive(Debug)]
pub(crate) struct Timer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    alarms: Mutex<Alarms>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Alarms {
    /// By moment; the number tells apart alarms of one moment.
    by_moment: BTreeMap<(Instant, u64), Waker>,
    /// By task: where its alarm is. The alarm holds the waker, so no other task can have its address meanwhile.
    by_task: HashMap<Task, (Instant, u64)>,
    next: u64,
    closed: bool,
}

/// A waker's identity: two with the same one wake the same task.
type Task = (usize, usize);

fn task(waker: &Waker) -> Task {
    (waker.data().addr(), std::ptr::from_ref(waker.vtable()).addr())
}

impl Timer {
    /// Starts the thread.
    pub(crate) fn new() -> io::Result<Timer> {
        let shared = Arc::new(Shared::default());
        let of_thread = shared.clone();
        let thread = thread::Builder::new().name("runstep-timer".to_owned()).spawn(move || of_thread.run())?;
        Ok(Timer { shared, thread: Some(thread) })
    }

    /// Wakes `waker` at `moment` or soon after, unless its task has an earlier alarm already.
    pub(crate) fn wake_at(&self, moment: Instant, waker: &Waker) {
        if moment <= Instant::now() {
            return waker.wake_by_ref();
        }
        if self.shared.lock().add(moment, waker) {
            self.shared.changed.notify_one();
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_one();
        // A waker may drop the last owner on the timer's own thread, which then ends by itself.
        if let Some(thread) = self.thread.take().filter(|t| t.thread().id() != thread::current().id()) {
            let _ = thread.join();
        }
    }
}

impl Alarms {
    /// Puts in an alarm; whether it is now the first to ring.
    fn add(&mut self, moment: Instant, waker: &Waker) -> bool {
        let task = task(waker);
        if let Some(&place) = self.by_task.get(&task) {
            if place.0 <= moment {
                return false;
            }
            self.by_moment.remove(&place);
        }
        let place = (moment, self.next);
        self.next += 1;
        self.by_task.insert(task, place);
        self.by_moment.insert(place, waker.clone());
        self.by_moment.first_key_value().is_some_and(|(first, _)| *first == place)
    }

    /// Takes out the next alarm that is due at `now`.
    fn take_due(&mut self, now: Instant) -> Option<Waker> {
        let first = self.by_moment.first_entry().filter(|e| e.key().0 <= now)?;
        let waker = first.remove();
        self.by_task.remove(&task(&waker));
        Some(waker)
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Alarms> {
        // The table is consistent between statements: nothing foreign runs under the lock.
        self.alarms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut alarms = self.lock();
        while !alarms.closed {
            let now = Instant::now();
            if let Some(waker) = alarms.take_due(now) {
                drop(alarms);
                // A waker that panics is its executor's fault and must not silence the other alarms.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
                alarms = self.lock();
                continue;
            }
            let first = alarms.by_moment.first_key_value().map(|(place, _)| place.0);
            alarms = match first {
                Some(first) => {
                    let left = first.saturating_duration_since(now);
                    self.changed.wait_timeout(alarms, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(alarms).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::task::Wake;
    use std::time::Duration;

    struct Said {
        name: u32,
        to: Sender<u32>,
    }

    impl Wake for Said {
        fn wake(self: Arc<Self>) {
            let _ = self.to.send(self.name);
        }
    }

    fn wakers(count: u32) -> (Vec<Waker>, Receiver<u32>) {
        let (to, said) = channel();
        let wakers = (0..count).map(|name| Waker::from(Arc::new(Said { name, to: to.clone() }))).collect();
        (wakers, said)
    }

    /// Alarms ring in the order of their moments, not of their setting, and not before them.
    #[test]
    fn rings_in_order() {
        let timer = Timer::new().unwrap();
        let (wakers, said) = wakers(4);
        let start = Instant::now();
        for (name, millis) in [(0, 30), (1, 10), (2, 20), (3, 0)] {
            timer.wake_at(start + Duration::from_millis(millis), &wakers[name]);
        }
        assert_eq!([3, 1, 2, 0], [(); 4].map(|()| said.recv().unwrap()));
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    /// A task that asks again and again holds one place, with the earliest moment.
    #[test]
    fn one_alarm_a_task() {
        let (wakers, _said) = wakers(2);
        let mut alarms = Alarms::default();
        let start = Instant::now();
        assert!(alarms.add(start + Duration::from_secs(9), &wakers[0]));
        for s in 9..1000 {
            assert!(!alarms.add(start + Duration::from_secs(s), &wakers[0].clone()));
        }
        assert!(alarms.add(start + Duration::from_secs(8), &wakers[0]));
        assert!(!alarms.add(start + Duration::from_secs(10), &wakers[1]));
        assert_eq!((alarms.by_moment.len(), alarms.by_task.len()), (2, 2));
        assert!(alarms.take_due(start + Duration::from_secs(7)).is_none());
        assert!(alarms.take_due(start + Duration::from_secs(8)).unwrap().will_wake(&wakers[0]));
        assert!(alarms.take_due(start + Duration::from_secs(9)).is_none());
        assert!(alarms.take_due(start + Duration::from_secs(10)).unwrap().will_wake(&wakers[1]));
        assert!(alarms.by_moment.is_empty() && alarms.by_task.is_empty());
    }

    /// A panicking waker does not silence the others, and a far alarm does not hold up the drop.
    #[test]
    fn survives_a_panic_and_drops_at_once() {
        struct Panics;
        impl Wake for Panics {
            fn wake(self: Arc<Self>) {
                std::panic::resume_unwind(Box::new("a waker's own fault"));
            }
        }
        let timer = Timer::new().unwrap();
        let (wakers, said) = wakers(2);
        let start = Instant::now();
        timer.wake_at(start + Duration::from_millis(1), &Waker::from(Arc::new(Panics)));
        timer.wake_at(start + Duration::from_millis(2), &wakers[1]);
        timer.wake_at(start + Duration::from_secs(3600), &wakers[0]);
        assert_eq!(said.recv(), Ok(1));
        drop(timer);
        drop(wakers);
        assert!(said.recv().is_err(), "the far alarm still holds its waker");
    }

    /// The last owner may be dropped by the timer's own thread.
    #[test]
    fn dropped_on_its_own_thread() {
        struct Owner(Mutex<Option<Arc<Timer>>>, Sender<()>);
        impl Wake for Owner {
            fn wake(self: Arc<Self>) {
                drop(self.0.lock().unwrap().take());
                let _ = self.1.send(());
            }
        }
        let (to, done) = channel();
        let timer = Arc::new(Timer::new().unwrap());
        let owner = Arc::new(Owner(Mutex::new(None), to));
        let waker = Waker::from(owner.clone());
        *owner.0.lock().unwrap() = Some(timer.clone());
        let shared = timer.shared.clone();
        drop(timer);
        shared.lock().add(Instant::now(), &waker);
        shared.changed.notify_one();
        assert_eq!(done.recv(), Ok(()));
    }
}
