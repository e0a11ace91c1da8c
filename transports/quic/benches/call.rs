//! A small call over QUIC, beside quinn's own echo of as many bytes, a stream each, on the same executor.
//!
//! `cargo bench -p runstep-quic --bench call`; the last lines are `figure NAME VALUE UNIT`, medians of interleaved rounds.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn::{Connection, Endpoint, EndpointConfig, ServerConfig, SmolRuntime};
use runstep::service::suite::Scripted;
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep_quic::{ClientOptions, Identity, QuicChannel, ServerOptions, Trust, serve};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

const ROUNDS: usize = 60;
const BATCH: u32 = 25;
/// Bytes of a call of two scalars with its frame, more or less.
const ECHO_LEN: usize = 64;

fn main() {
    let identity = Identity::self_signed(&["127.0.0.1"]).unwrap();
    let options = ServerOptions::new(identity.clone());
    let server = serve(([127, 0, 0, 1], 0).into(), Arc::new(Scripted::default()), options).unwrap();
    let trust = ClientOptions::new(Trust::Anyone);
    let channel = smol::block_on(QuicChannel::connect(&server.url(), trust)).unwrap();
    let (_endpoints, connection) = echo(&identity);

    let mut bare = Vec::new();
    let mut quic = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(batch(|| {
            smol::block_on(async {
                let (mut send, mut recv) = connection.open_bi().await.unwrap();
                send.write_all(&[7; ECHO_LEN]).await.unwrap();
                send.finish().unwrap();
                assert_eq!(recv.read_to_end(1 << 16).await.unwrap().len(), ECHO_LEN);
            });
        }));
        quic.push(batch(|| {
            let feeds = vec![Tensor::scalar(1.5f32), Tensor::scalar(2.5f32)];
            let request = Request::RunCallable(RunCallableRequest { feeds, ..Default::default() });
            smol::block_on(channel.call(request, CallOptions::default())).unwrap();
        }));
    }
    let (bare, quic) = (median(bare), median(quic));
    println!("figure transport_quic_echo {bare:.2} us");
    println!("figure transport_quic {quic:.2} us");
    println!("figure transport_quic_ratio {:.2} x", quic / bare);
}

/// A connection to a task that sends back what it gets, with quinn's defaults.
fn echo(identity: &Identity) -> ([Endpoint; 2], Connection) {
    let (certificate, key) = identity.to_pem().unwrap();
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let tls = quinn::crypto::rustls::QuicServerConfig::try_from(tls).unwrap();
    let server = ServerConfig::with_crypto(Arc::new(tls));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let client = quinn::ClientConfig::new(Arc::new(tls));

    let endpoint = |config| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        Endpoint::new(EndpointConfig::default(), config, socket, Arc::new(SmolRuntime)).unwrap()
    };
    let endpoints = [endpoint(Some(server)), endpoint(None)];
    let address = endpoints[0].local_addr().unwrap();
    let server = endpoints[0].clone();
    smol::spawn(async move {
        let connection = server.accept().await.unwrap().await.unwrap();
        while let Ok((mut send, mut recv)) = connection.accept_bi().await {
            smol::spawn(async move {
                let bytes = recv.read_to_end(1 << 16).await.unwrap();
                send.write_all(&bytes).await.unwrap();
                send.finish().unwrap();
            })
            .detach();
        }
    })
    .detach();
    let connection =
        smol::block_on(async { endpoints[1].connect_with(client, address, "127.0.0.1").unwrap().await.unwrap() });
    (endpoints, connection)
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
