//! `${VAR}`: which forms are references, what may not be read, what an environment changes.

use fullsend_harness::expand::{DENIED, ExpandError, check, expand, variables};

use super::support::{CLEAN, Folder};

fn lookup(name: &str) -> Option<String> {
    match name {
        "A" => Some("one".to_owned()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${A}".to_owned()),
        _ => DENIED.contains(&name).then(|| "a token".to_owned()),
    }
}

#[test]
fn references_are_replaced_and_nothing_else() {
    for (text, expected) in [
        ("", ""),
        ("plain", "plain"),
        ("${A}", "one"),
        ("x${A}y${A}z", "xoneyonez"),
        ("$A", "$A"),
        ("$$A {A} $", "$$A {A} $"),
        ("$${A}", "$one"),
        ("${EMPTY}", ""),
        ("${NESTED}", "${A}"),
        ("é${A}é", "éoneé"),
        ("}${A}}", "}one}"),
    ] {
        assert_eq!(expand(text, &lookup), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn bad_references_are_refused() {
    let bad = |name: &str| ExpandError::BadName { name: name.to_owned() };
    for (text, expected) in [
        ("${", ExpandError::Unclosed),
        ("a ${A} ${B", ExpandError::Unclosed),
        ("${}", bad("")),
        ("${1A}", bad("1A")),
        ("${A B}", bad("A B")),
        ("${A:-x}", bad("A:-x")),
        ("${${A}}", bad("${A")),
        ("${A-B}", bad("A-B")),
        ("${É}", bad("É")),
    ] {
        assert_eq!(check(text), Err(expected.clone()), "{text}");
        assert_eq!(expand(text, &lookup), Err(expected.clone()), "{text}");
        assert!(!expected.help().unwrap().is_empty());
    }
    assert_eq!(expand("${GONE}", &lookup), Err(ExpandError::Unset { name: "GONE".to_owned() }));
    assert_eq!(check("${GONE}"), Ok(()), "whether it is set is not a matter of form");
    assert_eq!(variables("${A}x${B}${A}"), Ok(vec!["A", "B", "A"]));
}

#[test]
fn identity_tokens_cannot_be_read_even_when_they_are_set() {
    assert_eq!(
        DENIED,
        [
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
            "FULLSEND_GCP_OIDC_URL",
            "FULLSEND_GCP_OIDC_AUTH_FILE"
        ]
    );
    for name in DENIED {
        let denied = ExpandError::Denied { name: (*name).to_owned() };
        assert_eq!(expand(&format!("x${{{name}}}"), &lookup), Err(denied));
        let lines = format!(
            "env: {{sandbox: {{T: '${{{name}}}'}}, runner: {{T: '${{{name}}}'}}}}\nhost_files: [{{src: '${{{name}}}', dest: /x, optional: true}}]\nvalidation_loop: {{script: v.sh, schema: '${{{name}}}', preflight_check: 'test ${{{name}}}'}}\n"
        );
        let folder = Folder::of(&lines);
        folder.write("v.sh", "");
        let refused: Vec<&str> = folder.codes();
        assert_eq!(refused, ["invalid-variable"; 5], "{:#?}", folder.lint());
    }
}

#[test]
fn what_must_be_set_is_only_known_with_an_environment() {
    let folder = Folder::of(
        "runner_env: {R: '${ONE}'}\nenv: {runner: {A: '${TWO}'}, sandbox: {B: 'x ${THREE}', C: $FOUR}}\napi_servers: [{name: s, script: v.sh, env: {D: '${FIVE}', 1E: x}}]\nvalidation_loop: {script: v.sh, preflight_check: 'test -n \"${SIX}\" -a -n \"${SEVEN:-}\" -a $EIGHT'}\n",
    );
    folder.write("v.sh", "");
    let notices = [
        "deprecated-key harness/code.yaml:3:17 `runner_env` is deprecated | move the variables to `env: {runner: …}`",
        "invalid-value harness/code.yaml:5:63 the variable name must consist of letters, digits and `_`, not starting with a digit, not `1E` | use only letters, digits and `_`, not starting with a digit",
    ];
    assert_eq!(folder.lint(), notices);
    let unset = |place: &str, key: &str, name: &str| {
        format!(
            "unset-variable harness/code.yaml:{place} `{key}` refers to `${{{name}}}`, which is not set | set `{name}` in the environment"
        )
    };
    assert_eq!(
        folder.lint_with(&[]),
        [
            notices[0].to_owned(),
            unset("3:17", "runner_env.R", "ONE"),
            unset("4:19", "env.runner.A", "TWO"),
            unset("4:43", "env.sandbox.B", "THREE"),
            unset("5:48", "api_servers env D", "FIVE"),
            notices[1].to_owned(),
            unset("6:50", "validation_loop.preflight_check", "SIX"),
        ]
    );
    let all = ["ONE", "TWO", "THREE", "FIVE", "SIX"].map(|name| (name, ""));
    assert_eq!(folder.lint_with(&all), notices);
}

#[test]
fn malformed_references_are_refused_without_an_environment() {
    let folder = Folder::of("env: {sandbox: {A: '${', B: '${X Y}'}}\nhost_files: [{src: '${X', dest: /x}]\n");
    assert_eq!(
        folder.lint(),
        [
            "invalid-variable harness/code.yaml:3:20 `env.sandbox.A` has a `${` that is never closed | close it with `}`",
            "invalid-variable harness/code.yaml:3:29 `env.sandbox.B` refers to `${X Y}`, which is not a variable name | use only letters, digits and `_`, not starting with a digit",
            "invalid-variable harness/code.yaml:4:20 `host_files[0].src` has a `${` that is never closed | close it with `}`",
        ]
    );
}

#[test]
fn the_sandboxs_own_variables_cannot_be_set() {
    let folder = Folder::of(
        "env: {sandbox: {PATH: x, LD_PRELOAD: y, MINE: z, ACTIONS_ID_TOKEN_REQUEST_TOKEN: t}, runner: {PATH: x}}\n",
    );
    assert_eq!(
        folder.lint_briefly(),
        [
            "reserved-variable harness/code.yaml:3:23 `env.sandbox.PATH` cannot be set",
            "reserved-variable harness/code.yaml:3:38 `env.sandbox.LD_PRELOAD` cannot be set",
            "reserved-variable harness/code.yaml:3:82 `env.sandbox.ACTIONS_ID_TOKEN_REQUEST_TOKEN` cannot be set",
        ]
    );
    assert_eq!(Folder::of("env: {sandbox: {PATHS: x}}\n").lint(), CLEAN);
}
