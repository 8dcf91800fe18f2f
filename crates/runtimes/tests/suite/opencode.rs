//! The real opencode under our hooks, with a model that does as it is told.

use std::fs;

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::OpenCode;
use fullsend_testkit::gateway::Dialect;
use fullsend_testkit::test_name;
use serde_json::json;

use crate::support::scenario::{self, told};
use crate::support::scene::{self, Kind, Plan};

const OPENCODE: Kind = Kind {
    runtime: Runtime::OpenCode,
    dialect: Dialect::Chat,
    header: ("authorization", "Bearer "),
    base: "/v1",
    model: Some("some-model"),
    make: |path, model| Ok(Box::new(OpenCode::new(path, model)?)),
    shell: |command| ("bash".to_owned(), json!({ "command": command, "description": "x" })),
};

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    scene::with(test_name!(), &OPENCODE, scenario::plan, async |scene| {
        let trial = scene.run_to_end().await;
        scenario::check(scene, &trial, &[]);
        scenario::check_configuration(scene, &trial);
        scenario::check_key(&OPENCODE, &trial);
        assert_eq!(told(&trial), (8, 8, 2), "{:#?}", trial.events);
        assert_eq!(scene.asked(), 14, "six calls before and after, two of which only before");
    });
}

#[test]
fn no_way_to_output_goes_past_the_hook() {
    let calls = vec![
        ("read".to_owned(), json!({"filePath": "/sandbox/workspace/repo/secret.txt"})),
        ("grep".to_owned(), json!({"pattern": "token", "path": "/sandbox/workspace/repo"})),
        ("bash".to_owned(), json!({"command": "cat secret.txt; exit 3", "description": "x"})),
        ("read".to_owned(), json!({"filePath": "/sandbox/workspace/repo/nothing.txt"})),
        ("bash".to_owned(), json!({"command": "echo harmless; exit 3", "description": "x"})),
    ];
    let plan = |kind: &Kind| Plan { calls, ..scenario::plan(kind) };
    scene::with(test_name!(), &OPENCODE, plan, async |scene| {
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
