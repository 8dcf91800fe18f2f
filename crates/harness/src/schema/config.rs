//! `config.yaml`: what an organisation or a repository has decided for all of its harnesses.

mod agents;
mod network;

use fullsend_yaml::{FromNode, Located, Node, Reader, Value, record};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;

pub use agents::AgentEntry;
pub use network::{ForgeHost, PrivateHost};

use crate::value::{
    AllowPrefix, Bounded, ConfigVersion, DispatchMode, DispatchPlatform, InferenceProvider, KnownRole,
    Opaque, Platform, RuntimeName,
};

record! {
    /// An organisation's configuration.
    pub struct OrgConfig {
        /// The version of this format: `1`.
        version: Located<ConfigVersion>,
        /// Whether every run is refused. Default: `false`.
        kill_switch: Located<bool>,
        /// How runs are started. Read by the dispatch workflow.
        dispatch: Dispatch,
        /// Where models run. Read by the dispatch workflow.
        inference: Inference,
        /// Settings for repositories that do not have their own.
        defaults: Defaults,
        /// Settings per repository, by name.
        repos: IndexMap<String, RepoSettings>,
        /// The registered agents. The last enabled entry of a name wins.
        agents: Vec<AgentEntry>,
        /// HTTPS prefixes, ending in `/`, from which harnesses may fetch. Absent or empty: nothing may be fetched.
        allowed_remote_resources: Vec<Located<AllowPrefix>>,
        /// Where agents may create issues. Read by the dispatch workflow.
        create_issues: CreateIssues,
        /// Self-hosted forges.
        forges: Vec<ForgeHost>,
        /// Hosts on private addresses that may be reached all the same.
        private_hosts: Vec<PrivateHost>,
    }
}

record! {
    /// A repository's configuration. `config.base.yaml` beside it is the layer below.
    pub struct RepoConfig {
        /// The version of this format: `1`.
        version: Located<ConfigVersion>,
        /// The platform that hosts the repository.
        forge: Located<Platform>,
        /// The platform that tracks its issues.
        tracker: Located<Platform>,
        /// Whether every run is refused. Default: `false`.
        kill_switch: Located<bool>,
        /// The program that drives the model inside the sandbox.
        runtime: Located<RuntimeName>,
        /// The roles that act in this repository. Read by the dispatch workflow.
        roles: Vec<Located<KnownRole>>,
        /// The registered agents. The last enabled entry of a name wins.
        agents: Vec<AgentEntry>,
        /// HTTPS prefixes, ending in `/`, from which harnesses may fetch, added to those of `config.base.yaml`. An empty
        /// list refuses everything, and so does having none at all.
        allowed_remote_resources: Vec<Located<AllowPrefix>>,
        /// Where agents may create issues. Read by the dispatch workflow.
        create_issues: CreateIssues,
        /// Which status messages are sent. With `false`, `none` or `off`, runs comment on nothing, whatever their options say;
        /// anything else is read by the dispatch workflow.
        status_notifications: Located<Opaque>,
        /// The token mint: where a run of CI gets the token of its agent's role, unless `--mint-url` or `FULLSEND_MINT_URL`
        /// names another.
        mint_url: Located<String>,
        /// Where models run. Read by the dispatch workflow.
        inference: Inference,
        /// Self-hosted forges.
        forges: Vec<ForgeHost>,
        /// Hosts on private addresses that may be reached all the same.
        private_hosts: Vec<PrivateHost>,
    }
}

record! {
    /// How runs are started.
    pub struct Dispatch {
        /// The CI system: `github-actions`.
        platform: Located<DispatchPlatform>,
        /// How tokens are obtained: `oidc-mint`.
        mode: Located<DispatchMode>,
        /// The token mint: where a run of CI gets the token of its agent's role, unless `--mint-url` or `FULLSEND_MINT_URL`
        /// names another.
        mint_url: Located<String>,
    }
}

record! {
    /// Where models run.
    pub struct Inference {
        /// The service: `vertex`.
        provider: Located<InferenceProvider>,
        /// The project that pays.
        project: Located<String>,
        /// The region.
        region: Located<String>,
        /// The workload identity provider.
        wif_provider: Located<String>,
    }
}

record! {
    /// Settings for repositories that do not have their own.
    pub struct Defaults {
        /// The roles that act in a repository. Read by the dispatch workflow.
        roles: Vec<Located<KnownRole>>,
        /// The program that drives the model inside the sandbox.
        runtime: Located<RuntimeName>,
        /// How often an implementation is tried again. Read by the dispatch workflow.
        max_implementation_retries: Located<Bounded<0, { i64::MAX }>>,
        /// Whether accepted changes are merged without a person. Read by the dispatch workflow.
        auto_merge: Located<bool>,
        /// Which status messages are sent. With `false`, `none` or `off`, runs comment on nothing, whatever their options say;
        /// anything else is read by the dispatch workflow.
        status_notifications: Located<Opaque>,
    }
}

record! {
    /// Settings of one repository.
    pub struct RepoSettings {
        /// The roles that act in it. Read by the dispatch workflow.
        roles: Vec<Located<KnownRole>>,
        /// Whether agents act in it at all. Read by the dispatch workflow.
        enabled: Located<bool>,
    }
}

record! {
    /// Where agents may create issues.
    pub struct CreateIssues {
        /// The targets.
        allow_targets: AllowTargets,
    }
}

record! {
    /// Organisations and repositories.
    pub struct AllowTargets {
        /// Organisations.
        orgs: Vec<Located<String>>,
        /// Repositories as `owner/name`.
        repos: Vec<Located<String>>,
    }
}

/// A `config.yaml` of either kind.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ConfigFile {
    /// It has a key that only an organisation's configuration has: `dispatch`, `repos` or `defaults`.
    Org(Box<OrgConfig>),
    /// Any other.
    Repo(Box<RepoConfig>),
}

impl FromNode for ConfigFile {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        const ORG_KEYS: &[&str] = &["dispatch", "repos", "defaults"];
        let is_org = match &node.value {
            Value::Mapping(entries) => entries.iter().any(|entry| ORG_KEYS.contains(&&*entry.key)),
            Value::Scalar(_) | Value::Sequence(_) => false,
        };
        if is_org {
            OrgConfig::from_node(node, reader).map(|config| Self::Org(Box::new(config)))
        } else {
            RepoConfig::from_node(node, reader).map(|config| Self::Repo(Box::new(config)))
        }
    }
}

impl ConfigFile {
    /// The registered agents.
    #[must_use]
    pub fn agents(&self) -> &[AgentEntry] {
        match self {
            ConfigFile::Org(config) => config.agents.as_deref().unwrap_or_default(),
            ConfigFile::Repo(config) => config.agents.as_deref().unwrap_or_default(),
        }
    }

    /// The prefixes from which harnesses may fetch; `None` when the file does not say.
    #[must_use]
    pub fn allowed_remote_resources(&self) -> Option<&[Located<AllowPrefix>]> {
        match self {
            ConfigFile::Org(config) => config.allowed_remote_resources.as_deref(),
            ConfigFile::Repo(config) => config.allowed_remote_resources.as_deref(),
        }
    }

    /// The self-hosted forges.
    #[must_use]
    pub fn forges(&self) -> &[ForgeHost] {
        match self {
            ConfigFile::Org(config) => config.forges.as_deref().unwrap_or_default(),
            ConfigFile::Repo(config) => config.forges.as_deref().unwrap_or_default(),
        }
    }

    /// The hosts on private addresses.
    #[must_use]
    pub fn private_hosts(&self) -> &[PrivateHost] {
        match self {
            ConfigFile::Org(config) => config.private_hosts.as_deref().unwrap_or_default(),
            ConfigFile::Repo(config) => config.private_hosts.as_deref().unwrap_or_default(),
        }
    }
}
