//! Runs the binary in a directory of its own, with an environment of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fullsend_testkit::declare_skip;
use tempfile::TempDir;

/// A directory to run in.
pub(crate) struct Place {
    directory: TempDir,
    /// Whether the program is run as somebody who is not root of the namespace that the test is in.
    as_user: bool,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), as_user: false }
    }

    /// A repository with a fullsend directory in which one harness, agent and skill are right.
    pub(crate) fn with_harness() -> Self {
        let place = Self::new();
        place
            .write(".fullsend/harness/code.yaml", "agent: agents/a.md\nrole: coder\nskills:\n  - skills/s\n");
        place.write(".fullsend/agents/a.md", "---\nname: a\ndescription: An agent\n---\nDo it.\n");
        place.write(".fullsend/skills/s/SKILL.md", "---\nname: s\ndescription: A skill\n---\nHow.\n");
        place
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The command, to be started in this place; only what is set here is in its environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let program = env!("CARGO_BIN_EXE_fullsend");
        let mut command = match self.as_user {
            true => Command::new("unshare"),
            false => Command::new(program),
        };
        if self.as_user {
            command.args(["--user", "--map-user=1000", "--map-group=1000", "--", program]);
        }
        command.args(arguments).current_dir(self.path()).env_clear();
        command
    }

    /// Runs the program as an ordinary user from now on. Inside namespaces root may be that of the machine, whom a sandbox
    /// does not take for its own.
    pub(crate) fn as_ordinary_user(&mut self) {
        self.as_user = true;
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }

    /// Whether commands can be run here; if not, that is a skip.
    pub(crate) fn has_sandbox(&self, test: &str) -> bool {
        let mut command = self.command(&["doctor"]);
        command.env("HOME", self.path().join("home")).env("PATH", "/usr/bin:/bin");
        let doctor = Ran::from(command.output().unwrap());
        if doctor.code != Some(0) {
            declare_skip(test, &format!("no sandbox: {}{}", doctor.stdout, doctor.stderr));
        }
        doctor.code == Some(0)
    }
}

/// What came of a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}
