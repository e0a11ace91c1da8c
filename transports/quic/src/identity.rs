//! Certificates with their keys: made here for a quick start, or read from PEM.

use std::fmt;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use runstep::Status;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A chain of certificates and the key of the first: who one is.
pub struct Identity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
    pem: Option<(String, String)>,
}

impl Identity {
    /// A certificate signed by itself for names and addresses such as `localhost` or `10.0.0.1`. Clients trust it by
    /// having it: see [`crate::Trust::Roots`].
    ///
    /// # Errors
    /// INVALID_ARGUMENT for names that no certificate can have.
    pub fn self_signed(names: &[&str]) -> Result<Identity, Status> {
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params(names)?.self_signed(&key).map_err(failed)?;
        Identity::made(&certificate.pem(), &key.serialize_pem())
    }

    /// Reads a chain, the own certificate first, and its key.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for text that holds none.
    pub fn from_pem(chain: &str, key: &str) -> Result<Identity, Status> {
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
            .map_err(|error| Status::invalid_argument(format_args!("no private key: {error}")))?;
        Ok(Identity { chain: certificates(chain)?, key, pem: None })
    }

    fn made(chain: &str, key: &str) -> Result<Identity, Status> {
        let pem = Some((chain.to_owned(), key.to_owned()));
        Identity::from_pem(chain, key).map(|identity| Identity { pem, ..identity })
    }

    /// Certificate and key as PEM, of identities that were made here.
    pub fn to_pem(&self) -> Option<(&str, &str)> {
        self.pem.as_ref().map(|(chain, key)| (chain.as_str(), key.as_str()))
    }
}

impl Clone for Identity {
    fn clone(&self) -> Identity {
        Identity { chain: self.chain.clone(), key: self.key.clone_key(), pem: self.pem.clone() }
    }
}

impl fmt::Debug for Identity {
    /// Never the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({} certificates)", self.chain.len())
    }
}

/// Signs certificates: what a cluster of one's own trusts.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    key: String,
}

impl Authority {
    /// A new one.
    ///
    /// # Errors
    /// INTERNAL when there is no entropy.
    pub fn new(name: &str) -> Result<Authority, Status> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?.pem();
        let key_pem = key.serialize_pem();
        Ok(Authority { issuer: Issuer::new(params, key), certificate, key: key_pem })
    }

    /// An identity for names and addresses, good for servers and clients.
    ///
    /// # Errors
    /// INVALID_ARGUMENT for names that no certificate can have.
    pub fn issue(&self, names: &[&str]) -> Result<Identity, Status> {
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params(names)?.signed_by(&key, &self.issuer).map_err(failed)?;
        Identity::made(&certificate.pem(), &key.serialize_pem())
    }

    /// The certificate that is to be trusted, as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate
    }

    /// The key, as PEM.
    pub fn key_pem(&self) -> &str {
        &self.key
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authority")
    }
}

fn params(names: &[&str]) -> Result<CertificateParams, Status> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let first = names.first().cloned().unwrap_or_default();
    let mut params = CertificateParams::new(names)
        .map_err(|error| Status::invalid_argument(format_args!("a name of a certificate: {error}")))?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, first);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn failed(error: rcgen::Error) -> Status {
    Status::internal(format_args!("a certificate could not be made: {error}"))
}

/// The certificates of a PEM text.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, Status> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(Status::invalid_argument("no certificate in the PEM text")),
        Err(error) => Err(Status::invalid_argument(format_args!("malformed PEM: {error}"))),
    }
}
