//! Who is trusted, and the configurations of quinn and rustls that follow.

use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, ServerConfig, TransportConfig, VarInt};
use runstep::Status;
use runstep::service::frame::Limits;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::identity::certificates;
use crate::{ALPN, Identity, Spawn};

/// Bytes that one call may send ahead of what the other side has read. Much less makes large tensors wait for round
/// trips; memory is taken only as bytes arrive.
const STREAM_WINDOW: u32 = 64 << 20;
/// The same of all calls of a connection: what a peer can make this side hold beside [`Limits`].
const CONNECTION_WINDOW: u32 = 256 << 20;

/// Which servers a client believes.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Those with a certificate that one of these (PEM) has signed, or that is one of these.
    Roots(String),
    /// All. The connection is encrypted, but to whom is not known: for trials only.
    Anyone,
}

/// Which clients a server believes.
#[derive(Clone, Debug, Default)]
pub enum ClientAuth {
    /// All; they are not asked.
    #[default]
    Anyone,
    /// Those without a certificate, and those with one that one of these (PEM) has signed.
    Optional(String),
    /// Only those with a certificate that one of these (PEM) has signed. Others get UNAUTHENTICATED.
    Required(String),
}

/// What a server is to be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServerOptions {
    /// Who it is.
    pub identity: Identity,
    /// Whom it serves.
    pub clients: ClientAuth,
    /// What a client may make it hold.
    pub limits: Limits,
    /// Where its tasks run.
    pub spawn: Spawn,
}

impl ServerOptions {
    /// A server that asks clients for nothing, with default limits, on smol's global executor.
    pub fn new(identity: Identity) -> ServerOptions {
        ServerOptions { identity, clients: ClientAuth::default(), limits: Limits::default(), spawn: Spawn::default() }
    }
}

/// What a client is to be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientOptions {
    /// Which servers it believes.
    pub trust: Trust,
    /// Who it is, to servers that ask.
    pub identity: Option<Identity>,
    /// The name that the server's certificate must have, when it is not the one in the address.
    pub server_name: Option<String>,
    /// What the server may make it hold.
    pub limits: Limits,
    /// Time within which the connection must stand. Default 10 seconds.
    pub timeout: Duration,
}

impl ClientOptions {
    /// A client without a certificate of its own, with default limits.
    pub fn new(trust: Trust) -> ClientOptions {
        ClientOptions {
            trust,
            identity: None,
            server_name: None,
            limits: Limits::default(),
            timeout: Duration::from_secs(10),
        }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn wrong(what: &str, error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format_args!("{what}: {error}"))
}

fn roots(pem: &str) -> Result<RootCertStore, Status> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem)? {
        store.add(certificate).map_err(|error| wrong("a trusted certificate", error))?;
    }
    Ok(store)
}

fn transport(limits: &Limits, streams: u32) -> Result<Arc<TransportConfig>, Status> {
    let mut config = TransportConfig::default();
    config.max_concurrent_bidi_streams(VarInt::from_u32(streams));
    config.max_concurrent_uni_streams(VarInt::from_u32(0));
    config.stream_receive_window(VarInt::from_u32(STREAM_WINDOW));
    config.receive_window(VarInt::from_u32(CONNECTION_WINDOW));
    config.send_window(CONNECTION_WINDOW.into());
    config.datagram_receive_buffer_size(None);
    config.keep_alive_interval(Some(Duration::from_millis(limits.ping_ms.max(10))));
    let silence = (limits.silence_ms_max > 0).then(|| Duration::from_millis(limits.silence_ms_max));
    let silence = silence.map(TryInto::try_into).transpose().map_err(|error| wrong("silence_ms_max", error))?;
    config.max_idle_timeout(silence);
    Ok(Arc::new(config))
}

pub(crate) fn server_config(options: &ServerOptions) -> Result<ServerConfig, Status> {
    let builder = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| wrong("TLS", error))?;
    let verifier = |pem: &str| Ok(WebPkiClientVerifier::builder_with_provider(Arc::new(roots(pem)?), provider()));
    let built = |verifier: Result<_, rustls::server::VerifierBuilderError>| {
        verifier.map_err(|error| wrong("the certificates for clients", error))
    };
    let builder = match &options.clients {
        ClientAuth::Anyone => builder.with_no_client_auth(),
        ClientAuth::Optional(pem) => {
            let verifier: Result<_, Status> = verifier(pem);
            builder.with_client_cert_verifier(built(verifier?.allow_unauthenticated().build())?)
        }
        ClientAuth::Required(pem) => builder.with_client_cert_verifier(built(verifier(pem)?.build())?),
    };
    let identity = options.identity.clone();
    let mut tls = builder
        .with_single_cert(identity.chain, identity.key)
        .map_err(|error| wrong("the server's certificate", error))?;
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicServerConfig::try_from(tls).map_err(|error| wrong("TLS for QUIC", error))?;
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    let streams = u32::try_from(options.limits.calls_per_connection_max).unwrap_or(u32::MAX);
    config.transport_config(transport(&options.limits, streams)?);
    Ok(config)
}

pub(crate) fn client_config(options: &ClientOptions) -> Result<ClientConfig, Status> {
    let builder = rustls::ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| wrong("TLS", error))?;
    let builder = match &options.trust {
        Trust::Roots(pem) => builder.with_root_certificates(roots(pem)?),
        Trust::Anyone => builder.dangerous().with_custom_certificate_verifier(Arc::new(Believe(provider()))),
    };
    let mut tls = match options.identity.clone() {
        Some(identity) => builder
            .with_client_auth_cert(identity.chain, identity.key)
            .map_err(|error| wrong("the client's certificate", error))?,
        None => builder.with_no_client_auth(),
    };
    tls.alpn_protocols = vec![ALPN.to_vec()];
    let tls = QuicClientConfig::try_from(tls).map_err(|error| wrong("TLS for QUIC", error))?;
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(transport(&options.limits, 0)?);
    Ok(config)
}

/// Believes every server, but still has it prove that it holds the key of the certificate it shows.
#[derive(Debug)]
struct Believe(Arc<CryptoProvider>);

impl ServerCertVerifier for Believe {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
