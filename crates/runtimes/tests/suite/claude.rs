//! The real Claude Code under our hooks, with a model that does as it is told.

use fullsend_guard::hook::Runtime;
use fullsend_runtimes::Claude;
use fullsend_testkit::gateway::Dialect;
use fullsend_testkit::test_name;
use serde_json::json;

use crate::support::scenario::{self, told};
use crate::support::scene::{self, Kind};

const CLAUDE: Kind = Kind {
    runtime: Runtime::Claude,
    dialect: Dialect::Messages,
    header: ("x-api-key", ""),
    base: "",
    make: |path, model| Ok(Box::new(Claude::new(path, model)?)),
    shell: |command| ("Bash".to_owned(), json!({ "command": command, "description": "x" })),
};

#[test]
fn the_hooks_hold_in_a_hostile_repository() {
    scene::with(test_name!(), &CLAUDE, scenario::plan, async |scene, _| {
        let trial = scene.run_to_end().await;
        scenario::check(scene, &trial, &[]);
        scenario::check_configuration(scene, &trial);
        scenario::check_key(&CLAUDE, &trial);
        let (calls, results, failed) = told(&trial);
        assert_eq!((calls, results, failed), (8, 8, 2), "{:#?}", trial.events);
        assert_eq!(scene.asked(), 14, "six calls before and after, two of which only before");
    });
}
