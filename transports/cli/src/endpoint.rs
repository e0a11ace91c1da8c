//! Where a server listens and a client calls: `quic://`, `tcp://` or `grpc://`, and `HOST:PORT`.

use std::fmt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use crate::failure::Failure;

/// The transports that have URLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Quic,
    Tcp,
    Grpc,
}

/// A transport and an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) scheme: Scheme,
    /// `HOST:PORT`.
    pub(crate) address: String,
}

impl Endpoint {
    /// The socket addresses behind the name.
    ///
    /// # Errors
    /// A name that is unknown.
    pub(crate) fn resolve(&self) -> Result<Vec<SocketAddr>, Failure> {
        let found: Vec<_> = self.address.to_socket_addrs().map_err(|e| Failure::at(self, e))?.collect();
        if found.is_empty() { Err(Failure::at(self, "the name has no address")) } else { Ok(found) }
    }

    /// The name or address without port and brackets.
    pub(crate) fn host(&self) -> &str {
        let host = self.address.rsplit_once(':').map_or(self.address.as_str(), |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }
}

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Endpoint, String> {
        let (scheme, address) =
            text.split_once("://").ok_or("write quic://HOST:PORT, tcp://HOST:PORT or grpc://HOST:PORT")?;
        let scheme = match scheme {
            "quic" => Scheme::Quic,
            "tcp" => Scheme::Tcp,
            "grpc" => Scheme::Grpc,
            other => return Err(format!("there is no transport {other}; there are quic://, tcp:// and grpc://")),
        };
        let address = address.trim_end_matches('/');
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
        match port {
            Some(Ok(_)) => Ok(Endpoint { scheme, address: address.to_owned() }),
            _ => Err(format!("{address:?} is no HOST:PORT")),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Quic => "quic",
            Scheme::Tcp => "tcp",
            Scheme::Grpc => "grpc",
        };
        write!(f, "{scheme}://{}", self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// URLs come back as they were; others say what is missing.
    #[test]
    fn urls() {
        for (text, host) in [
            ("quic://localhost:0", "localhost"),
            ("tcp://[::1]:7000", "::1"),
            ("grpc://h:2222", "h"),
            ("tcp://10.0.0.1:65535", "10.0.0.1"),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.to_string().as_str(), endpoint.host()), (text, host));
        }
        for wrong in ["localhost:1", "http://h:1", "tcp://h", "tcp://:1", "tcp://h:70000", "quic://", ""] {
            assert!(wrong.parse::<Endpoint>().is_err(), "{wrong}");
        }
        let endpoint: Endpoint = "tcp://127.0.0.1:5".parse().unwrap();
        assert_eq!(endpoint.resolve().unwrap(), ["127.0.0.1:5".parse().unwrap()]);
    }
}
