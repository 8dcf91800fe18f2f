//! The directory of a run: what is written can be read back, whatever happens in between.

mod damage;
mod recovery;
pub(super) mod sample;
mod settings;

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use fullsend_agent::store::{RecordedSettings, RunId, RunStore, StoreError};
use serde_json::json;

use self::sample::{Fixture, clock, full_run};

#[test]
fn names_of_runs() {
    for good in ["a", "run-1", "A.b_c-9", "...", "..a", "r.subagent.2", &"x".repeat(128)] {
        assert_eq!(good.parse::<RunId>().map(|id| id.to_string()), Ok(good.to_owned()));
    }
    for bad in ["", ".", "..", "../escape", "a/b", "a b", "ä", "a\0", "a:b", &"x".repeat(129)] {
        assert!(bad.parse::<RunId>().is_err(), "{bad:?}");
        assert!(serde_json::from_value::<RunId>(json!(bad)).is_err(), "{bad:?}");
    }
    let (first, second) = (RunId::new(&*clock()), RunId::new(&*clock()));
    assert_ne!(first, second);
    assert_eq!(first.child(2).unwrap().as_str(), format!("{first}.subagent.2"));
}

#[test]
fn everything_is_for_the_owner_only() {
    let fixture = Fixture::new();
    let mut store = fixture.create("run-1");
    full_run(&mut store);
    store.spill("run-1:bash:9", "stdout").unwrap();
    store.keep_image(b"picture", "image/png").unwrap();
    let mut seen = 0;
    check_modes(store.run_dir(), &mut seen);
    assert!(seen >= 6, "{seen}");
}

fn check_modes(directory: &Path, seen: &mut u32) {
    let mode = |path: &Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory), 0o700, "{}", directory.display());
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        *seen += 1;
        if path.is_dir() {
            check_modes(&path, seen);
        } else {
            assert_eq!(mode(&path), 0o600, "{}", path.display());
        }
    }
}

#[test]
fn a_run_exists_once() {
    let fixture = Fixture::new();
    drop(fixture.create("run-1"));
    let again =
        RunStore::create(fixture.root(), "run-1".parse().unwrap(), &RecordedSettings::default(), clock());
    assert!(matches!(again, Err(StoreError::Exists { .. })), "{again:?}");
    // What is not a run is left alone too.
    std::fs::create_dir(fixture.root().join("src")).unwrap();
    std::fs::write(fixture.root().join("src/main.rs"), "").unwrap();
    let taken =
        RunStore::create(fixture.root(), "src".parse().unwrap(), &RecordedSettings::default(), clock());
    assert!(matches!(taken, Err(StoreError::Exists { .. })), "{taken:?}");
    // Somebody who died before the first row left nothing that anybody needs.
    std::fs::create_dir(fixture.root().join("died")).unwrap();
    std::fs::write(fixture.root().join("died/run.lock"), "1").unwrap();
    std::fs::write(fixture.root().join("died/.0.tmp"), "{\"seq").unwrap();
    fixture.create("died");
}

#[test]
fn one_process_at_a_time() {
    let fixture = Fixture::new();
    let store = fixture.create("run-1");
    let run_dir = store.run_dir().to_owned();
    let refused = RunStore::reopen(&run_dir, clock()).unwrap_err();
    let StoreError::InUse { holder: Some(holder), .. } = &refused else { panic!("{refused:?}") };
    assert!(holder.starts_with(&format!("{} since 2026-", std::process::id())), "{holder}");
    assert!(refused.to_string().contains(holder), "{refused}");
    drop(store);
    RunStore::reopen(&run_dir, clock()).unwrap();
}

#[test]
fn a_run_is_named_by_its_directory_or_its_state() {
    let fixture = Fixture::new();
    let run_dir = fixture.create("run-1").run_dir().to_owned();
    for named in [run_dir.clone(), run_dir.join("run-state.json")] {
        assert_eq!(RunStore::reopen(&named, clock()).unwrap().0.run_dir(), run_dir);
    }
    for missing in [run_dir.join("run-report.json"), fixture.root().join("none"), fixture.root().to_owned()] {
        let found = RunStore::reopen(&missing, clock());
        assert!(matches!(found, Err(StoreError::NoRun { .. } | StoreError::NotPlain { .. })), "{found:?}");
    }
}

#[test]
fn outputs_have_plain_names_and_never_change() {
    let fixture = Fixture::new();
    let store = fixture.create("run-1");
    let name = |output: &str, tool: &str| {
        let path = store.write_output(output, tool, &json!({ "outputId": output })).unwrap();
        store.artifacts().relative(&path)
    };
    assert_eq!(name("run-1:bash:1", "bash"), "tool-outputs/run-1_bash_1-bash.json");
    assert_eq!(name("run-1:../../x:2", "../../x"), "tool-outputs/run-1_.._.._x_2-.._.._x.json");
    assert_eq!(name("run-1:ä ö:3", "a\n\nb"), "tool-outputs/run-1_3-a_b.json");
    let long = "t".repeat(10_000);
    assert!(name(&format!("run-1:{long}:4"), &long).len() < 255);
    let text = std::fs::read_to_string(store.run_dir().join("tool-outputs/run-1_bash_1-bash.json")).unwrap();
    assert_eq!(text, "{\n  \"outputId\": \"run-1:bash:1\"\n}\n");
    let again = store.write_output("run-1:bash:1", "bash", &json!({})).unwrap_err();
    assert_eq!(again.source.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read_dir(store.run_dir().join("tool-outputs")).unwrap().count(), 4);
    assert!(store.spill("run-1:bash:5", "stdout").is_ok());
    assert!(store.spill("run-1:bash:5", "stdout").is_err(), "two commands would write one file");
}

#[test]
fn artifacts_have_names_of_their_own() {
    let fixture = Fixture::new();
    let store = fixture.create("run-1");
    for bad in
        ["", ".hidden", "../up.json", "a/b", "journal.jsonl", "run.lock", "artifacts.json", "tool-outputs"]
    {
        assert!(store.write_artifact(bad, &json!({})).is_err(), "{bad}");
    }
    let path = store.write_artifact("capabilities.json", &json!({ "type": "t" })).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{\n  \"type\": \"t\"\n}\n");
    store.write_artifact("capabilities.json", &json!({ "type": "u" })).unwrap();
}

#[test]
fn pictures_are_kept_once_and_looked_at_again() {
    let fixture = Fixture::new();
    let store = fixture.create("run-1");
    let path = store.keep_image(b"picture", "image/jpeg").unwrap();
    assert_eq!(path.extension().unwrap(), "jpg");
    assert_eq!(store.keep_image(b"picture", "image/jpeg").unwrap(), path);
    std::fs::write(&path, "pictur!").unwrap();
    assert_eq!(store.keep_image(b"picture", "image/jpeg").unwrap(), path);
    assert_eq!(std::fs::read(&path).unwrap(), b"picture");
}
