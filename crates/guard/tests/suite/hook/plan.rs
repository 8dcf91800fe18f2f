//! The plan, and that the engine follows it.

use fullsend_guard::hook::{CHECKS, Check, Checks, HookPhase, matrix};

use super::hook;

#[test]
fn every_check_is_in_the_plan_once() {
    for check in Check::ALL {
        assert_eq!(CHECKS.iter().filter(|row| row.check == *check).count(), 1, "{check:?}");
    }
    assert_eq!(CHECKS.len(), Check::ALL.len());
}

#[test]
fn calls_are_checked_before_output_and_cleaning_has_its_order() {
    let at = |check: Check| CHECKS.iter().position(|row| row.check == check).unwrap();
    assert!(CHECKS.is_sorted_by_key(|row| row.phase == HookPhase::PostTool));
    // What hides a secret goes before secrets are looked for, and both before the token.
    assert!(at(Check::Suppress) < at(Check::Unicode));
    assert!(at(Check::Unicode) < at(Check::Secrets));
    assert!(at(Check::Secrets) < at(Check::CanaryOutput));
    assert_eq!(at(Check::ToolAllowlist), 0);
}

#[test]
fn what_is_off_by_default_is_what_the_plan_says() {
    let silent = hook(Checks::default());
    let off: Vec<Check> = CHECKS.iter().filter(|row| !row.default).map(|row| row.check).collect();
    assert!(off.contains(&Check::ToolAllowlist));
    assert!(!silent.config().checks.tool_allowlist.enabled);
}

#[test]
fn the_matrix_shows_every_check_and_every_runtime() {
    let page = matrix::markdown();
    for row in CHECKS {
        assert!(page.contains(&format!("`{}`", row.harness_key)), "{}", row.harness_key);
        assert!(page.contains(row.effect));
    }
    for runtime in fullsend_guard::hook::Runtime::ALL {
        assert_eq!(matrix::RUNTIMES.iter().filter(|row| row.runtime == runtime).count(), 1);
        assert!(page.contains(&format!("| `{}` |", runtime.as_str())));
    }
    let data = matrix::json();
    assert_eq!(data["checks"].as_array().unwrap().len(), CHECKS.len());
}
