//! Who runs a test: whoever started it, or an ordinary user.
//!
//! Much that keeps root's sandboxes apart from the host (other users' files, for one) does nothing for a sandbox whose
//! caller is an ordinary user, and the other way round. So tests run both ways.

use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use fullsend_testkit::{declare_skip, reexec};

/// The number of a user without rights. It needs no name.
pub(crate) const ORDINARY: u32 = 1000;
/// The role of a test that runs again as that user.
const ROLE: &str = "ordinary-user";
/// Names the file by which the other process shows that the right test ran, and what came of it.
const WITNESS: &str = "FULLSEND_SANDBOX_WITNESS";

/// Who runs a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caller {
    /// Whoever started the tests.
    Itself,
    /// An ordinary user: only root can become one.
    Ordinary,
}

/// What a run in another process said.
#[derive(Debug)]
pub(crate) enum Elsewhere {
    /// This is that process: do the work, then [`bear_witness`].
    Here,
    /// It passed, with what it wrote.
    Passed(String),
    /// It cannot be done here.
    Cannot(String),
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs the test `name` again as an ordinary user, if this is not that run already. Panics if it fails there.
pub(crate) fn as_ordinary_user(name: &str) -> Elsewhere {
    if reexec::role().as_deref() == Some(ROLE) {
        return Elsewhere::Here;
    }
    if !is_root() {
        return Elsewhere::Cannot("the caller is an ordinary user already".to_owned());
    }
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
    let witness = home.path().join("witness");
    let inner = reexec::command(name, ROLE);
    let reachable = become_ordinary().args(["test", "-x"]).arg(inner.get_program()).status();
    if !reachable.is_ok_and(|status| status.success()) {
        return Elsewhere::Cannot(format!("an ordinary user cannot run {:?}", inner.get_program()));
    }
    let mut command = become_ordinary();
    command.arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.env("TMPDIR", home.path()).env("HOME", home.path()).env(WITNESS, &witness).stdin(Stdio::null());
    let output = command.output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the test failed as an ordinary user:\n{text}");
    match std::fs::read_to_string(&witness) {
        Ok(written) => Elsewhere::Passed(written),
        Err(_) => panic!("no test is called `{name}`:\n{text}"),
    }
}

/// Tells the process that waits that the test ran, with what it is to know.
pub(crate) fn bear_witness(text: &str) {
    let path = std::env::var_os(WITNESS).map(PathBuf::from).expect("the witness file");
    std::fs::write(path, text).expect("to write the witness file");
}

/// Does `work` as `caller`.
pub(crate) fn run_as(caller: Caller, name: &str, work: impl FnOnce()) {
    if caller == Caller::Itself {
        return work();
    }
    match as_ordinary_user(name) {
        Elsewhere::Here => {
            work();
            bear_witness("");
        }
        Elsewhere::Passed(_) => {}
        Elsewhere::Cannot(reason) => declare_skip(name, &reason),
    }
}

fn become_ordinary() -> Command {
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={ORDINARY}")).arg(format!("--regid={ORDINARY}"));
    command.args(["--clear-groups", "--"]);
    command
}
