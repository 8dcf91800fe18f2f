//! `fullsend run`: hooks decide about every call, and nothing that the agent can reach decides about hooks.

use fullsend_testkit::test_name;
use serde_json::{Value, json};

use crate::suite::run_place::{Bench, bash};

/// Without the check of commands, so that only the sandbox stands in the way.
const UNCHECKED: &str = "security: {sandbox_hooks: {command_pretool: {enabled: false}}}\n";

#[test]
fn an_agent_cannot_change_what_decides_about_it() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.script("check.sh", "grep -q 2 output/agent-result.json");
    bench.harness(&format!("validation_loop: {{script: scripts/check.sh, max_iterations: 2}}\n{UNCHECKED}"));
    let places = "/sandbox/workspace/bin/fullsend /sandbox/workspace/bin/sh /sandbox/workspace/.env /sandbox/workspace/.env.d/x.env \
                  /sandbox/workspace/.fullsend/x /sandbox/hooks/hook.json /sandbox/hooks/service/x /sandbox/replay-config/skills/x";
    let tries = format!(
        "for file in {places}; do ( : >> $file ) 2> /dev/null && echo wrote $file; rm -f $file 2> /dev/null; done; \
         for directory in workspace/bin workspace/.env workspace/.env.d hooks hooks/service; do \
         mv /sandbox/$directory /sandbox/moved 2> /dev/null && echo moved $directory; done; \
         cmp /proc/self/exe \"$(command -v cmp)\" && command -v fullsend && cat /sandbox/hooks/hook.json"
    );
    let result = |text: &str| bash(&format!("echo {text} > $FULLSEND_OUTPUT_DIR/agent-result.json"));
    bench.says(&json!([
        {"calls": [bash(&tries)]},
        {"calls": [result("1")]},
        {"say": "done"},
        {"calls": [bash(&tries)]},
        {"calls": [result("2")]},
        {"say": "done"},
    ]));
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    let results = told.results();
    // The same before and after a failed attempt.
    for result in [&results[0], &results[2]] {
        let stdout = result["stdout"].as_str().unwrap();
        assert!(stdout.starts_with("/sandbox/workspace/bin/fullsend\n{\"service\":"), "{result}");
    }
}

#[test]
fn hooks_decide_about_calls_and_what_they_decide_is_on_record() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    bench.harness("security: {canary: {env: DEPLOY_TOKEN}}\n");
    bench.says(&json!([
        {"calls": [bash("curl -s http://169.254.169.254/latest/meta-data/")]},
        {"calls": [bash("printenv DEPLOY_TOKEN | tr a-z A-Z > /tmp/x; printenv DEPLOY_TOKEN")]},
        {"calls": [bash("echo safe")]},
        {"say": "done"},
    ]));
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(0), "success"), "{}", told.ran.stderr);
    let results = told.results();
    assert_eq!(results[0]["type"], "fullsend.observation-denied", "{}", results[0]);
    assert!(results[0]["detail"].as_str().unwrap().contains("169.254.169.254"), "{}", results[0]);
    assert_eq!(results[2]["stdout"], "safe\n");
    let found = told.found();
    for scanner in ["ssrf", "canary"] {
        assert!(found.iter().any(|(rule, _)| rule.contains(scanner)), "{scanner}: {found:?}");
    }
    assert!(told.report()["denied"].as_u64().unwrap() >= 1, "{}", told.report());
    let log = told.read("security/findings.jsonl");
    let rows: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.iter().any(|row| row["action"] == "block" && row["tool"] == "bash"), "{log}");
    assert!(rows.len() as u64 > told.report()["findings"]["total"].as_u64().unwrap(), "{log}");
    // Switched off, the same call is made: it was the hook that stood in the way.
    bench.harness("security: {enabled: false}\n");
    bench.does("curl -s -m 1 http://169.254.169.254/latest/meta-data/; echo tried");
    assert_eq!(bench.run(&[]).stdout(), "tried\n");
}

/// Also where no hook masks it: what holds a planted token is for nobody, so the model gets a handle of it.
#[test]
fn a_planted_token_does_not_reach_the_model_without_hooks_either() {
    let Some(bench) = Bench::new(test_name!()) else { return };
    let security = |more: &str| {
        format!(
            "security: {{canary: {{env: DEPLOY_KEY}}, sandbox_hooks: {{canary_posttool: false}}{more}}}\n"
        )
    };
    bench.harness(&security(""));
    bench.says(&json!([
        {"calls": [bash("printenv DEPLOY_KEY")]},
        {"calls": [bash("printenv DEPLOY_KEY | rev")]},
        {"calls": [bash("echo nothing of it")]},
        {"say": "done"},
    ]));
    let told = bench.run(&[]);
    assert_eq!(told.end(), (Some(0), "success"), "{told:?}");
    let results = told.results();
    for hidden in &results[..2] {
        assert_eq!(hidden["handle"]["type"], "fullsend.opaque-handle", "{hidden}");
        assert!(!hidden.to_string().contains("fsc-"), "{hidden}");
    }
    assert_eq!(results[2]["stdout"], "nothing of it\n", "{}", results[2]);
}
