//! The container engine that the environment names, with the image that the repository's test runner makes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use fullsend_testkit::declare_skip;

/// The image.
pub(crate) const IMAGE: &str = "fullsend-test:latest";
/// How clients find their engine.
const DOCKER_HOST: &str = "DOCKER_HOST";

/// Whether there is an engine with the image; a skip is declared if not.
pub(crate) fn is_there(test: &str) -> bool {
    match Command::new("docker").args(["image", "inspect", IMAGE]).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            declare_skip(test, &String::from_utf8_lossy(&output.stderr));
            false
        }
        Err(error) => {
            declare_skip(test, &format!("docker: {error}"));
            false
        }
    }
}

/// Tells a program where the engine listens.
pub(crate) fn announce(command: &mut Command) {
    if let Some(host) = std::env::var_os(DOCKER_HOST) {
        command.env(DOCKER_HOST, host);
    }
}

/// The containers of a user's state directory, a line each.
pub(crate) fn containers(state: &Path) -> String {
    let state = fs::canonicalize(state.join("fullsend/docker")).unwrap();
    let label = format!("label=dev.fullsend.state={}", state.display());
    let listed = Command::new("docker").args(["ps", "-aq", "--filter", &label]).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).unwrap()
}

/// An image without anything in it. Removed when dropped.
#[derive(Debug)]
pub(crate) struct EmptyImage {
    pub(crate) name: String,
}

impl EmptyImage {
    pub(crate) fn new() -> Self {
        let name = format!("fullsend-test-empty:{}", std::process::id());
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("etc")).unwrap();
        let mut tar =
            Command::new("tar").args(["-c", "etc"]).current_dir(root.path()).stdout(Stdio::piped()).spawn();
        let tar = tar.as_mut().unwrap();
        let imported = Command::new("docker")
            .args(["import", "-", &name])
            .stdin(tar.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(tar.wait().unwrap().success() && imported.status.success(), "{imported:?}");
        Self { name }
    }
}

impl Drop for EmptyImage {
    fn drop(&mut self) {
        let _stays = Command::new("docker").args(["image", "rm", &self.name]).output();
    }
}
