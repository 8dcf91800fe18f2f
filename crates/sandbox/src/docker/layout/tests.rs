use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::super::arguments::ContainerUser;
use super::{Layout, Placed, add, place};
use crate::error::SandboxError;
use crate::spec::{FilesystemAccess, FilesystemMount, WriteMode};

struct Fixture {
    directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["state/files", "work/sub/ro", "other"] {
            fs::create_dir_all(directory.path().join(name)).unwrap();
        }
        for name in ["work", "other"] {
            fs::set_permissions(directory.path().join(name), fs::Permissions::from_mode(0o777)).unwrap();
        }
        Self { directory }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn check(&self, asked: &[FilesystemMount]) -> Result<Vec<(String, String, bool)>, SandboxError> {
        let mounts = place(asked)?;
        let files = self.path("state/files");
        for placed in &mounts {
            placed.prepare(&files, USER, false)?;
        }
        let layout = Layout::check(&mounts, &[], &files, &self.path("state"), USER, None)?;
        let shown = |path: &Path| path.strip_prefix(self.path("")).unwrap().display().to_string();
        Ok(layout
            .binds()
            .iter()
            .map(|bind| (shown(&bind.source), bind.target.to_owned(), bind.writable))
            .collect())
    }
}

const USER: ContainerUser = ContainerUser { uid: 64_987, gid: 64_987 };

fn bind(source: &str, target: &str, writable: bool) -> (String, String, bool) {
    (source.to_owned(), target.to_owned(), writable)
}

#[test]
fn every_session_has_memory_to_read_and_a_place_for_outputs() {
    let binds = Fixture::new().check(&[]).unwrap();
    let expected =
        [bind("state/files/0", "/mnt/memory", false), bind("state/files/1", "/mnt/session/outputs", true)];
    assert_eq!(binds, expected);
}

#[test]
fn what_leads_to_a_read_only_mount_inside_a_writable_one_cannot_be_renamed() {
    let fixture = Fixture::new();
    let asked = [
        FilesystemMount::read_only(fixture.path("work/sub/ro"), "/work/sub/ro/"),
        FilesystemMount::read_write(fixture.path("work"), "/work"),
    ];
    let binds = fixture.check(&asked).unwrap();
    let expected = [
        bind("work", "/work", true),
        bind("work/sub", "/work/sub", true),
        bind("work/sub/ro", "/work/sub/ro", false),
    ];
    assert_eq!(binds.get(2..).unwrap(), expected);
}

#[test]
fn places_inside_a_source_are_never_made_or_reached_through_links() {
    let fixture = Fixture::new();
    symlink("/etc", fixture.path("work/link")).unwrap();
    for target in ["/work/missing", "/work/link", "/work/link/x"] {
        let asked = [
            FilesystemMount::read_write(fixture.path("work"), "/work"),
            FilesystemMount::read_only(fixture.path("other"), target),
        ];
        let error = fixture.check(&asked).unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{target}: {error}");
        fs::remove_dir_all(fixture.path("state/files")).unwrap();
        fs::create_dir(fixture.path("state/files")).unwrap();
    }
    assert!(!fixture.path("work/missing").exists());
}

#[test]
fn what_no_sandbox_gets_is_refused() {
    let fixture = Fixture::new();
    drop(std::os::unix::net::UnixListener::bind(fixture.path("other/socket")).unwrap());
    fs::set_permissions(fixture.path("other"), fs::Permissions::from_mode(0o755)).unwrap();
    let own = |write_mode| FilesystemMount {
        source: "".into(),
        target: "/own".to_owned(),
        access: FilesystemAccess::ReadWrite,
        write_mode,
    };
    let cases = [
        FilesystemMount::read_only(fixture.path("state"), "/a"),
        FilesystemMount::read_only(fixture.path("state/files"), "/a"),
        FilesystemMount::read_only(fixture.path(""), "/a"),
        FilesystemMount::read_only("/", "/a"),
        FilesystemMount::read_only("/proc/1", "/a"),
        FilesystemMount::read_only("relative", "/a"),
        FilesystemMount::read_only(fixture.path("missing"), "/a"),
        FilesystemMount::read_only(fixture.path("other/socket"), "/a"),
        FilesystemMount::read_only(fixture.path("work"), "/proc/x"),
        FilesystemMount::read_only(fixture.path("work"), "/.fullsend/init"),
        // Only its owner, who is not the session's user, may write there.
        FilesystemMount::read_write(fixture.path("other"), "/a"),
        own(WriteMode::Overlay),
    ];
    for asked in cases {
        let error = fixture.check(std::slice::from_ref(&asked)).unwrap_err();
        assert!(matches!(error, SandboxError::InvalidRequest(_)), "{asked:?}: {error}");
        fs::remove_dir_all(fixture.path("state/files")).unwrap();
        fs::create_dir(fixture.path("state/files")).unwrap();
    }
    assert!(!fixture.path("missing").exists());
    let mut mounts = vec![Placed { mount: own(WriteMode::Direct), own: Some(0) }];
    assert!(add(&mut mounts, &own(WriteMode::Direct)).is_err());
}
