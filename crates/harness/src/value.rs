//! The kinds of value that keys take: names, choices, numbers in bounds, sources, variables.
//!
//! Each type checks itself while it is read, so a bad value is reported at its own place and everything that holds one
//! can rely on it.

mod allow;
mod choice;
mod flow;
mod name;
mod network;
mod number;
mod opaque;
mod source;
mod template;
mod text;

pub use allow::AllowPrefix;
pub use choice::{
    ConfigVersion, DispatchMode, DispatchPlatform, Effort, EscalationAction, FailMode, FeedbackMode,
    FlowTrust, ForgeType, InferenceProvider, KnownRole, MatchType, Platform, RuntimeName, TirithLevel,
};
pub use flow::{FlowPath, FlowPattern, Moment};
pub use name::{AgentName, BareName, EnvName, HostName, ModelName, ReaderName, RoleName, SandboxPath, Slug};
pub use network::{Cidr, HostGlob};
pub use number::{Bounded, Fraction, SandboxSeconds, Seconds};
pub use opaque::Opaque;
pub use source::{ExecutablePath, ProviderSource, Resource};
pub use template::Template;
