//! What the program gives a run, and how it tells why there is none.

use std::sync::Arc;

use fullsend_agent::scene::{BackendOrder, Backends, Floor, SceneError, Surroundings};
use fullsend_agent::tool::Pending;
use fullsend_sandbox::{DockerBackend, DockerConfig, SandboxBackend, SandboxError};

use crate::command::sandbox::backend;
use crate::environment;
use crate::output::Advice;

/// What every run is given.
pub(super) fn usual() -> Surroundings {
    Surroundings {
        extra_roots: environment::extra_roots().into_iter().collect(),
        floor: Floor::Own(Arc::new(Machine)),
        hooks: None,
        fetcher: None,
    }
}

/// The backends of this machine, with their state where the environment says.
#[derive(Debug)]
struct Machine;

impl Backends for Machine {
    fn start<'a>(
        &'a self,
        order: BackendOrder<'a>,
    ) -> Pending<'a, Result<Arc<dyn SandboxBackend>, SandboxError>> {
        Box::pin(start(order))
    }
}

async fn start(order: BackendOrder<'_>) -> Result<Arc<dyn SandboxBackend>, SandboxError> {
    let BackendOrder { image, runtime, hook, resumed } = order;
    let Some(image) = image else {
        let local = backend::local(None)?;
        // What a command of a killed process still does must not go on beside this run.
        let swept = local.sweep();
        if resumed {
            swept?;
        }
        return Ok(Arc::new(local));
    };
    let usual = DockerConfig::new(image, backend::state_directory("docker")?);
    let config = DockerConfig { runtime: runtime.map(str::to_owned), hook, ..usual };
    let docker = DockerBackend::connect(config).await?;
    let swept = docker.sweep().await;
    if resumed {
        swept?;
    }
    Ok(Arc::new(docker))
}

/// An error in the words of the command line: which option it is about, and what to give it.
pub(super) fn told(error: SceneError) -> anyhow::Error {
    let advice = |message: String, help: &str| Advice::new(message, help).into();
    match error {
        SceneError::RuntimeWithoutImage => advice(error.to_string(), "name one with `--sandbox-image`"),
        SceneError::NoStart(_) => advice(error.to_string(), "name a directory in the workspace with `--cwd`"),
        SceneError::PreloadWithoutSkills => {
            advice("`--skill` needs skills".to_owned(), "name a directory with `--skills-root DIR`")
        }
        SceneError::ScriptsWithoutSkills => advice(
            "`--allow-skill-script` needs skills".to_owned(),
            "name a directory with `--skills-root DIR`",
        ),
        SceneError::UnnamedPicture => anyhow::anyhow!("`--image` names no file"),
        SceneError::Focus { path, source } => {
            anyhow::Error::new(source).context(format!("`--focus-root {}` cannot be used", path.display()))
        }
        other => match other.help() {
            Some(help) => advice(other.to_string(), help),
            None => other.into(),
        },
    }
}
