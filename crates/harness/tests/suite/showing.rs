//! `show`: the harness as data, with the place of every value.

use fullsend_harness::value::Platform;
use fullsend_harness::{ShowError, ShowOptions};
use serde_json::{Value, json};

use super::support::{Folder, HARNESS};

#[test]
fn every_value_knows_where_it_was_written() {
    let folder = Folder::with(&[
        (
            "bases/base.yaml",
            "agent: agents/code.md\nskills:\n- skills/a: {x.md: o/x.md}\nenv: {sandbox: {A/B: 1}}\n",
        ),
        (
            "harness/code.yaml",
            "base: ../bases/base.yaml\nrole: coder\nskills: [skills/b]\nforge:\n  github: {policy: p.yaml}\n",
        ),
    ]);
    let options = ShowOptions { resolved_base: true, forge: Some(Platform::GitHub) };
    let shown = folder.show("code", options).unwrap();
    let origins: Vec<String> = shown
        .origins
        .iter()
        .map(|(pointer, origin)| {
            folder.relative(&format!("{pointer} {}:{}:{}", origin.file.display(), origin.line, origin.column))
        })
        .collect();
    assert_eq!(
        origins,
        [
            "/agent bases/base.yaml:1:8",
            "/role harness/code.yaml:2:7",
            "/policy harness/code.yaml:5:20",
            "/skills/0 bases/base.yaml:3:3",
            "/skills/0/skills~1a/x.md bases/base.yaml:3:20",
            "/skills/1 harness/code.yaml:3:10",
            "/env/sandbox/A~1B bases/base.yaml:4:22",
        ]
    );
    let chain: Vec<String> =
        shown.chain.iter().map(|file| folder.relative(&file.display().to_string())).collect();
    assert_eq!(chain, ["harness/code.yaml", "bases/base.yaml"]);
    assert_eq!(shown.path, folder.path("harness/code.yaml"));
    for pointer in shown.origins.keys() {
        assert!(shown.harness.pointer(pointer).is_some(), "{pointer} leads nowhere");
    }
}

#[test]
fn names_that_lead_nowhere_say_what_exists() {
    let folder = Folder::with(&[
        ("config.yaml", "agents: [{name: off, enabled: false}, {name: far, source: other/far.yaml}]\n"),
        ("harness/code.yaml", HARNESS),
        ("harness/off.yaml", HARNESS),
        ("other/far.yaml", HARNESS),
    ]);
    let failed = |name: &str| folder.show(name, ShowOptions::default()).unwrap_err();
    let ShowError::Unknown { known, .. } = failed("cod") else { panic!() };
    assert_eq!(known, ["code", "far", "off"]);
    assert!(matches!(failed("off"), ShowError::Disabled { .. }));
    assert_eq!(folder.show("far", ShowOptions::default()).unwrap().path, folder.path("other/far.yaml"));
}

#[test]
fn a_broken_harness_or_configuration_is_not_shown() {
    let folder = Folder::with(&[("harness/code.yaml", "rol: coder\n")]);
    let Err(ShowError::Broken { problems, .. }) = folder.show("code", ShowOptions::default()) else {
        panic!()
    };
    assert_eq!(problems.len(), 1);
    let folder = Folder::with(&[("harness/code.yaml", HARNESS), ("config.yaml", "agents: [\n")]);
    for name in ["code", "registered-in-the-broken-file"] {
        assert!(matches!(folder.show(name, ShowOptions::default()), Err(ShowError::Broken { .. })), "{name}");
    }
}

#[test]
fn warnings_do_not_keep_a_harness_from_being_shown() {
    let folder = Folder::with(&[
        ("harness/code.yaml", HARNESS),
        ("config.yaml", "repos: {}\n"),
        ("config.base.yaml", "version: 1\n"),
    ]);
    let shown: Value = folder.show("code", ShowOptions::default()).unwrap().harness;
    assert_eq!(shown, json!({"agent": "agents/code.md", "role": "coder"}));
}
