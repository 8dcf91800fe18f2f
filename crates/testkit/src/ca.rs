//! Certificates made on the spot.

use std::fmt;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// A certificate authority of one test.
pub struct TestCa {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl fmt::Debug for TestCa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestCa").finish_non_exhaustive()
    }
}

impl Default for TestCa {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether a certificate is current.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// It is.
    Current,
    /// It ran out long ago.
    Expired,
}

/// A server certificate with its key.
#[derive(Debug)]
pub struct Leaf {
    certificate: CertificateDer<'static>,
    certificate_pem: String,
    key: KeyPair,
}

impl TestCa {
    /// A new authority with a new key.
    pub fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters without names");
        // A name of its own: some clients take a certificate whose issuer has its name for one that signed itself.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, "fullsend test authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(params, key).expect("a certificate authority") }
    }

    /// The authority's own certificate, for a client's trust store.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for host names and IP addresses.
    pub fn leaf(&self, names: &[&str], validity: Validity) -> Leaf {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names for a certificate");
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2001, 1, 1);
            params.not_after = date_time_ymd(2002, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a server certificate");
        Leaf { certificate: certificate.der().clone(), certificate_pem: certificate.pem(), key }
    }
}

impl Leaf {
    /// The certificate as PEM.
    pub fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    /// The private key as PEM.
    pub fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }

    /// The configuration of a server that shows this certificate.
    pub fn server_config(&self) -> Arc<ServerConfig> {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider's protocol versions")
            .with_no_client_auth()
            .with_single_cert(vec![self.certificate.clone()], key)
            .expect("a matching certificate and key");
        Arc::new(config)
    }
}
