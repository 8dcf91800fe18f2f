//! The attacks without a sandbox: proof that they work when nothing stops them.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use fullsend_testkit::{declare_skip, test_name};

use super::attacks::{ATTACKS, Attack, How, NOT_EVERYWHERE};
use super::fixture::Fixture;
use super::outcome::{End, Outcome};
use super::report;
use crate::support::{caller, probe};

/// What every attack is given, however it runs.
pub(crate) fn variables(
    fixture: &Fixture,
    attack: usize,
    round: &str,
    workspace: &str,
) -> BTreeMap<String, String> {
    let mut variables = fixture.variables.clone();
    variables.insert("W".to_owned(), workspace.to_owned());
    variables.insert("S".to_owned(), format!("{workspace}/s-{round}-{attack}"));
    variables
}

/// The line of shell that makes an attack.
pub(crate) fn line(attack: &Attack) -> String {
    match attack.how {
        How::Probe(arguments) => format!("exec \"$P\" {arguments}"),
        How::Shell(line) => line.to_owned(),
    }
}

/// The end of a child as attacks are judged by it.
pub(crate) fn end(output: &Output) -> End {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let signal = output.status.signal();
    let code = output.status.code().unwrap_or_else(|| 128 + signal.unwrap_or_default());
    End { code, signal, stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// Makes one attack as a plain child. Root's mounts stay in a namespace that ends with it.
pub(crate) fn attempt(attack: &Attack, number: usize, probe: &Path) -> Outcome {
    let fixture = Fixture::new(probe);
    let workspace = fixture.workspace().display().to_string();
    let memory = fixture.workspace().with_file_name("memory");
    let mut command = Command::new(if caller::is_root() { "unshare" } else { "env" });
    if caller::is_root() {
        command.args(["--mount", "--propagation", "private"]);
    }
    command.args(["timeout", "--kill-after=1", "30", "/bin/sh", "-c", &line(attack)]);
    command.env_clear().envs(variables(&fixture, number, "plain", &workspace));
    command.env("P", probe).env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
    // Nobody but the kernel's own rules protects the machine's first process; a sandbox's is like the victim.
    command.env("INIT", &fixture.variables["VP"]);
    command.env("FULLSEND_MEMORY_DIR", memory).current_dir(&workspace).stdin(Stdio::null());
    Outcome::of(attack.how, &end(&command.output().unwrap()))
}

/// All attacks without a sandbox.
pub(crate) fn column(probe: &Path) -> Vec<Outcome> {
    ATTACKS.iter().enumerate().map(|(number, attack)| attempt(attack, number, probe)).collect()
}

/// Why a failure without a sandbox is no surprise.
pub(crate) fn excuse(attack: &Attack) -> Option<&'static str> {
    NOT_EVERYWHERE.iter().find(|(name, _)| *name == attack.name).map(|(_, reason)| *reason)
}

#[test]
fn attacks_work_when_nothing_stops_them() {
    let probe = match probe::probe() {
        Ok(probe) => probe,
        Err(reason) => return declare_skip(test_name!(), reason),
    };
    if !caller::is_root() {
        return declare_skip(test_name!(), "many attacks need root to work without a sandbox");
    }
    let outcomes = column(probe);
    println!("{}", report::table(&[("no sandbox", &outcomes)]));
    let unproven: Vec<String> = ATTACKS
        .iter()
        .zip(&outcomes)
        .filter(|(attack, outcome)| excuse(attack).is_none() && !matches!(outcome, Outcome::Reached(_)))
        .map(|(attack, outcome)| format!("{} {}: {outcome}", attack.id, attack.name))
        .collect();
    assert_eq!(unproven, Vec::<String>::new(), "attacks that nothing stops and that fail prove nothing");
}

#[test]
fn names_are_unique_and_every_excuse_is_for_an_attack() {
    let mut names: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for (name, _) in NOT_EVERYWHERE {
        assert!(names.binary_search(name).is_ok(), "{name}");
    }
}
