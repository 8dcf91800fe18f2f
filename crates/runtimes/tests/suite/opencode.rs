//! The real opencode under our hooks, with a model that does as it is told.

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::OpenCode;
use fullsend_testkit::{programs, test_name};
use serde_json::json;

use crate::support::scenario;
use crate::support::scene::Kind;

const OPENCODE: Kind = Kind {
    runtime: Runtime::OpenCode,
    program: programs::OPENCODE,
    model: Some("some-model"),
    make: |path, model| Ok(Box::new(OpenCode::new(path, model)?)),
};

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    scenario::hooks_hold(test_name!(), &OPENCODE, Some((8, 8, 2)));
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
    scenario::no_way_past_the_hook(test_name!(), &OPENCODE, calls);
}
