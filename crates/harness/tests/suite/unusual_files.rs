//! Directories, links, pipes, devices and broken bytes where a harness file is expected.

use std::process::Command;
use std::time::Duration;

use fullsend_harness::{LintOptions, LintTarget, TargetError, lint};

use super::support::{CLEAN, Folder, HARNESS};

fn pipe(folder: &Folder, path: &str) {
    std::fs::create_dir_all(folder.path(path).parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path(path)).status().unwrap().success());
}

/// What linting says, unless it waits for a writer that never comes: that fails the test instead of hanging it.
fn lint_in_time(folder: Folder) -> Vec<String> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(folder.lint()));
    receiver.recv_timeout(Duration::from_secs(20)).unwrap()
}

#[test]
fn a_directory_named_like_a_harness_is_reported_and_the_others_still_linted() {
    let folder =
        Folder::with(&[("harness/a.yaml/", ""), ("harness/b.yaml", "rol: x\n"), ("harness/notes.txt", "[")]);
    assert_eq!(
        folder.lint(),
        [
            "wrong-file-kind harness/a.yaml:1:1 `harness/a.yaml` is a directory, not a file | put a regular file there, or rename what is there",
            "unknown-key harness/b.yaml:1:1 unknown key `rol` | did you mean `role`?",
        ]
    );
}

#[test]
fn a_dangling_link_is_reported() {
    let folder = Folder::with(&[("harness/b.yaml", HARNESS)]);
    std::os::unix::fs::symlink("gone.yaml", folder.path("harness/a.yaml")).unwrap();
    assert_eq!(
        folder.lint(),
        [
            "missing-file harness/a.yaml:1:1 cannot read `harness/a.yaml`: No such file or directory (os error 2) | create the file, or correct the path"
        ]
    );
}

#[test]
fn a_link_to_a_file_is_followed() {
    let folder = Folder::with(&[("shared/a.yaml", HARNESS), ("harness/", "")]);
    std::os::unix::fs::symlink("../shared/a.yaml", folder.path("harness/a.yaml")).unwrap();
    assert_eq!(folder.lint(), CLEAN);
}

#[test]
fn a_pipe_or_device_is_refused_without_being_read() {
    let folder = Folder::with(&[("harness/", ""), ("harness/code.yaml", HARNESS)]);
    pipe(&folder, "harness/a.yaml");
    std::os::unix::fs::symlink("/dev/zero", folder.path("harness/z.yaml")).unwrap();
    pipe(&folder, "providers/p.yaml");
    pipe(&folder, "config.yaml");
    let refused = |path: &str| {
        format!(
            "wrong-file-kind {path}:1:1 `{path}` is a pipe, socket or device, not a file | put a regular file there, or rename what is there"
        )
    };
    assert_eq!(
        lint_in_time(folder),
        [
            refused("config.yaml"),
            refused("providers/p.yaml"),
            refused("harness/a.yaml"),
            refused("harness/z.yaml")
        ]
    );
}

#[test]
fn a_pipe_is_no_resource_either() {
    let folder = Folder::with(&[(
        "harness/code.yaml",
        "agent: agents/pipe.md\nrole: coder\nbase: pipe.base\npre_script: agents/pipe.md\nproviders: [agents/p.yaml]\nhost_files: [{src: /dev/zero, dest: /x}]\n",
    )]);
    pipe(&folder, "agents/pipe.md");
    pipe(&folder, "agents/p.yaml");
    pipe(&folder, "harness/pipe.base");
    assert_eq!(
        lint_in_time(folder).iter().map(|line| line.split(" | ").next().unwrap()).collect::<Vec<_>>(),
        [
            "wrong-file-kind harness/code.yaml:1:8 `agent`: `agents/pipe.md` is not a file",
            "base-missing harness/code.yaml:3:7 no base there: `harness/pipe.base` is a pipe, socket or device, not a file",
            "wrong-file-kind harness/code.yaml:4:13 `pre_script`: `agents/pipe.md` is not a file",
            "wrong-file-kind harness/code.yaml:5:13 `providers`: `agents/p.yaml` is not a file",
            "wrong-file-kind harness/code.yaml:6:20 `host_files.src`: `/dev/zero` is not a file",
        ]
    );
}

#[test]
fn targets_that_cannot_be_linted_say_why() {
    let folder = Folder::empty();
    let target = |path: &str| {
        LintTarget::from_path(&folder.path(path), None).map_err(|error| folder.relative(&error.to_string()))
    };
    assert_eq!(target("gone").unwrap_err(), "`gone` does not exist");
    assert_eq!(
        target("").unwrap_err(),
        "`<root>` has no harness files"
            .replace("<root>", &folder.relative(&folder.path("").display().to_string()))
    );
    pipe(&folder, "p.yaml");
    let error = LintTarget::from_path(&folder.path("p.yaml"), None).unwrap_err();
    assert!(matches!(error, TargetError::NotAFile { .. }), "{error}");
    assert_eq!(folder.relative(&error.to_string()), "`p.yaml` is neither a file nor a directory");
}

#[test]
fn a_path_stands_for_the_harnesses_it_holds() {
    let folder = Folder::with(&[
        (".fullsend/harness/a.yaml", HARNESS),
        (".fullsend/harness/b.yml", HARNESS),
        (".fullsend/agents/code.md", "x"),
    ]);
    let root = folder.path(".fullsend");
    let both = LintTarget {
        root: root.clone(),
        files: vec![root.join("harness/a.yaml"), root.join("harness/b.yml")],
    };
    for path in ["", ".fullsend", ".fullsend/harness"] {
        assert_eq!(LintTarget::from_path(&folder.path(path), None).unwrap(), both, "{path}");
    }
    let one = LintTarget { root: root.clone(), files: vec![root.join("harness/a.yaml")] };
    assert_eq!(LintTarget::from_path(&root.join("harness/a.yaml"), None).unwrap(), one);
    let elsewhere = LintTarget::from_path(&root.join("harness/a.yaml"), Some(folder.root())).unwrap();
    assert_eq!(elsewhere.root, folder.root());
}

#[test]
fn agents_registered_from_elsewhere_are_linted_with_their_directory() {
    let folder = Folder::with(&[
        (
            "config.yaml",
            "agents: [harness/a.yaml, other/b.yaml, {name: c, source: other/c.yaml, enabled: false}, {name: d, source: other/b.yaml}]\n",
        ),
        ("harness/a.yaml", HARNESS),
        ("other/b.yaml", "agent: agents/code.md\nrol: coder\n"),
        ("other/c.yaml", "rol: coder\n"),
    ]);
    let target = LintTarget::from_path(folder.root(), None).unwrap();
    assert_eq!(target.files, [folder.path("harness/a.yaml"), folder.path("other/b.yaml")]);
    assert_eq!(folder.lint_briefly(), ["unknown-key other/b.yaml:2:1 unknown key `rol`"]);
}

#[test]
fn a_file_that_vanished_is_reported() {
    let folder = Folder::empty();
    let target = LintTarget { root: folder.root().to_owned(), files: vec![folder.path("harness/gone.yaml")] };
    let report = lint(&target, &LintOptions::default());
    assert_eq!(
        folder.described(&report),
        [
            "missing-file harness/gone.yaml:1:1 cannot read `harness/gone.yaml`: No such file or directory (os error 2) | create the file, or correct the path"
        ]
    );
}
