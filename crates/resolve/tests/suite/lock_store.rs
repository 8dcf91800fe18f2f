//! The file on disk: missing, damaged, shared, interrupted.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fullsend_resolve::lock::{FILE_NAME, LockError, LockFile, Outcome, Updated, load, update};
use fullsend_yaml::SourceMap;
use jiff::Timestamp;
use tempfile::TempDir;

use super::lock_text::{dependency, harness};

const RESTORE: &str =
    "restore the file from version control, or delete it and run `fullsend lock --all` to write it again";

fn now() -> Timestamp {
    "2026-06-08T12:00:00Z".parse().unwrap()
}

fn later() -> Timestamp {
    "2027-01-01T00:00:00Z".parse().unwrap()
}

fn put(path: &Path, name: &str, time: Timestamp) -> Result<Updated<()>, LockError> {
    update(path, time, &mut SourceMap::new(), |lock| {
        lock.harnesses
            .insert(name.to_owned(), harness(vec![dependency("agent", "https://x.example/a", 'a')]));
    })
}

fn loaded(path: &Path) -> LockFile {
    load(path, &mut SourceMap::new()).unwrap().lock
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn temporary() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(FILE_NAME);
    (directory, path)
}

#[test]
fn a_missing_file_is_empty_and_appears_with_the_first_entry() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("new/fullsend").join(FILE_NAME);
    assert_eq!(loaded(&path), LockFile::default());
    let updated = update(&path, now(), &mut SourceMap::new(), |_| 7).unwrap();
    assert_eq!((updated.value, updated.outcome, path.exists()), (7, Outcome::Unchanged, false));
    assert_eq!(put(&path, "code", now()).unwrap().outcome, Outcome::Written);
    assert_eq!(names(path.parent().unwrap()), [FILE_NAME], "nothing is left beside it");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o644);
    assert_eq!(loaded(&path).generated_at, Some(now()));
}

#[test]
fn the_date_is_set_once_and_an_unchanged_file_is_not_touched() {
    let (_directory, path) = temporary();
    put(&path, "code", now()).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let before = (fs::read(&path).unwrap(), inode(&path));
    assert_eq!(put(&path, "code", later()).unwrap().outcome, Outcome::Unchanged);
    assert_eq!((fs::read(&path).unwrap(), inode(&path)), before);
    assert_eq!(put(&path, "other", later()).unwrap().outcome, Outcome::Written);
    let lock = loaded(&path);
    assert_eq!(lock.generated_at, Some(now()));
    assert_eq!(lock.harnesses.len(), 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), lock.render());
}

#[test]
fn a_damaged_file_is_refused_and_left_alone() {
    let (_directory, path) = temporary();
    let text = "version: 1\nodd: 1\nharnesses: [a]\n";
    fs::write(&path, text).unwrap();
    let error = put(&path, "code", now()).unwrap_err();
    assert_eq!(error.code(), "lock-invalid");
    assert_eq!(
        error.to_string(),
        format!(
            "`{}` is not a usable lock file; line 3, column 12: `harnesses` must be a mapping (`key: value` lines), not a list",
            path.display()
        )
    );
    assert_eq!(error.help(), RESTORE);
    let LockError::Invalid { problems, .. } = &error else { panic!("{error}") };
    assert_eq!(problems.len(), 2, "the warning comes along");
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    fs::write(&path, b"version: 1\n# \xff\n").unwrap();
    let error = load(&path, &mut SourceMap::new()).unwrap_err();
    assert!(error.to_string().ends_with("line 2, column 3: the byte at offset 13 is not UTF-8"), "{error}");
    assert_eq!(error.help(), RESTORE);
    fs::write(&path, "version: \"1\"\n").unwrap();
    let error = load(&path, &mut SourceMap::new()).unwrap_err();
    assert_eq!(error.help(), "remove the quotes: `version: 1`");
}

#[test]
fn warnings_reach_the_caller() {
    let (_directory, path) = temporary();
    fs::write(&path, "version: 1\nodd: 1\n").unwrap();
    assert_eq!(load(&path, &mut SourceMap::new()).unwrap().warnings.len(), 1);
    assert_eq!(put(&path, "code", now()).unwrap().warnings.len(), 1);
    assert!(!fs::read_to_string(&path).unwrap().contains("odd"));
}

#[test]
fn what_is_no_file_is_refused() {
    let (directory, path) = temporary();
    fs::create_dir(&path).unwrap();
    let error = put(&path, "code", now()).unwrap_err();
    assert_eq!((error.code(), error.help()), ("file-kind", "move away what is there".to_owned()));
    assert_eq!(error.to_string(), format!("`{}` is not a regular file", path.display()));
    fs::remove_dir(&path).unwrap();
    symlink(directory.path().join("nowhere"), &path).unwrap();
    let error = load(&path, &mut SourceMap::new()).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot read `{}`", path.display()));
    let huge = fs::File::create(directory.path().join("huge")).unwrap();
    huge.set_len((16 << 20) + 1).unwrap();
    let error = load(&directory.path().join("huge"), &mut SourceMap::new()).unwrap_err();
    assert!(error.to_string().ends_with("huge` has more than 16777216 bytes"), "{error}");
    assert_eq!(error.help(), "restore the file from version control, or delete it");
}

#[test]
fn a_link_stays_a_link() {
    let (directory, path) = temporary();
    let target = directory.path().join("elsewhere/real.yaml");
    fs::create_dir(target.parent().unwrap()).unwrap();
    put(&target, "code", now()).unwrap();
    symlink(&target, &path).unwrap();
    put(&path, "other", now()).unwrap();
    assert!(path.is_symlink());
    assert_eq!(loaded(&target).harnesses.len(), 2);
    assert_eq!(names(directory.path()), ["elsewhere", FILE_NAME]);
}

/// What a killed writer leaves must neither be used nor get in the way, even when it is a trap.
#[test]
fn left_overs_of_a_killed_writer_do_no_harm() {
    let (directory, path) = temporary();
    put(&path, "code", now()).unwrap();
    let left_over = directory.path().join(".lock.yaml.tmp.fullsend");
    let victim = directory.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &left_over).unwrap();
    assert_eq!(loaded(&path).harnesses.len(), 1);
    put(&path, "other", now()).unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(names(directory.path()), [FILE_NAME, "victim"]);
}

#[test]
fn a_name_that_cannot_be_read_back_is_refused_before_writing() {
    let (directory, path) = temporary();
    let error = put(&path, &"x".repeat(5_000), now()).unwrap_err();
    assert_eq!(error.code(), "lock-inexpressible");
    assert_eq!(
        (error.to_string(), error.help()),
        (
            format!(
                "the lock file cannot express its new content; nothing was written to `{}`",
                path.display()
            ),
            "shorten the name of the harness, and report this as a defect of fullsend".to_owned()
        )
    );
    assert_eq!(names(directory.path()), Vec::<String>::new());
}

#[test]
fn threads_that_lock_different_harnesses_all_survive() {
    let (_directory, path) = temporary();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let path = &path;
            scope.spawn(move || {
                for round in 0..8 {
                    put(path, &format!("t{thread}r{round}"), now()).unwrap();
                }
            });
        }
    });
    assert_eq!(loaded(&path).harnesses.len(), 64);
}

/// The program that the tests below start as other processes; on its own it does nothing.
#[test]
fn writer() {
    let Ok(order) = std::env::var("FULLSEND_TEST_LOCK_WRITER") else { return };
    let (path, name) = order.rsplit_once('|').unwrap();
    for round in 0.. {
        if round == 20 && name != "endless" {
            return;
        }
        put(Path::new(path), &format!("{name}{round}"), now()).unwrap();
    }
}

fn start(path: &Path, name: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "suite::lock_store::writer"]).stdout(Stdio::null());
    command.env("FULLSEND_TEST_LOCK_WRITER", format!("{}|{name}", path.display())).spawn().unwrap()
}

#[test]
fn processes_that_lock_different_harnesses_all_survive() {
    let (directory, path) = temporary();
    let children: Vec<Child> = ["a", "b", "c"].map(|name| start(&path, name)).into();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(loaded(&path).harnesses.len(), 60);
    assert_eq!(names(directory.path()), [FILE_NAME]);
}

#[test]
fn a_writer_that_is_killed_leaves_a_whole_file_and_no_lock() {
    let (_directory, path) = temporary();
    put(&path, "first", now()).unwrap();
    for count in [2, 5, 9] {
        let mut child = start(&path, "endless");
        while loaded(&path).harnesses.len() < count {
            assert!(child.try_wait().unwrap().is_none(), "the writer ended by itself");
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let lock = loaded(&path);
        assert_eq!(fs::read_to_string(&path).unwrap(), lock.render());
        put(&path, "after", now()).unwrap();
        assert_eq!(
            loaded(&path).harnesses.len(),
            lock.harnesses.len() + usize::from(!lock.harnesses.contains_key("after"))
        );
    }
}
