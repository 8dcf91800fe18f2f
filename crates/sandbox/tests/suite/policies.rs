//! Permission policies become specs, or are refused with every reason at once.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fullsend_sandbox::FilesystemAccess::{ReadOnly, ReadWrite};
use fullsend_sandbox::policy::{Effect, Grant, PolicyList};
use fullsend_sandbox::{
    FilesystemAccess, FilesystemMount, NetworkPolicy, PermissionPolicy, ResourceLimits, SandboxError,
    SandboxSpec,
};

/// A workspace with some files, and a directory beside it.
struct Place {
    _scratch: tempfile::TempDir,
    root: PathBuf,
}

impl Place {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(scratch.path()).unwrap();
        for directory in ["work/src/deep", "work/docs", "beside"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["work/src/a.rs", "work/README", "beside/secret"] {
            fs::write(root.join(file), "x").unwrap();
        }
        symlink(root.join("beside"), root.join("work/link")).unwrap();
        Self { _scratch: scratch, root }
    }

    fn path(&self, below: &str) -> String {
        self.root.join(below).to_str().unwrap().to_owned()
    }

    fn workspace(&self) -> PathBuf {
        self.root.join("work")
    }

    fn mounts(&self, policy: &PermissionPolicy) -> Vec<(String, FilesystemAccess)> {
        let lowered = policy.lower(&self.workspace(), SandboxSpec::default()).unwrap();
        let mounts = lowered.spec.mounts.into_iter();
        mounts
            .map(|mount| {
                assert_eq!(
                    mount.source,
                    Path::new(&mount.target),
                    "a path means the same inside and outside"
                );
                (mount.target, mount.access)
            })
            .collect()
    }

    fn refusal(&self, policy: &PermissionPolicy) -> String {
        match policy.lower(&self.workspace(), SandboxSpec::default()) {
            Err(SandboxError::InvalidRequest(message)) => message,
            other => panic!("{other:?}"),
        }
    }
}

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

fn policy(read: &[&str], write: &[&str]) -> PermissionPolicy {
    PermissionPolicy { read: list(read), write: list(write), ..PermissionPolicy::default() }
}

#[test]
fn entries_become_mounts_at_the_same_path() {
    let place = Place::new();
    let (work, src) = (place.path("work"), place.path("work/src"));
    for (policy, expected) in [
        (policy(&["**"], &[]), vec![(work.clone(), ReadOnly)]),
        (policy(&[], &["."]), vec![(work.clone(), ReadWrite)]),
        (
            policy(&["README"], &["src/**"]),
            vec![(place.path("work/README"), ReadOnly), (src.clone(), ReadWrite)],
        ),
        (policy(&["**"], &["src"]), vec![(work, ReadOnly), (src, ReadWrite)]),
        (policy(&[&place.path("beside")], &[]), vec![(place.path("beside"), ReadOnly)]),
    ] {
        assert_eq!(place.mounts(&policy), expected, "{policy:?}");
    }
}

#[test]
fn a_read_entry_below_a_write_entry_is_an_exception() {
    let place = Place::new();
    let expected = vec![(place.path("work"), ReadWrite), (place.path("work/src"), ReadOnly)];
    assert_eq!(place.mounts(&policy(&["src/**"], &["**"])), expected);
    let nested = place.mounts(&policy(&["src"], &["**", "src/deep"]));
    assert_eq!(nested, [expected, vec![(place.path("work/src/deep"), ReadWrite)]].concat());
}

#[test]
fn what_an_entry_above_grants_is_not_mounted_twice() {
    let place = Place::new();
    let work = vec![(place.path("work"), ReadWrite)];
    assert_eq!(place.mounts(&policy(&[], &["src/deep", "**", "src", "./src/"])), work);
    assert_eq!(place.mounts(&policy(&["**"], &["**"])), work, "writing implies reading");
}

#[test]
fn all_problems_are_told_at_once() {
    let place = Place::new();
    let all_wrong = PermissionPolicy {
        read: list(&["src/*.rs", "missing", "docs"]),
        write: list(&["~/x", "link/**"]),
        exec: list(&["git*", "git"]),
        net: list(&["a.*", "ok.test"]),
    };
    let message = place.refusal(&all_wrong);
    for expected in [
        "read entry `src/*.rs` is a pattern",
        "read entry `missing` cannot be opened",
        "write entry `~/x` is not expanded",
        "write entry `link/**` is a symbolic link",
        "exec entry `git*` is a pattern",
        "net entry `a.*` cannot be enforced",
    ] {
        assert!(message.contains(expected), "{expected}\n{message}");
    }
    assert_eq!(message.lines().count(), 7, "{message}");
    let linted: Vec<(PolicyList, String)> =
        all_wrong.lint().into_iter().map(|problem| (problem.list, problem.entry)).collect();
    assert_eq!(
        linted,
        [
            (PolicyList::Read, "src/*.rs".to_owned()),
            (PolicyList::Write, "~/x".to_owned()),
            (PolicyList::Exec, "git*".to_owned()),
            (PolicyList::Net, "a.*".to_owned()),
        ],
        "files are not looked at"
    );
}

#[test]
fn paths_that_no_mount_can_show_are_refused() {
    let place = Place::new();
    for (entry, expected) in [
        ("README/**", "is a file"),
        ("README/", "is a file"),
        ("link/secret", "behind one"),
        ("/proc/sys", "belongs to the sandbox itself"),
        ("/dev/null", "is neither a file nor a directory"),
        ("../beside", "`..`"),
    ] {
        let message = place.refusal(&policy(&[entry], &[]));
        assert!(message.contains(expected), "{entry}: {message}");
    }
}

#[test]
fn a_workspace_behind_a_link_keeps_its_name_and_is_mounted_from_where_it_is() {
    let place = Place::new();
    symlink(place.workspace(), place.root.join("alias")).unwrap();
    let lowered = policy(&[&place.path("alias/docs")], &["src"])
        .lower(&place.root.join("alias"), SandboxSpec::default())
        .unwrap();
    assert_eq!(
        lowered.spec.mounts,
        [
            FilesystemMount::read_only(place.path("work/docs"), place.path("alias/docs")),
            FilesystemMount::read_write(place.path("work/src"), place.path("alias/src")),
        ]
    );
    for bad in ["relative", "/tmp/../tmp"] {
        let refused = policy(&[], &[]).lower(Path::new(bad), SandboxSpec::default());
        assert!(matches!(refused, Err(SandboxError::InvalidRequest(_))), "{bad}");
    }
}

#[test]
fn programs_and_hosts_replace_those_of_the_base() {
    let place = Place::new();
    let limits = ResourceLimits { memory_mb: Some(64), ..ResourceLimits::default() };
    let base = SandboxSpec {
        network_policy: NetworkPolicy::Limited {
            allowed_hosts: list(&["base.test"]),
            denied_hosts: list(&["never.test"]),
            http_rules: Vec::new(),
            private_hosts: Vec::new(),
        },
        programs: Some(list(&["bash"])),
        limits: limits.clone(),
        ..SandboxSpec::default()
    };
    let wanted = PermissionPolicy {
        exec: list(&["git", "git", "/usr/bin/make"]),
        net: list(&["a.test:8443", "*.b.test"]),
        ..PermissionPolicy::default()
    };
    let spec = wanted.lower(&place.workspace(), base.clone()).unwrap().spec;
    assert_eq!(spec.programs, Some(list(&["git", "/usr/bin/make"])));
    assert_eq!(spec.limits, limits);
    assert_eq!(
        spec.network_policy,
        NetworkPolicy::Limited {
            allowed_hosts: list(&["a.test:8443", "*.b.test"]),
            denied_hosts: list(&["never.test"]),
            http_rules: Vec::new(),
            private_hosts: Vec::new(),
        }
    );

    let open = PermissionPolicy { exec: list(&["**"]), net: list(&["*"]), ..PermissionPolicy::default() };
    let refused = open.lower(&place.workspace(), base).unwrap_err().to_string();
    assert!(refused.contains("hosts cannot be denied"), "{refused}");
    let spec = open.lower(&place.workspace(), SandboxSpec::default()).unwrap().spec;
    assert_eq!((spec.programs, spec.network_policy), (None, NetworkPolicy::Unrestricted));
}

#[test]
fn an_empty_policy_allows_nothing() {
    let place = Place::new();
    let base = SandboxSpec { network_policy: NetworkPolicy::Unrestricted, ..SandboxSpec::default() };
    let lowered = PermissionPolicy::default().lower(&place.workspace(), base).unwrap();
    let expected = SandboxSpec { programs: Some(Vec::new()), ..SandboxSpec::default() };
    assert_eq!((lowered.spec, lowered.grants), (expected, Vec::new()));
}

#[test]
fn each_entry_is_accounted_for() {
    let place = Place::new();
    let wanted = PermissionPolicy {
        read: list(&["docs"]),
        write: list(&["src/deep", "src"]),
        exec: list(&["**"]),
        net: list(&["a.test"]),
    };
    let grant = |list, entry: &str, effect| Grant { list, entry: entry.to_owned(), effect };
    let path = |below: &str, access| Effect::Path { path: place.path(below), access };
    assert_eq!(
        wanted.lower(&place.workspace(), SandboxSpec::default()).unwrap().grants,
        [
            grant(PolicyList::Read, "docs", path("work/docs", ReadOnly)),
            grant(PolicyList::Write, "src/deep", path("work/src/deep", ReadWrite)),
            grant(PolicyList::Write, "src", path("work/src", ReadWrite)),
            grant(PolicyList::Exec, "**", Effect::AllPrograms),
            grant(PolicyList::Net, "a.test", Effect::Host { host: "a.test".to_owned() }),
        ]
    );
}

#[test]
fn a_mount_of_the_base_is_not_covered_silently() {
    let place = Place::new();
    let base = SandboxSpec {
        mounts: vec![FilesystemMount::overlay(place.path("beside"), place.path("work/src"))],
        ..SandboxSpec::default()
    };
    let refused = policy(&[], &["src"]).lower(&place.workspace(), base).unwrap_err().to_string();
    assert!(refused.contains("already has another mount"), "{refused}");
}

#[test]
fn the_version_follows_the_content_and_not_the_order() {
    let one = PermissionPolicy { net: list(&["b.test", "a.test", "a.test"]), ..policy(&["x"], &[]) };
    let same = PermissionPolicy { net: list(&["a.test", "b.test"]), ..policy(&["x"], &[]) };
    let other = PermissionPolicy { net: list(&["a.test", "b.test"]), ..policy(&[], &["x"]) };
    assert_eq!(one.version(), same.version());
    assert_ne!(one.version(), other.version());
    // Kept in logs and compared across releases.
    assert_eq!(PermissionPolicy::default().version(), "policy-7afa27e3571654a890f8a2fa");
}

#[test]
fn two_policies_together_allow_what_either_allows() {
    let first = PermissionPolicy { exec: list(&["git"]), ..policy(&["a", "b"], &["c"]) };
    let second = PermissionPolicy { net: list(&["h.test"]), ..policy(&["b", "d"], &[]) };
    let expected = PermissionPolicy {
        read: list(&["a", "b", "d"]),
        write: list(&["c"]),
        exec: list(&["git"]),
        net: list(&["h.test"]),
    };
    assert_eq!(first.compose(&second), expected);
    assert_eq!(expected.compose(&expected), expected);
}

#[test]
fn unknown_lists_are_refused() {
    let read: PermissionPolicy = serde_json::from_str(r#"{"read":["**"]}"#).unwrap();
    assert_eq!(read, policy(&["**"], &[]));
    assert!(serde_json::from_str::<PermissionPolicy>(r#"{"reads":["**"]}"#).is_err());
}
