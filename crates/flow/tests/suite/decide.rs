//! What the default policy allows, what rules and exceptions change, and that knowing more never allows more.

use fullsend_flow::{
    Argument, Atom, Call, Clause, Confidentiality, Decision, Deed, Destination, FlowMode, Grant, GrantLedger,
    Label, Missed, Part, PathPattern, Pattern, Policy, SinkRule, Source, SourceRule, Trust, Verdict, decide,
};
use jiff::Timestamp;
use proptest::prelude::*;

fn trusted(trust: Trust) -> Label {
    Label { confidentiality: Confidentiality::public(), integrity: trust.integrity() }
}

fn secret(reader: &str) -> Label {
    Label { confidentiality: Confidentiality::only(Atom::named(reader)), ..trusted(Trust::Commanded) }
}

fn bash<'a>(
    context: &'a Label,
    command: &'a str,
    inputs: &'a Label,
    network: bool,
    policy: &Policy,
) -> Decision {
    let arguments = [Argument {
        name: "command",
        value: Some(command),
        label: context,
        destination: Destination::Program,
    }];
    let call = Call { tool: "bash", deed: Deed::Execute { network }, context, arguments: &arguments, inputs };
    judge(&call, policy, FlowMode::EnforceExplicit)
}

fn judge(call: &Call<'_>, policy: &Policy, mode: FlowMode) -> Decision {
    decide(call, policy, mode, &GrantLedger::default(), now())
}

fn now() -> Timestamp {
    "2026-11-16T00:00:00Z".parse().unwrap()
}

fn one<'a>(
    tool: &'a str,
    deed: Deed,
    context: &'a Label,
    argument: &'a [Argument<'a>],
    inputs: &'a Label,
) -> Call<'a> {
    Call { tool, deed, context, arguments: argument, inputs }
}

#[test]
fn by_default_the_web_drives_no_command_and_the_workspace_does() {
    let workspace = trusted(Trust::Workspace);
    let policy = Policy::default();
    for (context, inputs, verdict) in [
        (Trust::Commanded, Trust::Workspace, Verdict::Allowed),
        (Trust::Workspace, Trust::Workspace, Verdict::Allowed),
        (Trust::None, Trust::Workspace, Verdict::Denied),
        // A command that the operator wants would run what nobody vouches for.
        (Trust::Commanded, Trust::None, Verdict::Denied),
    ] {
        let decision = bash(&trusted(context), "make", &trusted(inputs), false, &policy);
        assert_eq!(decision.verdict, verdict, "{context:?} {inputs:?}");
    }
    let strict = Call {
        tool: "bash",
        deed: Deed::Execute { network: false },
        context: &workspace,
        arguments: &[],
        inputs: &workspace,
    };
    assert_eq!(judge(&strict, &policy, FlowMode::EnforceStrict).verdict, Verdict::Denied);
    assert_eq!(judge(&strict, &policy, FlowMode::Observe).verdict, Verdict::Warned);
    assert_eq!(judge(&strict, &policy, FlowMode::Disabled).verdict, Verdict::Allowed);
}

#[test]
fn secrets_reach_no_network() {
    let (clean, keys) = (trusted(Trust::Commanded), secret("credential"));
    let policy = Policy::default();
    assert_eq!(bash(&clean, "make", &clean, true, &policy).verdict, Verdict::Allowed);
    let told = bash(&keys, "make", &clean, true, &policy);
    assert_eq!(
        told.violations.iter().map(|one| &one.part).collect::<Vec<_>>(),
        [&Part::Argument("command".to_owned())]
    );
    let read = bash(&clean, "make", &keys, true, &policy);
    assert_eq!(
        read.violations.first().map(|one| (&one.part, one.missed)),
        Some((&Part::Inputs, Missed::Readers))
    );
    assert_eq!(bash(&keys, "make", &keys, false, &policy).verdict, Verdict::Allowed);
}

#[test]
fn requests_need_the_operators_word_or_a_rule_for_the_host() {
    let fetch = |context: &Label, policy: &Policy| {
        let arguments = [Argument {
            name: "url",
            value: Some("https://docs.example.com/x"),
            label: context,
            destination: Destination::Host("docs.example.com"),
        }];
        judge(
            &one("web_fetch", Deed::Send, context, &arguments, &Label::bottom()),
            policy,
            FlowMode::default(),
        )
        .verdict
    };
    let policy = Policy::default();
    assert_eq!(fetch(&trusted(Trust::Commanded), &policy), Verdict::Allowed);
    assert_eq!(fetch(&trusted(Trust::Workspace), &policy), Verdict::Denied);
    assert_eq!(fetch(&trusted(Trust::None), &policy), Verdict::Denied);
    assert_eq!(fetch(&secret("team"), &policy), Verdict::Denied);
    let host = |name: &str, trust, readers: &[&str]| Policy {
        sinks: vec![SinkRule {
            web: Some(vec![Pattern::of_values(name).unwrap()]),
            trust: Some(trust),
            readers: Some(readers.iter().map(|&name| name.to_owned()).collect()),
            ..SinkRule::default()
        }],
        ..Policy::default()
    };
    assert_eq!(fetch(&trusted(Trust::None), &host("docs.example.com", Trust::None, &[])), Verdict::Allowed);
    assert_eq!(fetch(&trusted(Trust::None), &host("example.com", Trust::None, &[])), Verdict::Denied);
    assert_eq!(fetch(&secret("team"), &host("*.example.com", Trust::None, &["team"])), Verdict::Allowed);
    assert_eq!(fetch(&secret("credential"), &host("*", Trust::None, &["team"])), Verdict::Denied);
}

#[test]
fn what_runs_by_itself_is_changed_on_the_operators_word_only() {
    let write = |path: Option<&str>, trust: Trust| {
        let label = trusted(trust);
        let arguments = [
            Argument { name: "path", value: path, label: &label, destination: Destination::Target { path } },
            Argument {
                name: "content",
                value: Some("x"),
                label: &label,
                destination: Destination::Content { path },
            },
        ];
        let call = one("write_file", Deed::Change, &label, &arguments, &label);
        judge(&call, &Policy::default(), FlowMode::default()).verdict
    };
    for path in [
        ".git/config",
        ".git",
        "sub/.git/hooks/pre-commit",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "AGENTS.md",
        "docs/AGENTS.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        ".claude/settings.json",
        ".mcp.json",
        ".vscode/tasks.json",
        ".husky/pre-commit",
        "skills/x/SKILL.md",
        ".envrc",
        ".fullsend/harness/a.yaml",
    ] {
        assert_eq!(write(Some(path), Trust::Workspace), Verdict::Denied, "{path}");
        assert_eq!(write(Some(path), Trust::Commanded), Verdict::Allowed, "{path}");
    }
    for path in ["src/main.rs", "notes.md", "docs/github/workflows.md", "agents.md.txt"] {
        assert_eq!(write(Some(path), Trust::None), Verdict::Allowed, "{path}");
    }
    assert_eq!(write(None, Trust::Workspace), Verdict::Denied, "outside of the workspace");
    assert_eq!(write(None, Trust::Commanded), Verdict::Allowed, "outside of the workspace");
}

#[test]
fn hidden_values_go_only_into_files_that_may_hold_them() {
    let label = secret("credential");
    let content = |policy: &Policy| {
        let clean = trusted(Trust::Commanded);
        let path = Some("config/app.env");
        let arguments = [Argument {
            name: "content",
            value: None,
            label: &label,
            destination: Destination::Content { path },
        }];
        judge(&one("write_file", Deed::Change, &clean, &arguments, &clean), policy, FlowMode::default())
            .verdict
    };
    assert_eq!(content(&Policy::default()), Verdict::Denied);
    let rule = SinkRule {
        paths: Some(vec![PathPattern::new("config").unwrap()]),
        readers: Some(vec!["credential".to_owned()]),
        ..SinkRule::default()
    };
    assert_eq!(content(&Policy { sinks: vec![rule], ..Policy::default() }), Verdict::Allowed);
}

#[test]
fn files_have_labels_by_path_and_the_last_rule_wins() {
    let rule = |path: &str, trust, readers: Option<&[&str]>| SourceRule {
        paths: Some(vec![PathPattern::new(path).unwrap()]),
        trust,
        readers: readers.map(|names| names.iter().map(|&name| name.to_owned()).collect()),
        ..SourceRule::default()
    };
    let policy = Policy {
        sources: vec![
            rule("vendor/**", Some(Trust::None), None),
            rule("internal", None, Some(&["team", "audit"])),
            rule("internal/open", None, Some(&[])),
            rule(".env", Some(Trust::Commanded), Some(&[])),
        ],
        ..Policy::default()
    };
    let of = |path| policy.label_of(Source::File(path));
    let both = Clause::any_of([Atom::named("team"), Atom::named("audit")]);
    assert_eq!(of("src/a.rs"), trusted(Trust::Workspace));
    assert_eq!(of("vendor/a/b.c"), trusted(Trust::None));
    assert_eq!(of("internal/plan.md").confidentiality, Confidentiality::all_of([both]));
    assert!(of("internal/open/x").confidentiality.is_public());
    assert_eq!(of(".env"), trusted(Trust::Commanded), "a rule may open what is hidden by default");
    for hidden in
        ["sub/.env", ".env.local", "id_rsa", "a/b.pem", ".aws/credentials", ".ssh/config", "x/secrets.yaml"]
    {
        assert!(!of(hidden).confidentiality.is_public(), "{hidden}");
    }
    for open in [".env.example", "id_rsa.pub", "env", "environment.ts", "keys.md", "monkey"] {
        assert!(of(open).confidentiality.is_public(), "{open}");
    }
}

fn grant(value: &str, from: Trust) -> Grant {
    Grant {
        id: "tests".to_owned(),
        tool: "bash".to_owned(),
        argument: "command".to_owned(),
        value: Pattern::of_values(value).unwrap(),
        trust: Some(Trust::Commanded),
        declassify: Vec::new(),
        from,
        uses: Some(1),
        expires: Some("2027-01-01T00:00:00Z".parse().unwrap()),
    }
}

#[test]
fn an_exception_holds_for_its_value_its_trigger_its_uses_and_its_time() {
    let (web, files) = (trusted(Trust::None), trusted(Trust::Workspace));
    let with = |grant: Grant| Policy { grants: vec![grant], ..Policy::default() };
    let ask = |command: &str, policy: &Policy| bash(&web, command, &files, false, policy);
    let policy = with(grant("cargo test*", Trust::None));
    let allowed = ask("cargo test --workspace", &policy);
    assert_eq!(
        (allowed.verdict, allowed.grants.as_slice()),
        (Verdict::Allowed, ["tests".to_owned()].as_slice())
    );
    assert_eq!(ask("cargo build", &policy).verdict, Verdict::Denied);
    assert_eq!(ask("cargo tes", &policy).verdict, Verdict::Denied);
    // What an attacker says must not set off what is meant for the operator.
    assert_eq!(ask("cargo test", &with(grant("cargo test*", Trust::Commanded))).verdict, Verdict::Denied);
    let mut ledger = GrantLedger::default();
    ledger.charge("tests");
    let arguments = [Argument {
        name: "command",
        value: Some("cargo test"),
        label: &web,
        destination: Destination::Program,
    }];
    let call = one("bash", Deed::Execute { network: false }, &web, &arguments, &files);
    assert_eq!(
        decide(&call, &policy, FlowMode::default(), &ledger, now()).verdict,
        Verdict::Denied,
        "used up"
    );
    let late = "2027-01-01T00:00:00Z".parse().unwrap();
    let ledger = GrantLedger::default();
    assert_eq!(
        decide(&call, &policy, FlowMode::default(), &ledger, late).verdict,
        Verdict::Denied,
        "expired"
    );
}

#[test]
fn a_pattern_of_values_has_only_stars_and_question_marks() {
    for (pattern, value, matches) in [
        ("make *", "make a/b c", true),
        ("echo {a,b}", "echo {a,b}", true),
        ("echo {a,b}", "echo a", false),
        ("test [ -f x ]", "test [ -f x ]", true),
        ("a\\b", "a\\b", true),
        ("a?c", "abc", true),
        ("make", "make install", false),
    ] {
        assert_eq!(Pattern::of_values(pattern).unwrap().matches(value), matches, "{pattern} {value}");
    }
}

fn labels() -> impl Strategy<Value = Label> {
    let readers = proptest::sample::subsequence(vec!["team", "credential", "alice"], 0..=2);
    (readers, proptest::sample::select(Trust::ALL.to_vec())).prop_map(|(readers, trust)| Label {
        confidentiality: Confidentiality::all_of(
            readers.into_iter().map(|one| Clause::any_of([Atom::named(one)])),
        ),
        integrity: trust.integrity(),
    })
}

proptest! {
    /// Whatever is read on the way, a call that was denied stays denied.
    #[test]
    fn more_context_never_allows_more(
        before in labels(), read in labels(), inputs in labels(), network: bool, mode in 0_usize..4,
        path in proptest::sample::select(vec![None, Some("src/a.rs"), Some("AGENTS.md")]),
    ) {
        let mode = FlowMode::ALL[mode];
        let policy = Policy {
            grants: vec![grant("make*", Trust::None), Grant { from: Trust::Commanded, ..grant("*", Trust::None) }],
            ..Policy::default()
        };
        let after = before.join(&read);
        let verdict = |context: &Label| {
            let destinations = [
                ("command", Destination::Program), ("path", Destination::Target { path }),
                ("content", Destination::Content { path }), ("url", Destination::Host("example.com")),
            ];
            let arguments = destinations.map(|(name, destination)| Argument { name, value: Some("make"), label: context, destination });
            [Deed::Look, Deed::Change, Deed::Execute { network }, Deed::Send, Deed::Delegate].map(|deed| {
                judge(&one("bash", deed, context, &arguments, &inputs), &policy, mode).verdict
            })
        };
        for (earlier, later) in verdict(&before).into_iter().zip(verdict(&after)) {
            prop_assert!(earlier <= later, "{earlier:?} became {later:?}");
        }
    }
}
