//! Providers as hosts and services of a sandbox.

use std::collections::BTreeMap;

use fullsend_harness::expand::{self, is_reserved};
use fullsend_harness::schema::{Profile, ProfileEndpoint, ProviderDefinition};
use fullsend_harness::value::EnvName;
use fullsend_sandbox::egress::check_endpoint;
use fullsend_sandbox::{Endpoint, HttpRule};
use fullsend_yaml::FromText as _;

use super::{GrantError, ProviderUse, bearer};
use crate::environment::Environment;

/// Names that say what is loaded, what is run, or whom to trust, besides those that the run sets itself.
const RESERVED: &[&str] = &[
    "DYLD_INSERT_LIBRARIES",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_EXEC_PATH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "HOSTALIASES",
    "PYTHONPATH",
];

/// What providers grant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderGrants {
    /// Hosts that can be reached, without credentials.
    pub hosts: Vec<String>,
    /// Services that are reached with credentials which stay outside.
    pub endpoints: Vec<Endpoint>,
    /// Settings, as variables of the sandbox.
    pub env: BTreeMap<String, String>,
    /// What a profile says and the sandbox does not enforce, a line each.
    pub warnings: Vec<String>,
}

/// What the providers of a harness grant.
pub fn provider_grants(
    providers: &[ProviderUse],
    profiles: &[Profile],
    environment: &Environment,
) -> Result<ProviderGrants, GrantError> {
    let mut grants = ProviderGrants::default();
    for used in providers {
        let provider = Provider::new(used, profiles, environment)?;
        grants.open(provider.profile);
        grants.env.extend(provider.settings()?);
        if let Some(credential) = provider.credential()? {
            grants.offer(&provider, &credential)?;
        }
    }
    Ok(grants)
}

struct Provider<'a> {
    name: &'a str,
    definition: &'a ProviderDefinition,
    is_remote: bool,
    profile: &'a Profile,
    environment: &'a Environment,
}

impl<'a> Provider<'a> {
    fn new(
        used: &'a ProviderUse,
        profiles: &'a [Profile],
        environment: &'a Environment,
    ) -> Result<Self, GrantError> {
        let definition = &used.definition;
        let name = definition.name.as_ref().map_or("", |name| name.as_str());
        let wanted = definition.profile_type.as_ref().map_or("", |profile| profile.as_str());
        let profile = profiles.iter().find(|profile| profile.id.as_str() == wanted);
        let missing = || GrantError::NoProfile { provider: name.to_owned(), profile: wanted.to_owned() };
        let profile = profile.ok_or_else(missing)?;
        Ok(Self { name, definition, is_remote: used.is_remote, profile, environment })
    }

    /// Its settings. Those from elsewhere are taken as they are written: a reference in them would read this machine's
    /// variables for somebody else.
    fn settings(&self) -> Result<BTreeMap<String, String>, GrantError> {
        let mut settings = BTreeMap::new();
        for (key, value) in self.definition.config.iter().flatten() {
            self.check_key(key)?;
            let value = if self.is_remote { value.value.clone() } else { self.expand(key, value)? };
            settings.insert(key.clone(), value);
        }
        Ok(settings)
    }

    /// Its credential; none when all are empty.
    fn credential(&self) -> Result<Option<String>, GrantError> {
        let mut credentials: Vec<(String, String)> = Vec::new();
        for (key, value) in self.definition.credentials.iter().flatten() {
            self.check_key(key)?;
            let value = self.expand(key, value)?;
            // The same token under two names is one token.
            if !value.is_empty() && credentials.iter().all(|(_, known)| *known != value) {
                credentials.push((key.clone(), value));
            }
        }
        if credentials.len() > 1 {
            let names = credentials.into_iter().map(|(name, _)| name).collect();
            return Err(GrantError::ManyCredentials { provider: self.name.to_owned(), names });
        }
        Ok(credentials.pop().map(|(_, value)| value))
    }

    fn check_key(&self, key: &str) -> Result<(), GrantError> {
        let upper = key.to_ascii_uppercase();
        if is_reserved(key) || RESERVED.contains(&upper.as_str()) || EnvName::from_text(key).is_err() {
            return Err(GrantError::Reserved { provider: self.name.to_owned(), key: key.to_owned() });
        }
        Ok(())
    }

    fn expand(&self, key: &str, value: &str) -> Result<String, GrantError> {
        let lookup = |name: &str| self.environment.get(name).map(str::to_owned);
        expand::expand(value, &lookup).map_err(|problem| GrantError::Variable {
            provider: self.name.to_owned(),
            key: key.to_owned(),
            problem,
        })
    }
}

impl ProviderGrants {
    /// Opens the hosts of a profile.
    fn open(&mut self, profile: &Profile) {
        for endpoint in &profile.endpoints {
            let host = format!("{}:{}", endpoint.host.value, port(endpoint));
            if !self.hosts.contains(&host) {
                self.hosts.push(host);
            }
        }
        let id = profile.id.as_str();
        if profile.endpoints.iter().any(|endpoint| endpoint.read_only) {
            self.warn(format!(
                "the profile `{id}` is for reading only, which is enforced where a credential is added, not in other connections to its hosts"
            ));
        }
        if profile.binaries.is_some() {
            self.warn(format!(
                "`binaries` of the profile `{id}` is not enforced: every program can reach its hosts"
            ));
        }
    }

    fn warn(&mut self, text: String) {
        if !self.warnings.contains(&text) {
            self.warnings.push(text);
        }
    }

    /// Offers each exact host of the provider's profile as a service that gets the credential. The first one has the name
    /// of the provider, others that of their host behind it.
    fn offer(&mut self, provider: &Provider<'_>, credential: &str) -> Result<(), GrantError> {
        let exact: Vec<&ProfileEndpoint> =
            provider.profile.endpoints.iter().filter(|endpoint| !endpoint.host.contains('*')).collect();
        if exact.is_empty() {
            let profile = provider.profile.id.as_str().to_owned();
            return Err(GrantError::NoHost { provider: provider.name.to_owned(), profile });
        }
        for (index, endpoint) in exact.into_iter().enumerate() {
            let host = endpoint.host.as_str();
            let name = match index {
                0 => provider.name.to_owned(),
                _ => format!(
                    "{}_{}",
                    provider.name,
                    host.replace(|letter: char| !letter.is_ascii_alphanumeric(), "_")
                ),
            };
            let reading = ["GET", "HEAD", "OPTIONS"].map(str::to_owned).to_vec();
            let rule = HttpRule { host: String::new(), methods: reading, paths: Vec::new() };
            let offered = Endpoint {
                name,
                upstream: format!("https://{host}:{}", port(endpoint)),
                headers: vec![bearer(credential)],
                rules: if endpoint.read_only { vec![rule] } else { Vec::new() },
            };
            check_endpoint(&offered)?;
            self.endpoints.push(offered);
        }
        Ok(())
    }
}

fn port(endpoint: &ProfileEndpoint) -> i64 {
    endpoint.port.map_or(443, |port| port.value.get())
}
