//! Which hosts belong to which forge, and whose token goes where.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fullsend_fetch::get::CredentialError;
use fullsend_fetch::{Credential, Fetcher};
use fullsend_origin::{ForgeHosts, ForgeKind, HostPattern};

use super::{Forge, ForgeError, ForgeOptions, GitHub, GitLab};

/// Where GitHub lives.
pub(super) const GITHUB: &str = "github.com";
/// Where the API of github.com lives.
pub(super) const GITHUB_API: &str = "api.github.com";
/// Where github.com serves files by their paths.
pub(super) const GITHUB_RAW: &str = "raw.githubusercontent.com";
/// Where GitLab lives.
const GITLAB: &str = "gitlab.com";

/// The hosts that a fetcher must allow for the clients of these forges.
pub fn allowed_hosts(hosts: &ForgeHosts) -> Vec<HostPattern> {
    let names = hosts.iter().flat_map(|(host, _)| match host {
        GITHUB => vec![GITHUB_API, GITHUB_RAW],
        other => vec![other],
    });
    // Known hosts were read as patterns before, so none is lost here.
    names.filter_map(|name| HostPattern::parse(name).ok()).collect()
}

/// The environment variables that a token for a forge is looked for in, the first that is set counting.
///
/// Self-hosted forges have variables of their own, so that a token for a public forge never goes to another host.
pub fn token_variables(kind: ForgeKind, host: &str) -> &'static [&'static str] {
    match (kind, host) {
        (ForgeKind::GitHub, GITHUB) => &["GH_TOKEN", "GITHUB_TOKEN"],
        (ForgeKind::GitHub, _) => &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
        (ForgeKind::GitLab, GITLAB) => &["GITLAB_TOKEN"],
        (_, _) => &["FULLSEND_GITLAB_TOKEN"],
    }
}

/// A token for one forge.
#[derive(Clone, PartialEq, Eq)]
pub struct ForgeToken {
    host: String,
    secret: String,
}

impl ForgeToken {
    /// A token for the forge at `host`, such as `github.com`.
    pub fn new(host: &str, secret: &str) -> Result<Self, CredentialError> {
        Credential::bearer(host, secret)?;
        Ok(Self { host: host.to_ascii_lowercase(), secret: secret.to_owned() })
    }

    /// The forge it is for.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The form in which GitHub's API takes it.
    pub(super) fn bearer(&self, api_host: &str) -> Result<Credential, CredentialError> {
        Credential::bearer(api_host, &self.secret)
    }

    /// The form in which GitLab's API takes it.
    pub(super) fn private(&self, api_host: &str) -> Result<Credential, CredentialError> {
        Credential::private_token(api_host, &self.secret)
    }
}

impl fmt::Debug for ForgeToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForgeToken").field("host", &self.host).field("secret", &"[redacted]").finish()
    }
}

/// The clients of all known forges.
#[derive(Clone, Debug)]
pub struct Forges {
    clients: BTreeMap<String, Arc<dyn Forge>>,
}

impl Forges {
    /// A client for each of `hosts`, with the token that is for it, if any.
    ///
    /// The fetcher must allow [`allowed_hosts`]. A token for a host that is no forge is an error.
    pub fn new(
        fetcher: &Fetcher,
        hosts: &ForgeHosts,
        tokens: &[ForgeToken],
        options: &ForgeOptions,
    ) -> Result<Self, ForgeError> {
        if let Some(stray) = tokens.iter().find(|token| hosts.kind_of(&token.host).is_none()) {
            return Err(ForgeError::OtherHost { host: stray.host.clone() });
        }
        let mut clients: BTreeMap<String, Arc<dyn Forge>> = BTreeMap::new();
        for (host, kind) in hosts.iter() {
            let token = tokens.iter().find(|token| token.host == host);
            let (fetcher, options) = (fetcher.clone(), options.clone());
            let client: Arc<dyn Forge> = match kind {
                ForgeKind::GitHub => Arc::new(GitHub::new(host, fetcher, token, options)?),
                ForgeKind::GitLab => Arc::new(GitLab::new(host, fetcher, token, options)?),
                // A kind that this crate does not know yet; its URLs are refused by `at`.
                _ => continue,
            };
            clients.insert(host.to_owned(), client);
        }
        Ok(Self { clients })
    }

    /// The client of the forge at `host`.
    pub fn at(&self, host: &str) -> Result<&Arc<dyn Forge>, ForgeError> {
        self.clients.get(host).ok_or_else(|| ForgeError::OtherHost { host: host.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use fullsend_origin::{ForgeHosts, ForgeKind};

    use super::{ForgeToken, allowed_hosts, token_variables};

    #[test]
    fn a_fetcher_needs_the_hosts_of_the_apis() {
        let hosts = ForgeHosts::new().with_host("Git.example.com", ForgeKind::GitHub).unwrap();
        let names: Vec<String> = allowed_hosts(&hosts).iter().map(ToString::to_string).collect();
        assert_eq!(names, ["git.example.com", "api.github.com", "raw.githubusercontent.com", "gitlab.com"]);
    }

    #[test]
    fn no_two_forges_share_a_variable() {
        let public = [
            token_variables(ForgeKind::GitHub, "github.com"),
            token_variables(ForgeKind::GitLab, "gitlab.com"),
        ];
        for kind in [ForgeKind::GitHub, ForgeKind::GitLab] {
            let own = token_variables(kind, "git.example.com");
            assert!(public.iter().all(|names| names.iter().all(|name| !own.contains(name))));
        }
    }

    #[test]
    fn tokens_do_not_show_themselves() {
        let token = ForgeToken::new("GitHub.com", "s3cret").unwrap();
        assert_eq!(format!("{token:?}"), "ForgeToken { host: \"github.com\", secret: \"[redacted]\" }");
        assert!(ForgeToken::new("github.com", "a\r\nb").is_err());
    }
}
