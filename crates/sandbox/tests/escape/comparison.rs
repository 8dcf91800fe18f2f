//! The same attacks on another sandbox, to compare; nothing is expected of it.

use std::path::Path;
use std::process::{Command, Stdio};

use fullsend_testkit::{declare_skip, test_name};

use super::attacks::ATTACKS;
use super::fixture::Fixture;
use super::outcome::Outcome;
use super::{plain, report};
use crate::support::{caller, probe};

/// The strictest that bubblewrap's own options give for the same policy.
const OPTIONS: &str = "--unshare-all --unshare-user --disable-userns --cap-drop ALL --die-with-parent --new-session \
    --clearenv --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/sbin /sbin --symlink usr/lib /lib \
    --symlink usr/lib64 /lib64 --ro-bind /etc /etc --proc /proc --dev /dev --tmpfs /tmp --tmpfs /mnt/memory --remount-ro /mnt/memory";

fn attempt(at: usize, probe: &Path) -> Outcome {
    let attack = &ATTACKS[at];
    let fixture = Fixture::new(probe);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=1", "30", "bwrap"]).args(OPTIONS.split_whitespace());
    command.arg("--bind").arg(fixture.workspace()).arg("/work");
    command.arg("--ro-bind").arg(fixture.workspace().join("sub/ro")).arg("/work/sub/ro");
    command.arg("--ro-bind").arg(probe.parent().unwrap()).arg("/attack");
    let fixed = [
        ("P", "/attack/probe"),
        ("INIT", "1"),
        ("PATH", "/usr/bin:/bin:/usr/sbin:/sbin"),
        ("FULLSEND_MEMORY_DIR", "/mnt/memory"),
    ];
    let fixed = fixed.map(|(key, value)| (key.to_owned(), value.to_owned()));
    for (key, value) in plain::variables(&fixture, at, "bwrap", "/work").into_iter().chain(fixed) {
        command.args(["--setenv", &key, &value]);
    }
    command.args(["--chdir", "/work", "--", "/bin/sh", "-c", &plain::line(attack)]).stdin(Stdio::null());
    Outcome::of(attack.how, &plain::end(&command.output().unwrap()))
}

#[test]
fn bubblewrap_for_comparison() {
    let probe = match probe::probe() {
        Ok(probe) => probe,
        Err(reason) => return declare_skip(test_name!(), reason),
    };
    let works = Command::new("bwrap").args(OPTIONS.split_whitespace()).args(["--", "/bin/true"]).output();
    if !works.is_ok_and(|output| output.status.success()) {
        return declare_skip(test_name!(), "bubblewrap is not installed or does not work here");
    }
    let outcomes: Vec<Outcome> = (0..ATTACKS.len()).map(|at| attempt(at, probe)).collect();
    let title = if caller::is_root() { "bwrap (root)" } else { "bwrap (user)" };
    println!("{}", report::table(&[(title, &outcomes)]));
}
