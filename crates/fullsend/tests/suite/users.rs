//! Runs the binary as root and as an ordinary user.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use fullsend_testkit::declare_skip;
use tempfile::TempDir;

use crate::suite::running::Ran;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// A user with a directory to work in and a home of its own.
#[derive(Debug)]
pub(crate) struct User {
    directory: TempDir,
    work: PathBuf,
    binary: PathBuf,
    /// The user to become, from root.
    switch_to: Option<u32>,
    is_root: bool,
}

/// Whoever runs the tests, and an ordinary user as well if that is root. None when no sandbox can be made here.
pub(crate) fn each_user(test: &str) -> Vec<User> {
    let caller = User::caller();
    let is_root = caller.is_root;
    let mut users = vec![caller];
    if is_root {
        users.push(User::new(Some(NOBODY)));
    }
    users.retain(|user| {
        let doctor = user.run(&["doctor"]);
        if doctor.code != Some(0) {
            declare_skip(test, &format!("no sandbox as {user:?}: {}{}", doctor.stdout, doctor.stderr));
        }
        doctor.code == Some(0)
    });
    users
}

impl User {
    /// Whoever runs the tests.
    pub(crate) fn caller() -> Self {
        Self::new(None)
    }

    /// Whoever runs the tests, or an ordinary user if that is root, who may read everything.
    pub(crate) fn ordinary() -> Self {
        let caller = Self::caller();
        if caller.is_root { Self::new(Some(NOBODY)) } else { caller }
    }

    fn new(switch_to: Option<u32>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let is_root = switch_to.is_none() && fs::metadata(directory.path()).unwrap().uid() == 0;
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        // The build directory may be closed to others.
        let original = Path::new(env!("CARGO_BIN_EXE_fullsend"));
        let binary = match switch_to {
            None => original.to_path_buf(),
            Some(_) => {
                let copy = directory.path().join("fullsend");
                fs::hard_link(original, &copy).or_else(|_| fs::copy(original, &copy).map(drop)).unwrap();
                copy
            }
        };
        let work = directory.path().join("work");
        for path in [work.clone(), directory.path().join("home")] {
            fs::create_dir(&path).unwrap();
            chown(&path, switch_to, switch_to).unwrap();
        }
        Self { directory, work, binary, switch_to, is_root }
    }

    pub(crate) fn is_root(&self) -> bool {
        self.is_root
    }

    /// The directory to work in.
    pub(crate) fn path(&self) -> &Path {
        &self.work
    }

    /// The home directory, where sandboxes keep their state.
    pub(crate) fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    /// Writes a file of the user's.
    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        for part in path.ancestors().take_while(|part| *part != self.path()) {
            chown(part, self.switch_to, self.switch_to).unwrap();
        }
    }

    /// The command in the user's directory; little is in its environment.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = match self.switch_to {
            None => Command::new(&self.binary),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
                command.args([&user, &group, "--clear-groups", "--"]).arg(&self.binary);
                command
            }
        };
        command.args(arguments).current_dir(self.path());
        command.env_clear().env("HOME", self.home()).env("PATH", "/usr/bin:/bin");
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::from(self.command(arguments).output().unwrap())
    }
}
