//! A small call over memory, beside a hand-over to another thread and back through std's channels.
//!
//! `cargo bench -p runstep-memory --bench call`; the last lines are `figure NAME VALUE UNIT`, medians of interleaved rounds.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Instant;

use runstep::service::suite::Scripted;
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep_host::{StdHost, block_on};

const ROUNDS: usize = 100;
const BATCH: u32 = 100;

fn main() {
    let host = Arc::new(StdHost::with_threads(1).unwrap());
    let (channel, server) = runstep_memory::channel(host, runstep_memory::Limits::default());
    thread::spawn(move || block_on(server.serve(Arc::new(Scripted::default()))));
    let (to, requests) = mpsc::channel::<u64>();
    let (answers, from) = mpsc::channel::<u64>();
    thread::spawn(move || requests.into_iter().all(|request| answers.send(request).is_ok()));

    let mut hand_over = Vec::new();
    let mut memory = Vec::new();
    for _ in 0..ROUNDS {
        hand_over.push(batch(|| {
            to.send(1).unwrap();
            from.recv().unwrap();
        }));
        memory.push(batch(|| {
            let feeds = vec![Tensor::scalar(1.5f32), Tensor::scalar(2.5f32)];
            let request = Request::RunCallable(RunCallableRequest { feeds, ..Default::default() });
            block_on(channel.call(request, CallOptions::default())).unwrap();
        }));
    }
    let (hand_over, memory) = (median(hand_over), median(memory));
    println!("figure transport_hand_over {hand_over:.2} us");
    println!("figure transport_memory {memory:.2} us");
    println!("figure transport_memory_ratio {:.2} x", memory / hand_over);
}

fn batch(mut round_trip: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..BATCH).for_each(|_| round_trip());
    start.elapsed().as_secs_f64() * 1e6 / f64::from(BATCH)
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}
