//! The transport: calls as packets on a line, as a radio or a bus carries them.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::mem::take;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use runstep::Status;
use runstep::service::frame::{Assembled, Header, Kind, Limits, Outgoing};
use runstep::service::{CallFuture, CallOptions, Channel, Method, Request, Response, Service};
use runstep::tensor::{Budget, Charge};

/// One direction: packets, the tasks that wait for them, and whether the line is cut.
#[derive(Default)]
pub(crate) struct Line(Mutex<(VecDeque<Vec<u8>>, Vec<Waker>, bool)>);

impl Line {
    pub(crate) fn cut(&self) {
        self.change(None, true);
    }

    fn send(&self, out: Outgoing) {
        self.change(out.into_packet().ok(), false);
    }

    fn change(&self, packet: Option<Vec<u8>>, cut: bool) {
        let mut line = self.0.lock().unwrap();
        line.0.extend(packet);
        line.2 |= cut;
        let wakers = take(&mut line.1);
        drop(line);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// The next packet, and whether the line is cut; without a packet, the task is woken when there is one.
    fn take(&self, cx: &Context<'_>) -> (Option<Vec<u8>>, bool) {
        let mut line = self.0.lock().unwrap();
        let packet = line.0.pop_front();
        if packet.is_none() {
            line.1.push(cx.waker().clone());
        }
        (packet, line.2)
    }
}

/// Both directions, what each side lets the other make it hold, and the client's answers by number of the call.
pub(crate) struct Link {
    pub(crate) up: Line,
    pub(crate) down: Line,
    limits: Limits,
    pub(crate) budget: Budget,
    answers: Mutex<(u64, HashMap<u64, Option<Result<(u8, Assembled), Status>>>)>,
}

pub(crate) type Running = HashMap<u64, (CallFuture, Charge)>;

impl Link {
    pub(crate) fn new(limits: Limits) -> Arc<Link> {
        let (up, down, budget) = (Line::default(), Line::default(), limits.budget());
        Arc::new(Link { up, down, limits, budget, answers: Mutex::default() })
    }

    /// The server: begins the calls that have arrived, and polls those that run.
    pub(crate) fn serve(&self, service: &dyn Service, running: &mut Running, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let (packet, cut) = self.up.take(cx);
            if cut {
                running.clear();
                return Poll::Ready(());
            }
            let Some(packet) = packet else { break };
            let Ok((Header { call, kind }, body)) = Header::of_packet(&packet) else { continue };
            if let Kind::Request { method, timeout_ms, parts } = kind {
                let full = running.len() >= self.limits.calls_per_connection_max;
                let all = Assembled::of_body(&parts, body, &self.limits, &self.budget);
                match all.and_then(|all| all.into_request(method, &self.limits, &self.budget)) {
                    Ok(_) if full => self.down.send(Outgoing::error(call, &Status::resource_exhausted("full"))),
                    Ok((request, charge)) => {
                        running.insert(call, (service.call(request, CallOptions { timeout_ms }), charge));
                    }
                    Err(status) => self.down.send(Outgoing::error(call, &status)),
                }
            } else if kind == Kind::Cancel {
                running.remove(&call);
            }
        }
        running.retain(|&call, (work, _)| {
            let Poll::Ready(result) = work.as_mut().poll(cx) else { return true };
            self.down.send(Outgoing::answer(call, result, &self.budget));
            false
        });
        Poll::Pending
    }

    /// The client: puts the answers that have arrived where their calls find them, and looks for one.
    fn answer(&self, number: u64, method: Method, cx: &Context<'_>) -> Poll<Result<Response, Status>> {
        let mut answers = self.answers.lock().unwrap();
        let cut = loop {
            let (packet, cut) = self.down.take(cx);
            let Some(packet) = packet else { break cut };
            let (Header { call, kind }, body) = Header::of_packet(&packet)?;
            let answer = match kind {
                Kind::Reply { method, parts } => {
                    Assembled::of_body(&parts, body, &self.limits, &self.budget).map(|all| (method, all))
                }
                Kind::Error(wrong) => Err(wrong.into()),
                _ => continue,
            };
            answers.1.entry(call).and_modify(|place| *place = Some(answer));
        };
        match answers.1.get_mut(&number).and_then(Option::take) {
            Some(Ok((got, all))) => Poll::Ready(all.into_response(method, got, &self.limits, &self.budget)),
            Some(Err(status)) => Poll::Ready(Err(status)),
            None if cut => Poll::Ready(Err(Status::unavailable("the line is cut"))),
            None => Poll::Pending,
        }
    }
}

/// A call's place among the answers; dropped before there is one, it cancels the call.
struct Place<'a>(&'a Link, u64);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.answers.lock().unwrap().1.remove(&self.1);
        self.0.up.send(Outgoing::control(self.1, Kind::Cancel));
    }
}

pub(crate) struct PacketChannel(pub(crate) Arc<Link>);

impl Channel for PacketChannel {
    fn call(&self, request: Request, options: CallOptions) -> CallFuture {
        let link = self.0.clone();
        Box::pin(async move {
            let number = {
                let mut answers = link.answers.lock().unwrap();
                answers.0 += 1;
                answers.0
            };
            link.answers.lock().unwrap().1.insert(number, None);
            let place = Place(&link, number);
            link.up.send(Outgoing::request(place.1, &request, options)?);
            poll_fn(|cx| link.answer(number, request.method(), cx)).await
        })
    }
}
