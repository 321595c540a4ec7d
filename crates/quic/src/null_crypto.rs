//! Packet protection that protects nothing, for measuring what cryptography costs.
//!
//! The handshake is that of TLS, with every byte. Keys for packets are accepted and not used: payloads and headers stay
//! readable, and the tag of 16 bytes is zeros, so that packets have the sizes that they have with a cipher.

use std::sync::{Arc, OnceLock};

use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::crypto::{CryptoProvider, ring};
use rustls::quic::{Algorithm, HeaderProtectionKey, PacketKey, Tag};
use rustls::{CipherSuiteCommon, Error, SupportedCipherSuite, Tls13CipherSuite};

/// The length of the tag of each cipher, and of the sample for header protection (RFC 9001 section 5).
const TAG: [u8; 16] = [0; 16];
const SAMPLE: usize = 16;

/// A provider of TLS that does not protect QUIC's packets.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static SUITES: OnceLock<Vec<Tls13CipherSuite>> = OnceLock::new();
    let suites = SUITES.get_or_init(|| {
        let suites = ring::default_provider().cipher_suites;
        suites.into_iter().filter_map(|suite| suite.tls13()).map(without_protection).collect()
    });
    let cipher_suites = suites.iter().map(SupportedCipherSuite::Tls13).collect();
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}

/// The same suite in the handshake.
fn without_protection(suite: &Tls13CipherSuite) -> Tls13CipherSuite {
    Tls13CipherSuite {
        common: CipherSuiteCommon {
            suite: suite.common.suite,
            hash_provider: suite.common.hash_provider,
            confidentiality_limit: suite.common.confidentiality_limit,
        },
        hkdf_provider: suite.hkdf_provider,
        aead_alg: suite.aead_alg,
        quic: suite
            .quic
            .map(|real| -> &dyn Algorithm { Box::leak(Box::new(Null { key: real.aead_key_len() })) }),
    }
}

/// The algorithm, and each of its keys.
#[derive(Clone, Copy, Debug)]
struct Null {
    /// The length of the real one's keys.
    key: usize,
}

impl Algorithm for Null {
    fn packet_key(&self, _key: AeadKey, _iv: Iv) -> Box<dyn PacketKey> {
        Box::new(*self)
    }

    fn header_protection_key(&self, _key: AeadKey) -> Box<dyn HeaderProtectionKey> {
        Box::new(*self)
    }

    fn aead_key_len(&self) -> usize {
        self.key
    }
}

impl HeaderProtectionKey for Null {
    fn encrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn decrypt_in_place(&self, _: &[u8], _: &mut u8, _: &mut [u8]) -> Result<(), Error> {
        Ok(())
    }

    fn sample_len(&self) -> usize {
        SAMPLE
    }
}

impl PacketKey for Null {
    fn encrypt_in_place(&self, _: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&TAG[..]))
    }

    fn encrypt_in_place_for_path(&self, _: u32, _: u64, _: &[u8], _: &mut [u8]) -> Result<Tag, Error> {
        Ok(Tag::from(&TAG[..]))
    }

    fn decrypt_in_place<'a>(&self, _: u64, _: &[u8], payload: &'a mut [u8]) -> Result<&'a [u8], Error> {
        match payload.split_last_chunk() {
            Some((data, tag)) if *tag == TAG => Ok(data),
            _ => Err(Error::DecryptError),
        }
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        _: u32,
        packet: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8], Error> {
        PacketKey::decrypt_in_place(self, packet, header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG.len()
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}
