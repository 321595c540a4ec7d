//! TLS with the certificate of this repository's tests.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, version};

const CERTIFICATE: &[u8] = include_bytes!("../../../quic/src/certificate.der");
const KEY: &[u8] = include_bytes!("../../../quic/src/key.der");

/// The name in the certificate.
pub(crate) const SERVER_NAME: &str = "localhost";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// TLS of the client, which trusts the certificate.
pub(crate) fn client() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(CERTIFICATE)).expect("the certificate is one");
    let builder = ClientConfig::builder_with_provider(provider());
    let versions = builder.with_protocol_versions(&[&version::TLS13]).expect("ring has TLS 1.3");
    versions.with_root_certificates(roots).with_no_client_auth()
}

/// TLS of the server, which has the certificate.
pub(crate) fn server() -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(KEY));
    let builder = ServerConfig::builder_with_provider(provider());
    let versions = builder.with_protocol_versions(&[&version::TLS13]).expect("ring has TLS 1.3");
    let certificates = vec![CertificateDer::from(CERTIFICATE)];
    versions.with_no_client_auth().with_single_cert(certificates, key).expect("the key is the certificate's")
}
