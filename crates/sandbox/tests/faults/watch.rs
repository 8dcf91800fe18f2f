//! A process that starts others, has them killed, and looks for what they leave behind.
//!
//! It takes the place of `init` for everything that descends from it, so that no process can get away unseen.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fullsend_sandbox::{
    ExecRequest, LocalBackend, LocalConfig, SandboxBackend as _, SandboxSessionId, SandboxSpec,
};
use fullsend_testkit::{declare_skip, reexec};
use rustix::process::{Pid, WaitOptions};

use super::victims;
use crate::support::backends::Place;
use crate::support::caller::{Caller, ORDINARY, is_root, run_as};
use crate::support::context::text;
use crate::support::host;

/// What a process of a test is to do; none for the one that the test runner started.
const PART: &str = "FULLSEND_TEST_PART";
/// Where the processes of a test keep their things.
const PLACE: &str = "FULLSEND_TEST_PLACE";
/// Runs these tests in full size; plain `cargo test` runs them small.
const SCALE: &str = "FULLSEND_TEST_FAULT_SCALE";

/// In a process of its own.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) place: Place,
    test: &'static str,
}

/// `full` where the tests run in full size, else `small`.
pub(crate) fn scaled<T>(small: T, full: T) -> T {
    if std::env::var_os(SCALE).is_some() { full } else { small }
}

/// How much room there is for what the backend keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// As much as the machine has.
    Plenty,
    /// A few megabytes.
    Little,
}

/// Mounts a small file system where the backend keeps its state, and runs the rest.
const SMALL: &str =
    r#"mount -t tmpfs -o size=8m,nr_inodes=1k,mode=700 small "$1/state" && shift && exec "$@""#;

/// Runs `body` in a process of its own, as `caller`.
pub(crate) fn run(test: &'static str, caller: Caller, room: Room, body: fn(&Watch)) {
    match (std::env::var(PART).as_deref(), std::env::var_os(PLACE)) {
        (Ok("watch"), Some(root)) => {
            rustix::process::set_child_subreaper(Some(rustix::process::getpid())).unwrap();
            body(&Watch { place: Place::of_another(root.into()), test });
            println!("WATCHED");
        }
        (Ok(part), Some(root)) => victims::play(part, &Place::of_another(root.into())),
        _ => run_as(caller, test, || {
            let place = Place::new();
            let watch = part(test, place.root(), "watch");
            let output = match room {
                Room::Plenty => Ok(watch),
                Room::Little => in_little_room(&watch, place.root()),
            };
            let output = match output {
                Ok(mut command) => command.output().unwrap(),
                Err(reason) => return declare_skip(test, &reason),
            };
            let (said, told) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(output.status.success(), "the test failed:\n{said}{told}");
            assert!(said.contains("WATCHED"), "no test is called `{test}`:\n{said}");
        }),
    }
}

/// The same command with a small file system for the state, or why there can be none.
fn in_little_room(inner: &Command, root: &Path) -> Result<Command, String> {
    let namespaces: &[&str] =
        if is_root() { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    let possible = Command::new("unshare").args(namespaces).args(["--", "true"]).output();
    if !possible.as_ref().is_ok_and(|output| output.status.success()) {
        return Err(format!("no mount namespaces here: {possible:?}"));
    }
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["--", "sh", "-c", SMALL, "sh"]).arg(root);
    if !is_root() {
        // The rights over the mounts are given up again before the test.
        let (user, group) = (format!("--map-user={ORDINARY}"), format!("--map-group={ORDINARY}"));
        command.args(["unshare", "--user", &user, &group, "--"]);
    }
    command.arg(inner.get_program()).args(inner.get_args()).stdin(Stdio::null());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    Ok(command)
}

fn part(test: &str, root: &Path, part: &str) -> Command {
    let role = reexec::role().unwrap_or_else(|| "part".to_owned());
    let mut command = reexec::command(test, &role);
    command.env(PART, part).env(PLACE, root).stdin(Stdio::null());
    command
}

impl Watch {
    /// A process that plays a part; it has said that it is ready.
    pub(crate) fn victim(&self, name: &str) -> Child {
        let temporary = self.place.directory("temporary");
        let log = fs::File::create(self.place.path("victim.log")).unwrap();
        let mut command = part(self.test, self.place.root(), name);
        command.env("TMPDIR", temporary).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let ready = lines.any(|line| line.ends_with("READY"));
        // Whatever else it says must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        assert!(ready, "{}", fs::read_to_string(self.place.path("victim.log")).unwrap());
        child
    }

    /// Kills a victim and looks for what is left; the sessions that were meant to be resumed are resumed, and ended.
    pub(crate) fn kill(&self, mut victim: Child) {
        victim.kill().unwrap();
        victim.wait().unwrap();
        self.expect_nothing_running();
        self.expect_nothing_kept(|_, _| {});
    }

    /// Of processes, and with them of namespaces, and of mounts.
    pub(crate) fn expect_nothing_running(&self) {
        host::wait_until(&format!("gone: {:?}", descendants()), || {
            reap();
            descendants().is_empty()
        });
        let root = self.place.root().display().to_string();
        let mounts = host::mounts_with(&root);
        assert!(mounts.iter().all(|mount| mount.contains(" - tmpfs small ")), "{mounts:?}");
    }

    /// After a sweep: of control groups, of directories. `look` sees each session that was meant to be resumed.
    pub(crate) fn expect_nothing_kept(&self, look: impl Fn(&LocalBackend, &SandboxSessionId)) {
        block_on(async {
            let backend = self.backend();
            backend.sweep().unwrap();
            host::wait_until("control groups", || {
                backend.sweep().unwrap();
                host::groups_with(victims::NAME).is_empty()
            });
            for name in names(&self.place.state().join("sessions")) {
                let id = SandboxSessionId::new(name).unwrap();
                backend.resume(&id).await.unwrap();
                let line = ExecRequest::shell(victims::CONSISTENT);
                let result = backend.exec(&id, line).await.unwrap();
                assert!(result.success(), "{result:?}");
                look(&backend, &id);
                backend.terminate(&id).await.unwrap();
            }
            let fresh = backend.provision(SandboxSpec::default()).await.unwrap();
            let result = backend.exec(&fresh.id, ExecRequest::shell("echo fresh")).await.unwrap();
            assert_eq!(text(&result), "fresh\n");
            backend.terminate(&fresh.id).await.unwrap();
            drop(backend);
        });
        let state = self.place.state();
        for directory in [state.join("sessions"), state.join("layers"), self.place.directory("temporary")] {
            assert_eq!(names(&directory), BTreeSet::new(), "{}", directory.display());
        }
        self.expect_nothing_running();
    }

    /// A backend in this process, with the state that victims use.
    pub(crate) fn backend(&self) -> LocalBackend {
        backend(&self.place)
    }
}

pub(crate) fn backend(place: &Place) -> LocalBackend {
    LocalBackend::start(LocalConfig { state_dir: place.state(), ..LocalConfig::default() }).unwrap()
}

/// Runs to the end on a runtime of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(work)
}

pub(crate) fn names(directory: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Ends the zombies that this process inherits.
fn reap() {
    while matches!(rustix::process::wait(WaitOptions::NOHANG), Ok(Some(_))) {}
}

/// All processes that descend from this one, with their names.
pub(crate) fn descendants() -> Vec<String> {
    let mut parents = Vec::new();
    for name in names(Path::new("/proc")) {
        let Ok(pid) = name.parse::<i32>() else { continue };
        // A process that ends meanwhile is not there.
        let Ok(stat) = fs::read_to_string(PathBuf::from("/proc").join(&name).join("stat")) else { continue };
        let (front, back) = stat.rsplit_once(')').unwrap();
        let parent: i32 = back.split_whitespace().nth(1).unwrap().parse().unwrap();
        parents.push((pid, parent, front.to_owned()));
    }
    let mut known = BTreeSet::from([Pid::as_raw(Some(rustix::process::getpid()))]);
    let mut found = Vec::new();
    loop {
        let Some(at) = parents.iter().position(|(_, parent, _)| known.contains(parent)) else { return found };
        let (pid, _, name) = parents.swap_remove(at);
        known.insert(pid);
        found.push(name);
    }
}
