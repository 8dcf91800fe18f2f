//! The real Codex under our hooks, with a model that does as it is told.

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::Codex;
use fullsend_testkit::programs::{self, Program};
use fullsend_testkit::test_name;
use serde_json::json;

use crate::support::scenario;
use crate::support::scene::Kind;

const CODEX: Kind = Kind {
    runtime: Runtime::Codex,
    program: programs::CODEX,
    model: Some("unknown-model"),
    make: |path, model| Ok(Box::new(Codex::new(path, model)?)),
};

/// With the models that it knows, tools are called from scripts that the model writes.
const CODE_MODE: Kind = Kind {
    program: Program {
        shell: |command| {
            let input = json!({ "cmd": command });
            let script = format!(
                "try {{ const r = await tools.exec_command({input}); text(r.output) }} catch (e) {{ text(String(e)) }}"
            );
            ("exec".to_owned(), script.into())
        },
        ..programs::CODEX
    },
    model: None,
    ..CODEX
};

#[test]
fn the_hooks_hold_for_scripts_of_the_model() {
    scenario::hooks_hold(test_name!(), &CODE_MODE, None);
}

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    // Denied calls are in no line of its stream.
    scenario::hooks_hold(test_name!(), &CODEX, Some((6, 6, 0)));
}

#[test]
fn no_way_to_output_goes_past_the_hook() {
    let calls = vec![
        ("exec_command".to_owned(), json!({"cmd": "cat secret.txt; exit 3"})),
        (
            "exec_command".to_owned(),
            json!({"cmd": "cat secret.txt; sleep 2; echo end", "yield_time_ms": 250}),
        ),
        (
            "exec_command".to_owned(),
            json!({"cmd": "cat secret.txt; sleep 1", "tty": true, "yield_time_ms": 250}),
        ),
        ("write_stdin".to_owned(), json!({"session_id": 1, "chars": "x\n"})),
        ("exec_command".to_owned(), json!({"cmd": "echo harmless; exit 3"})),
    ];
    scenario::no_way_past_the_hook(test_name!(), &CODEX, calls);
}
