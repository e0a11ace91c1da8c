//! Trains two models on handwritten digits through sessions over QUIC: a softmax regression, then a small convolutional
//! net, each from a GraphDef that TensorFlow wrote. Server and client are one process here, and could be two.
//!
//! ```sh
//! cargo run --release --example digits
//! ```
//! The last line is `test accuracy NN.N %` of the net; TensorFlow reaches 97.6 with it.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use indicatif::{ProgressBar, ProgressStyle};
use runstep::Status;
use runstep::client::Client;
use runstep::ops::{ALL, KNOWN, Registry};
use runstep::service::SessionConfig;
use runstep::session::{MasterOptions, Server};
use runstep::wire::{Allowance, Limits, graph_from_bytes};
use runstep_examples::curve;
use runstep_examples::digits::Digits;
use runstep_host::StdHost;
use runstep_quic::{ClientOptions, Identity, QuicChannel, ServerOptions, Trust};

/// A model: its training graph, and when it is good enough.
struct Model {
    name: &'static str,
    graph: &'static [u8],
    /// Training ends when the mean loss of the last pass over the images is below this,
    loss_wanted: f32,
    /// or after so many steps.
    steps_max: usize,
}

const SOFTMAX: Model = Model {
    name: "softmax regression",
    graph: include_bytes!("../data/train_digits_softmax.pb"),
    loss_wanted: 0.25,
    steps_max: 300,
};
const NET: Model = Model {
    name: "convolutional net",
    graph: include_bytes!("../data/train_digits_cnn.pb"),
    loss_wanted: 0.05,
    steps_max: 300,
};

const BATCH: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    smol::block_on(async {
        // The server: a master with every op, behind QUIC on a free port, with a certificate made for the occasion.
        let registry = Arc::new(Registry::new(ALL)?.with_known(KNOWN));
        let master = Server::new(MasterOptions::new(registry), Arc::new(StdHost::new()?))?;
        let identity = Identity::self_signed(&["localhost"])?;
        let certificate = identity.to_pem().map(|(certificate, _)| certificate.to_owned()).unwrap_or_default();
        let address = "127.0.0.1:0".parse()?;
        let server = runstep_quic::serve(address, Arc::new(master.clone()), ServerOptions::new(identity))?;
        println!("serving on {}", server.url());

        // The client: it trusts that certificate and nothing else.
        let mut options = ClientOptions::new(Trust::Roots(certificate));
        options.server_name = Some("localhost".to_owned());
        let channel = QuicChannel::connect(&server.url(), options).await?;
        let client = Client::new(Arc::new(channel));

        let (train, test) = Digits::load()?;
        let simple = fit(&client, &SOFTMAX, &train, &test).await?;
        println!("{}: {:.1} % of the test images\n", SOFTMAX.name, simple * 100.0);
        let net = fit(&client, &NET, &train, &test).await?;

        drop(client);
        server.shutdown(Duration::from_secs(1)).await;
        println!("test accuracy {:.1} %", net * 100.0);
        Ok(())
    })
}

/// Trains a model in a session of its own; answers the part of the test images that it gets right.
async fn fit(client: &Client, model: &Model, train: &Digits, test: &Digits) -> Result<f32, Status> {
    let allowed = Allowance { limits: Limits::default(), budget: None };
    let graph = graph_from_bytes(Bytes::from_static(model.graph), &allowed)?;
    let session = client.create_session(graph, SessionConfig::default()).await?;
    session.run(&[], &[], &["init"]).await?;

    let bar = ProgressBar::new(model.steps_max as u64).with_message(model.name);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} step {pos} of at most {len}, {per_sec}") {
        bar.set_style(style);
    }
    let epoch = train.count() / BATCH;
    let start = Instant::now();
    let mut losses = Vec::new();
    while losses.len() < model.steps_max {
        let batch = train.batch(losses.len(), BATCH)?;
        let fetched = session.run(&[("x:0", &batch.images), ("y:0", &batch.labels)], &["loss:0"], &["train"]).await?;
        losses.push(fetched.scalar::<f32>("loss:0")?);
        bar.inc(1);
        if losses.len() % epoch == 0 && mean(losses.iter().rev().take(epoch)) < model.loss_wanted {
            break;
        }
    }
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f32();
    let last = mean(losses.iter().rev().take(epoch));
    println!("{}: {} steps in {seconds:.1} s, loss {last:.3}", model.name, losses.len());
    print!("{}", curve::draw(&losses));

    let fetched = session.run(&[("x:0", &test.images), ("y:0", &test.labels)], &["accuracy:0"], &[]).await?;
    session.close().await?;
    fetched.scalar::<f32>("accuracy:0")
}

fn mean<'a>(values: impl Iterator<Item = &'a f32>) -> f32 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}
