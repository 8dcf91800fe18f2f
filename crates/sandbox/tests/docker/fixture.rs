//! A backend with a state directory of its own, on whatever engine the environment names.

use std::path::Path;
use std::process::Command;

use fullsend_sandbox::{
    ContainerUser, DockerBackend, DockerConfig, ExecRequest, ExecResult, SandboxBackend as _,
    SandboxSessionId, SandboxSpec,
};
use fullsend_testkit::declare_skip;

/// The image that the repository's test runner makes.
const IMAGE: &str = "fullsend-test:latest";
/// Who commands run as when the tests run as root.
pub(crate) const USER: u32 = 23_456;

/// What runs the containers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Runtime {
    Runc,
    Runsc,
}

impl Runtime {
    fn name(self) -> &'static str {
        match self {
            Self::Runc => "runc",
            Self::Runsc => "runsc",
        }
    }
}

pub(crate) struct Fixture {
    pub(crate) backend: DockerBackend,
    pub(crate) state: tempfile::TempDir,
}

impl Fixture {
    /// None, and a skip, when there is no engine, no image or no such runtime.
    pub(crate) async fn new(test: &str, runtime: Runtime) -> Option<Self> {
        let state = tempfile::tempdir().unwrap();
        match DockerBackend::connect(config(state.path(), runtime)).await {
            Ok(backend) => Some(Self { backend, state }),
            Err(error) => {
                declare_skip(test, &error.to_string());
                None
            }
        }
    }

    pub(crate) async fn provision(&self, spec: SandboxSpec) -> SandboxSessionId {
        self.backend.provision(spec).await.unwrap().id
    }

    pub(crate) async fn session(&self) -> SandboxSessionId {
        self.provision(SandboxSpec::default()).await
    }

    pub(crate) async fn shell(&self, id: &SandboxSessionId, line: &str) -> ExecResult {
        self.backend.exec(id, ExecRequest::shell(line)).await.unwrap()
    }

    /// Names of the containers of this state directory.
    pub(crate) fn containers(&self) -> Vec<String> {
        let state = self.state.path().canonicalize().unwrap();
        let label = format!("label=dev.fullsend.state={}", state.display());
        let listed = self.docker(&["ps", "-a", "--filter", &label, "--format", "{{.Names}}"]);
        listed.lines().map(str::to_owned).collect()
    }

    /// Asks the engine directly.
    pub(crate) fn docker(&self, arguments: &[&str]) -> String {
        let output = Command::new("docker").args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }
}

/// A backend on a state directory that somebody else looks after.
pub(crate) async fn backend_at(state: &Path) -> DockerBackend {
    DockerBackend::connect(config(state, Runtime::Runc)).await.unwrap()
}

fn config(state: &Path, runtime: Runtime) -> DockerConfig {
    let user = rustix::process::geteuid().is_root().then_some(ContainerUser { uid: USER, gid: USER });
    DockerConfig { runtime: Some(runtime.name().to_owned()), user, ..DockerConfig::new(IMAGE, state) }
}
