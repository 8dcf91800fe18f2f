//! The real Codex under our hooks, with a model that does as it is told.

use std::fs;

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::Codex;
use fullsend_testkit::gateway::Dialect;
use fullsend_testkit::test_name;
use serde_json::json;

use crate::support::scenario::{self, told};
use crate::support::scene::{self, Kind, Plan};

const CODEX: Kind = Kind {
    runtime: Runtime::Codex,
    dialect: Dialect::Responses,
    header: ("authorization", "Bearer "),
    base: "/v1",
    // Of a model that it does not know it expects nothing but calls of tools.
    model: Some("unknown-model"),
    make: |path, model| Ok(Box::new(Codex::new(path, model)?)),
    shell: |command| ("exec_command".to_owned(), json!({ "cmd": command })),
};

/// With the models that it knows, tools are called from scripts that the model writes.
const CODE_MODE: Kind = Kind {
    model: None,
    shell: |command| {
        let input = json!({ "cmd": command });
        let script = format!(
            "try {{ const r = await tools.exec_command({input}); text(r.output) }} catch (e) {{ text(String(e)) }}"
        );
        ("exec".to_owned(), script.into())
    },
    ..CODEX
};

#[test]
fn the_hooks_hold_for_scripts_of_the_model() {
    scene::with(test_name!(), &CODE_MODE, scenario::plan, async |scene| {
        let trial = scene.run_to_end().await;
        scenario::check(scene, &trial, &[]);
        scenario::check_configuration(scene, &trial);
        assert_eq!(scene.asked(), 14, "six calls before and after, two of which only before");
    });
}

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    scene::with(test_name!(), &CODEX, scenario::plan, async |scene| {
        let trial = scene.run_to_end().await;
        scenario::check(scene, &trial, &[]);
        scenario::check_configuration(scene, &trial);
        scenario::check_key(&CODEX, &trial);
        // Denied calls are in no line of its stream.
        assert_eq!(told(&trial), (6, 6, 0), "{:#?}", trial.events);
        assert_eq!(scene.asked(), 14, "six calls before and after, two of which only before");
    });
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
    let plan = |kind: &Kind| Plan { calls, ..scenario::plan(kind) };
    scene::with(test_name!(), &CODEX, plan, async |scene| {
        let trial = scene.run_to_end().await;
        assert_eq!(trial.ended.error, None, "{}", trial.stream);
        assert_eq!(trial.results.len(), 5, "{:#?}", trial.results);
        assert!(
            trial.results[0].contains("before") && trial.results[4].contains("harmless"),
            "{:#?}",
            trial.results
        );
        for request in &trial.requests {
            assert!(
                !String::from_utf8_lossy(&request.body).contains(scenario::TOKEN),
                "{:#?}",
                trial.results
            );
        }
        assert!(fs::read_to_string(&scene.log).unwrap().contains("secret_redactor"));
    });
}
