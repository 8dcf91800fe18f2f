use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode};

use super::{Owner, copy, remove};

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Everything about every entry of a tree that a copy is to keep.
fn described(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let status = fs::symlink_metadata(&path).unwrap();
        let content = match () {
            () if status.is_file() => format!("{:?}", fs::read(&path).unwrap()),
            () if status.is_symlink() => format!("{:?}", fs::read_link(&path).unwrap()),
            () => String::new(),
        };
        let name = path.strip_prefix(root).unwrap();
        let times = (status.mtime(), status.mtime_nsec());
        lines.push(format!("{name:?} {:o} {times:?} {} {content}", status.mode(), status.nlink()));
        if status.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    lines.sort();
    lines
}

#[test]
fn a_copy_is_the_same_down_to_odd_names_modes_and_times() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fs::create_dir_all(from.join("deep/er")).unwrap();
    fs::write(from.join("deep/er/file"), b"content").unwrap();
    fs::hard_link(from.join("deep/er/file"), from.join("second name")).unwrap();
    symlink("/etc/passwd", from.join("link")).unwrap();
    symlink("nowhere", from.join("dangling")).unwrap();
    fs::write(from.join("new\nline"), b"").unwrap();
    fs::write(from.join(OsStr::from_bytes(b"\xff\xfe")), b"not text").unwrap();
    fs::write(from.join("x".repeat(255)), b"long").unwrap();
    rustix::fs::mknodat(CWD, from.join("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    drop(std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap());
    set_mode(&from.join("deep/er/file"), 0o640);
    set_mode(&from.join("deep/er"), 0o555);
    copy(&from, &to, Owner::Same).unwrap();
    assert_eq!(described(&to), described(&from));
    assert!(fs::symlink_metadata(to.join("fifo")).unwrap().file_type().is_fifo());
    let inode = |name: &str| fs::metadata(to.join(name)).unwrap().ino();
    assert_eq!(inode("second name"), inode("deep/er/file"));
    remove(directory.path().join("from").as_path()).unwrap();
    remove(directory.path().join("to").as_path()).unwrap();
    assert!(!from.exists() && !to.exists());
}

#[test]
fn a_claimed_size_costs_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fs::create_dir(&from).unwrap();
    let file = fs::File::create(from.join("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"in the middle", 1 << 39).unwrap();
    copy(&from, &to, Owner::Same).unwrap();
    let copied = fs::metadata(to.join("sparse")).unwrap();
    assert_eq!(copied.len(), 1 << 40);
    assert!(copied.blocks() < 1000, "{} blocks", copied.blocks());
    let mut middle = [0; 13];
    let copied = fs::File::open(to.join("sparse")).unwrap();
    std::os::unix::fs::FileExt::read_exact_at(&copied, &mut middle, 1 << 39).unwrap();
    assert_eq!(&middle, b"in the middle");
}

#[test]
fn rights_of_others_are_not_lent_and_links_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    let outside = directory.path().join("outside");
    fs::create_dir_all(&from).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("file"), b"outside").unwrap();
    symlink(&outside, from.join("elsewhere")).unwrap();
    fs::write(from.join("program"), b"x").unwrap();
    set_mode(&from.join("program"), 0o4755);
    copy(&from, &to, Owner::Same).unwrap();
    assert_eq!(fs::metadata(to.join("program")).unwrap().mode() & 0o7777, 0o755);
    assert!(fs::symlink_metadata(to.join("elsewhere")).unwrap().is_symlink());
    remove(&to).unwrap();
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"outside");
    assert!(copy(&from.join("elsewhere"), &directory.path().join("third"), Owner::Same).is_err());
}
