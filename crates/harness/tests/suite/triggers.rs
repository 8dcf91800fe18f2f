//! Triggers as linting sees them.

use super::support::{CLEAN, Folder};

fn lint(trigger: &str) -> Vec<String> {
    Folder::of(&format!("trigger: {trigger}\n")).lint()
}

#[test]
fn boolean_expressions_over_the_event_pass() {
    for trigger in [
        "event.action == 'opened'",
        "'true'",
        "has(event.pr) && !event.draft",
        "\"event.labels.exists(l, l == 'x')\"",
        "''",
        "~",
        "true",
    ] {
        assert_eq!(lint(trigger), CLEAN, "{trigger}");
    }
}

#[test]
fn others_are_refused_with_the_reason() {
    for (trigger, problem) in [
        ("evnt.action == 'x'", "uses `evnt`; the only variable is `event`"),
        ("1 + 1", "yields a number or text, not a boolean"),
        ("\"'text'\"", "yields text, not a boolean"),
        ("5", "yields a number, not a boolean"),
        ("\"[event]\"", "yields a list, not a boolean"),
    ] {
        assert_eq!(
            lint(trigger),
            [format!(
                "invalid-trigger harness/code.yaml:3:10 `trigger` {problem} | compare something, as in `event.action == \"opened\"`"
            )]
        );
    }
    for trigger in ["event.action ==", "'event.action = 1'", "'('", "'event..x'", "on push"] {
        let found = lint(trigger);
        assert_eq!(found.len(), 1);
        assert!(
            found[0]
                .starts_with("invalid-trigger harness/code.yaml:3:10 `trigger` is not a CEL expression: "),
            "{found:?}"
        );
    }
    let long = format!("event.a == '{}'", "x".repeat(5000));
    assert_eq!(
        Folder::of(&format!("trigger: \"{long}\"\n")).lint_briefly(),
        ["invalid-trigger harness/code.yaml:3:10 `trigger` has 5013 bytes; at most 4096 are read"]
    );
}

#[test]
fn an_inherited_trigger_is_reported_where_it_stands() {
    let folder = Folder::of("base: ../bases/b.yaml\n");
    folder.write("bases/b.yaml", "trigger: 1 + 1\n");
    assert_eq!(
        folder.lint_briefly(),
        ["invalid-trigger bases/b.yaml:1:10 `trigger` yields a number or text, not a boolean"]
    );
}
