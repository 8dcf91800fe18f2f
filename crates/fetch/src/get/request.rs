//! What is asked for.

use std::fmt;

use fullsend_origin::{ApiUrl, HttpsUrl, RemoteUrl};
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use thiserror::Error;

/// The header that GitLab takes tokens in.
const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("private-token");

/// A request for one URL.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    pub(super) url: &'a HttpsUrl,
    pub(super) accept: Option<&'a str>,
    pub(super) api_version: Option<&'a str>,
    pub(super) credential: Option<&'a Credential>,
    pub(super) explain: Explain,
}

/// Whether the body of a refusal is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explain {
    /// It is not.
    No,
    /// A bounded part of it.
    Excerpt,
}

impl<'a> Request<'a> {
    /// A request without anything special.
    pub fn new(url: &'a RemoteUrl) -> Self {
        Self::of(url.as_https())
    }

    /// A request to an API, whose URL the caller composed.
    pub fn to_api(url: &'a ApiUrl) -> Self {
        Self::of(url.as_https())
    }

    /// A request for a URL of either kind.
    const fn of(url: &'a HttpsUrl) -> Self {
        Self { url, accept: None, api_version: None, credential: None, explain: Explain::No }
    }

    /// Asks for a media type.
    #[must_use]
    pub const fn accept(mut self, media_type: &'a str) -> Self {
        self.accept = Some(media_type);
        self
    }

    /// Asks for a version of GitHub's API.
    #[must_use]
    pub const fn github_api_version(mut self, version: &'a str) -> Self {
        self.api_version = Some(version);
        self
    }

    /// Offers a credential, which is sent only if it belongs to the host of the URL.
    #[must_use]
    pub const fn credential(mut self, credential: &'a Credential) -> Self {
        self.credential = Some(credential);
        self
    }

    /// Asks for an excerpt of the body when the server refuses: APIs explain themselves there.
    #[must_use]
    pub const fn explain_refusals(mut self) -> Self {
        self.explain = Explain::Excerpt;
        self
    }
}

/// A secret for one host.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    host: String,
    header: HeaderName,
    value: HeaderValue,
}

impl Credential {
    /// A token for an `Authorization: Bearer` header.
    pub fn bearer(host: &str, token: &str) -> Result<Self, CredentialError> {
        Self::new(host, AUTHORIZATION, &format!("Bearer {token}"), token)
    }

    /// A token for a `PRIVATE-TOKEN` header.
    pub fn private_token(host: &str, token: &str) -> Result<Self, CredentialError> {
        Self::new(host, PRIVATE_TOKEN, token, token)
    }

    /// Checks the token, which must not smuggle in other headers.
    fn new(host: &str, header: HeaderName, value: &str, token: &str) -> Result<Self, CredentialError> {
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CredentialError::Token);
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| CredentialError::Token)?;
        value.set_sensitive(true);
        Ok(Self { host: host.to_ascii_lowercase(), header, value })
    }

    /// The host it belongs to.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The header to send to `host`, if it is exactly the one the credential belongs to.
    pub(super) fn for_host(&self, host: &str) -> Option<(HeaderName, HeaderValue)> {
        (self.host == host).then(|| (self.header.clone(), self.value.clone()))
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential")
            .field("host", &self.host)
            .field("header", &self.header)
            .field("value", &"[redacted]")
            .finish()
    }
}

/// Why a text is not a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The token is empty or holds characters that no token has.
    #[error("the token is empty or holds spaces, control or non-ASCII characters")]
    Token,
}

impl CredentialError {
    /// Stable name of this error for machine-readable output.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Token => "credential-token",
        }
    }

    /// What the user can do about it.
    pub fn help(&self) -> Option<String> {
        Some("check the variable or file that the token comes from for stray characters".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::Credential;

    #[test]
    fn a_credential_never_shows_its_secret() {
        let credential = Credential::bearer("API.example.com", "s3cret").unwrap();
        let text = format!("{credential:?}");
        assert!(!text.contains("s3cret") && text.contains("api.example.com"), "{text}");
    }

    #[test]
    fn tokens_cannot_smuggle_headers() {
        for token in ["", "a b", "a\r\nX-Evil: 1", "a\0", "ä"] {
            assert_eq!(Credential::bearer("x", token).unwrap_err().code(), "credential-token");
            assert!(Credential::private_token("x", token).is_err());
        }
    }

    #[test]
    fn only_the_exact_host_gets_it() {
        let credential = Credential::private_token("gitlab.com", "t").unwrap();
        assert!(credential.for_host("gitlab.com").is_some());
        for host in ["www.gitlab.com", "gitlab.com.evil.example", "com", "xgitlab.com", ""] {
            assert!(credential.for_host(host).is_none(), "{host}");
        }
    }
}
