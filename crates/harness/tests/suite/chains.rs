//! Chains of bases: length, circles, borders, broken and remote links.

use fullsend_harness::compose::MAX_BASES;
use fullsend_harness::{ShowError, ShowOptions};
use serde_json::json;

use super::support::{CLEAN, Folder, HARNESS, PIN};

/// `code` with `bases` bases, the last of which has what is required.
fn chain(bases: usize) -> Folder {
    let folder = Folder::with(&[]);
    let name = |index: usize| {
        if index == 0 { "harness/code.yaml".to_owned() } else { format!("bases/{index}.yaml") }
    };
    for index in 0..bases {
        let directory = if index == 0 { "../bases/" } else { "" };
        folder.write(
            &name(index),
            &format!("base: {directory}{}.yaml\nenv: {{runner: {{K{index}: v}}}}\n", index + 1),
        );
    }
    folder.write(&name(bases), &format!("{HARNESS}env: {{runner: {{K{bases}: v}}}}\n"));
    folder
}

#[test]
fn five_bases_are_followed_and_the_sixth_is_refused() {
    assert_eq!(MAX_BASES, 5);
    let folder = chain(5);
    assert_eq!(folder.lint(), CLEAN);
    assert_eq!(
        folder.resolved()["env"]["runner"],
        json!({"K5": "v", "K4": "v", "K3": "v", "K2": "v", "K1": "v", "K0": "v"})
    );
    assert_eq!(
        chain(6).lint(),
        [
            "base-depth bases/5.yaml:1:7 this is base number 6; at most 5 are followed | merge some of the bases"
        ],
        "and what the sixth would have given is not called missing"
    );
}

#[test]
fn the_nearest_value_wins_along_the_chain() {
    let folder = Folder::with(&[
        ("harness/a.yaml", "agent: agents/code.md\nrole: coder\nmodel: far\nimage: far\nslug: far\n"),
        ("harness/b.yaml", "base: a.yaml\nmodel: near\nimage: near\n"),
        ("harness/code.yaml", "base: b.yaml\nmodel: own\n"),
    ]);
    assert_eq!(
        folder.resolved(),
        json!({"agent": "agents/code.md", "role": "coder", "slug": "far", "image": "near", "model": "own"})
    );
}

#[test]
fn circles_are_named() {
    let folder = Folder::with(&[("harness/a.yaml", "base: a.yaml\n")]);
    assert_eq!(
        folder.lint(),
        [
            "base-cycle harness/a.yaml:1:7 bases lead in a circle: harness/a.yaml → harness/a.yaml | remove one of the `base` keys"
        ]
    );
    let folder = Folder::with(&[
        ("harness/a.yaml", "base: b.yaml\n"),
        ("harness/b.yaml", "base: ./../harness/a.yaml\n"),
    ]);
    assert_eq!(
        folder.lint_briefly(),
        [
            "base-cycle harness/a.yaml:1:7 bases lead in a circle: harness/b.yaml → harness/a.yaml → harness/b.yaml",
            "base-cycle harness/b.yaml:1:7 bases lead in a circle: harness/a.yaml → harness/b.yaml → harness/a.yaml",
        ]
    );
    let folder = Folder::with(&[
        ("harness/code.yaml", "base: ../bases/b.yaml\n"),
        ("bases/b.yaml", "base: c.yaml\n"),
        ("bases/c.yaml", "base: b.yaml\n"),
    ]);
    assert_eq!(
        folder.lint_briefly(),
        ["base-cycle bases/c.yaml:1:7 bases lead in a circle: bases/b.yaml → bases/c.yaml → bases/b.yaml"],
        "the way into the circle is not part of it"
    );
}

#[test]
fn a_base_stays_inside_the_fullsend_directory() {
    for base in ["../../../etc/passwd", "../..", "/etc/passwd", "../../x.yaml", ".."] {
        let folder = Folder::with(&[("harness/code.yaml", &format!("base: {base}\n"))]);
        assert_eq!(
            folder.lint(),
            [format!(
                "base-outside harness/code.yaml:1:7 the base `{base}` lies outside the fullsend directory | move the base below the fullsend directory"
            )]
        );
    }
}

#[test]
fn a_missing_base_is_reported_where_it_is_named() {
    let folder = Folder::with(&[
        ("harness/a.yaml", "role: coder\nbase: gone.yaml\n"),
        ("harness/b.yaml", "base: a.yaml\n"),
    ]);
    assert_eq!(
        folder.lint(),
        [
            "base-missing harness/a.yaml:2:7 no base there: cannot read `harness/gone.yaml`: No such file or directory (os error 2) | create the file, or correct the path",
        ],
        "once, although two harnesses need it, and without calling `agent` missing"
    );
}

#[test]
fn a_base_is_relative_to_the_file_that_names_it() {
    let folder = Folder::with(&[
        ("harness/team/code.yaml", "base: ../code.yaml\n"),
        ("harness/code.yaml", "base: ../shared/base.yaml\nrole: coder\n"),
        ("shared/base.yaml", "agent: agents/code.md\n"),
    ]);
    assert_eq!(folder.lint(), CLEAN);
    assert_eq!(folder.resolved(), json!({"agent": "agents/code.md", "role": "coder"}));
}

#[test]
fn a_broken_base_is_reported_once_however_many_children_share_it() {
    for (text, expected) in [
        ("agent: [\n", "yaml-syntax"),
        ("agnt: agents/code.md\n", "unknown-key"),
        ("agent: agents/gone.md\nrole: coder\n", "missing-file"),
        ("- a\n", "wrong-type"),
    ] {
        let folder = Folder::with(&[
            ("bases/base.yaml", text),
            ("harness/a.yaml", "base: ../bases/base.yaml\n"),
            ("harness/b.yaml", "base: ../bases/base.yaml\n"),
            ("harness/c.yaml", "base: ../bases/base.yaml\n"),
        ]);
        assert_eq!(folder.codes(), [expected], "{text}: {:?}", folder.lint());
    }
}

#[test]
fn what_no_file_of_a_sound_chain_has_is_missing_in_the_child() {
    let folder =
        Folder::with(&[("harness/code.yaml", "base: ../bases/b.yaml\n"), ("bases/b.yaml", "model: opus\n")]);
    assert_eq!(
        folder.lint(),
        [
            "missing-key harness/code.yaml:1:1 the harness has no `agent` | add `agent: agents/<name>.md`",
            "missing-key harness/code.yaml:1:1 the harness has no `role` | add `role: <name>`, such as `role: coder`",
        ]
    );
}

#[test]
fn a_remote_base_is_a_warning_and_may_hold_what_is_required() {
    let base = format!("https://x.test/h/a.yaml{PIN}");
    let folder = Folder::with(&[
        ("config.yaml", "allowed_remote_resources: [https://x.test/]\n"),
        ("harness/a.yaml", &format!("base: {base}\n")),
        ("harness/b.yaml", "base: a.yaml\nrole: coder\n"),
    ]);
    assert_eq!(
        folder.lint(),
        [
            "base-remote harness/a.yaml:1:7 the remote base was not checked | nothing to do here; the base is verified against its pin when the harness is resolved",
        ]
    );
    let options = ShowOptions { resolved_base: true, forge: None };
    let Err(ShowError::RemoteBase { url }) = folder.show("b", options) else { panic!() };
    assert_eq!(url, base);
    let shown = folder.show("b", ShowOptions::default()).unwrap();
    assert_eq!(shown.harness, json!({"base": "a.yaml", "role": "coder"}));
}

#[test]
fn a_remote_base_is_governed_by_the_organisation_alone() {
    let harness =
        format!("base: https://x.test/h/a.yaml{PIN}\nallowed_remote_resources: [https://y.test/]\n");
    let folder = Folder::with(&[
        ("config.yaml", "allowed_remote_resources: [https://y.test/]\n"),
        ("harness/a.yaml", &harness),
    ]);
    assert_eq!(
        folder.lint_briefly(),
        [
            "base-remote harness/a.yaml:1:7 the remote base was not checked",
            "url-not-allowed harness/a.yaml:1:7 the base `https://x.test/h/a.yaml` is not below any entry of the organisation's allow-list",
        ]
    );
}

#[test]
fn a_base_that_is_no_regular_file_is_refused() {
    let folder = Folder::with(&[("harness/code.yaml", "base: ../bases\n"), ("bases/", "")]);
    assert_eq!(
        folder.lint(),
        [
            "base-missing harness/code.yaml:1:7 no base there: `bases` is a directory, not a file | put a regular file there, or rename what is there"
        ]
    );
}
