//! Where values come from: what the policy says about paths, who wrote a file, and what commands may have done to it.

mod covers;
mod paths;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fullsend_agent::sources::{Provenance, Sources};
use fullsend_agent::store::Row;
use fullsend_agent::workspace::SandboxPath;
use fullsend_flow::{Label, Policy, Trust};
use serde_json::json;

use crate::support::desk::Desk;
use crate::support::room::{Room, in_rooms};

in_rooms![
    whatever_a_bad_command_changes_is_as_bad,
    what_a_bad_command_leaves_alone_is_as_good_as_before,
    a_good_command_changes_nothing,
];

pub(super) fn path(text: &str) -> SandboxPath {
    SandboxPath::absolute("/workspace").unwrap().join(text).unwrap()
}

/// The policy with these source rules.
pub(super) fn policy(sources: &serde_json::Value) -> Policy {
    serde_json::from_value(json!({ "sources": sources })).unwrap()
}

/// The sources of a desk, by another policy.
pub(super) fn sources_of(desk: &Desk, policy: Policy) -> Sources {
    Sources::new(Arc::new(policy), Arc::clone(&desk.workspace))
}

/// Files whose times are the same to the clock of the file system cannot be told apart.
pub(super) fn wait_a_tick() {
    std::thread::sleep(Duration::from_millis(30));
}

fn trust(label: &Label) -> Trust {
    Trust::of(&label.integrity)
}

/// What is on record, as another process reads it.
fn on_record(sources: &Sources) -> Vec<Provenance> {
    let fact = |row: Row| {
        let text = serde_json::to_string(&row).unwrap();
        let Row::Provenance(fact) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        fact
    };
    sources.rows_after(0).into_iter().map(fact).collect()
}

/// The same run in another process.
fn resumed(desk: &Desk, sources: &Sources) -> Sources {
    sources_of(desk, sources.policy().clone()).recalling(&on_record(sources))
}

async fn bad(room: &Room, command: &str) {
    let output = room.call_of(&room.bash, json!({ "command": command }), &Label::untrusted()).await;
    assert_eq!(output.record["exitCode"], 0, "{command}: {:?}", output.record);
    assert_eq!(output.label, Label::untrusted());
}

async fn whatever_a_bad_command_changes_is_as_bad(room: &Room) {
    std::fs::create_dir(room.workspace.join("src")).unwrap();
    for (name, command) in [
        ("made", "echo x > made"),
        ("appended", "echo x >> appended"),
        ("in-place", "printf y | dd of=in-place conv=notrunc 2> /dev/null"),
        ("renamed", "mv old-name renamed"),
        ("linked", "ln old-link linked"),
        ("copied", "cp -p old-copy copied"),
        ("touched", "echo x > touched; touch -d 2001-01-01 touched"),
        ("moved", "echo x > t; touch -d 2001-01-01 t; mv t moved"),
        ("src/deep", "mkdir -p src/sub; echo x > src/sub/f; mv src/sub/f src/deep"),
        ("swapped", "echo x > .t; mv -f .t swapped"),
    ] {
        for old in ["appended", "in-place", "old-name", "old-link", "old-copy", "swapped"] {
            std::fs::write(room.workspace.join(old), "old\n").unwrap();
        }
        // Each in a run of its own, as if nothing had happened before.
        bad(room, command).await;
        let label = room.sources.file(&path(name));
        assert_eq!(trust(&label), Trust::None, "{name}");
        assert!(room.workspace.join(name).exists());
    }
    assert_eq!(trust(&room.sources.command_inputs()), Trust::None);
    let facts = on_record(&room.sources);
    assert!(matches!(facts.as_slice(), [Provenance::Era { .. }]), "one says it all: {facts:?}");
}

async fn what_a_bad_command_leaves_alone_is_as_good_as_before(room: &Room) {
    std::fs::write(room.workspace.join("before"), "before\n").unwrap();
    wait_a_tick();
    bad(room, "cat before; cat before > after; touch -a /tmp/x").await;
    assert_eq!(room.sources.file(&path("before")), *room.sources.usual());
    assert_eq!(trust(&room.sources.file(&path("after"))), Trust::None);
    // From now on nothing that a command prints can be trusted, however good the command.
    let output = room.call(&room.bash, json!({ "command": "cat after" })).await;
    assert_eq!(trust(&output.label), Trust::None);
}

async fn a_good_command_changes_nothing(room: &Room) {
    let output = room.call(&room.bash, json!({ "command": "echo x > made; ls" })).await;
    assert_eq!(output.label, *room.sources.usual());
    assert_eq!(room.sources.file(&path("made")), *room.sources.usual());
    assert_eq!(on_record(&room.sources), []);
}

#[test]
fn a_file_has_the_label_of_what_it_was_made_of() {
    let desk = Desk::new();
    desk.put("good", "good\n");
    let write = |path: &str, mode: &str, label: &Label| {
        let input = json!({ "path": path, "content": "text\n", "mode": mode });
        desk.output_of("write_file", &input, label).unwrap()
    };
    assert_eq!(trust(&write("bad", "replace", &Label::untrusted()).label), Trust::None);
    assert_eq!(trust(&desk.sources.file(&path("bad"))), Trust::None);
    assert_eq!(trust(&desk.sources.command_inputs()), Trust::None);
    assert_eq!(desk.sources.file(&path("good")), *desk.sources.usual());
    assert_eq!(trust(&desk.output("read_file", &json!({ "path": "bad" })).unwrap().label), Trust::None);
    // Adding to it does not make it better, writing it anew does.
    write("bad", "append", &Label::bottom());
    assert_eq!(trust(&desk.sources.file(&path("bad"))), Trust::None);
    let edit = json!({ "path": "bad", "edits": [{ "oldText": "text", "newText": "x", "replaceAll": true }] });
    assert_eq!(trust(&desk.output("edit_file", &edit).unwrap().label), Trust::None);
    assert_eq!(trust(&desk.sources.file(&path("bad"))), Trust::None);
    write("bad", "replace", &Label::bottom());
    assert_eq!(desk.sources.file(&path("bad")), *desk.sources.usual());
    assert_eq!(desk.sources.command_inputs(), *desk.sources.usual());
    // What a good call writes while commands may have changed anything is as good as the call.
    desk.sources.will_run(&Label::untrusted());
    write("good", "replace", &Label::bottom());
    assert_eq!(desk.sources.file(&path("good")), *desk.sources.usual());
    std::fs::write(desk.host("good"), "changed\n").unwrap();
    assert_eq!(trust(&desk.sources.file(&path("good"))), Trust::None);
}

#[test]
fn a_rename_takes_the_label_along() {
    let desk = Desk::new();
    let input = json!({ "path": "a/bad", "content": "text\n", "createParents": true });
    desk.output_of("write_file", &input, &Label::untrusted()).unwrap();
    std::fs::rename(desk.host("a"), desk.host("b")).unwrap();
    std::fs::rename(desk.host("b/bad"), desk.host("b/other")).unwrap();
    std::fs::hard_link(desk.host("b/other"), desk.host("b/link")).unwrap();
    for (sources, name) in [(None, "the same process"), (Some(resumed(&desk, &desk.sources)), "another")] {
        let sources = sources.as_ref().unwrap_or(&*desk.sources);
        for file in ["b/other", "b/link"] {
            assert_eq!(trust(&sources.file(&path(file))), Trust::None, "{file} in {name}");
        }
        assert_eq!(trust(&sources.command_inputs()), Trust::None);
    }
}

#[test]
fn everything_survives_a_resume() {
    let desk = Desk::new();
    desk.put("untouched", "x");
    wait_a_tick();
    desk.sources.will_run(&Label::untrusted());
    desk.put("by-command", "x");
    let input = json!({ "path": "by-tool", "content": "text\n" });
    desk.output("write_file", &input).unwrap();
    let again = resumed(&desk, &desk.sources);
    assert_eq!(on_record(&again), [], "what is on record is not written twice");
    for (file, expected) in
        [("untouched", Trust::Workspace), ("by-command", Trust::None), ("by-tool", Trust::Workspace)]
    {
        assert_eq!(trust(&desk.sources.file(&path(file))), expected, "{file}");
        assert_eq!(trust(&again.file(&path(file))), expected, "{file}, resumed");
    }
    assert_eq!(again.command_inputs(), desk.sources.command_inputs());
}

#[test]
fn a_killed_write_counts_as_done() {
    let desk = Desk::new();
    desk.put("file", "old\n");
    // What the loop puts on record before the call; then the process is gone.
    desk.sources.will_write(&path("file"), &Label::untrusted());
    assert_eq!(trust(&desk.sources.file(&path("file"))), Trust::None, "while it is written");
    let again = resumed(&desk, &desk.sources);
    assert_eq!(trust(&again.file(&path("file"))), Trust::None);
    std::fs::rename(desk.host("file"), desk.host("elsewhere")).unwrap();
    assert_eq!(trust(&again.file(&path("elsewhere"))), Trust::None);
    // One that failed leaves the file what it was.
    desk.sources.did_not_write(&path("file"));
    let again = resumed(&desk, &desk.sources);
    assert_eq!(again.file(&path("elsewhere")), *again.usual());
}

#[test]
fn a_failed_write_leaves_the_label_alone() {
    let desk = Desk::new();
    desk.put("file", "old\n");
    let edit = json!({ "path": "file", "edits": [{ "oldText": "absent", "newText": "x" }] });
    let output = desk.output_of("edit_file", &edit, &Label::untrusted()).unwrap();
    assert!(output.failure.is_some());
    assert_eq!(desk.sources.file(&path("file")), *desk.sources.usual());
    assert_eq!(desk.sources.command_inputs(), *desk.sources.usual());
}

#[test]
fn one_credential_among_many_files_is_found() {
    let desk = Desk::new();
    for directory in 0..50 {
        let parent = desk.host(&format!("packages/p{}/src/d{directory}", directory % 20));
        std::fs::create_dir_all(&parent).unwrap();
        for file in 0..100 {
            std::fs::write(Path::new(&parent).join(format!("file{file}.rs")), "").unwrap();
        }
    }
    desk.put("packages/p7/.env", "KEY=1\n");
    assert!(!desk.sources.command_inputs().confidentiality.is_public(), "a command could read it");
    assert_eq!(desk.sources.masks().len(), 1);
    desk.sources.mask();
    assert_eq!(desk.sources.command_inputs(), *desk.sources.usual());
}
