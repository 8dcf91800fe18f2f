//! What the program gives a run, and how it tells why there is none.

use std::sync::Arc;

use fullsend_agent::scene::{BackendOrder, Backends, Floor, SceneError, Surroundings};
use fullsend_agent::tool::Pending;
use fullsend_sandbox::{DockerBackend, DockerConfig, SandboxBackend, SandboxError};

use crate::command::sandbox::backend;
use crate::environment;
use crate::output::Advice;

/// What every run is given.
pub(in crate::command) fn usual() -> Surroundings {
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
    const SKILLS: &str = "name a directory with `--skills-root DIR`";
    let is = |kind: SceneError| std::mem::discriminant(&error) == std::mem::discriminant(&kind);
    if is(SceneError::PreloadWithoutSkills) {
        return Advice::new("`--skill` needs skills", SKILLS).into();
    }
    if is(SceneError::ScriptsWithoutSkills) {
        return Advice::new("`--allow-skill-script` needs skills", SKILLS).into();
    }
    if is(SceneError::RuntimeWithoutImage) {
        return Advice::new(error.to_string(), "name one with `--sandbox-image`").into();
    }
    if is(SceneError::UnnamedPicture) {
        return anyhow::anyhow!("`--image` names no file");
    }
    if let SceneError::NoStart(_) = &error {
        return Advice::new(error.to_string(), "name a directory in the workspace with `--cwd`").into();
    }
    if let SceneError::Focus { path, source } = error {
        return anyhow::Error::new(source)
            .context(format!("`--focus-root {}` cannot be used", path.display()));
    }
    match error.help() {
        Some(help) => Advice::new(error.to_string(), help).into(),
        None => error.into(),
    }
}
