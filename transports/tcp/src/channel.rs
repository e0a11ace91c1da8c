//! The client's side of a connection.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use runstep::Status;
use runstep::service::frame::{Assembled, Assembly, Header, Kind, Limits, Outgoing};
use runstep::service::{CallFuture, CallOptions, Channel, Method, Request, Response};
use runstep::tensor::Budget;
use smol::{Async, Task, Timer};

use crate::Spawn;
use crate::conn::Conn;
use crate::inbox::{End, Inbox};

/// Instead of a number of leaders: the connection has ended, or someone is reading.
const ENDED: u64 = u64::MAX;
const BUSY: u64 = u64::MAX - 1;

/// How long a leader that is not polled can hold up the others.
const LOOK: Duration = Duration::from_millis(5);

/// A connection to a server. Calls are concurrent; dropping the channel ends those that are not answered with
/// UNAVAILABLE.
///
/// Once the connection is lost every call answers UNAVAILABLE; connect again then.
#[derive(Debug)]
pub struct TcpChannel {
    ends: Arc<Ends>,
    _task: Task<()>,
}

impl TcpChannel {
    /// Connects to `HOST:PORT`, with or without `tcp://` before it, within 10 seconds.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for what is no address; UNAVAILABLE when nobody answers there.
    pub async fn connect(address: &str) -> Result<TcpChannel, Status> {
        TcpChannel::connect_with(address, Limits::default(), Spawn::Global, Duration::from_secs(10)).await
    }

    /// As [`TcpChannel::connect`], with limits on what the server may make this side hold, an executor for the
    /// connection's task, and a time within which the connection must stand.
    ///
    /// # Errors
    /// As [`TcpChannel::connect`].
    pub async fn connect_with(
        address: &str,
        limits: Limits,
        spawn: Spawn,
        timeout: Duration,
    ) -> Result<TcpChannel, Status> {
        let address = address.strip_prefix("tcp://").unwrap_or(address);
        let late = async {
            Timer::after(timeout).await;
            Err(Status::unavailable(format_args!("{address} did not answer within {} ms", timeout.as_millis())))
        };
        let socket = smol::future::or(open(address), late).await?;
        let failed = |error| Status::unavailable(format_args!("the connection to {address} failed: {error}"));
        let conn = Arc::new(Conn::new(socket).map_err(failed)?);
        let link = Arc::new(Link {
            budget: limits.budget(),
            conn,
            limits,
            state: Mutex::new(State { next: 1, calls: HashMap::new(), refused: None }),
            address: address.to_owned(),
            leading: AtomicU64::new(0),
        });
        let read = Box::pin(link.clone().read_all());
        let ends = Arc::new(Ends { link, reading: Mutex::new(Reading { work: Some(read), leader: None, led: 0 }) });
        let task = spawn.spawn(ends.clone().run());
        Ok(TcpChannel { ends, _task: task })
    }

    /// The bytes that answers hold which have not been taken yet.
    pub fn bytes_held(&self) -> usize {
        self.ends.link.budget.used()
    }
}

async fn open(address: &str) -> Result<Async<TcpStream>, Status> {
    let found: Vec<SocketAddr> = match address.parse() {
        Ok(address) => vec![address],
        Err(_) => smol::net::resolve(address)
            .await
            .map_err(|error| Status::invalid_argument(format_args!("{address:?} is no HOST:PORT: {error}")))?,
    };
    let mut last = Status::unavailable(format_args!("{address} has no address"));
    for one in found {
        match Async::<TcpStream>::connect(one).await {
            Ok(socket) => return Ok(socket),
            Err(error) => last = Status::unavailable(format_args!("no connection to {address}: {error}")),
        }
    }
    Err(last)
}

impl Channel for TcpChannel {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        Box::pin(Call { ends: self.ends.clone(), step: Step::Start(Box::new((request, options))), timer: None })
    }
}

impl Drop for TcpChannel {
    fn drop(&mut self) {
        self.ends.link.end(&Status::unavailable("the channel was dropped"));
        self.ends.link.conn.close();
    }
}

/// What calls and the connection's task share.
///
/// The socket is read by whoever waits for it: one call at a time, the leader, reads for itself and all others, so that
/// an answer comes to the caller's own thread first. The connection's task reads when nobody waits, and looks after the
/// leader in case that is not polled.
#[derive(Debug)]
struct Ends {
    link: Arc<Link>,
    reading: Mutex<Reading>,
}

/// The reading of the socket, polled under the lock.
struct Reading {
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// The call that reads.
    leader: Option<u64>,
    /// How many calls have led.
    led: u64,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reading(leader {:?})", self.leader)
    }
}

impl Reading {
    /// Reads until there are no more bytes, or the leader's answer has come and what follows it lies in the socket.
    fn poll(&mut self, cx: &mut Context<'_>) {
        if self.work.as_mut().is_some_and(|work| work.as_mut().poll(cx).is_ready()) {
            self.work = None;
        }
    }
}

impl Ends {
    /// Reads for a call that waits, unless another does. Whoever holds the lock goes on until there are no more bytes, or
    /// until its own answer is there and then wakes another, so nothing is missed by not waiting for it.
    fn lead(&self, call: u64, cx: &mut Context<'_>) {
        if let Ok(mut reading) = self.reading.try_lock()
            && reading.leader.is_none_or(|leader| leader == call)
        {
            if reading.leader.replace(call).is_none() {
                reading.led += 1;
            }
            self.link.leading.store(call, Ordering::Relaxed);
            reading.poll(cx);
            self.link.leading.store(0, Ordering::Relaxed);
        }
    }

    /// The call reads no more; if it was the leader, another that waits is woken to become it.
    fn resign(&self, call: u64) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if reading.leader != Some(call) {
            return;
        }
        reading.leader = None;
        drop(reading);
        let next = {
            let state = self.link.state();
            let mut waiting = state.calls.iter().filter(|(at, waiting)| **at != call && waiting.answer.is_none());
            waiting.next().map(|(_, waiting)| waiting.waker.clone())
        };
        if let Some(next) = next {
            next.wake();
        }
    }

    /// Reads what nobody has read yet. How many calls have led; [`ENDED`] when there is nothing more to read, ever.
    fn look(&self) -> u64 {
        let Ok(mut reading) = self.reading.try_lock() else { return BUSY };
        // Without bytes the socket is left alone, and with it the leader's waker, which it holds.
        let empty = self.link.conn.socket.get_ref().peek(&mut [0]);
        if !empty.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock) {
            reading.poll(&mut Context::from_waker(Waker::noop()));
        }
        if reading.work.is_none() { ENDED } else { reading.led }
    }

    /// The connection's task.
    async fn run(self: Arc<Ends>) {
        let link = &self.link;
        let read = async {
            let mut seen = 0;
            loop {
                let led = self.look();
                if led == ENDED {
                    break Status::unavailable("the connection has ended");
                }
                if led != seen {
                    // Calls come and go, and read for themselves; waking for their bytes would only take their processor.
                    seen = led;
                    Timer::after(LOOK).await;
                } else if let Err(error) = link.conn.socket.readable().await {
                    break Status::unavailable(format_args!("the connection broke: {error}"));
                }
            }
        };
        let status = smol::future::or(read, link.conn.tend(&link.limits)).await;
        link.end(&status.context(&link.address));
        link.conn.close();
    }
}

/// The connection itself.
#[derive(Debug)]
struct Link {
    conn: Arc<Conn>,
    limits: Limits,
    budget: Budget,
    state: Mutex<State>,
    address: String,
    /// The call that polls the reading at this moment, 0 for none. Only read by the reading, so by the same thread.
    leading: AtomicU64,
}

#[derive(Debug)]
struct State {
    next: u64,
    calls: HashMap<u64, Waiting>,
    /// Why no new calls are taken.
    refused: Option<Status>,
}

/// A call that was sent.
#[derive(Debug)]
struct Waiting {
    waker: Waker,
    answer: Option<Result<(u8, Assembled), Status>>,
}

impl Link {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_waiting(&self, call: u64) -> bool {
        self.state().calls.contains_key(&call)
    }

    /// The answer to a call, which then is forgotten; without one, the task is woken when there is.
    fn take(&self, call: u64, cx: &Context<'_>) -> Option<Result<(u8, Assembled), Status>> {
        let mut state = self.state();
        let Some(waiting) = state.calls.get_mut(&call) else {
            return Some(Err(Status::internal("a call was forgotten")));
        };
        let answer = waiting.answer.take();
        if answer.is_some() {
            state.calls.remove(&call);
        } else if !waiting.waker.will_wake(cx.waker()) {
            waiting.waker.clone_from(cx.waker());
        }
        answer
    }

    fn deliver(&self, call: u64, answer: Result<(u8, Assembled), Status>) {
        let waker = match self.state().calls.get_mut(&call) {
            Some(waiting) => {
                waiting.answer = Some(answer);
                if self.leading.load(Ordering::Relaxed) == call {
                    // It is being polled, and takes its answer next.
                    return;
                }
                std::mem::replace(&mut waiting.waker, Waker::noop().clone())
            }
            None => return,
        };
        waker.wake();
    }

    /// Fails all calls that wait and all that will come.
    fn end(&self, status: &Status) {
        let wakers: Vec<Waker> = {
            let mut state = self.state();
            state.refused.get_or_insert_with(|| status.clone());
            let waiting = state.calls.values_mut().filter(|waiting| waiting.answer.is_none());
            let fail = |waiting: &mut Waiting| {
                waiting.answer = Some(Err(status.clone()));
                std::mem::replace(&mut waiting.waker, Waker::noop().clone())
            };
            waiting.map(fail).collect()
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Reads to the end of the connection.
    async fn read_all(self: Arc<Link>) {
        let status = match self.read().await {
            Ok(()) | Err(End::Closed) => Status::unavailable("the server closed the connection"),
            Err(End::Broken(error)) => Status::unavailable(format_args!("the connection broke: {error}")),
            Err(End::Wrong(status)) => status,
        };
        self.end(&status.context(&self.address));
        self.conn.close();
    }

    async fn read(&self) -> Result<(), End> {
        let mut inbox = Inbox::new(self.conn.socket.clone());
        let mut arriving: HashMap<u64, (u8, Assembly)> = HashMap::new();
        let mut answered = 0;
        loop {
            // To look for more, mostly to find that there is none, would cost the leader as much as its answer did. What
            // the socket holds wakes the next leader or the task; what the inbox holds would wake nobody.
            if answered != 0 && answered == self.leading.load(Ordering::Relaxed) && inbox.is_empty() {
                pause().await;
            }
            answered = 0;
            inbox.bulk = arriving.values().any(|(_, assembly)| assembly.left() > crate::FRAME_LEN / 4);
            let (Header { call, kind }, len) = inbox.header(&self.limits).await?;
            self.conn.heard();
            match kind {
                Kind::Reply { method, parts } if self.is_waiting(call) && !arriving.contains_key(&call) => {
                    match Assembly::new(&parts, &self.limits, &self.budget) {
                        Ok(mut assembly) => {
                            inbox.body(&mut assembly, len).await?;
                            answered = self.arrived(call, method, assembly, &mut arriving);
                        }
                        Err(status) => {
                            self.deliver(call, Err(status));
                            inbox.skip(len).await?;
                        }
                    }
                }
                Kind::More if arriving.contains_key(&call) && self.is_waiting(call) => {
                    if let Some((method, mut assembly)) = arriving.remove(&call) {
                        inbox.bulk = assembly.left() > crate::FRAME_LEN / 4;
                        inbox.body(&mut assembly, len).await?;
                        answered = self.arrived(call, method, assembly, &mut arriving);
                    }
                }
                // To a call that nobody waits for any more.
                Kind::Reply { .. } | Kind::More => {
                    arriving.remove(&call);
                    inbox.skip(len).await?;
                }
                Kind::Error(wrong) => {
                    inbox.skip(len).await?;
                    let status = Status::from(wrong);
                    if call == 0 {
                        return Err(status.into());
                    }
                    arriving.remove(&call);
                    self.conn.give_up(call);
                    self.deliver(call, Err(status));
                }
                Kind::Ping => {
                    inbox.skip(len).await?;
                    self.conn.control(Outgoing::control(0, Kind::Pong));
                }
                Kind::Pong => inbox.skip(len).await?,
                Kind::Goodbye => {
                    inbox.skip(len).await?;
                    let status = Status::unavailable(format_args!("{}: the server is stopping", self.address));
                    self.state().refused.get_or_insert(status);
                }
                Kind::Request { .. } | Kind::Cancel => {
                    return Err(Status::internal("the server sent what only clients may").into());
                }
            }
        }
    }

    /// Takes in what a frame has brought; the call, once its answer is whole, else 0.
    fn arrived(&self, call: u64, method: u8, assembly: Assembly, arriving: &mut HashMap<u64, (u8, Assembly)>) -> u64 {
        if assembly.left() > 0 {
            arriving.insert(call, (method, assembly));
            return 0;
        }
        self.conn.give_up(call);
        self.deliver(call, assembly.finish().map(|assembled| (method, assembled)));
        call
    }
}

/// Gives control back to whoever polls, who polls again when more is wanted.
async fn pause() {
    let mut paused = false;
    poll_fn(|_| if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// One call; dropping it cancels the call at the server.
struct Call {
    ends: Arc<Ends>,
    step: Step,
    timer: Option<(Timer, u64)>,
}

enum Step {
    Start(Box<(Request, CallOptions)>),
    Sent(u64, Method),
    Done,
}

impl Future for Call {
    type Output = Result<Response, Status>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Step::Start(start) = &this.step {
            let (request, options) = &**start;
            let options = *options;
            let method = request.method();
            let mut out = match Outgoing::request(0, request, options) {
                Ok(out) => out,
                Err(status) => {
                    this.step = Step::Done;
                    return Poll::Ready(Err(status));
                }
            };
            let call = {
                let mut state = this.ends.link.state();
                if let Some(status) = &state.refused {
                    let status = status.clone();
                    drop(state);
                    this.step = Step::Done;
                    return Poll::Ready(Err(status));
                }
                let call = state.next;
                state.next += 1;
                state.calls.insert(call, Waiting { waker: cx.waker().clone(), answer: None });
                call
            };
            this.step = Step::Sent(call, method);
            this.timer = options.timeout_ms.map(|ms| (Timer::after(Duration::from_millis(ms)), ms));
            out.set_call(call);
            this.ends.link.conn.send(out);
        }
        let Step::Sent(call, method) = this.step else {
            return Poll::Ready(Err(Status::internal("a call was polled after its end")));
        };
        let mut answer = this.ends.link.take(call, cx);
        if answer.is_none() {
            this.ends.lead(call, cx);
            answer = this.ends.link.take(call, cx);
        }
        if let Some(answer) = answer {
            this.step = Step::Done;
            this.ends.resign(call);
            return Poll::Ready(answer.and_then(|(number, all)| this.decode(method, number, all)));
        }
        if let Some((timer, ms)) = &mut this.timer
            && Pin::new(timer).poll(cx).is_ready()
        {
            let ms = *ms;
            this.cancel();
            return Poll::Ready(Err(Status::deadline_exceeded(format_args!("no answer within {ms} ms"))));
        }
        Poll::Pending
    }
}

impl Call {
    fn decode(&self, method: Method, number: u8, all: Assembled) -> Result<Response, Status> {
        all.into_response(method, number, &self.ends.link.limits, &self.ends.link.budget)
    }

    fn cancel(&mut self) {
        let Step::Sent(call, _) = std::mem::replace(&mut self.step, Step::Done) else { return };
        self.ends.resign(call);
        let unanswered = self.ends.link.state().calls.remove(&call).is_some_and(|waiting| waiting.answer.is_none());
        let begun = self.ends.link.conn.give_up(call);
        if unanswered && begun {
            self.ends.link.conn.control(Outgoing::control(call, Kind::Cancel));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.cancel();
    }
}
