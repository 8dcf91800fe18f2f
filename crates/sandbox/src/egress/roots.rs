//! Whose certificates count for services with credentials.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

use crate::error::SandboxError;

/// Where Linux distributions keep their certificate authorities; the first file that exists counts.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS configuration of one session: the system's authorities and those that the caller added.
pub(super) fn tls_config(extra: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, SandboxError> {
    let invalid = |what: &str, error: rustls::Error| SandboxError::InvalidRequest(format!("{what}: {error}"));
    let mut roots = system_roots();
    for certificate in extra {
        roots
            .add(certificate.clone())
            .map_err(|error| invalid("an extra certificate authority cannot be used", error))?;
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| invalid("TLS cannot be set up", error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The authorities of the system, or the ones that browsers trust where the system has none, as in small containers.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    let bundle = BUNDLES.iter().map(Path::new).find(|path| path.is_file());
    if let Some(certificates) = bundle.and_then(|path| CertificateDer::pem_file_iter(path).ok()) {
        // Systems ship certificates that are odd or expired; those just do not count.
        roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    }
    if roots.is_empty() {
        roots.add_parsable_certificates(webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter().cloned());
    }
    roots
}
