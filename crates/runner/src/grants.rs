//! What a run may reach and use: the policy file, and the providers with their profiles, as parts of a sandbox.
//!
//! A credential never enters the sandbox. The sandbox has a URL of its own for the provider, and the proxy outside adds the
//! credential to what is sent there.

mod definitions;
mod providers;

use std::path::Path;

pub use definitions::{Definitions, ProviderUse, definitions};
use fullsend_sandbox::{Endpoint, NetworkPolicy, PermissionPolicy, SandboxError, SandboxSpec, Secret};
pub use providers::{ProviderGrants, provider_grants};

use crate::environment::Environment;
use crate::policy_file::PolicyFile;

/// Why something cannot be granted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GrantError {
    /// A provider uses a profile that nobody defines, so where it leads is not known.
    #[error(
        "the provider `{provider}` has the type `{profile}`, and there is no profile with that id; add it under `profiles/` or to `openshell.profiles`"
    )]
    NoProfile {
        /// The provider.
        provider: String,
        /// The profile.
        profile: String,
    },
    /// A provider has a credential, and no host that it could be sent to.
    #[error(
        "the provider `{provider}` has credentials, and its profile `{profile}` names no exact host to send them to; add an endpoint without `*`"
    )]
    NoHost {
        /// The provider.
        provider: String,
        /// The profile.
        profile: String,
    },
    /// A provider has several credentials, and only one can be sent.
    #[error("the provider `{provider}` has several credentials, {}, and only one can be sent as the bearer token; split it into several providers", names.join(", "))]
    ManyCredentials {
        /// The provider.
        provider: String,
        /// The names of the credentials.
        names: Vec<String>,
    },
    /// A credential or setting refers to a variable that cannot be used.
    #[error("the provider `{provider}`: `{key}` {problem}")]
    Variable {
        /// The provider.
        provider: String,
        /// The key.
        key: String,
        /// What is wrong with the reference.
        problem: fullsend_harness::expand::ExpandError,
    },
    /// A key that would change how programs are loaded, or whom they trust.
    #[error("the provider `{provider}` sets `{key}`, which no provider may set; remove it")]
    Reserved {
        /// The provider.
        provider: String,
        /// The key.
        key: String,
    },
    /// Two services have one name.
    #[error("there are two services with the name `{name}` in the sandbox; rename one of them")]
    Twice {
        /// The name.
        name: String,
    },
    /// The key of a service of the policy file is not there.
    #[error("the policy's endpoint `{endpoint}` takes its key from `{variable}`, which is not set")]
    NoKey {
        /// The endpoint.
        endpoint: String,
        /// The variable.
        variable: String,
    },
    /// The policy file lets no program run.
    #[error("the sandbox policy `{}` lets nothing run; list programs under `exec`, or write `exec: [\"**\"]`", path.display())]
    NothingRuns {
        /// The file.
        path: std::path::PathBuf,
    },
    /// The sandbox cannot do it.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

/// The sandbox of a run: `base` with what the policy file and the providers grant on top. Without a policy file every
/// program of the system can be run. Relative entries of the policy start at `workspace`.
pub fn sandbox_spec(
    base: SandboxSpec,
    policy: Option<&PolicyFile>,
    workspace: &Path,
    providers: &ProviderGrants,
    environment: &Environment,
) -> Result<SandboxSpec, GrantError> {
    let unsaid = PolicyFile::default();
    let file = policy.unwrap_or(&unsaid);
    let mut endpoints = base.endpoints.clone();
    endpoints.extend(policy_endpoints(file, environment)?);
    endpoints.extend(providers.endpoints.iter().cloned());
    check_names(&endpoints)?;
    let granted: Vec<String> = hosts(&base.network_policy).chain(&providers.hosts).cloned().collect();
    let asked = SandboxSpec {
        network_policy: NetworkPolicy::Limited {
            allowed_hosts: Vec::new(),
            denied_hosts: file.denied_hosts.clone(),
            http_rules: file.http_rules.clone(),
            private_hosts: file.private_hosts.clone(),
        },
        limits: if policy.is_some() { file.limits.clone() } else { base.limits.clone() },
        endpoints,
        ..base
    };
    let exec = if policy.is_none() { vec!["**".to_owned()] } else { Vec::new() };
    let added = PermissionPolicy { net: granted, exec, ..PermissionPolicy::default() };
    let spec = file.permissions.compose(&added).lower(workspace, asked)?.spec;
    if spec.programs.as_ref().is_some_and(Vec::is_empty) {
        return Err(GrantError::NothingRuns { path: file.path.clone() });
    }
    Ok(spec)
}

fn hosts(policy: &NetworkPolicy) -> impl Iterator<Item = &String> {
    match policy {
        NetworkPolicy::Limited { allowed_hosts, .. } => allowed_hosts.iter(),
        NetworkPolicy::Unrestricted => [].iter(),
    }
}

fn policy_endpoints(file: &PolicyFile, environment: &Environment) -> Result<Vec<Endpoint>, GrantError> {
    let with_key = |(endpoint, variable): &(Endpoint, Option<String>)| {
        let mut endpoint = endpoint.clone();
        if let Some(variable) = variable {
            let missing =
                || GrantError::NoKey { endpoint: endpoint.name.clone(), variable: variable.clone() };
            let key = environment.get(variable).ok_or_else(missing)?;
            endpoint.headers.push(bearer(key));
        }
        Ok(endpoint)
    };
    file.endpoints.iter().map(with_key).collect()
}

/// The header that carries a key.
pub(crate) fn bearer(key: &str) -> (String, Secret) {
    ("Authorization".to_owned(), Secret::new(format!("Bearer {key}")))
}

/// The sandbox knows services by the names of variables, in which case and `-` are lost.
fn check_names(endpoints: &[Endpoint]) -> Result<(), GrantError> {
    let mut seen = std::collections::HashSet::new();
    for endpoint in endpoints {
        if !seen.insert(endpoint.name.to_ascii_uppercase().replace('-', "_")) {
            return Err(GrantError::Twice { name: endpoint.name.clone() });
        }
    }
    Ok(())
}
