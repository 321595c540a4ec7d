//! A certificate that is made at the start and never leaves the process: the client does not check it.

use boring::asn1::Asn1Time;
use boring::ec::{EcGroup, EcKey};
use boring::error::ErrorStack;
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::{X509, X509Name};

/// X.509's version 3.
const VERSION: i32 = 2;

/// A context with a new key and its certificate.
pub fn self_signed() -> Result<SslContextBuilder, ErrorStack> {
    let key = PKey::from_ec_key(EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?)?;
    let mut name = X509Name::builder()?;
    name.append_entry_by_text("CN", "windtunnel")?;
    let name = name.build();
    let mut certificate = X509::builder()?;
    certificate.set_version(VERSION)?;
    certificate.set_subject_name(&name)?;
    certificate.set_issuer_name(&name)?;
    certificate.set_pubkey(&key)?;
    certificate.set_not_before(&*Asn1Time::days_from_now(0)?)?;
    certificate.set_not_after(&*Asn1Time::days_from_now(1)?)?;
    certificate.sign(&key, MessageDigest::sha256())?;
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    context.set_certificate(&certificate.build())?;
    context.set_private_key(&key)?;
    Ok(context)
}
