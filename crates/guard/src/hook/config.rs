//! What a hook checks, as a file says it.

mod agent_tools;

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use fullsend_origin::HostPattern;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::canary::{CanaryScanner, CanaryToken, TokenError};
use crate::hook::tool::Runtime;
use crate::log::TraceId;
use crate::severity::Severity;
use crate::url::{Allowed, AllowedHost, PrivateHost};

pub use agent_tools::AgentTools;

/// The most input a hook reads unless configured otherwise.
pub const MAX_INPUT_BYTES: usize = 10 * 1024 * 1024;

/// What a configuration file asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookFile {
    /// Decide here.
    Decide(Box<HookConfig>),
    /// Hand the input to the service behind this socket, which decides by a configuration of its own. This is what a
    /// sandbox holds: nothing in it can be changed to any effect.
    Ask(AskConfig),
}

/// How to ask a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskConfig {
    /// The socket it listens on.
    pub service: PathBuf,
    /// What is read at most.
    pub limits: Limits,
}

/// What a hook checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct HookConfig {
    /// Whose tools are called.
    pub runtime: Runtime,
    /// What is checked.
    pub checks: Checks,
    /// What is read at most.
    pub limits: Limits,
    /// The log that findings are added to; for hooks that run outside of sandboxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<PathBuf>,
    /// The run that findings belong to; one is made up where none is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// What is checked. All of it, unless a file says otherwise, but for what needs something to check against.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Checks {
    /// What a shell command would do.
    pub command: CommandCheck,
    /// What the program `tirith` says about a shell command.
    pub tirith: TirithCheck,
    /// Requests to places that must not be reached.
    pub ssrf: SsrfCheck,
    /// Tokens that have no business in a tool call or its output.
    pub canary: CanaryCheck,
    /// Tools that may be used.
    pub tool_allowlist: AllowlistCheck,
    /// Tools of the agent definition, for runtimes that do not keep to them by themselves.
    #[serde(skip_serializing_if = "AgentTools::is_unlimited")]
    pub agent_tools: AgentTools,
    /// Output that says no more than that all went well.
    pub suppress: bool,
    /// Invisible and misleading characters in output.
    pub unicode: bool,
    /// Credentials in output.
    pub secrets: bool,
}

impl Default for Checks {
    fn default() -> Self {
        Self {
            command: CommandCheck::default(),
            tirith: TirithCheck::default(),
            ssrf: SsrfCheck::default(),
            canary: CanaryCheck::default(),
            tool_allowlist: AllowlistCheck::default(),
            agent_tools: AgentTools::default(),
            suppress: true,
            unicode: true,
            secrets: true,
        }
    }
}

/// The check of shell commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandCheck {
    /// Whether it is made.
    pub enabled: bool,
    /// The least severity that denies.
    pub fail_on: Severity,
}

impl Default for CommandCheck {
    fn default() -> Self {
        Self { enabled: true, fail_on: Severity::High }
    }
}

/// The program `tirith`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TirithCheck {
    /// Whether it is asked.
    pub enabled: bool,
    /// Where it is; absolute, because an agent may be able to put programs on the search path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// The least severity that denies.
    pub fail_on: Severity,
    /// Whether a command is denied when it cannot be asked.
    pub required: bool,
}

impl Default for TirithCheck {
    fn default() -> Self {
        Self { enabled: false, program: None, fail_on: Severity::High, required: false }
    }
}

/// The check of requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SsrfCheck {
    /// Whether it is made.
    pub enabled: bool,
    /// Hosts that are open to requests although their names are special: `host` or `host:port`, where the host may be `*.`
    /// and a domain. What the egress policy lists belongs here.
    pub allowed_hosts: Vec<String>,
    /// Hosts that are open to requests although their addresses are not public.
    pub private_hosts: Vec<PrivateHostEntry>,
}

/// A host that may have addresses which are not public.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateHostEntry {
    /// The exact name or address.
    pub host: String,
    /// The addresses it may have, such as `10.1.0.0/16`.
    pub network: String,
}

impl Default for SsrfCheck {
    fn default() -> Self {
        Self { enabled: true, allowed_hosts: Vec::new(), private_hosts: Vec::new() }
    }
}

impl SsrfCheck {
    /// What the lists open.
    pub(super) fn allowed(&self) -> Result<Allowed, ConfigError> {
        let host = |entry: &String| {
            AllowedHost::from_str(entry)
                .map_err(|error| bad_host("checks.ssrf.allowed_hosts", entry, error.to_string()))
        };
        let private = |entry: &PrivateHostEntry| {
            let key = "checks.ssrf.private_hosts";
            let host = HostPattern::parse(&entry.host)
                .map_err(|error| bad_host(key, &entry.host, error.to_string()))?;
            let network = entry.network.parse::<IpNet>().map_err(|_| {
                bad_host(key, &entry.network, "not a network such as `10.1.0.0/16`".to_owned())
            })?;
            Ok(PrivateHost { host, network })
        };
        let hosts = self.allowed_hosts.iter().map(host).collect::<Result<_, _>>()?;
        Ok(Allowed::new(hosts, self.private_hosts.iter().map(private).collect::<Result<_, _>>()?))
    }
}

fn bad_host(key: &'static str, entry: &str, problem: String) -> ConfigError {
    ConfigError::BadHost { key, entry: entry.to_owned(), problem }
}

/// The check for canary tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CanaryCheck {
    /// Whether they are looked for in the input of tools.
    pub pre: bool,
    /// Whether they are looked for in the output of tools.
    pub post: bool,
    /// The tokens.
    pub tokens: Vec<String>,
}

impl Default for CanaryCheck {
    fn default() -> Self {
        Self { pre: true, post: true, tokens: Vec::new() }
    }
}

impl CanaryCheck {
    /// The tokens as what can be looked for.
    fn parsed(&self) -> Result<Vec<CanaryToken>, ConfigError> {
        let token = |(at, text): (usize, &String)| {
            CanaryToken::parse(text).map_err(|problem| ConfigError::BadToken { number: at + 1, problem })
        };
        self.tokens.iter().enumerate().map(token).collect()
    }

    /// Looks for the tokens.
    pub(super) fn scanner(&self) -> Result<CanaryScanner, ConfigError> {
        Ok(CanaryScanner::new(self.parsed()?))
    }
}

/// The check of tool names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AllowlistCheck {
    /// Whether it is made.
    pub enabled: bool,
    /// The exact names, or `mcp__server__*` for all tools of a server. None means none.
    pub tools: Vec<String>,
}

impl AllowlistCheck {
    /// Whether the tool is in the list.
    pub fn allows(&self, name: &str) -> bool {
        self.tools.iter().any(|entry| match server_prefix(entry) {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|tool| !tool.is_empty()),
            None => entry == name,
        })
    }
}

/// The part before the star in `mcp__server__*`.
fn server_prefix(entry: &str) -> Option<&str> {
    let prefix = entry.strip_suffix('*')?;
    let server = prefix.strip_prefix("mcp__")?.strip_suffix("__")?;
    (!server.is_empty() && !server.contains('*')).then_some(prefix)
}

/// What is read at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of input; more than that denies.
    pub max_input_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_input_bytes: MAX_INPUT_BYTES }
    }
}

/// Why a configuration is not accepted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// It is not JSON, or has keys or values that no hook knows.
    #[error("{line}:{column}: {problem}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        problem: String,
    },
    /// Two keys exclude each other.
    #[error("`{key}` has no effect beside `service`: the service decides by its own configuration")]
    BesideService {
        /// The key that must go.
        key: &'static str,
    },
    /// A path that must be absolute is not.
    #[error("`{key}` must be an absolute path, not `{}`", path.display())]
    Relative {
        /// The key.
        key: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// The program is asked, but not named.
    #[error("`checks.tirith.enabled` needs `checks.tirith.program`, an absolute path")]
    NoTirith,
    /// An entry of the allow-list that can match no tool.
    #[error("`checks.tool_allowlist.tools`: `{entry}` matches no tool; a star may only end `mcp__server__*`")]
    BadPattern {
        /// The entry.
        entry: String,
    },
    /// A host or network that is none.
    #[error("`{key}`: `{entry}`: {problem}")]
    BadHost {
        /// The key.
        key: &'static str,
        /// The entry.
        entry: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The identifier of the run is none.
    #[error("`trace_id` must be a UUID in lower case")]
    BadTraceId,
    /// A canary that cannot be looked for.
    #[error("`checks.canary.tokens`: token {number}: {problem}")]
    BadToken {
        /// Which of the tokens, from 1.
        number: usize,
        /// What is wrong with it.
        problem: TokenError,
    },
    /// A limit that nothing passes.
    #[error("`limits.max_input_bytes` must be greater than 0")]
    NoInput,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    runtime: Option<Runtime>,
    checks: Option<Checks>,
    #[serde(default)]
    limits: Limits,
    findings: Option<PathBuf>,
    trace_id: Option<String>,
    service: Option<PathBuf>,
}

impl HookFile {
    /// Reads a configuration file. Keys that are not known are errors.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let problem = message.split(" at line ").next().unwrap_or_default().to_owned();
            ConfigError::Syntax { line: error.line(), column: error.column(), problem }
        })?;
        if raw.limits.max_input_bytes == 0 {
            return Err(ConfigError::NoInput);
        }
        match raw.service {
            None => {
                let (runtime, checks) = (raw.runtime.unwrap_or_default(), raw.checks.unwrap_or_default());
                let Raw { limits, findings, trace_id, .. } = raw;
                let config = HookConfig { runtime, checks, limits, findings, trace_id };
                config.validate()?;
                Ok(Self::Decide(Box::new(config)))
            }
            Some(_) if raw.checks.is_some() => Err(ConfigError::BesideService { key: "checks" }),
            Some(_) if raw.runtime.is_some() => Err(ConfigError::BesideService { key: "runtime" }),
            Some(_) if raw.findings.is_some() => Err(ConfigError::BesideService { key: "findings" }),
            Some(_) if raw.trace_id.is_some() => Err(ConfigError::BesideService { key: "trace_id" }),
            Some(service) => {
                absolute("service", &service)?;
                Ok(Self::Ask(AskConfig { service, limits: raw.limits }))
            }
        }
    }
}

impl HookConfig {
    /// Checks what the types cannot say.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(path) = &self.findings {
            absolute("findings", path)?;
        }
        match &self.checks.tirith.program {
            Some(program) => absolute("checks.tirith.program", program)?,
            None if self.checks.tirith.enabled => return Err(ConfigError::NoTirith),
            None => {}
        }
        if self.trace_id.as_deref().is_some_and(|id| id.parse::<TraceId>().is_err()) {
            return Err(ConfigError::BadTraceId);
        }
        self.checks.ssrf.allowed()?;
        self.checks.canary.parsed()?;
        let no_pattern = |entry: &&String| entry.contains('*') && server_prefix(entry).is_none();
        if let Some(entry) = self.checks.tool_allowlist.tools.iter().find(no_pattern) {
            return Err(ConfigError::BadPattern { entry: entry.clone() });
        }
        Ok(())
    }
}

fn absolute(key: &'static str, path: &Path) -> Result<(), ConfigError> {
    if path.is_absolute() { Ok(()) } else { Err(ConfigError::Relative { key, path: path.to_owned() }) }
}

#[cfg(test)]
mod tests;
