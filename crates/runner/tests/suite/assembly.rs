//! The stage: the copy of the repository and what else the agent works with.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::Path;

use fullsend_runner::assemble::{self, AssembleError, CopyError, copy_tree};
use fullsend_runner::readonly_repo::{self, ReadonlyError};
use fullsend_sandbox::FilesystemMount;
use rustix::fs::{CWD, FileType, Mode};

use super::support::Folder;

fn repository() -> Folder {
    let folder = Folder::new();
    folder.write("checkout/.git/config", "[core]\n");
    folder.write("checkout/src/main.rs", "fn main() {}\n");
    folder.write("checkout/run.sh", "#!/bin/sh\n");
    folder
}

#[test]
fn a_copy_is_the_same_and_shares_no_file() {
    let folder = repository();
    let script = folder.path().join("checkout/run.sh");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o4755)).unwrap();
    fs::hard_link(&script, folder.path().join("checkout/second.sh")).unwrap();
    folder.link("checkout/away", "/etc/passwd");
    folder.link("checkout/up", "../..");
    folder.link("checkout/nowhere", "none");
    folder.write("checkout/\u{202e}odd name\n", "x");
    let stage = folder.stage();
    let copied = assemble::repository(&folder.path().join("checkout"), &stage, &[], &|| false).unwrap();
    assert_eq!((copied.files, copied.warnings.len()), (5, 0));
    let copy = stage.repo();
    assert_eq!(fs::read_link(copy.join("away")).unwrap(), Path::new("/etc/passwd"));
    assert_eq!(fs::read_link(copy.join("up")).unwrap(), Path::new("../.."));
    assert_eq!(fs::read_link(copy.join("nowhere")).unwrap(), Path::new("none"));
    assert_eq!(fs::read_to_string(copy.join(".git/config")).unwrap(), "[core]\n");
    let (one, two) = (copy.join("run.sh").metadata().unwrap(), copy.join("second.sh").metadata().unwrap());
    assert_eq!((one.nlink(), two.nlink()), (1, 1), "hard links are broken");
    assert_ne!(one.ino(), script.metadata().unwrap().ino());
    assert_eq!(one.permissions().mode() & 0o7777, 0o755, "no rights of another user");
    assert_eq!(one.modified().unwrap(), script.metadata().unwrap().modified().unwrap());
}

#[test]
fn results_in_the_repository_are_not_copied_into_it() {
    let folder = repository();
    folder.write("checkout/out/old/report.json", "{}");
    folder.link("alias", "checkout/out");
    let stage = folder.stage();
    let results = folder.path().join("alias");
    assemble::repository(&folder.path().join("checkout"), &stage, &[&results], &|| false).unwrap();
    assert!(stage.repo().join("src/main.rs").exists() && !stage.repo().join("out").exists());
}

#[test]
fn a_stage_in_the_repository_is_not_copied_into_itself() {
    let folder = repository();
    let stage = folder.stage();
    let copied = assemble::repository(folder.path(), &stage, &[], &|| false).unwrap();
    assert_eq!(copied.files, 3);
    assert!(!stage.repo().join("stage").exists());
}

#[test]
fn pipes_are_left_out_and_said() {
    let folder = repository();
    let pipe = folder.path().join("checkout/pipe\u{1b}");
    rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let stage = folder.stage();
    let copied = assemble::repository(&folder.path().join("checkout"), &stage, &[], &|| false).unwrap();
    assert_eq!(copied.warnings.len(), 1);
    assert!(copied.warnings[0].contains("pipe") && !copied.warnings[0].contains('\u{1b}'));
    assert_eq!(copied.files, 3);
}

#[test]
fn what_cannot_be_copied_is_an_error_with_its_name() {
    let folder = repository();
    let stage = folder.stage();
    let error = assemble::agent_input(&folder.path().join("none"), &stage).unwrap_err();
    assert!(matches!(error, AssembleError::Copy { .. }), "{error}");
    let mut deep = folder.path().join("deep");
    for _ in 0..203 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    let to = folder.path().join("to");
    fs::create_dir(&to).unwrap();
    let error = copy_tree(&folder.path().join("deep"), &to, &[]).unwrap_err();
    assert!(matches!(error, CopyError::TooDeep { .. }), "{error}");
}

#[test]
fn program_input_and_schema_have_their_places() {
    let folder = Folder::new();
    let stage = folder.stage();
    let binary = folder.write("fullsend-binary", "elf");
    fs::set_permissions(&binary, PermissionsExt::from_mode(0o755)).unwrap();
    folder.link("linked", "fullsend-binary");
    folder.write("input/issue/body.md", "text");
    assemble::program(&folder.path().join("linked"), &stage).unwrap();
    assemble::agent_input(&folder.path().join("input"), &stage).unwrap();
    assemble::schema(b"{}", Path::new("s.json"), &stage).unwrap();
    assert_eq!(folder.read("stage/fixed/bin/fullsend"), "elf");
    assert!(!folder.path().join("stage/fixed/bin/fullsend").is_symlink());
    assert!(folder.read("stage/fixed/bin/fullsend-check-output").contains("check-output \"$@\""));
    assert_eq!(folder.read("stage/workspace/agent-input/issue/body.md"), "text");
    assert_eq!(folder.read("stage/fixed/fullsend/output-schema.json"), "{}");
}

#[test]
fn a_read_only_repository_is_a_matter_of_mounts() {
    let folder = Folder::new();
    let stage = folder.stage();
    let whole = FilesystemMount::read_only(stage.repo(), "/sandbox/workspace/repo");
    assert_eq!(readonly_repo::mounts(&stage).unwrap(), std::slice::from_ref(&whole));
    folder.write("stage/workspace/repo/.git/HEAD", "");
    let git = FilesystemMount::read_write(stage.repo().join(".git"), "/sandbox/workspace/repo/.git");
    assert_eq!(readonly_repo::mounts(&stage).unwrap(), [whole, git]);
    let linked = Folder::new();
    let stage = linked.stage();
    linked.link("stage/workspace/repo/.git", "/etc");
    assert!(matches!(readonly_repo::mounts(&stage), Err(ReadonlyError::Link)));
}
