//! What a run is given by whoever starts it, besides what it is asked to be.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use fullsend_sandbox::{ContainerHook, SandboxBackend, SandboxError};

use crate::execution::GivenSession;
use crate::hooks::CallHooks;
use crate::tool::Pending;
use crate::tools::SkillFetcher;

/// What a run is given.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// Files with certificates of more authorities that pages may have.
    pub extra_roots: Vec<PathBuf>,
    /// Where commands run.
    pub floor: Floor,
    /// Who is asked about every call, and about its result.
    pub hooks: Option<Arc<dyn CallHooks>>,
    /// Who fetches skills that are asked for while the run is under way.
    pub fetcher: Option<Arc<dyn SkillFetcher>>,
}

/// Where commands run.
#[derive(Clone, Debug)]
pub enum Floor {
    /// In a session of the run's own.
    Own(Arc<dyn Backends>),
    /// In a session that is there, or in one like it.
    Given {
        /// What made it.
        backend: Arc<dyn SandboxBackend>,
        /// Which it is.
        session: Box<GivenSession>,
    },
}

/// Which backend a run asks for.
#[derive(Debug)]
pub struct BackendOrder<'a> {
    /// The image of a container; none for the local sandbox.
    pub image: Option<&'a str>,
    /// The runtime of a container.
    pub runtime: Option<&'a str>,
    /// Who is told of containers.
    pub hook: Option<Arc<dyn ContainerHook>>,
    /// Whether the run goes on: then what a command of a killed process still does must have ended.
    pub resumed: bool,
}

/// Starts backends.
pub trait Backends: fmt::Debug + Send + Sync {
    /// Starts one.
    fn start<'a>(
        &'a self,
        order: BackendOrder<'a>,
    ) -> Pending<'a, Result<Arc<dyn SandboxBackend>, SandboxError>>;
}
