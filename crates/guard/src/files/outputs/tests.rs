use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::{Content, Output, OutputFile, outputs};
use crate::files::{Root, replace};

fn walk(root: &Path) -> Vec<String> {
    outputs(Root::open(root).unwrap(), 100)
        .map(|output| match output {
            Output::File(OutputFile { path, content: Content::Text(text) }) => {
                format!("{} {text}", path.display())
            }
            Output::File(OutputFile { path, content: Content::Bytes(bytes) }) => {
                format!("{} {} bytes", path.display(), bytes.len())
            }
            Output::Problem { path, finding } => format!("{} ! {}", path.display(), finding.rule.id),
        })
        .collect()
}

#[test]
fn every_file_is_found_whatever_it_is_called() {
    let root = tempfile::tempdir().unwrap();
    for directory in ["security", ".git", "node_modules/x"] {
        fs::create_dir_all(root.path().join(directory)).unwrap();
        fs::write(root.path().join(directory).join("a.txt"), "a").unwrap();
    }
    fs::write(root.path().join("b.bin"), b"\0\xff").unwrap();
    fs::write(root.path().join("c.txt"), [b'c'; 101]).unwrap();
    symlink("b.bin", root.path().join("inside")).unwrap();
    symlink("/etc/passwd", root.path().join("outside")).unwrap();
    symlink("../gone", root.path().join("nowhere")).unwrap();
    assert_eq!(
        walk(root.path()),
        [
            ".git/a.txt a",
            "b.bin 2 bytes",
            "c.txt ! file_too_large",
            "node_modules/x/a.txt a",
            "nowhere ! link_outside",
            "outside ! link_outside",
            "security/a.txt a",
        ]
    );
}

#[test]
fn bytes_can_be_searched_where_they_stand() {
    assert_eq!(Content::searchable(b"\x7fELF\0key=\xff\xe9x\n"), " ELF key=  x\n");
    assert_eq!(Content::from_utf16_ascii(b"\xff\xfek\0e\0y\0").as_deref(), Some("  key"));
    assert_eq!(Content::from_utf16_ascii(b"mostly text\0"), None);
}

#[test]
fn a_file_is_replaced_with_its_permissions_and_never_through_a_link() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("d/f");
    fs::create_dir(root.path().join("d")).unwrap();
    fs::write(&file, "old and long").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("d", root.path().join("l")).unwrap();
    symlink("f", root.path().join("d/g")).unwrap();
    let open = Root::open(root.path()).unwrap();
    replace(&open, Path::new("d/f"), b"new").unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o7777, 0o640);
    for path in ["l/f", "d/g", "../x", "/etc/x", "d/none"] {
        assert!(replace(&open, Path::new(path), b"no").is_err(), "{path}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    assert_eq!(fs::read_dir(root.path().join("d")).unwrap().count(), 2, "nothing is left behind");
}
