use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use fullsend_sandbox::{FilesystemMount, NetworkPolicy, Secret};

use super::{Wanted, build};
use crate::cli::{Cli, Command, SandboxCommand};

fn wanted_in(current: &Path, options: &[&str]) -> anyhow::Result<Wanted> {
    let line = [&["fullsend", "sandbox", "exec"], options, &["--", "cmd", "-x"]].concat();
    let Command::Sandbox(SandboxCommand::Exec(args)) = Cli::try_parse_from(line)?.command else {
        panic!("another command")
    };
    build(&args, current, |name| (name == "KEY").then(|| "k3y".to_owned()))
}

/// A directory with `a/b` and `link` to `a`, without links in its own path.
fn place() -> (tempfile::TempDir, PathBuf) {
    let scratch = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(scratch.path()).unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    fs::write(root.join("file"), "").unwrap();
    std::os::unix::fs::symlink("a", root.join("link")).unwrap();
    (scratch, root)
}

#[test]
fn paths_are_seen_where_they_are_or_at_their_target() {
    let (_scratch, root) = place();
    let at = |below: &str| root.join(below).to_str().unwrap().to_owned();
    for (argument, source, target) in [
        ("a", at("a"), at("a")),
        ("./a/.//b/", at("a/b"), at("a/b")),
        ("a:/x", at("a"), "/x".to_owned()),
        ("link", at("a"), at("link")),
        ("link/../a", at("a"), at("a")),
        (&at("file"), at("file"), at("file")),
    ] {
        let mounts = wanted_in(&root, &["--ro", argument]).unwrap().spec.mounts;
        assert_eq!(mounts, [FilesystemMount::read_only(source, target)], "{argument}");
    }
    for missing in ["nowhere", "a:b", ""] {
        let error = wanted_in(&root, &["--ro", missing]).map(drop);
        assert!(error.is_err() || missing.is_empty(), "{missing}");
    }
}

#[test]
fn the_command_starts_where_its_caller_is_if_it_can() {
    let (_scratch, root) = place();
    let at = |below: &str| root.join(below).to_str().unwrap().to_owned();
    let start = |current: &Path, options: &[&str]| wanted_in(current, options).unwrap().request.cwd;
    assert_eq!(start(&root.join("a/b"), &["--ro", &at("a")]), Some(at("a/b")));
    assert_eq!(start(&root.join("a/b"), &["--ro", &format!("{}:/x", at("a"))]), Some("/x/b".to_owned()));
    assert_eq!(start(&root, &["--ro", "a", "--rw", "file", "--overlay", "a/b:/y"]), Some("/y".to_owned()));
    assert_eq!(start(&root, &["--ro", "a"]), None);
    assert_eq!(start(&root, &["--rw", "a", "--cwd", "/elsewhere/./x"]), Some("/elsewhere/x".to_owned()));
}

#[test]
fn keys_come_from_the_environment_and_belong_to_an_endpoint() {
    let (_scratch, root) = place();
    let options = ["--endpoint", "m=https://m.test/v1", "--endpoint-key", "m=KEY"];
    let endpoints = wanted_in(&root, &options).unwrap().spec.endpoints;
    assert_eq!(endpoints.len(), 1);
    assert_eq!(endpoints[0].upstream, "https://m.test/v1");
    assert_eq!(endpoints[0].headers, [("Authorization".to_owned(), Secret::new("Bearer k3y"))]);
    for wrong in [
        &["--endpoint", "m=https://m.test", "--endpoint-key", "m=UNSET"][..],
        &["--endpoint-key", "m=KEY"],
        &["--endpoint", "m=https://a.test", "--endpoint", "m=https://b.test"],
        &["--endpoint", "m"],
    ] {
        assert!(wanted_in(&root, wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn hosts_are_checked_before_anything_is_started() {
    let (_scratch, root) = place();
    let network = |options: &[&str]| wanted_in(&root, options).map(|wanted| wanted.spec.network_policy);
    assert_eq!(network(&[]).unwrap(), NetworkPolicy::none());
    assert_eq!(network(&["--allow-network"]).unwrap(), NetworkPolicy::Unrestricted);
    assert_eq!(network(&["--allow-host", "a.test:8443"]).unwrap(), NetworkPolicy::limited(["a.test:8443"]));
    for wrong in [
        &["--allow-host", "*"][..],
        &["--allow-host", "https://a.test"],
        &["--deny-host", "a.*"],
        &["--allow-network", "--allow-host", "a.test"],
    ] {
        assert!(network(wrong).is_err(), "{wrong:?}");
    }
}

#[test]
fn limits_have_to_leave_room() {
    let (_scratch, root) = place();
    let wanted = wanted_in(&root, &["--timeout", "0.25", "--memory", "64", "--cpus", "1"]).unwrap();
    assert_eq!(wanted.request.timeout, Some(std::time::Duration::from_millis(250)));
    assert_eq!((wanted.spec.limits.memory_mb, wanted.spec.limits.cpu_count), (Some(64), Some(1)));
    for wrong in [
        ["--timeout", "0"],
        ["--timeout", "-1"],
        ["--timeout", "nan"],
        ["--timeout", "1e300"],
        ["--memory", "0"],
        ["--cpus", "0"],
        ["--processes", "0"],
        ["--processes", "many"],
    ] {
        assert!(wanted_in(&root, &wrong).is_err(), "{wrong:?}");
    }
}
