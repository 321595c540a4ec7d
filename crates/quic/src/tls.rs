//! TLS: one certificate, which only these connections trust.
//!
//! The certificate is fixed, and Ed25519 signatures have one length, so that no packet's size depends on a key. Its
//! times are compared with a fixed time within them.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

/// Self-signed, for `localhost`, valid from 2026-11-27 for a hundred years; made with `openssl req -x509`.
pub(crate) const CERTIFICATE: &[u8] = include_bytes!("certificate.der");

/// Its private key, which protects nothing.
pub(crate) const KEY: &[u8] = include_bytes!("key.der");

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

/// 2027-01-15.
const NOW: u64 = 1_800_000_000;

/// A time within those of the certificate.
#[derive(Debug)]
struct Fixed;

impl TimeProvider for Fixed {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(NOW)))
    }
}

/// The cryptography of a connection's TLS.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// TLS of the client, which trusts the certificate.
pub(crate) fn client(provider: Arc<CryptoProvider>) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE))?;
    let builder = ClientConfig::builder_with_details(provider, Arc::new(Fixed));
    let versions = builder.with_protocol_versions(&[&version::TLS13])?;
    Ok(versions.with_root_certificates(roots).with_no_client_auth())
}

/// TLS of the server, which has the certificate.
pub(crate) fn server(provider: Arc<CryptoProvider>) -> Result<ServerConfig, rustls::Error> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let builder = ServerConfig::builder_with_details(provider, Arc::new(Fixed));
    let versions = builder.with_protocol_versions(&[&version::TLS13])?;
    versions.with_no_client_auth().with_single_cert(vec![CertificateDer::from(CERTIFICATE)], key)
}
