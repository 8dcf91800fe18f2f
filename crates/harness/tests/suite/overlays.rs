//! The overlay of a platform, for every key there is: over its harness, and over the same platform of a base.

use fullsend_harness::schema::ForgeOverlay;
use fullsend_harness::value::Platform;
use fullsend_harness::{ShowError, ShowOptions};
use serde_json::{Value, json};

use super::support::Folder;

/// A value below, another above, and what both together must give.
type Row = (&'static str, Value, Value, Value);

/// One row per key of an overlay. A key without a row fails [`every_key_has_one_row`].
fn rows() -> Vec<Row> {
    vec![
        ("pre_script", json!("a.sh"), json!("b.sh"), json!("b.sh")),
        ("post_script", json!("a.sh"), json!("b.sh"), json!("b.sh")),
        ("policy", json!("a.yaml"), json!("b.yaml"), json!("b.yaml")),
        ("skills", json!(["s/a", "s/b"]), json!(["t/a", "t/c"]), json!(["t/a", "s/b", "t/c"])),
        ("providers", json!(["a"]), json!(["b"]), json!(["a", "b"])),
        (
            "openshell",
            json!({"profiles": ["a.yaml"]}),
            json!({"profiles": ["b.yaml"]}),
            json!({"profiles": ["a.yaml", "b.yaml"]}),
        ),
        (
            "host_files",
            json!([{"src": "a", "dest": "/x", "expand": true}]),
            json!([{"src": "b", "dest": "/x"}, {"src": "c", "dest": "/y"}]),
            json!([{"src": "b", "dest": "/x"}, {"src": "c", "dest": "/y"}]),
        ),
        (
            "validation_loop",
            json!({"script": "a.sh", "schema": "a.json", "max_iterations": 2}),
            json!({"script": "b.sh"}),
            json!({"script": "b.sh"}),
        ),
        ("runner_env", json!({"A": "1", "B": "2"}), json!({"B": "3"}), json!({"A": "1", "B": "3"})),
        (
            "env",
            json!({"runner": {"A": "1"}}),
            json!({"runner": {"A": "2"}, "sandbox": {"B": "3"}}),
            json!({"runner": {"A": "2"}, "sandbox": {"B": "3"}}),
        ),
    ]
}

const GITHUB: ShowOptions = ShowOptions { resolved_base: true, forge: Some(Platform::GitHub) };

#[test]
fn every_key_has_one_row() {
    let rowed: Vec<&str> = rows().iter().map(|(key, ..)| *key).collect();
    assert_eq!(rowed, ForgeOverlay::KEYS);
}

#[test]
fn an_overlay_is_laid_over_its_harness() {
    for (key, harness, overlay, both) in rows() {
        let shown = |harness: Option<&Value>, overlay: Option<&Value>| {
            let mut document = serde_json::Map::new();
            document.extend(harness.map(|value| (key.to_owned(), value.clone())));
            let overlay: serde_json::Map<_, _> =
                overlay.into_iter().map(|value| (key.to_owned(), value.clone())).collect();
            document
                .insert("forge".to_owned(), json!({"github": overlay, "gitlab": {"policy": "other.yaml"}}));
            let folder = Folder::empty();
            folder.write("harness/code.yaml", &Value::from(document).to_string());
            folder.composed(GITHUB)
        };
        assert_ne!(harness, overlay, "{key}");
        assert_eq!(shown(Some(&harness), None), json!({key: harness}), "{key}: harness only");
        assert_eq!(shown(None, Some(&overlay)), json!({key: overlay}), "{key}: overlay only");
        assert_eq!(shown(Some(&harness), Some(&overlay)), json!({key: both}), "{key}: both");
    }
}

#[test]
fn an_overlay_is_laid_over_the_same_platform_of_a_base() {
    for (key, base, child, both) in rows() {
        let folder = Folder::empty();
        folder.write("harness/parent.yaml", &json!({"forge": {"github": {key: base}}}).to_string());
        let child = json!({"base": "parent.yaml", "forge": {"github": {key: child}}});
        folder.write("harness/code.yaml", &child.to_string());
        assert_eq!(folder.resolved(), json!({"forge": {"github": {key: both}}}), "{key}");
        assert_eq!(folder.composed(GITHUB), json!({key: both}), "{key} applied");
    }
}

#[test]
fn a_preflight_check_is_carried_from_base_to_child_but_not_into_an_overlay() {
    let folder = Folder::empty();
    let validation = "{script: a.sh, preflight_check: test -f x}";
    folder.write(
        "harness/code.yaml",
        &format!("validation_loop: {validation}\nforge: {{github: {{validation_loop: {{script: b.sh}}}}}}\n"),
    );
    assert_eq!(folder.composed(GITHUB), json!({"validation_loop": {"script": "b.sh"}}));
    folder.write("harness/parent.yaml", &format!("forge: {{github: {{validation_loop: {validation}}}}}\n"));
    folder.write(
        "harness/code.yaml",
        "base: parent.yaml\nforge: {github: {validation_loop: {script: b.sh}}}\n",
    );
    assert_eq!(
        folder.composed(GITHUB),
        json!({"validation_loop": {"script": "b.sh", "preflight_check": "test -f x"}})
    );
}

#[test]
fn a_platform_without_overlay_is_refused_unless_there_are_none_or_it_is_null() {
    let shown = |text: &str| {
        let folder = Folder::empty();
        folder.write("harness/code.yaml", text);
        match folder.show("code", GITHUB) {
            Ok(shown) => Ok(shown.harness),
            Err(ShowError::ForgeNotConfigured { platform }) => Err(platform),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(shown("role: a\n"), Ok(json!({"role": "a"})), "no overlays at all");
    assert_eq!(shown("role: a\nforge: {}\n"), Ok(json!({"role": "a"})), "an empty block");
    assert_eq!(shown("role: a\nforge: {github: ~}\n"), Ok(json!({"role": "a"})), "disabled");
    assert_eq!(shown("role: a\nforge: {github: {}}\n"), Ok(json!({"role": "a"})), "nothing differs");
    assert_eq!(shown("role: a\nforge: {gitlab: {}}\n"), Err(Platform::GitHub), "others only");
}

#[test]
fn problems_inside_overlays_stand_at_their_own_place_once() {
    let folder = Folder::of(
        "forge:\n  github:\n    pre_script: gone.sh\n    skills: [gone]\n  gitlab:\n    pre_script: gone.sh\n    envs: {}\n  githb: {}\n",
    );
    assert_eq!(
        folder.lint(),
        [
            "missing-file harness/code.yaml:5:17 `pre_script`: `gone.sh` does not exist | create the file, or correct the path",
            "missing-file harness/code.yaml:6:14 `skills`: `gone` does not exist | create the file, or correct the path",
            "missing-file harness/code.yaml:8:17 `pre_script`: `gone.sh` does not exist | create the file, or correct the path",
            "unknown-key harness/code.yaml:9:5 unknown key `envs` in `forge.gitlab` | did you mean `env`?",
            "unknown-key harness/code.yaml:10:3 `forge` has no platform `githb` | did you mean `github`?",
        ]
    );
}

#[test]
fn an_inherited_overlay_is_reported_once_however_many_children_share_it() {
    let folder = Folder::with(&[
        (
            "harness/base.yaml",
            "agent: agents/code.md\nrole: coder\nskills: [skills/a]\nforge: {github: {skills: [gone]}}\n",
        ),
        ("harness/one.yaml", "base: base.yaml\nskills: [skills/b, skills/c]\n"),
        ("harness/two.yaml", "base: base.yaml\n"),
        ("skills/a/SKILL.md", "a"),
        ("skills/b/SKILL.md", "b"),
        ("skills/c/SKILL.md", "c"),
    ]);
    assert_eq!(
        folder.lint_briefly(),
        ["missing-file harness/base.yaml:4:27 `skills`: `gone` does not exist"]
    );
}
