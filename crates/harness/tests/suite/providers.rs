//! Provider definitions and profiles, and the harnesses that use them.

use super::support::{CLEAN, Folder};

fn lint(files: &[(&str, &str)], harness: &str) -> Vec<String> {
    let folder = Folder::of(harness);
    for (path, text) in files {
        folder.write(path, text);
    }
    folder.lint()
}

#[test]
fn identifiers_cannot_be_taken_for_flags_or_commands() {
    let rule = "must consist of letters, digits, `_` and `-`, starting with a letter or digit";
    for (id, help) in [("-h", None), ("my profile", Some("my-profile")), ("foo;rm -rf /", None), ("é", None)]
    {
        let help = help.map_or(format!("use only {}", &rule["must consist of ".len()..]), |help| {
            format!("write `{help}`")
        });
        assert_eq!(
            lint(&[("profiles/p.yaml", &format!("id: '{id}'\nother: 1\n"))], ""),
            [format!("invalid-value profiles/p.yaml:1:5 `id` {rule}, not `{id}` | {help}")]
        );
        assert_eq!(
            lint(&[("providers/p.yaml", &format!("name: '{id}'\ntype: t\n"))], ""),
            [format!("invalid-value providers/p.yaml:1:7 `name` {rule}, not `{id}` | {help}")]
        );
    }
    assert_eq!(lint(&[("profiles/p.yaml", "id: my_profile_2\nanything: [else]\n")], ""), CLEAN);
    assert_eq!(
        lint(&[("profiles/p.yaml", "name: x\n")], ""),
        ["missing-key profiles/p.yaml:1:1 the profile has no `id` | add `id: <name>`"]
    );
    assert_eq!(lint(&[("profiles/p.yaml", "id: [\n")], "").len(), 1);
    assert_eq!(
        lint(&[("providers/p.yaml", "")], ""),
        [
            "missing-key providers/p.yaml:1:1 the document has no `name` | add `name: …`",
            "missing-key providers/p.yaml:1:1 the document has no `type` | add `type: …`",
        ]
    );
}

#[test]
fn credentials_written_out_are_named_in_order() {
    let credentials = |map: &str| {
        lint(
            &[(
                "providers/p.yaml",
                &format!("name: p\ntype: t\nconfig: {{url: literal}}\ncredentials: {map}\n"),
            )],
            "",
        )
    };
    for map in ["{A: '${VAR}'}", "{A: ''}", "{A: ~}", "{}", "{A: '${_v1}', B: ''}"] {
        assert_eq!(credentials(map), CLEAN, "{map}");
    }
    for (map, names, column) in [
        ("{A: sk-x}", "A", 18),
        ("{ZEBRA: one, ALPHA: two, OK: '${X}'}", "ALPHA, ZEBRA", 34),
        ("{A: '${X}${Y}'}", "A", 18),
        ("{A: ' ${X}'}", "A", 18),
        ("{A: '${X'}", "A", 18),
        ("{A: $X}", "A", 18),
        ("{A: '${X:-y}'}", "A", 18),
        ("{A: 5}", "A", 18),
    ] {
        assert_eq!(
            credentials(map),
            [format!(
                "credential-literal providers/p.yaml:4:{column} credentials are written out: {names} | write `${{VARIABLE}}` and set the variable where fullsend runs"
            )],
            "{map}"
        );
    }
}

#[test]
fn names_are_defined_somewhere() {
    let provider = ("providers/some-file.yaml", "name: my-provider\ntype: t\n");
    assert_eq!(lint(&[provider], "providers: [my-provider]\n"), CLEAN);
    assert_eq!(
        lint(&[provider], "providers: [my-provider, other]\nforge: {github: {providers: [third]}}\n"),
        [
            "provider-undefined harness/code.yaml:3:26 no file under `providers/` defines `other` | add `providers/<name>.yaml`, or correct the name",
            "provider-undefined harness/code.yaml:4:30 no file under `providers/` defines `third` | add `providers/<name>.yaml`, or correct the name",
        ]
    );
    assert_eq!(
        lint(&[provider, ("profiles/p.yaml", "id: p\n")], ""),
        [
            "provider-undefined providers/some-file.yaml:2:7 no file under `profiles/` has the id `t` | add the profile, or correct `type`"
        ]
    );
    assert_eq!(lint(&[provider, ("profiles/p.yml", "id: t\n")], ""), CLEAN);
}

#[test]
fn a_definition_named_by_its_path_is_read_wherever_it_lies() {
    let files = [
        ("custom/provider.yaml", "name: -x\ntype: t\ncredentials: {A: b}\n"),
        ("custom/profile.yaml", "id: -y\n"),
        ("providers/seen.yaml", "name: seen\ntype: t\n"),
    ];
    let harness = "providers: [custom/provider.yaml, ./custom/provider.yaml, providers/seen.yaml]\nopenshell: {profiles: [custom/profile.yaml]}\nforge: {github: {}}\n";
    let found = lint(&files, harness);
    let codes: Vec<&str> = found.iter().map(|line| line.split(" `").next().unwrap()).collect();
    assert_eq!(
        codes,
        [
            "invalid-value custom/profile.yaml:1:5",
            "invalid-value custom/provider.yaml:1:7",
            "credential-literal custom/provider.yaml:3:18 credentials are written out: A | write"
        ]
    );
}

#[test]
fn a_provider_is_a_name_or_a_path() {
    for (written, missing) in [
        ("my-provider", false),
        ("providers/custom.yaml", true),
        ("custom.yml", true),
        ("/gone/p.yaml", true),
    ] {
        let found = lint(&[], &format!("providers: [{written}]\n"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].starts_with("missing-file"), missing, "{found:?}");
        assert_eq!(found[0].starts_with("provider-undefined"), !missing, "{found:?}");
    }
    assert_eq!(
        lint(&[], "providers: ['', a.b]\n"),
        [
            "invalid-value harness/code.yaml:3:13 `providers[0]` must consist of letters, digits, `_` and `-`, not `` | use only letters, digits, `_` and `-`",
            "invalid-value harness/code.yaml:3:17 `providers[1]` must consist of letters, digits, `_` and `-`, not `a.b` | use only letters, digits, `_` and `-`",
        ]
    );
}
