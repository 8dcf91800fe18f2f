//! One cause, one report: what follows from a reported problem is not reported as well.

use super::support::{CLEAN, Folder, HARNESS, PIN};

#[test]
fn an_unreadable_allow_list_does_not_make_every_url_a_problem() {
    let folder = Folder::of(&format!(
        "policy: https://x.test/p.yaml{PIN}\nallowed_remote_resources: [https://x.test]\nallow_runtime_fetch: true\n"
    ));
    assert_eq!(folder.codes(), ["invalid-allow-entry"]);
    for (list, code) in [
        ("allowed_remote_resources: https://x.test/", "wrong-type"),
        ("allowed_remote_resource: [https://x.test/]", "unknown-key"),
    ] {
        let folder =
            Folder::of(&format!("policy: https://x.test/p.yaml{PIN}\n{list}\nallow_runtime_fetch: true\n"));
        assert_eq!(folder.codes(), [code], "{list}");
    }
    let folder =
        Folder::of(&format!("policy: https://x.test/p.yaml{PIN}\nmodle: x\nallowed_remote_resources: []\n"));
    assert_eq!(folder.codes(), ["url-not-allowed", "unknown-key"], "a readable list is still enforced");
    let folder = Folder::of("allow_runtime_fetch: 'true'\nmax_runtime_fetches: 3\n");
    assert_eq!(folder.codes(), ["wrong-type"]);
}

#[test]
fn a_broken_configuration_does_not_spoil_its_harnesses() {
    for (config, code) in [
        ("allowed_remote_resources: [\n", "yaml-syntax"),
        ("allowed_remote_resource: [https://git.corp.test/]\n", "unknown-key"),
        (
            "forges: [{host: git.corp.test, type: githb}]\nallowed_remote_resources: [https://git.corp.test/]\n",
            "invalid-value",
        ),
        ("- a\n", "wrong-type"),
    ] {
        let folder = Folder::of(&format!(
            "base: https://git.corp.test/b.yaml{PIN}\nskills: ['https://git.corp.test/o/r/tree/v1/s{PIN}']\nallowed_remote_resources: [https://git.corp.test/]\n"
        ));
        folder.write("config.yaml", config);
        assert_eq!(folder.codes(), [code, "base-remote"], "{config}: {:#?}", folder.lint());
    }
}

#[test]
fn an_agent_entry_that_cannot_be_read_is_not_called_incomplete() {
    let folder = Folder::of("");
    folder.write("config.yaml", "agents:\n- name: a\n  source: https://x.test/a.yaml\n- name: my agent\n  enabled: false\n- enabled: maybe\n  source: harness/code.yaml\n");
    assert_eq!(
        folder.lint_briefly(),
        [
            "unpinned-url config.yaml:3:11 `agents[0].source` is not a usable reference: the URL has no `#sha256=` pin",
            "invalid-value config.yaml:4:9 `agents[1].name` must consist of letters, digits, `_` and `-`, starting with a letter or digit, not `my agent`",
            "wrong-type config.yaml:6:12 `agents[2].enabled` must be `true` or `false`, not `maybe`",
        ]
    );
}

#[test]
fn a_provider_in_a_broken_file_is_not_called_undefined() {
    let folder = Folder::of("providers: [one, two]\n");
    folder.write("providers/one.yaml", "name: one\ntype: x\ncredential: {}\n");
    folder.write("providers/two.yaml", "name: [\n");
    assert_eq!(folder.codes(), ["unknown-key", "yaml-syntax"]);
    let folder = Folder::of("providers: [one]\n");
    folder.write("profiles/broken.yaml", "id: '-x'\n");
    folder.write("profiles/good.yaml", "id: good\n");
    folder.write("providers/one.yaml", "name: one\ntype: other\n");
    assert_eq!(folder.codes(), ["invalid-value"], "the broken profile may be the one");
}

#[test]
fn a_misspelt_required_key_is_one_problem() {
    let folder = Folder::with(&[("harness/code.yaml", "agent: agents/code.md\nrol: coder\n")]);
    assert_eq!(folder.lint_briefly(), ["unknown-key harness/code.yaml:2:1 unknown key `rol`"]);
}

#[test]
fn a_file_beyond_reading_is_one_problem() {
    for (text, line) in [
        ("role: [\n", "yaml-syntax"),
        ("role: a\n---\nrole: b\n", "yaml-multiple-documents"),
        ("role: *a\nagent: agents/code.md\n", "yaml-unknown-anchor"),
    ] {
        assert_eq!(Folder::with(&[("harness/code.yaml", text)]).codes(), [line], "{text}");
    }
}

#[test]
fn the_same_problem_seen_from_several_overlays_is_reported_once() {
    let folder = Folder::of(
        "pre_script: gone.sh\nskills: [a/s, b/s]\nenv: {sandbox: {PATH: x, B: '${'}}\nplugins: [p.q]\nproviders: [none]\nforge: {github: {}, gitlab: {}, jira: ~}\n",
    );
    for skill in ["a/s/SKILL.md", "b/s/SKILL.md", "p.q/plugin.json"] {
        folder.write(skill, "");
    }
    assert_eq!(
        folder.codes(),
        [
            "missing-file",
            "duplicate-skill",
            "reserved-variable",
            "invalid-variable",
            "invalid-file-name",
            "provider-undefined"
        ]
    );
}

#[test]
fn problems_come_in_the_order_of_files_and_places_and_twice_the_same() {
    let files = [
        ("config.yaml", "agent: []\n"),
        ("profiles/p.yaml", "name: x\n"),
        ("providers/p.yaml", "nme: x\ntype: t\n"),
        ("agents/code.md", "no front matter\n"),
        ("harness/b.yaml", "base: ../bases/x.yaml\nrole: B\n"),
        ("harness/a.yaml", "modle: x\nagent: agents/code.md\nrole: A\n"),
        ("bases/x.yaml", "agent: agents/code.md\nskills: [gone]\n"),
    ];
    let folder = Folder::with(&files);
    let found = folder.lint_briefly();
    let files_in_order: Vec<&str> = found.iter().map(|line| line.split([' ', ':']).nth(1).unwrap()).collect();
    assert_eq!(
        files_in_order,
        [
            "config.yaml",
            "profiles/p.yaml",
            "providers/p.yaml",
            "harness/a.yaml",
            "harness/a.yaml",
            "agents/code.md",
            "harness/b.yaml",
            "bases/x.yaml"
        ],
        "{found:#?}"
    );
    assert_eq!(folder.lint_briefly(), found);
}

#[test]
fn a_sound_directory_has_no_problems() {
    assert_eq!(Folder::with(&[("harness/code.yaml", HARNESS)]).lint(), CLEAN);
}
