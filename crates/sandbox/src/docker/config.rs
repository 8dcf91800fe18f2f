//! What an operator decides about the engine and its containers.

use std::path::PathBuf;
use std::sync::Arc;

use super::arguments::ContainerUser;
use super::hook::ContainerHook;

/// Which engine, which image, and how sessions without restrictions are connected.
#[derive(Clone, Debug)]
pub struct DockerConfig {
    /// The client: `docker`, `podman`, or a path. It finds its engine as usual: contexts, `DOCKER_HOST`, configuration.
    pub program: PathBuf,
    /// Passed on as `--host`; none for what the client is configured for.
    pub host: Option<String>,
    /// The image that commands run in; it must be there, nothing is fetched.
    pub image: String,
    /// `runc`, `runsc` or any other runtime that the engine knows; none for the engine's default.
    pub runtime: Option<String>,
    /// The engine's network for sessions whose policy is unrestricted: `host`, or `bridge` for one behind the engine's.
    pub open_network: String,
    /// Who commands run as; none for the caller, or for an unprivileged user when the caller is root.
    pub user: Option<ContainerUser>,
    /// Where sessions are recorded and their private files are. Nothing of it can be mounted.
    pub state_dir: PathBuf,
    /// Where decisions about connections are written, one JSON object a line.
    pub egress_log: Option<PathBuf>,
    /// Who is told about containers.
    pub hook: Option<Arc<dyn ContainerHook>>,
}

impl DockerConfig {
    /// Docker with an image, everything else as usual.
    pub fn new(image: impl Into<String>, state_dir: impl Into<PathBuf>) -> Self {
        Self {
            program: "docker".into(),
            host: None,
            image: image.into(),
            runtime: None,
            open_network: "host".to_owned(),
            user: None,
            state_dir: state_dir.into(),
            egress_log: None,
            hook: None,
        }
    }
}
