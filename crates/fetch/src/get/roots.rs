//! Whose certificates count.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};

use super::{ExtraRoots, RulesError};

/// Where Linux distributions keep their certificate authorities; the first file that exists counts.
///
/// Variables such as `SSL_CERT_FILE` are for the caller to read: what this library trusts must not depend on an
/// environment that nobody passed to it.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The TLS configuration of one client. Nothing is shared with others, not even sessions.
///
/// The authorities of the system are read when the first server has to be proved: most commands ask none, and reading all of
/// them takes longer than everything else that such a command does.
#[derive(Debug)]
pub(crate) struct Tls {
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    /// The authorities that the caller named.
    extra: RootCertStore,
    config: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts the authorities of the system and `extra`, which must be usable.
    pub(crate) fn new(extra: &[ExtraRoots]) -> Result<Self, RulesError> {
        let mut roots = RootCertStore::empty();
        for source in extra {
            add_extra(&mut roots, source)?;
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(RulesError::Tls)?;
        Ok(Self { builder, extra: roots, config: OnceLock::new() })
    }

    /// The configuration. Reads certificate files the first time, so it may block briefly then.
    pub(crate) fn config(&self) -> &Arc<ClientConfig> {
        self.config.get_or_init(|| {
            let mut roots = system_roots();
            roots.extend(self.extra.roots.iter().cloned());
            let mut config = self.builder.clone().with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            config.resumption = Resumption::disabled();
            Arc::new(config)
        })
    }
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

/// Adds authorities that the caller named; here every one must be usable.
fn add_extra(roots: &mut RootCertStore, source: &ExtraRoots) -> Result<(), RulesError> {
    let text = match source {
        ExtraRoots::Pem(text) => text.clone(),
        ExtraRoots::File(path) => {
            std::fs::read(path).map_err(|source| RulesError::RootsFile { path: path.clone(), source })?
        }
    };
    let mut added = 0;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|_| RulesError::Roots)?;
        roots.add(certificate).map_err(|_| RulesError::Roots)?;
        added += 1;
    }
    if added == 0 { Err(RulesError::Roots) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{ExtraRoots, Tls};

    #[test]
    fn extra_roots_must_be_certificates() {
        for text in ["", "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let error = Tls::new(&[ExtraRoots::Pem(text.into())]).unwrap_err();
            assert_eq!(error.code(), "fetch-roots", "{text}");
        }
        let error = Tls::new(&[ExtraRoots::File("/does/not/exist".into())]).unwrap_err();
        assert_eq!(error.code(), "fetch-roots-file");
    }

    #[test]
    fn there_are_always_roots() {
        assert!(!super::system_roots().is_empty());
    }
}
