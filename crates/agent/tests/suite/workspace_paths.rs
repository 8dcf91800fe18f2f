//! What paths and mounts mean.

use std::path::{Path, PathBuf};

use fullsend_agent::Workspace;
use fullsend_agent::workspace::{
    Access, HostMount, HostMountError, HostPathError, PathProblem, SandboxPath, WorkspaceError, WorkspacePlan,
};
use proptest::prelude::*;

use crate::support::desk::Desk;

fn path(text: &str) -> SandboxPath {
    SandboxPath::absolute(text).unwrap()
}

#[test]
fn paths_are_resolved_by_spelling() {
    let desk = Desk::with_mounts(&["name=docs,source=mounted,target=/docs"]);
    for (current, given, expected) in [
        ("/workspace", "a", Ok("/workspace/a")),
        ("/workspace", ".", Ok("/workspace")),
        ("/workspace/.ops", "../notes/todo.txt", Ok("/workspace/notes/todo.txt")),
        ("/workspace/a", "..foo/x", Ok("/workspace/a/..foo/x")),
        ("/workspace/a", "...", Ok("/workspace/a/...")),
        ("/workspace", "/docs//./a/", Ok("/docs/a")),
        ("/workspace", "../docs/a", Ok("/docs/a")),
        ("/workspace", "..", Err(PathProblem::Outside)),
        ("/workspace", "/workspace2", Err(PathProblem::Outside)),
        ("/workspace", "/workspace/../etc/passwd", Err(PathProblem::Outside)),
        ("/workspace", "../../../../etc/passwd", Err(PathProblem::Outside)),
        ("/workspace", "/", Err(PathProblem::Outside)),
        ("/workspace", "", Err(PathProblem::Empty)),
        ("/workspace", "a\0b", Err(PathProblem::Nul)),
    ] {
        let found = desk.workspace.resolve(given, &path(current));
        assert_eq!(found.as_ref().map(SandboxPath::as_str), expected.as_ref().map(|text| *text), "{given}");
    }
    let long = "a/".repeat(2_049);
    assert_eq!(desk.workspace.resolve(&long, &path("/workspace")), Err(PathProblem::TooLong));
}

#[test]
fn texts_of_mounts_have_rules() {
    let good: HostMount = " name = docs ,, source=../d , target=/docs/./x/ ,mode=writable,".parse().unwrap();
    let expected = HostMount {
        name: "docs".into(),
        source: PathBuf::from("../d"),
        target: path("/docs/x"),
        access: Access::Writable,
    };
    assert_eq!(good, expected);
    let plain: HostMount = "name=a,source=b,target=/c".parse().unwrap();
    assert_eq!(plain.access, Access::ReadOnly);
    use HostMountError as E;
    for (text, error) in [
        ("name", E::NotAPair("name".into())),
        ("=x", E::NotAPair("=x".into())),
        ("name=", E::NotAPair("name=".into())),
        ("name=a,name=b", E::RepeatedKey("name".into())),
        ("name=a,size=1", E::UnknownKey("size".into())),
        ("source=b,target=/c", E::MissingKey("name")),
        ("name=a,target=/c", E::MissingKey("source")),
        ("name=a,source=b", E::MissingKey("target")),
        ("", E::MissingKey("name")),
        ("name=-a,source=b,target=/c", E::Name("-a".into())),
        ("name=a/b,source=b,target=/c", E::Name("a/b".into())),
        ("name=a,source=b,target=c", E::Target("c".into())),
        ("name=a,source=b,target=/c/..", E::Target("/c/..".into())),
        ("name=a,source=b,target=/c,mode=rw", E::Mode("rw".into())),
    ] {
        assert_eq!(text.parse::<HostMount>(), Err(error), "{text}");
    }
}

fn open(root: &Path, mounts: &[&str], reserved: &[PathBuf]) -> Result<Workspace, WorkspaceError> {
    let mounts: Vec<HostMount> = mounts.iter().map(|text| text.parse().unwrap()).collect();
    let (work, access) = (root.join("work"), Access::Writable);
    Workspace::open(&WorkspacePlan {
        root: &work,
        target: fullsend_agent::workspace::WORKSPACE_TARGET,
        access,
        mounts: &mounts,
        relative_to: root,
        reserved,
    })
}

#[test]
fn mounts_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in ["work", "a", "b", "kept/inner"] {
        std::fs::create_dir_all(root.join(name)).unwrap();
    }
    std::fs::write(root.join("file"), "").unwrap();
    let kept = [root.join("kept")];
    let problem = |mounts: &[&str]| open(root, mounts, &kept).map(drop).unwrap_err().to_string();
    for (mounts, expected) in [
        (&["name=x,source=missing,target=/x"][..], "cannot use"),
        (&["name=x,source=file,target=/x"], "cannot use"),
        (&["name=x,source=/,target=/x"], "root of the file system"),
        (&["name=x,source=a,target=/x", "name=x,source=b,target=/y"], "two mounts are called"),
        (&["name=workspace,source=a,target=/x"], "two mounts are called"),
        (&["name=x,source=a,target=/workspace"], "overlap"),
        (&["name=x,source=a,target=/workspace/x"], "overlap"),
        (&["name=x,source=a,target=/x", "name=y,source=b,target=/x/y"], "overlap"),
        (&["name=x,source=a,target=/x/y", "name=y,source=b,target=/x"], "overlap"),
        (&["name=x,source=a,target=/proc/x"], "belongs to the sandbox"),
        (&["name=x,source=kept,target=/x"], "reserved"),
        (&["name=x,source=kept/inner,target=/x"], "reserved"),
    ] {
        assert!(problem(mounts).contains(expected), "{mounts:?}: {}", problem(mounts));
    }
    let beside = ["name=x,source=a,target=/work", "name=y,source=b,target=/workspace2"];
    let workspace = open(root, &beside, &kept).unwrap();
    let targets: Vec<_> = workspace.mounts().iter().map(|mount| mount.target().as_str()).collect();
    assert_eq!(targets, ["/workspace", "/work", "/workspace2"]);
    assert!(open(root, &[], &[root.join("missing")]).is_err());
}

#[test]
fn host_paths_are_seen_where_their_longest_mount_is() {
    let desk = Desk::with_mounts(&[
        "name=inner,source=work/data,target=/data".replace("work/data", "work").as_str(),
        "name=other,source=mounted,target=/other,mode=writable",
    ]);
    std::fs::create_dir(desk.root.join("mounted/deep")).unwrap();
    desk.link(desk.root.join("mounted"), "to-mounted");
    desk.link(desk.root.join("outside"), "to-outside");
    desk.link("nowhere", "dangling");
    let see = |path: &str| {
        let found = desk.workspace.host_to_sandbox(Path::new(path))?;
        Ok::<_, HostPathError>((found.sandbox.to_string(), found.access))
    };
    for (given, sandbox) in [
        ("to-mounted/deep", "/other/deep"),
        ("to-mounted/deep/new/file", "/other/deep/new/file"),
        ("to-mounted/..new", "/other/..new"),
        ("to-mounted/missing/../x", "/other/x"),
    ] {
        assert_eq!(see(given).unwrap(), (sandbox.to_owned(), Access::Writable), "{given}");
    }
    for given in ["to-outside/secret.txt", "to-outside/new", "..", "missing/../../outside", "/etc"] {
        assert!(matches!(see(given), Err(HostPathError::Outside(_))), "{given}: {:?}", see(given));
    }
    assert!(matches!(see("dangling"), Err(HostPathError::DanglingLink(_))));
    assert!(matches!(see("dangling/x"), Err(HostPathError::DanglingLink(_))));
}

#[test]
fn the_longest_host_root_wins() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("work/data")).unwrap();
    let workspace = open(&root, &["name=data,source=work/data,target=/data"], &[]).unwrap();
    let inner = workspace.host_to_sandbox(Path::new("data/x")).unwrap();
    assert_eq!((inner.sandbox.as_str(), inner.access), ("/data/x", Access::ReadOnly));
    let outer = workspace.host_to_sandbox(Path::new("data2/x")).unwrap();
    assert_eq!((outer.sandbox.as_str(), outer.access), ("/workspace/data2/x", Access::Writable));
    let itself = workspace.host_to_sandbox(&root.join("work")).unwrap();
    assert_eq!(itself.sandbox.as_str(), "/workspace");
}

proptest! {
    /// Whatever is joined is normal, and joining it again changes nothing.
    #[test]
    fn joined_paths_are_normal(start in "(/[a-c.]{1,3}){0,4}", given in "[a-c./]{1,20}") {
        let start = SandboxPath::absolute(&format!("{start}/")).unwrap();
        let joined = start.join(&given).unwrap();
        prop_assert!(joined.as_str().starts_with('/'));
        let parts: Vec<&str> = joined.as_str().split('/').skip(1).collect();
        prop_assert!(joined.as_str() == "/" || parts.iter().all(|part| !["", ".", ".."].contains(part)));
        prop_assert_eq!(&SandboxPath::absolute(joined.as_str()).unwrap(), &joined);
    }
}
