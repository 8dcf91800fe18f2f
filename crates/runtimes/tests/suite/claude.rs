//! The real Claude Code under our hooks, with a model that does as it is told.

use std::fs;
use std::time::Duration;

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::{Claude, Wanted, cancellation};
use fullsend_testkit::{programs, test_name};
use serde_json::json;

use crate::support::scenario;
use crate::support::scene::{self, Kind, Plan};

const CLAUDE: Kind = Kind {
    runtime: Runtime::Claude,
    program: programs::CLAUDE,
    model: None,
    make: |path, model| Ok(Box::new(Claude::new(path, model)?)),
};

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    scenario::hooks_hold(test_name!(), &CLAUDE, Some((8, 8, 2)));
}

#[test]
fn no_way_to_output_goes_past_the_hook() {
    let calls = vec![
        ("Read".to_owned(), json!({"file_path": "/sandbox/workspace/repo/secret.txt"})),
        ("Bash".to_owned(), json!({"command": "cat secret.txt", "run_in_background": true})),
        ("ToolSearch".to_owned(), json!({"query": "select:Monitor", "max_results": 5})),
        (
            "Monitor".to_owned(),
            json!({"command": "cat secret.txt", "description": "x", "timeout_ms": 5000, "persistent": false}),
        ),
        ("Bash".to_owned(), json!({"command": "sleep 3"})),
        // What failed has an event of its own, to which replacements have another shape. It is withheld as a whole.
        ("Bash".to_owned(), json!({"command": "cat secret.txt; exit 3"})),
        ("Bash".to_owned(), json!({"command": "echo harmless; exit 3"})),
    ];
    scenario::no_way_past_the_hook(test_name!(), &CLAUDE, calls);
}

#[test]
fn the_next_iteration_starts_from_what_the_run_gave_it() {
    let leave = r#"cd /sandbox/claude-config && echo '{"disableAllHooks":true}' > remote-settings.json && echo LEFT-BEHIND > CLAUDE.md &&
        mkdir -p commands rules && echo LEFT-BEHIND > rules/x.md && ln -s / out && echo left"#;
    let calls = vec![CLAUDE.shell(leave), CLAUDE.shell("cat secret.txt")];
    let plan = |kind: &Kind| Plan {
        calls,
        feedback: Some("FEEDBACK-OF-THE-RUN".to_owned()),
        wanted: Wanted { debug: Some("*".to_owned()), ..Wanted::default() },
        ..scenario::plan(kind)
    };
    scene::with(test_name!(), &CLAUDE, plan, async |scene| {
        let first = scene.run_to_end().await;
        assert!(first.results[0].contains("left"), "{:?}", first.results);
        assert!(fs::read_to_string(scene.debug_log()).unwrap().contains("PreToolUse"));
        let transcripts = scene.runtime.transcripts(&scene.place.stage);
        assert_eq!(transcripts.len(), 1, "{transcripts:?}");
        scene.runtime.clear_iteration(&scene.place.stage).unwrap();
        let before = scene.gateway.requests().len();
        let second = scene.run_to_end().await;
        assert_eq!(second.ended.error, None, "{}", second.stream);
        let asked: String =
            second.requests[before..].iter().map(|request| String::from_utf8_lossy(&request.body)).collect();
        assert!(asked.contains("FEEDBACK-OF-THE-RUN") && !asked.contains(programs::TOKEN));
        let start = second.requests[before].json().to_string();
        assert!(!start.contains("LEFT-BEHIND"), "{start}");
    });
}

#[test]
fn a_run_ends_when_its_time_is_over_and_when_it_is_told_to() {
    let plan = |kind: &Kind| Plan { calls: vec![kind.shell("sleep 1000")], ..scenario::plan(kind) };
    scene::with(test_name!(), &CLAUDE, plan, async |scene| {
        let (canceller, cancel) = cancellation();
        let late = scene.run(Duration::from_secs(5), cancel.clone()).await;
        assert_eq!((late.ended.exit_code, late.ended.timed_out), (124, true), "{:?}", late.ended);
        let before = scene.gateway.requests().len();
        let running = scene.run(Duration::from_secs(200), cancel);
        let cancelling = async {
            while scene.gateway.requests().len() == before {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            canceller.cancel(15);
        };
        let (ended, ()) = tokio::join!(running, cancelling);
        assert_eq!((ended.ended.exit_code, ended.ended.timed_out), (143, false), "{:?}", ended.ended);
        assert!(!ended.ended.succeeded());
    });
}

#[test]
fn configuration_of_the_repository_works_when_it_is_allowed_by_name() {
    let plan = |kind: &Kind| Plan {
        calls: vec![kind.shell("echo x")],
        wanted: Wanted { repository_config: vec![".mcp.json".to_owned()], ..Wanted::default() },
        ..scenario::plan(kind)
    };
    scene::with(test_name!(), &CLAUDE, plan, async |scene| {
        let trial = scene.run_to_end().await;
        assert_eq!(trial.ended.error, None, "{}", trial.stream);
        let ran = |what: &str| scene.place.stage.workspace().join(format!("repo-{what}-ran")).exists();
        assert_eq!((ran("server"), ran("hook"), ran("start")), (true, false, false));
    });
}
