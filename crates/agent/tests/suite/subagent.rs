//! The budget that a run shares with those it starts.

use std::time::Duration;

use fullsend_agent::budget::{Budget, Exhausted, Limits};
use fullsend_model::Usage;

fn usage(tokens: u64, cost: f64) -> Usage {
    Usage { total_tokens: Some(tokens), cost_usd: Some(cost), ..Usage::default() }
}

fn budget(limits: Limits) -> Budget {
    Budget::new(limits, 0, Usage::default(), 0, Duration::ZERO)
}

#[test]
fn what_children_use_is_used_by_the_run_at_once() {
    let limits = Limits { tokens: 100, cost_usd: 10.0, output_bytes: 50, ..Limits::default() };
    let run = budget(limits);
    let (one, other) = (run.child(3), run.child(3));
    one.charge(&usage(60, 1.0));
    assert_eq!(run.usage().total_tokens, Some(60));
    assert_eq!((one.exhausted(), other.exhausted(), run.exhausted()), (None, None, None));
    other.charge(&usage(40, 1.0));
    // Neither has used what was left when it began; both together have.
    for budget in [&one, &other, &run] {
        assert_eq!(budget.exhausted(), Some(Exhausted::Tokens));
    }
    assert_eq!((one.usage().total_tokens, other.usage().total_tokens), (Some(60), Some(40)));
    assert_eq!(run.usage().cost_usd, Some(2.0));
}

#[test]
fn output_of_one_child_ends_the_others_too() {
    let run = budget(Limits { output_bytes: 50, ..Limits::default() });
    let (one, other) = (run.child(3), run.child(3));
    one.shown(49);
    assert_eq!(other.spent(), None);
    one.shown(1);
    assert_eq!((other.spent(), run.spent()), (Some(Exhausted::Output), Some(Exhausted::Output)));
    assert_eq!(other.output_bytes(), 0);
}

#[test]
fn a_child_has_turns_of_its_own_and_what_is_left_of_all_else() {
    let mut run = budget(Limits { turns: 1, tokens: 100, cost_usd: 10.0, ..Limits::default() });
    run.begin_turn();
    run.charge(&usage(70, 4.0));
    let mut child = run.child(2);
    assert_eq!(run.exhausted(), Some(Exhausted::Turns));
    assert_eq!(child.exhausted(), None);
    assert_eq!((child.limits().turns, child.limits().tokens, child.limits().cost_usd), (2, 30, 6.0));
    child.begin_turn();
    child.begin_turn();
    assert_eq!(child.exhausted(), Some(Exhausted::Turns));
    assert_eq!(run.turns(), 1);
}
