//! Control groups on the real kernel: limits hold, and nothing is left behind.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fullsend_sandbox::SandboxError;
use fullsend_sandbox::cgroup::{CgroupLimits, Cgroups, Controller, Leaf, Support};
use fullsend_testkit::{declare_skip, reexec, test_name};

/// The groups of this machine, if the limits that a test needs can be enforced.
fn cgroups_with(test: &str, controllers: &[Controller]) -> Option<Cgroups> {
    let cgroups = Cgroups::detect();
    for controller in controllers {
        if let Support::Missing { why, .. } = cgroups.available().of(*controller) {
            declare_skip(test, &format!("{} limits: {why}", controller.name()));
            return None;
        }
    }
    Some(cgroups)
}

/// A shell in the group that runs `script` only once it is in there.
fn shell_in(leaf: &Leaf, script: &str) -> Child {
    let mut child = Command::new("sh")
        .args(["-c", &format!("read go && {{ {script}; }}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    leaf.attach(child.id()).unwrap();
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    child
}

/// Every group on the machine whose name starts like this.
fn groups_named(prefix: &str) -> Vec<PathBuf> {
    fn walk(directory: &Path, prefix: &str, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path());
            }
            walk(&entry.path(), prefix, found);
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), prefix, &mut found);
    found
}

#[test]
fn what_uses_too_much_memory_is_killed_and_counted() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Memory]) else { return };
    let limits = CgroupLimits { memory_bytes: Some(48 << 20), ..CgroupLimits::default() };
    let leaf = cgroups.create("fullsend-test-memory", &limits).unwrap();
    assert_eq!(leaf.oom_kills(), 0);
    // A line without an end is kept in memory as a whole; it has an end so that a limit that does not hold fails the
    // test and not the machine.
    let mut child = shell_in(&leaf, "head -c 500000000 /dev/zero | tail > /dev/null");
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(128 + 9), "{status}");
    assert_eq!(leaf.oom_kills(), 1);
    leaf.remove().unwrap();
    assert_eq!(groups_named("fullsend-test-memory"), Vec::<PathBuf>::new());
}

#[test]
fn within_its_memory_a_command_is_left_alone() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Memory]) else { return };
    let limits = CgroupLimits { memory_bytes: Some(48 << 20), ..CgroupLimits::default() };
    let leaf = cgroups.create("fullsend-test-modest", &limits).unwrap();
    let mut child = shell_in(&leaf, "head -c 1000000 /dev/zero | tail | wc -c");
    let mut output = String::new();
    child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!((output.trim(), leaf.oom_kills()), ("1000000", 0));
    leaf.remove().unwrap();
}

#[test]
fn a_fork_bomb_is_capped_and_killed_as_a_whole() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Pids]) else { return };
    let limits = CgroupLimits { processes: Some(10), ..CgroupLimits::default() };
    let leaf = cgroups.create("fullsend-test-forks", &limits).unwrap();
    let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (setsid sleep 30 &) ; done; echo started";
    let mut child = shell_in(&leaf, script);
    // The pipe ends only when the last process that holds it is gone, so it is not read to its end here.
    let mut status = None;
    while leaf.process_limit_hits() == 0 && status.is_none() {
        status = child.try_wait().unwrap();
    }
    assert!(leaf.process_limit_hits() > 0, "{status:?}");
    let group = groups_named("fullsend-test-forks").into_iter().find(|path| path.join("pids.max").exists());
    let processes = fs::read_to_string(group.unwrap().join("cgroup.procs")).unwrap();
    assert!(processes.lines().count() <= 10, "{processes}");
    leaf.kill().unwrap();
    // Everything that held the pipe is dead once it is at its end.
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    child.wait().unwrap();
    leaf.remove().unwrap();
    assert_eq!(groups_named("fullsend-test-forks"), Vec::<PathBuf>::new());
}

#[test]
fn processors_are_limited_by_a_quota() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Cpu]) else { return };
    let limits = CgroupLimits { cpu_count: Some(2), ..CgroupLimits::default() };
    let leaf = cgroups.create("fullsend-test-quota", &limits).unwrap();
    let quotas: Vec<String> = groups_named("fullsend-test-quota")
        .iter()
        .flat_map(|group| ["cpu.max", "cpu.cfs_quota_us"].map(|file| fs::read_to_string(group.join(file))))
        .flatten()
        .collect();
    assert!(
        matches!(quotas.as_slice(), [one] if one == "200000\n" || one == "200000 100000\n"),
        "{quotas:?}"
    );
    assert!(shell_in(&leaf, "true").wait().unwrap().success());
    leaf.remove().unwrap();
}

#[test]
fn a_dropped_group_is_gone_and_one_with_processes_says_so() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Pids]) else { return };
    let limits = CgroupLimits { processes: Some(5), ..CgroupLimits::default() };
    drop(cgroups.create("fullsend-test-dropped", &limits).unwrap());
    assert_eq!(groups_named("fullsend-test-dropped"), Vec::<PathBuf>::new());

    let leaf = cgroups.create("fullsend-test-busy", &limits).unwrap();
    let mut child = shell_in(&leaf, "read more");
    let groups = groups_named("fullsend-test-busy");
    let error = leaf.remove().unwrap_err();
    assert!(matches!(&error, SandboxError::Lifecycle(text) if text.contains("still alive")), "{error}");
    drop(child.stdin.take());
    child.wait().unwrap();
    for group in groups {
        let _ = fs::remove_dir(group);
    }
}

#[test]
fn a_name_is_given_once_and_stays_in_its_place() {
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Pids]) else { return };
    let limits = CgroupLimits { processes: Some(5), ..CgroupLimits::default() };
    let leaf = cgroups.create("fullsend-test-twice", &limits).unwrap();
    assert!(matches!(cgroups.create("fullsend-test-twice", &limits), Err(SandboxError::Io { .. })));
    assert!(!groups_named("fullsend-test-twice").is_empty(), "the first one is still there");
    leaf.remove().unwrap();
    for name in ["", "..", "../x", "a/b", ".hidden", "a b", "a\nb"] {
        let refused = cgroups.create(name, &limits);
        assert!(matches!(refused, Err(SandboxError::InvalidRequest(_))), "{name:?}: {refused:?}");
    }
}

#[test]
fn each_kind_of_limit_is_a_layer() {
    let available = Cgroups::detect().available().clone();
    let layers = available.layers();
    assert_eq!(
        layers.each_ref().map(|layer| layer.name),
        ["memory limits", "processor limits", "process limits"]
    );
    for (layer, controller) in layers.iter().zip([Controller::Memory, Controller::Cpu, Controller::Pids]) {
        assert_eq!(layer.is_available(), available.of(controller).is_enforced(), "{layer:?}");
    }
}

#[test]
fn limits_that_nothing_fits_in_are_refused() {
    let cgroups = Cgroups::detect();
    for limits in [
        CgroupLimits { memory_bytes: Some(0), ..CgroupLimits::default() },
        CgroupLimits { cpu_count: Some(0), ..CgroupLimits::default() },
        CgroupLimits { processes: Some(0), ..CgroupLimits::default() },
    ] {
        let refused = cgroups.create("fullsend-test-zero", &limits);
        assert!(matches!(refused, Err(SandboxError::InvalidRequest(_))), "{limits:?}: {refused:?}");
    }
}

#[test]
fn groups_of_dead_processes_are_swept_and_those_of_living_ones_are_not() {
    if reexec::role().is_some() {
        let limits = CgroupLimits { processes: Some(5), ..CgroupLimits::default() };
        let leaf = Cgroups::detect().create("fullsend-test-sweep-dead", &limits).unwrap();
        // As if killed: nothing is tidied up.
        std::mem::forget(leaf);
        return;
    }
    let Some(cgroups) = cgroups_with(test_name!(), &[Controller::Pids]) else { return };
    let limits = CgroupLimits { processes: Some(5), ..CgroupLimits::default() };
    let living = cgroups.create("fullsend-test-sweep-living", &limits).unwrap();
    let output = reexec::command(test_name!(), "dies").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut left = groups_named("fullsend-test-sweep-dead");
    assert!(!left.is_empty());

    let mut swept = cgroups.sweep("fullsend-test-sweep-");
    left.sort();
    swept.sort();
    assert_eq!(swept, left);
    assert_eq!(groups_named("fullsend-test-sweep-dead"), Vec::<PathBuf>::new());
    assert!(!groups_named("fullsend-test-sweep-living").is_empty());
    living.remove().unwrap();
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    if reexec::role().is_some() {
        let cgroups = Cgroups::detect();
        let limits = CgroupLimits { memory_bytes: Some(1 << 30), ..CgroupLimits::default() };
        match &cgroups.available().memory {
            Support::Missing { why, fix } => {
                assert!(!why.is_empty() && fix.contains("run fullsend"), "{why}; {fix}");
                let refused = cgroups.create("fullsend-test-user", &limits).unwrap_err();
                assert!(
                    matches!(&refused, SandboxError::Unsupported { reason, .. } if reason.contains(why)),
                    "{refused}"
                );
                writeln!(std::io::stdout(), "MISSING {why}").unwrap();
            }
            // Groups may be handed to a user; then they have to work.
            Support::Enforced { .. } => {
                cgroups.create("fullsend-test-user", &limits).unwrap().remove().unwrap()
            }
        }
        return;
    }
    if !rustix::process::geteuid().is_root() {
        let output = reexec::command(test_name!(), "user").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let inner = reexec::command(test_name!(), "user");
    let copy = scratch.path().join("tests");
    fs::copy(inner.get_program(), &copy).unwrap();
    let mut outer = Command::new("setpriv");
    outer.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(copy).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        outer.env(key, value.unwrap());
    }
    match outer.output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(text.contains("MISSING"), "nobody owns no groups: {text}");
        }
        Err(error) => declare_skip(test_name!(), &format!("cannot run setpriv: {error}")),
    }
}
