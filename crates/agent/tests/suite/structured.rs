//! The file that a run has to write: what is taken for it, and what an agent puts in its place.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fullsend_agent::structured::{StructuredError, StructuredResult};
use rustix::fs::{CWD, Mode, RenameFlags};
use serde_json::json;

use crate::support::desk::Desk;

const GOOD: &str = r#"{"ok":true}"#;
const BAD: &str = r#"{"ok":"secret"}"#;

/// Expects `sub/result.json`; the directory exists.
fn expect(desk: &Desk) -> StructuredResult {
    fs::create_dir_all(desk.host("sub")).unwrap();
    let place = desk.workspace.host_to_sandbox(&desk.host("sub/result.json")).unwrap();
    let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}});
    StructuredResult::expect(Arc::clone(&desk.workspace), place, &schema, false).unwrap()
}

#[test]
fn only_a_file_that_fits_is_a_result() {
    type Act = fn(&Desk);
    let cases: [(Act, Option<&str>); 11] = [
        (|desk| desk.put("sub/result.json", GOOD), None),
        (|desk| desk.put("sub/result.json", BAD), Some("does not fit the schema: at `/ok`")),
        (|_| {}, Some("no such file")),
        (|desk| desk.put("sub/result.json", " \n"), Some("is empty")),
        (|desk| desk.put("sub/result.json", "{\n  x"), Some("not JSON: line 2")),
        (|desk| fs::create_dir(desk.host("sub/result.json")).unwrap(), Some("it is a directory")),
        (
            |desk| {
                rustix::fs::mkfifoat(CWD, desk.host("sub/result.json"), Mode::RWXU).unwrap();
            },
            Some("it is a pipe"),
        ),
        (
            |desk| File::create(desk.host("sub/result.json")).unwrap().set_len(1 << 30).unwrap(),
            Some("1073741824 bytes, more than"),
        ),
        (
            |desk| {
                desk.put("other.json", GOOD);
                desk.link("../other.json", "sub/result.json");
            },
            Some("symbolic link"),
        ),
        (
            |desk| {
                desk.put("other/result.json", GOOD);
                fs::remove_dir(desk.host("sub")).unwrap();
                desk.link("other", "sub");
            },
            Some("symbolic link"),
        ),
        (
            |desk| {
                fs::write(desk.root.join("outside/result.json"), GOOD).unwrap();
                fs::remove_dir(desk.host("sub")).unwrap();
                desk.link(desk.root.join("outside"), "sub");
            },
            Some("symbolic link"),
        ),
    ];
    for (number, (act, expected)) in cases.into_iter().enumerate() {
        let desk = Desk::new();
        let result = expect(&desk);
        act(&desk);
        let outcome = result.check();
        assert_eq!(outcome.status == "valid", expected.is_none(), "{number}: {outcome:?}");
        let error = outcome.validation_error.unwrap_or_default();
        assert!(
            error.contains(expected.unwrap_or_default()) && !error.contains("secret"),
            "{number}: {error}"
        );
    }
}

#[test]
fn an_old_file_is_refused_unless_the_run_goes_on() {
    let desk = Desk::new();
    desk.put("old.json", GOOD);
    let place = desk.workspace.host_to_sandbox(&desk.host("old.json")).unwrap();
    let expect =
        |resumed| StructuredResult::expect(Arc::clone(&desk.workspace), place.clone(), &json!({}), resumed);
    assert!(matches!(expect(false), Err(StructuredError::Stale(path)) if path == desk.host("old.json")));
    assert_eq!(expect(true).unwrap().check().status, "valid");
}

/// What an agent left running swaps the directory for a link and back while the file is looked at.
#[test]
fn no_link_is_followed_that_comes_and_goes() {
    let desk = Desk::new();
    let result = expect(&desk);
    desk.put("sub/result.json", BAD);
    fs::write(desk.root.join("outside/result.json"), GOOD).unwrap();
    symlink(desk.root.join("outside"), desk.host("swapped")).unwrap();
    let (done, sub, swapped) = (AtomicBool::new(false), desk.host("sub"), desk.host("swapped"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &sub, CWD, &swapped, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let valid = (0..5_000).filter(|_| result.check().status == "valid").count();
        done.store(true, Ordering::Relaxed);
        assert_eq!(valid, 0);
    });
}
