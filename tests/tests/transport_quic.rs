//! QUIC: who is trusted, silence, streams that say nothing, and the end of a server.

use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;

use quinn::{Connection, Endpoint, EndpointConfig, SmolRuntime};
use runstep::service::frame::{Header, Kind, PREFIX_LEN, Parts};
use runstep::service::suite::{Script, Scripted};
use runstep::service::*;
use runstep::tensor::Tensor;
use runstep::{Code, Status};
use runstep_quic::{
    Authority, ClientAuth, ClientOptions, Identity, Limits, QuicChannel, Server, ServerOptions, Trust, serve,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

fn start(options: ServerOptions) -> (Scripted, Server) {
    let service = Scripted::default();
    let server = serve(([127, 0, 0, 1], 0).into(), Arc::new(service.clone()), options).unwrap();
    (service, server)
}

fn own() -> Identity {
    Identity::self_signed(&["127.0.0.1", "localhost"]).unwrap()
}

async fn call(channel: &QuicChannel, script: Script, feed: Tensor, timeout_ms: u64) -> Result<Tensor, Status> {
    let request = RunCallableRequest { handle: script.handle(), feeds: vec![feed], ..Default::default() };
    let options = CallOptions { timeout_ms: Some(timeout_ms) };
    match channel.call(Request::RunCallable(request), options).await? {
        Response::RunCallable(answer) => Ok(answer.fetches[0].clone()),
        other => panic!("{other:?}"),
    }
}

async fn echo(channel: &QuicChannel) -> Result<(), Status> {
    let answer = call(channel, Script::Echo, Tensor::scalar(5i32), 60_000).await?;
    assert_eq!(answer.to_scalar(), Ok(5));
    Ok(())
}

fn code<T>(result: Result<T, Status>) -> Code {
    result.err().map_or(Code::Ok, |status| status.code())
}

/// Clients with a certificate, without one and with a stranger's, where none, any or one is asked for.
#[test]
fn client_certificates() {
    smol::block_on(async {
        let (ours, theirs) = (Authority::new("ours").unwrap(), Authority::new("theirs").unwrap());
        let pem = || ours.certificate_pem().to_owned();
        let identities = [None, Some(ours.issue(&["client"]).unwrap()), Some(theirs.issue(&["client"]).unwrap())];
        let cases = [
            (ClientAuth::Anyone, [Code::Ok, Code::Ok, Code::Ok]),
            (ClientAuth::Optional(pem()), [Code::Ok, Code::Ok, Code::Unauthenticated]),
            (ClientAuth::Required(pem()), [Code::Unauthenticated, Code::Ok, Code::Unauthenticated]),
        ];
        for (auth, expected) in cases {
            let mut options = ServerOptions::new(ours.issue(&["127.0.0.1"]).unwrap());
            options.clients = auth.clone();
            let (_, server) = start(options);
            for (identity, expected) in identities.iter().zip(expected) {
                let mut options = ClientOptions::new(Trust::Roots(pem()));
                options.identity = identity.clone();
                let result = async {
                    let channel = QuicChannel::connect(&server.url(), options).await?;
                    echo(&channel).await
                };
                assert_eq!(code(result.await), expected, "{auth:?} {identity:?}");
            }
        }
    });
}

/// A server is believed for its certificate's sake: signed by a trusted one, for the name in the address.
#[test]
fn servers_are_checked() {
    smol::block_on(async {
        let identity = own();
        let (_, server) = start(ServerOptions::new(identity.clone()));
        let connect = |trust, name: Option<&str>| {
            let mut options = ClientOptions::new(trust);
            options.server_name = name.map(str::to_owned);
            let url = server.url();
            async move { echo(&QuicChannel::connect(&url, options).await?).await }
        };
        let roots = |identity: &Identity| Trust::Roots(identity.to_pem().unwrap().0.to_owned());
        assert_eq!(code(connect(roots(&identity), None).await), Code::Ok);
        assert_eq!(code(connect(roots(&identity), Some("localhost")).await), Code::Ok);
        assert_eq!(code(connect(Trust::Anyone, None).await), Code::Ok);
        assert_eq!(code(connect(roots(&own()), None).await), Code::Unauthenticated);
        assert_eq!(code(connect(roots(&identity), Some("example.org")).await), Code::Unauthenticated);
        assert_eq!(code(connect(Trust::Roots("no PEM".into()), None).await), Code::InvalidArgument);
        let (certificate, key) = identity.to_pem().unwrap();
        assert!(Identity::from_pem(certificate, key).is_ok());
        assert_eq!(code(Identity::from_pem(key, certificate)), Code::InvalidArgument);
        // The debug text says nothing of the key.
        assert_eq!(format!("{identity:?}"), "Identity(1 certificates)");
    });
}

/// Nobody answers: an error within the time given.
#[test]
fn nobody_there() {
    smol::block_on(async {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut options = ClientOptions::new(Trust::Anyone);
        options.timeout = Duration::from_millis(300);
        let address = silent.local_addr().unwrap().to_string();
        assert_eq!(code(QuicChannel::connect(&address, options.clone()).await), Code::Unavailable);
        assert_eq!(code(QuicChannel::connect("no address", options).await), Code::InvalidArgument);
    });
}

/// A step that says nothing for longer than a silent peer is allowed lives, as the connection is kept alive.
#[test]
fn long_silent_step() {
    smol::block_on(async {
        let mut limits = Limits::default();
        (limits.ping_ms, limits.silence_ms_max) = (50, 400);
        let mut options = ServerOptions::new(own());
        options.limits = limits.clone();
        let (_, server) = start(options);
        let mut options = ClientOptions::new(Trust::Anyone);
        options.limits = limits;
        let channel = QuicChannel::connect(&server.url(), options).await.unwrap();
        let late = call(&channel, Script::Hang, Tensor::scalar(1i32), 1500).await;
        assert_eq!(code(late), Code::DeadlineExceeded);
        echo(&channel).await.unwrap();
    });
}

/// A tensor beyond all windows passes, and small calls pass it.
#[test]
fn large_tensor_beside_small_calls() {
    smol::block_on(async {
        let (_, server) = start(ServerOptions::new(own()));
        let channel = QuicChannel::connect(&server.url(), ClientOptions::new(Trust::Anyone)).await.unwrap();
        let large = Tensor::from_slice(&[100 << 20], &vec![7u8; 100 << 20]).unwrap();
        let finished = std::cell::Cell::new(0);
        let all = async {
            let got = call(&channel, Script::Later(1), large.clone(), 600_000).await.unwrap();
            assert_eq!(got.bytes(), large.bytes());
            finished.get()
        };
        let small = async {
            loop {
                echo(&channel).await.unwrap();
                finished.set(finished.get() + 1);
            }
        };
        let meanwhile = smol::future::or(all, small).await;
        assert!(meanwhile >= 20, "only {meanwhile} small calls beside a large one");
    });
}

/// A server can be stopped and started on the same port again and again.
#[test]
fn the_port_is_free_after_a_stop() {
    smol::block_on(async {
        let identity = own();
        let (_, mut server) = start(ServerOptions::new(identity.clone()));
        let address = server.local_addr();
        for _ in 0..10 {
            let channel = QuicChannel::connect(&server.url(), ClientOptions::new(Trust::Anyone)).await.unwrap();
            echo(&channel).await.unwrap();
            server.shutdown(Duration::from_secs(9)).await;
            server = serve(address, Arc::new(Scripted::default()), ServerOptions::new(identity.clone())).unwrap();
        }
    });
}

/// A connection of quinn itself, for a client that means harm.
async fn raw(server: &Server, identity: &Identity) -> (Endpoint, Connection) {
    let mut roots = rustls::RootCertStore::empty();
    let (certificate, _) = identity.to_pem().unwrap();
    roots.add(CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()).unwrap();
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"runstep/1".to_vec()];
    let tls = quinn::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let endpoint = Endpoint::new(EndpointConfig::default(), None, socket, Arc::new(SmolRuntime)).unwrap();
    let config = quinn::ClientConfig::new(Arc::new(tls));
    let connection = endpoint.connect_with(config, server.local_addr(), "127.0.0.1").unwrap().await.unwrap();
    (endpoint, connection)
}

fn request(parts: Parts) -> Vec<u8> {
    let kind = Kind::Request { method: Method::RunCallable as u8, timeout_ms: None, parts };
    let len = 1 << 30;
    Header { call: 1, kind }.to_bytes(len).unwrap()
}

/// A thousand streams that say nothing, and a thousand that announce a gigabyte each and do not send it.
#[test]
fn a_thousand_silent_streams() {
    smol::block_on(async {
        let identity = own();
        let mut options = ServerOptions::new(identity.clone());
        options.limits.bytes_in_flight_per_peer_max = 3 << 30;
        let (_, server) = start(options);
        let (_endpoint, connection) = raw(&server, &identity).await;
        let mut streams = Vec::new();
        for _ in 0..1000 {
            let (mut send, recv) = connection.open_bi().await.unwrap();
            send.write_all(b"R").await.unwrap();
            streams.push((send, recv));
        }
        let announced = request(Parts { message: 0, payloads: vec![1 << 30] });
        for _ in 0..2 {
            let (mut send, recv) = connection.open_bi().await.unwrap();
            send.write_all(&announced).await.unwrap();
            streams.push((send, recv));
        }
        while server.bytes_held() < 2 << 30 {
            smol::future::yield_now().await;
        }
        for _ in 0..998 {
            let (mut send, mut recv) = connection.open_bi().await.unwrap();
            let _ = send.write_all(&announced).await;
            let answer = recv.read_to_end(1 << 16).await.unwrap();
            let header = Header::parse(&answer[PREFIX_LEN..]).unwrap();
            let Kind::Error(wrong) = header.kind else { panic!("{header:?}") };
            assert_eq!(Status::from(wrong).code(), Code::ResourceExhausted);
        }
        let channel = QuicChannel::connect(&server.url(), ClientOptions::new(Trust::Anyone)).await.unwrap();
        echo(&channel).await.unwrap();
        assert!(server.bytes_held() >= 2 << 30);
        connection.close(0u32.into(), b"");
        while server.connections() > 1 {
            echo(&channel).await.unwrap();
        }
        assert_eq!(server.bytes_held(), 0);
    });
}

/// Damaged requests on streams of their own: each gets its error, and the connection goes on.
#[test]
fn hostile_streams() {
    smol::block_on(async {
        let identity = own();
        let (service, server) = start(ServerOptions::new(identity.clone()));
        let (_endpoint, connection) = raw(&server, &identity).await;
        let header = |kind, len| Header { call: 1, kind }.to_bytes(len).unwrap();
        let run = |message, payloads: &[u64]| Kind::Request {
            method: Method::RunCallable as u8,
            timeout_ms: None,
            parts: Parts { message, payloads: payloads.to_vec() },
        };
        let unknown = Kind::Request { method: 255, timeout_ms: None, parts: Parts::default() };
        let cases = [
            ("nothing", Vec::new(), Code::InvalidArgument),
            ("half a header", header(run(0, &[]), 0)[..15].to_vec(), Code::InvalidArgument),
            ("no frame", b"GET / HTTP/1.1\r\n\r\n".to_vec(), Code::InvalidArgument),
            ("no request", header(Kind::Ping, 0), Code::InvalidArgument),
            ("an unknown method", header(unknown, 0), Code::InvalidArgument),
            ("a body of 2^60 bytes", header(run(1 << 60, &[]), 1 << 60), Code::ResourceExhausted),
            ("a message of 2^32 bytes", header(run(1 << 32, &[]), 1 << 32), Code::ResourceExhausted),
            ("a body that is no sum of its parts", header(run(5, &[5]), 9), Code::InvalidArgument),
            ("a body that ends early", [&header(run(5, &[]), 5)[..], &[0; 3]].concat(), Code::InvalidArgument),
            ("no message", [&header(run(3, &[]), 3)[..], &[0xff; 3]].concat(), Code::InvalidArgument),
            ("a payload for no tensor", [&header(run(0, &[3]), 3)[..], &[0; 3]].concat(), Code::InvalidArgument),
        ];
        for (name, bytes, code) in cases {
            let (mut send, mut recv) = connection.open_bi().await.unwrap();
            let _ = send.write_all(&bytes).await;
            let _ = send.finish();
            let answer = recv.read_to_end(1 << 16).await.unwrap();
            let header = Header::parse(&answer[PREFIX_LEN..]).unwrap();
            let Kind::Error(wrong) = header.kind else { panic!("{name}: {header:?}") };
            assert_eq!(Status::from(wrong).code(), code, "{name}");
        }
        assert_eq!((service.begun(), server.bytes_held()), (0, 0));
    });
}
