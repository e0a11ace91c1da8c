//! What waits to be written, by turns, and the writing of it.

use std::collections::VecDeque;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::task::Waker;
use std::time::Instant;

use runstep::service::frame::Outgoing;

use crate::FRAME_LEN;

/// How many bytes a caller writes itself before it leaves the rest to the connection's own task.
const INLINE_LEN: usize = 2 * FRAME_LEN as usize;

/// Calls, answers and control frames of one connection that are not written yet.
#[derive(Debug)]
pub(crate) struct Outbox {
    /// Whose frame is being written; it ends before another begins.
    current: Option<Outgoing>,
    /// Control frames go first.
    control: VecDeque<Outgoing>,
    /// One frame each by turns.
    queue: VecDeque<Outgoing>,
    /// The socket takes no more for now, or the task is to go on: only the connection's task writes.
    pub(crate) busy: bool,
    /// When bytes were last taken, or there was nothing to take.
    pub(crate) progress: Instant,
    /// The task that writes.
    pub(crate) writer: Option<Waker>,
    /// Who waits until all is written.
    pub(crate) drained: Option<Waker>,
    pub(crate) failed: bool,
}

/// How far writing came.
pub(crate) enum Pumped {
    /// Nothing is left.
    Empty,
    /// The socket is full.
    Blocked,
    /// Enough for one turn.
    Enough,
}

impl Outbox {
    pub(crate) fn new() -> Outbox {
        Outbox {
            current: None,
            control: VecDeque::new(),
            queue: VecDeque::new(),
            busy: false,
            progress: Instant::now(),
            writer: None,
            drained: None,
            failed: false,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queue.len() + self.control.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.current.is_none() && self.queue.is_empty() && self.control.is_empty()
    }

    /// Adds something and writes what can be written at once. The waker returned is to be woken, without the lock.
    #[must_use]
    pub(crate) fn send(&mut self, out: Outgoing, is_control: bool, socket: &TcpStream) -> Option<Waker> {
        if self.failed {
            return None;
        }
        if self.is_empty() {
            self.progress = Instant::now();
        }
        if is_control {
            self.control.push_back(out)
        } else {
            self.queue.push_back(out)
        }
        if self.busy {
            return None;
        }
        match self.pump(socket) {
            Ok(Pumped::Empty) => None,
            Ok(Pumped::Blocked | Pumped::Enough) => {
                self.busy = true;
                self.writer.take()
            }
            Err(_) => {
                self.fail();
                self.writer.take()
            }
        }
    }

    /// Drops all; nothing is taken from now on.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
        self.current = None;
        self.control.clear();
        self.queue.clear();
    }

    /// Gives up what was to be sent of a call, at the end of the frame that is being written. Whether anything of it
    /// was sent.
    pub(crate) fn give_up(&mut self, call: u64) -> bool {
        let mut begun = true;
        self.queue.retain(|out| {
            let keep = out.call() != call;
            begun &= keep || out.has_begun();
            keep
        });
        if let Some(current) = self.current.as_mut().filter(|out| out.call() == call) {
            current.cut_short();
        }
        begun
    }

    /// Writes until all is written, the socket is full, or it is time to give others a turn.
    pub(crate) fn pump(&mut self, socket: &TcpStream) -> io::Result<Pumped> {
        let mut left = INLINE_LEN;
        loop {
            let current = match &mut self.current {
                Some(current) => current,
                None => match self.control.pop_front().or_else(|| self.queue.pop_front()) {
                    Some(next) => self.current.insert(next),
                    None => return Ok(Pumped::Empty),
                },
            };
            if current.between_frames() {
                if current.is_done() {
                    self.current = None;
                    continue;
                }
                current.begin_frame(FRAME_LEN).map_err(io::Error::other)?;
            }
            let (slices, count) = current.slices();
            let slices = slices.map(IoSlice::new);
            let written = match (&mut &*socket).write_vectored(slices.get(..count).unwrap_or(&slices)) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Pumped::Blocked),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.progress = Instant::now();
            current.advance(written);
            if current.between_frames()
                && let Some(out) = self.current.take().filter(|out| !out.is_done())
            {
                self.queue.push_back(out);
            }
            left = left.saturating_sub(written);
            if left == 0 && !self.is_empty() {
                return Ok(Pumped::Enough);
            }
        }
    }
}
