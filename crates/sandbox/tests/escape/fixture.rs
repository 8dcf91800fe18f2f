//! What there is to attack: live processes, sockets, shared objects and files, all of the caller's own user.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::{caller, host};

/// A user that is neither root nor the ordinary caller.
const SOMEBODY_ELSE: u32 = 65_533;

/// Victims in a directory of their own.
#[derive(Debug)]
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
    /// Ends the victims when its input ends.
    keeper: Child,
    /// Where everything is, as the attacks' variables.
    pub(crate) variables: BTreeMap<String, String>,
    /// A secret that a careless launcher would hand on.
    _inheritable: File,
}

impl Fixture {
    pub(crate) fn new(probe: &Path) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let tag = format!("atk-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        // Were the files hidden by a closed parent alone, an ordinary user's run would show nothing.
        fs::set_permissions(root, Permissions::from_mode(0o755)).unwrap();
        for name in ["outside", "ws/sub/ro", "memory"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for name in
            ["outside/secret", "outside/file", "outside/todelete", "outside/torename", "ws/sub/ro/data"]
        {
            fs::write(root.join(name), format!("content of {name}")).unwrap();
        }
        fs::set_permissions(root.join("outside/file"), Permissions::from_mode(0o666)).unwrap();
        plant_setuid(probe, &root.join("ws/planted-suid"));
        let inheritable = File::open(root.join("outside/secret")).unwrap();
        rustix::io::fcntl_setfd(&inheritable, rustix::io::FdFlags::empty()).unwrap();
        let (keeper, mut variables) = start_victims(probe, &root.join("outside"), &tag);
        variables.insert("VD".to_owned(), root.join("outside").display().to_string());
        variables
            .insert("CALLER_HOME".to_owned(), std::env::var("HOME").unwrap_or_else(|_| "/root".to_owned()));
        Self { directory, keeper, variables, _inheritable: inheritable }
    }

    /// The directory that attacks may write.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.path().join("ws")
    }

    /// What must not change: files to the last attribute, the victim, the read-only directory.
    pub(crate) fn state(&self) -> BTreeMap<String, String> {
        let mut state = host::tree(&self.directory.path().join("outside"));
        let read_only = host::tree(&self.workspace().join("sub/ro"));
        state.extend(read_only.into_iter().map(|(name, line)| (format!("sub/ro/{name}"), line)));
        state.insert("victim".to_owned(), self.victim());
        state
    }

    /// The victim's identity, state, priority, limits and processors.
    fn victim(&self) -> String {
        let process = Path::new("/proc").join(&self.variables["VP"]);
        let read = |name: &str| fs::read_to_string(process.join(name)).unwrap_or_default();
        let status = read("stat");
        // A sleeping and a running victim are both alive.
        let state = status.rsplit(')').next().unwrap_or_default().split(' ').nth(1).unwrap_or_default();
        let alive = matches!(state, "S" | "R" | "D");
        let priority = status.rsplit(')').next().unwrap_or_default().split(' ').nth(17).unwrap_or_default();
        let processors =
            read("status").lines().find(|line| line.starts_with("Cpus_allowed:")).map(str::to_owned);
        format!("alive {alive} nice {priority} {processors:?} {}", read("limits"))
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // A keeper that cannot be waited for leaves at most a few names of shared objects.
        let _ = self.keeper.wait();
    }
}

/// A program that would run with the rights of another user; only root can leave such a thing.
fn plant_setuid(probe: &Path, planted: &Path) {
    fs::copy(probe, planted).unwrap();
    if caller::is_root() {
        chown(planted, Some(SOMEBODY_ELSE), None).unwrap();
    }
    fs::set_permissions(planted, Permissions::from_mode(0o4755)).unwrap();
}

/// Starts the victims and learns where they are.
fn start_victims(probe: &Path, outside: &Path, tag: &str) -> (Child, BTreeMap<String, String>) {
    let mut keeper = Command::new(probe)
        .arg("victim")
        .arg(outside)
        .arg(tag)
        .current_dir(outside)
        .env("VICTIM_SECRET", format!("secret-of-{tag}"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut variables = BTreeMap::new();
    for line in BufReader::new(keeper.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line == "READY" {
            return (keeper, variables);
        }
        let (name, value) = line.split_once('=').unwrap();
        variables.insert(name.to_owned(), value.to_owned());
    }
    panic!("the victims did not start: {:?}", keeper.wait());
}
