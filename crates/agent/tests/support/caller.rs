//! Who runs a test: whoever started it, or an ordinary user. What keeps root's sandboxes apart from the host is not what
//! keeps those of others, so tests run both ways.

use std::os::unix::fs::chown;
use std::process::{Command, Stdio};

use fullsend_testkit::{declare_skip, reexec};

/// The number of a user without rights. It needs no name.
const ORDINARY: u32 = 1000;
/// The role of a test that runs again as that user.
const ROLE: &str = "ordinary-user";
/// The role of a test that runs again by itself.
const ALONE: &str = "alone";
/// Names the file by which the other process shows that the right test ran.
const WITNESS: &str = "FULLSEND_AGENT_WITNESS";

/// Does `work` as an ordinary user, in another process if need be.
pub(crate) fn as_ordinary_user(test: &str, work: impl FnOnce()) {
    if reexec::role().as_deref() == Some(ROLE) {
        work();
        std::fs::write(std::env::var_os(WITNESS).unwrap(), "").unwrap();
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return declare_skip(test, "the caller is an ordinary user already");
    }
    let home = tempfile::tempdir().unwrap();
    chown(home.path(), Some(ORDINARY), Some(ORDINARY)).unwrap();
    let witness = home.path().join("witness");
    let inner = reexec::command(test, ROLE);
    let reachable = become_ordinary().args(["test", "-x"]).arg(inner.get_program()).status();
    if !reachable.is_ok_and(|status| status.success()) {
        return declare_skip(test, "an ordinary user cannot run the tests");
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
    assert!(witness.exists(), "no test is called `{test}`:\n{text}");
}

/// Does `work` in a process of its own, for tests that measure their process.
pub(crate) fn alone(test: &str, work: impl FnOnce()) {
    if reexec::role().as_deref() == Some(ALONE) {
        return work();
    }
    let output = reexec::command(test, ALONE).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

fn become_ordinary() -> Command {
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={ORDINARY}")).arg(format!("--regid={ORDINARY}"));
    command.args(["--clear-groups", "--"]);
    command
}
