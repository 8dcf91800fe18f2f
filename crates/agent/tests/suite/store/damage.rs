//! What somebody else did to a run, and disks that are full.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fullsend_agent::store::{Recorded, RecordedSettings, RunStore, StoreError};
use fullsend_flow::LabelId;
use serde_json::json;

use super::sample::{Fixture, clock, full_run, say, user};

fn damaged_line(text: &str) -> Result<u64, StoreError> {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    store.append(&say(0, LabelId::BOTTOM, user("hm"))).unwrap();
    let run_dir = store.run_dir().to_owned();
    drop(store);
    let journal = run_dir.join("journal.jsonl");
    let sound = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, format!("{sound}{text}")).unwrap();
    match RunStore::reopen(&run_dir, clock()) {
        Err(StoreError::Damaged { line, .. }) => Ok(line),
        Err(error) => Err(error),
        Ok(_) => Ok(0),
    }
}

#[test]
fn damage_is_named_by_its_line() {
    let row = |seq: u64, rest: &str| format!("{{\"seq\":{seq},\"at\":\"t\",{rest}}}\n");
    let cwd = "\"kind\":\"cwd\",\"path\":\"/\"";
    let table = [
        (String::new(), 0),
        (row(3, cwd), 0),
        (row(3, cwd).trim_end().to_owned(), 0),
        ("\0\0\0\0".to_owned(), 0),
        (row(4, cwd), 3),
        (row(2, cwd), 3),
        ("\n".to_owned(), 3),
        ("{}\n".to_owned(), 3),
        ("\0\0\0\0\n".to_owned(), 3),
        (format!("{}x\n", row(3, cwd)), 4),
        (row(3, "\"kind\":\"cwd\",\"path\":7"), 3),
        (row(3, "\"kind\":\"ended\",\"status\":\"completed\",\"terminalReason\":\"other\""), 3),
        (
            row(
                3,
                "\"kind\":\"message\",\"turn\":0,\"label\":5,\"message\":{\"role\":\"user\",\"content\":\"\"}",
            ),
            3,
        ),
        (
            row(
                3,
                "\"kind\":\"label\",\"id\":4,\"label\":{\"confidentiality\":[],\"integrity\":{\"only\":[]}}",
            ),
            3,
        ),
    ];
    for (text, line) in &table {
        assert_eq!(damaged_line(text).unwrap(), *line, "{text:?}");
    }
}

#[test]
fn what_a_newer_version_wrote_is_refused() {
    let newer = damaged_line("{\"seq\":3,\"at\":\"t\",\"kind\":\"teleported\",\"to\":1}\n").unwrap_err();
    assert!(
        matches!(&newer, StoreError::Newer { line: 3, what, .. } if what.contains("teleported")),
        "{newer:?}"
    );
    let fixture = Fixture::new();
    let run_dir = fixture.create("run-1").run_dir().to_owned();
    let journal = run_dir.join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    for (from, to) in [("\"version\":1", "\"version\":2"), ("\"version\":1", "\"version\":2,\"new\":1")] {
        std::fs::write(&journal, text.replace(from, to)).unwrap();
        let newer = RunStore::reopen(&run_dir, clock()).unwrap_err();
        assert!(matches!(newer, StoreError::Newer { line: 1, .. }), "{newer:?}");
    }
    // A setting that is not known could be one that forbids something.
    std::fs::write(&journal, text.replace("\"startDir\"", "\"readOnly\":true,\"startDir\"")).unwrap();
    let unknown = RunStore::reopen(&run_dir, clock()).unwrap_err();
    assert!(matches!(&unknown, StoreError::Damaged { line: 1, problem, .. } if problem.contains("readOnly")));
}

#[test]
fn links_are_not_followed() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    full_run(&mut store);
    let run_dir = store.run_dir().to_owned();
    drop(store);
    let linked = fixture.root().join("linked");
    symlink(&run_dir, &linked).unwrap();
    let is_refused = |path: &Path| {
        let opened = RunStore::reopen(path, clock());
        assert!(matches!(opened, Err(StoreError::NotPlain { .. } | StoreError::Io { .. })), "{opened:?}");
        assert!(Recorded::read(path).is_err() || !path.join("journal.jsonl").is_symlink());
    };
    is_refused(&linked);
    is_refused(&linked.join("run-state.json"));
    let created =
        RunStore::create(fixture.root(), "linked".parse().unwrap(), &RecordedSettings::default(), clock());
    assert!(matches!(created, Err(StoreError::NotPlain { .. })), "{created:?}");
    for name in ["journal.jsonl", "run.lock"] {
        let (file, away) = (run_dir.join(name), fixture.root().join("away"));
        std::fs::rename(&file, &away).unwrap();
        symlink(&away, &file).unwrap();
        is_refused(&run_dir);
        std::fs::remove_file(&file).unwrap();
        std::fs::rename(&away, &file).unwrap();
    }
    // Where outputs go, and where pictures are kept.
    let (store, _) = RunStore::reopen(&run_dir, clock()).unwrap();
    let outside = fixture.root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::remove_dir_all(run_dir.join("tool-outputs")).unwrap();
    symlink(&outside, run_dir.join("tool-outputs")).unwrap();
    symlink(&outside, run_dir.join("image-attachments")).unwrap();
    assert!(store.write_output("run-1:bash:9", "bash", &json!({})).is_err());
    assert!(store.spill("run-1:bash:9", "stdout").is_err());
    assert!(store.keep_image(b"picture", "image/png").is_err());
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

/// Says to the test below that it runs on a full disk.
const FULL_DISK: &str = "FULLSEND_TEST_FULL_DISK";

/// Runs another test of this program with files of at most 16 KiB, the way a full disk looks.
#[test]
fn a_full_disk() {
    let program = std::env::current_exe().unwrap();
    // The signal that comes with the limit would end the process before it could see the error.
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" --exact suite::store::damage::on_a_full_disk";
    let run = Command::new("bash").arg("-c").arg(script).arg(program).env(FULL_DISK, "yes").output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && said.contains("1 passed"),
        "{said}\n{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

/// What the test above starts as another process; on its own it does nothing.
#[test]
fn on_a_full_disk() {
    if std::env::var_os(FULL_DISK).is_none() {
        return;
    }
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    let mut rows = 1;
    let message = say(0, LabelId::BOTTOM, user(&"x".repeat(3000)));
    let full = loop {
        match store.append(&message) {
            Ok(number) => rows = number,
            Err(error) => break error,
        }
        assert!(rows < 100, "there is no limit");
    };
    assert!(matches!(full, StoreError::Full { .. }), "{full:?}");
    // Nothing of the row that did not fit is there, and a row that fits can follow.
    let recorded = Recorded::read(store.run_dir()).unwrap();
    assert_eq!((recorded.messages.len() as u64, recorded.cut_bytes), (rows - 1, 0));
    assert_eq!(store.append(&say(0, LabelId::BOTTOM, user("short"))).unwrap(), rows + 1);
    let too_large = store.write_output("run-1:bash:1", "bash", &json!({ "stdout": "x".repeat(100_000) }));
    assert_eq!(too_large.unwrap_err().source.kind(), std::io::ErrorKind::FileTooLarge);
    assert_eq!(std::fs::read_dir(store.run_dir().join("tool-outputs")).unwrap().count(), 0);
}
