//! The documents: every key of harness files, configuration, agent definitions, providers, profiles,
//! sandbox policies and flow rules as typed records.

mod agent;
mod config;
mod flow;
mod forge;
mod harness;
mod provider;
mod sandbox;
mod security;
mod skill;

pub use agent::{AgentDefinition, ToolList};
pub use config::{
    AgentEntry, AllowTargets, ConfigFile, CreateIssues, Defaults, Dispatch, ForgeHost, Inference, OrgConfig,
    PrivateHost, RepoConfig, RepoSettings,
};
pub use flow::{FlowClearance, FlowGrant, FlowInspect, FlowRules, FlowSink, FlowSource};
pub use forge::{ForgeOverlay, ForgeOverlays};
pub use harness::{ApiServer, Env, HarnessFile, HostFile, OpenShell, ValidationLoop};
pub use provider::{Profile, ProfileEndpoint, ProviderDefinition};
pub use sandbox::{EndpointEntry, EndpointRule, HostRule, PrivateHostRange, SandboxLimits, SandboxPolicy};
pub use security::{
    Canary, CommandHook, Escalation, HostScanners, LlmGuard, SandboxHooks, Security, Tirith, ToolAllowlist,
    Trace,
};
pub use skill::SkillEntry;
