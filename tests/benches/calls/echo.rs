//! What calls are compared to: the same number of bytes there and back, with nothing done to them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, EndpointConfig, ServerConfig, SmolRuntime};
use runstep_host::block_on;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use smol::Async;
use smol::io::{AsyncReadExt, AsyncWriteExt};

/// A value to another thread and back through std's channels.
pub(crate) fn hand_over() -> impl FnMut() {
    let (to, there) = channel::<f32>();
    let (back, from) = channel::<f32>();
    thread::spawn(move || {
        while let Ok(value) = there.recv() {
            if back.send(value).is_err() {
                break;
            }
        }
    });
    move || {
        to.send(1.0).expect("the other thread");
        from.recv().expect("the other thread");
    }
}

/// Over TCP between two of smol's tasks, as the transport has it: each side its own task on the same executor and reactor.
pub(crate) fn tcp(there: usize, back: usize) -> impl FnMut() {
    let listener = Async::<TcpListener>::bind(([127, 0, 0, 1], 0)).expect("a socket");
    let address = listener.get_ref().local_addr().expect("an address");
    let server = smol::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("a connection");
        socket.get_ref().set_nodelay(true).expect("no delay");
        let (mut request, response) = (vec![0; there], vec![1; back]);
        while socket.read_exact(&mut request).await.is_ok() {
            socket.write_all(&response).await.expect("an answer");
        }
    });
    server.detach();
    let mut socket = block_on(Async::<TcpStream>::connect(address)).expect("a connection");
    socket.get_ref().set_nodelay(true).expect("no delay");
    let (request, mut response) = (vec![0; there], vec![0; back]);
    move || {
        block_on(async {
            socket.write_all(&request).await.expect("a request");
            socket.read_exact(&mut response).await.expect("an answer");
        });
    }
}

/// Over TCP between two threads that block.
pub(crate) fn tcp_blocking(there: usize, back: usize) -> impl FnMut() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut socket, _) = listener.accept().expect("a connection");
        socket.set_nodelay(true).expect("no delay");
        let (mut request, response) = (vec![0; there], vec![1; back]);
        while socket.read_exact(&mut request).is_ok() {
            socket.write_all(&response).expect("an answer");
        }
    });
    let mut socket = TcpStream::connect(address).expect("a connection");
    socket.set_nodelay(true).expect("no delay");
    let (request, mut response) = (vec![0; there], vec![0; back]);
    move || {
        socket.write_all(&request).expect("a request");
        socket.read_exact(&mut response).expect("an answer");
    }
}

/// quinn's own: a stream a call, over smol.
pub(crate) fn quinn(there: usize, back: usize) -> impl FnMut() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let certificate = made.cert.der().clone();
    let server = listening(&certificate, &made.signing_key.serialize_pem());
    let address = server.local_addr().expect("an address");
    let answers = smol::spawn(async move {
        let connection = server.accept().await.expect("a connection").await.expect("a handshake");
        while let Ok((mut send, mut receive)) = connection.accept_bi().await {
            let task = smol::spawn(async move {
                let request = receive.read_to_end(1 << 20).await.expect("a request");
                assert_eq!(request.len(), there);
                send.write_all(&vec![1; back]).await.expect("an answer");
                send.finish().expect("an answer");
            });
            task.detach();
        }
        // Until the client has gone.
        server.wait_idle().await;
    });
    answers.detach();
    let client = calling(certificate);
    let connecting = client.connect(address, "localhost").expect("an address");
    let connection = block_on(connecting).expect("a connection");
    let request = vec![0; there];
    move || {
        // The endpoint lives as long as the contest.
        let _ = &client;
        block_on(async {
            let (mut send, mut receive) = connection.open_bi().await.expect("a stream");
            send.write_all(&request).await.expect("a request");
            send.finish().expect("a request");
            assert_eq!(receive.read_to_end(1 << 20).await.expect("an answer").len(), back);
        });
    }
}

fn listening(certificate: &CertificateDer<'static>, key: &str) -> Endpoint {
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let tls = rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).expect("TLS 1.3").with_no_client_auth();
    let tls = tls.with_single_cert(vec![certificate.clone()], key).expect("a certificate");
    let config = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls).expect("TLS for QUIC")));
    endpoint(Some(config))
}

fn calling(certificate: CertificateDer<'static>) -> Endpoint {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).expect("a certificate");
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let tls = tls.with_protocol_versions(&[&rustls::version::TLS13]).expect("TLS 1.3");
    let tls = tls.with_root_certificates(roots).with_no_client_auth();
    let mut endpoint = endpoint(None);
    let config = QuicClientConfig::try_from(tls).expect("TLS for QUIC");
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(config)));
    endpoint
}

fn endpoint(server: Option<ServerConfig>) -> Endpoint {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    Endpoint::new(EndpointConfig::default(), server, socket, Arc::new(SmolRuntime)).expect("an endpoint")
}
