//! How each backend is started for a test.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_sandbox::{
    DockerBackend, DockerConfig, LocalBackend, LocalConfig, SandboxBackend, SandboxError,
};

/// Where a test keeps everything.
#[derive(Debug)]
pub(crate) struct Place {
    root: PathBuf,
    /// Removes the directory; none if another process does.
    _owned: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let place = Self { root: directory.path().to_owned(), _owned: Some(directory) };
        std::fs::create_dir(place.state()).unwrap();
        place
    }

    /// The place of a test in another process.
    pub(crate) fn of_another(root: PathBuf) -> Self {
        Self { root, _owned: None }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// What the backend keeps.
    pub(crate) fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Any other path.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A new directory.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

/// Starts a backend that keeps its state in the place; or says why this machine cannot have it.
pub(crate) type Start = fn(&Place) -> Result<Arc<dyn SandboxBackend>, String>;

/// This machine's own kernel.
pub(crate) fn local(place: &Place) -> Result<Arc<dyn SandboxBackend>, String> {
    let config = LocalConfig { state_dir: place.state(), ..LocalConfig::default() };
    match LocalBackend::start(config) {
        Ok(backend) => Ok(Arc::new(backend)),
        Err(error @ SandboxError::Unsupported { .. }) => Err(error.to_string()),
        Err(error) => panic!("the backend does not start: {error}"),
    }
}

/// Containers of the engine that the environment names, on this machine's kernel.
pub(crate) fn docker(place: &Place) -> Result<Arc<dyn SandboxBackend>, String> {
    docker_with(place, "runc")
}

/// The same, on a kernel of gVisor's.
pub(crate) fn docker_runsc(place: &Place) -> Result<Arc<dyn SandboxBackend>, String> {
    docker_with(place, "runsc")
}

/// The image is the one that the repository's test runner makes.
fn docker_with(place: &Place, runtime: &str) -> Result<Arc<dyn SandboxBackend>, String> {
    let config = DockerConfig {
        runtime: Some(runtime.to_owned()),
        ..DockerConfig::new("fullsend-test:latest", place.state())
    };
    let connected = tokio::task::block_in_place(|| {
        tokio::runtime::Handle::current().block_on(DockerBackend::connect(config))
    });
    connected.map(|backend| Arc::new(backend) as Arc<dyn SandboxBackend>).map_err(|error| error.to_string())
}
