//! A master inside a program that brings everything itself: a host with its own clock and log, a loop instead of an
//! executor, a graph built in Rust, no sockets and no threads. It fits a line to points, then asks it for values.
//!
//! ```sh
//! cargo run --release --example embed
//! ```

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use runstep::Status;
use runstep::client::Client;
use runstep::graph::{GraphBuilder, NodeSpec, Output};
use runstep::host::{Host, Level, Time};
use runstep::ops::{ALL, Registry};
use runstep::service::{CallableOptions, SessionConfig};
use runstep::session::{MasterOptions, Server};
use runstep::tensor::{DType, Tensor};

/// What this program gives the master: a clock and a place for log lines. Kernels run inline.
struct MyHost(Instant);

impl Host for MyHost {
    fn now(&self) -> Option<Time> {
        u64::try_from(self.0.elapsed().as_nanos()).ok().map(Time)
    }

    fn log(&self, level: Level, line: fmt::Arguments<'_>) {
        eprintln!("{level:?}: {line}");
    }
}

fn main() -> Result<(), Status> {
    let registry = Arc::new(Registry::new(ALL)?);
    let nodes = line_fit(&registry)?;
    let server = Server::new(MasterOptions::new(registry), Arc::new(MyHost(Instant::now())))?;

    let client = Client::new(Arc::new(server.clone()));
    let session = drive(client.create_session(nodes.into(), SessionConfig::default()))?;
    drive(session.run(&[], &[], &["init"]))?;

    // Points on y = 2 x + 1.
    let x = Tensor::from_slice(&[4], &[-1.0f32, 0.0, 1.0, 2.0])?;
    let y = Tensor::from_slice(&[4], &[-1.0f32, 1.0, 3.0, 5.0])?;
    for step in 0..200 {
        let fetched = drive(session.run(&[("x:0", &x), ("y:0", &y)], &["loss:0"], &["train"]))?;
        if step % 50 == 0 {
            println!("step {step:3}: loss {:.6}", fetched.scalar::<f32>("loss:0")?);
        }
    }

    // For the hot path: names are resolved once, runs are plain calls, memory is used again.
    let options =
        CallableOptions { feeds: vec!["x:0".into()], fetches: vec!["line:0".into()], ..CallableOptions::default() };
    let mut predict = drive(server.local_callable(session.handle(), options))?;
    let mut outputs = [Tensor::default()];
    for value in [3.0f32, 10.0] {
        predict.run(&[Tensor::from_slice(&[1], &[value])?], &mut outputs)?;
        println!("at {value}: {:.3}", outputs[0].as_slice::<f32>()?[0]);
    }
    drive(session.close())
}

/// A line `slope x + offset`, its mean squared distance from points, and a step of gradient descent on that.
fn line_fit(registry: &Registry) -> Result<Vec<NodeSpec>, Status> {
    let g = &mut GraphBuilder::new(registry);
    let x = g.placeholder("x", DType::Float, &[-1])?;
    let y = g.placeholder("y", DType::Float, &[-1])?;
    let zero = g.constant("zero", Tensor::scalar(0.0f32))?;
    let slope = g.variable("slope", DType::Float, &[])?;
    let offset = g.variable("offset", DType::Float, &[])?;
    let set_slope = node(g, "Assign", "slope/set", &[&slope, &zero])?;
    let set_offset = node(g, "Assign", "offset/set", &[&offset, &zero])?;
    g.group("init", &[set_slope.node(), set_offset.node()])?;

    let product = node(g, "Mul", "product", &[&x, &slope])?;
    let line = node(g, "AddV2", "line", &[&product, &offset])?;
    let error = node(g, "Sub", "error", &[&line, &y])?;
    let square = node(g, "Square", "square", &[&error])?;
    let axis = g.constant("axis", Tensor::from_slice(&[1], &[0i32])?)?;
    node(g, "Mean", "loss", &[&square, &axis])?;

    let rate = g.constant("rate", Tensor::scalar(0.2f32))?;
    let by_slope = node(g, "Mul", "by_slope", &[&error, &x])?;
    let slope_gradient = node(g, "Mean", "slope/gradient", &[&by_slope, &axis])?;
    let offset_gradient = node(g, "Mean", "offset/gradient", &[&error, &axis])?;
    let slope_step = node(g, "ApplyGradientDescent", "slope/step", &[&slope, &rate, &slope_gradient])?;
    let offset_step = node(g, "ApplyGradientDescent", "offset/step", &[&offset, &rate, &offset_gradient])?;
    g.group("train", &[slope_step.node(), offset_step.node()])?;
    Ok(g.take_nodes())
}

fn node(g: &mut GraphBuilder<'_>, op: &str, name: &str, inputs: &[&Output]) -> Result<Output, Status> {
    g.op1(op, name, inputs, Vec::new())
}

/// Polls a future until it is ready: with nobody else in the program there is nothing to wait for.
fn drive<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
        std::hint::spin_loop();
    }
}
