//! Strict reading of harness files: coercion, unknown keys at every level, forms of entries.

use serde_json::{Value, json};

use super::support::{CLEAN, Folder, PIN};

/// The harness `text` as data; it must have no problem that keeps it from being shown.
fn read(text: &str) -> Value {
    let folder = Folder::empty();
    folder.write("harness/code.yaml", text);
    folder.resolved()
}

/// `code line:column message | help` of what is wrong with the text itself.
fn problems(text: &str) -> Vec<String> {
    let folder = Folder::empty();
    folder.write("harness/code.yaml", text);
    let aside = ["missing-file", "no-effect", "missing-key harness/code.yaml:1:1 the harness"];
    let files_aside = |line: &String| !aside.iter().any(|start| line.starts_with(start));
    let lines = folder.lint().into_iter().filter(files_aside);
    lines.map(|line| line.replace("harness/code.yaml:", "")).collect()
}

#[test]
fn unknown_keys_are_refused_at_every_level_with_the_nearest_known_one() {
    for (text, expected) in [
        ("skils: []", "1:1 unknown key `skils` | did you mean `skills`?"),
        ("preScript: a", "1:1 unknown key `preScript` | did you mean `pre_script`?"),
        ("openshell: {profile: []}", "1:13 unknown key `profile` in `openshell` | did you mean `profiles`?"),
        ("env: {runer: {}}", "1:7 unknown key `runer` in `env` | did you mean `runner`?"),
        (
            "host_files: [{src: a, dest: b, opt: true}]",
            "1:32 unknown key `opt` in `host_files[0]` | remove it; known keys are src, dest, expand, optional",
        ),
        (
            "api_servers: [{name: a, script: b, prot: 1}]",
            "1:36 unknown key `prot` in `api_servers[0]` | did you mean `port`?",
        ),
        (
            "validation_loop: {script: a, max_iteration: 1}",
            "1:30 unknown key `max_iteration` in `validation_loop` | did you mean `max_iterations`?",
        ),
        ("security: {enable: true}", "1:12 unknown key `enable` in `security` | did you mean `enabled`?"),
        (
            "security: {host_scanners: {llm_gaurd: {}}}",
            "1:28 unknown key `llm_gaurd` in `security.host_scanners` | did you mean `llm_guard`?",
        ),
        (
            "security: {host_scanners: {llm_guard: {treshold: 1}}}",
            "1:40 unknown key `treshold` in `security.host_scanners.llm_guard` | did you mean `threshold`?",
        ),
        (
            "security: {sandbox_hooks: {tirith: {failOn: high}}}",
            "1:37 unknown key `failOn` in `security.sandbox_hooks.tirith` | did you mean `fail_on`?",
        ),
        (
            "security: {sandbox_hooks: {tool_allowlist_pretool: {on: true}}}",
            "1:53 unknown key `on` in `security.sandbox_hooks.tool_allowlist_pretool` | remove it; known keys are enabled",
        ),
        (
            "security: {escalation: {on_critcal: halt}}",
            "1:25 unknown key `on_critcal` in `security.escalation` | did you mean `on_critical`?",
        ),
        (
            "security: {trace: {enbled: true}}",
            "1:20 unknown key `enbled` in `security.trace` | did you mean `enabled`?",
        ),
        (
            "forge: {bitbucket: {}}",
            "1:9 `forge` has no platform `bitbucket` | choose one of `github`, `gitlab`, `jira`",
        ),
        (
            "forge: {github: {model: a}}",
            "1:18 unknown key `model` in `forge.github` | remove it; known keys are pre_script, post_script, policy, skills, providers, openshell, host_files, validation_loop, runner_env, env",
        ),
        (
            "forge: {github: {env: {sandbx: {}}}}",
            "1:24 unknown key `sandbx` in `forge.github.env` | did you mean `sandbox`?",
        ),
    ] {
        assert_eq!(problems(text), [format!("unknown-key {expected}")], "{text}");
    }
}

#[test]
fn text_takes_every_scalar_by_its_spelling() {
    for (written, expected) in [
        ("5", "5"),
        ("1.50", "1.50"),
        ("true", "true"),
        ("2026-01-02", "2026-01-02"),
        ("0x10", "0x10"),
        ("'~'", "~"),
    ] {
        assert_eq!(read(&format!("description: {written}\n"))["description"], expected);
        assert_eq!(read(&format!("env: {{sandbox: {{A: {written}}}}}\n"))["env"]["sandbox"]["A"], expected);
    }
    assert_eq!(read("runner_env: {A: ~, B: }\n")["runner_env"], json!({"A": "", "B": ""}));
}

#[test]
fn whole_numbers_and_booleans_take_the_spellings_in_use() {
    for (written, expected) in [("5", 5), ("5.0", 5), ("1e1", 10), ("0x10", 16), ("010", 8), ("+7", 7)] {
        assert_eq!(read(&format!("timeout_minutes: {written}\n")), json!({"timeout_minutes": expected}));
    }
    for (written, expected) in [("yes", true), ("No", false), ("ON", true), ("off", false), ("True", true)] {
        assert_eq!(read(&format!("readonly_repo: {written}\n")), json!({"readonly_repo": expected}));
    }
    for (text, expected) in [
        (
            "timeout_minutes: '5'",
            "1:18 `timeout_minutes` must be a whole number, not the text `5` | remove the quotes: `5`",
        ),
        (
            "timeout_minutes: 5.5",
            "1:18 `timeout_minutes` must be a whole number, not `5.5` | write a whole number",
        ),
        (
            "timeout_minutes: ten",
            "1:18 `timeout_minutes` must be a whole number, not `ten` | write a whole number",
        ),
        (
            "timeout_minutes: 30m",
            "1:18 `timeout_minutes` must be a whole number, not `30m` | write a whole number",
        ),
        (
            "readonly_repo: \"yes\"",
            "1:16 `readonly_repo` must be `true` or `false`, not the text `yes` | remove the quotes: `yes`",
        ),
        (
            "readonly_repo: 1",
            "1:16 `readonly_repo` must be `true` or `false`, not `1` | write `true` or `false`",
        ),
    ] {
        assert_eq!(problems(text), [format!("wrong-type {expected}")], "{text}");
    }
}

#[test]
fn numbers_stay_within_their_bounds() {
    for (text, expected) in [
        (
            "timeout_minutes: -1",
            "1:18 `timeout_minutes` must be 0 or more, not -1 | write a number: 0 or more",
        ),
        (
            "sandbox_timeout_seconds: 29",
            "1:26 `sandbox_timeout_seconds` must be 0 or from 30 to 600, not 29 | write a number: 0 or from 30 to 600",
        ),
        (
            "sandbox_timeout_seconds: 601",
            "1:26 `sandbox_timeout_seconds` must be 0 or from 30 to 600, not 601 | write a number: 0 or from 30 to 600",
        ),
        (
            "api_servers: [{name: a, script: b, port: 0}]",
            "1:42 `api_servers[0].port` must be from 1 to 65535, not 0 | write a number from 1 to 65535",
        ),
        (
            "security: {host_scanners: {llm_guard: {threshold: 1.1}}}",
            "1:51 `security.host_scanners.llm_guard.threshold` must be from 0 to 1, not 1.1 | write a number from 0 to 1",
        ),
        (
            "security: {host_scanners: {llm_guard: {threshold: 5000000000}}}",
            "1:51 `security.host_scanners.llm_guard.threshold` must be from 0 to 1, not 5000000000 | write a number from 0 to 1",
        ),
    ] {
        assert_eq!(problems(text), [format!("invalid-value {expected}")], "{text}");
    }
    for text in [
        "timeout_minutes: 0",
        "sandbox_timeout_seconds: 0",
        "sandbox_timeout_seconds: 30",
        "sandbox_timeout_seconds: 600",
        "security: {host_scanners: {llm_guard: {threshold: 0}}}",
    ] {
        assert_eq!(problems(text), CLEAN, "{text}");
    }
    for (limit, codes) in [("0", 1), ("-1", 1), ("1001", 1), ("1", 0), ("1000", 0)] {
        let text = format!(
            "allowed_remote_resources: [https://a.test/]\nallow_runtime_fetch: true\nmax_runtime_fetches: {limit}\n"
        );
        let found = problems(&text).iter().filter(|line| line.starts_with("invalid-value")).count();
        assert_eq!(found, codes, "{limit}");
    }
}

#[test]
fn names_and_words_are_checked_with_a_suggestion() {
    for (text, expected) in [
        (
            "role: Coder",
            "1:7 `role` must consist of lower-case letters, digits, `_` and single `-`, starting with a letter, not `Coder` | write `coder`",
        ),
        (
            "role: a--b",
            "1:7 `role` must consist of lower-case letters, digits, `_` and single `-`, starting with a letter, not `a--b` | use only lower-case letters, digits, `_` and single `-`, starting with a letter",
        ),
        (
            "slug: -slug",
            "1:7 `slug` must consist of letters, digits, `_` and `-`, starting with a letter or digit, not `-slug` | use only letters, digits, `_` and `-`, starting with a letter or digit",
        ),
        (
            "slug: my slug",
            "1:7 `slug` must consist of letters, digits, `_` and `-`, starting with a letter or digit, not `my slug` | write `my-slug`",
        ),
        (
            "slug: slug!name",
            "1:7 `slug` must consist of letters, digits, `_` and `-`, starting with a letter or digit, not `slug!name` | use only letters, digits, `_` and `-`, starting with a letter or digit",
        ),
        (
            "model: \"sonnet'; echo hack\"",
            "1:8 `model` must consist of letters, digits, `_`, `.`, `@` and `-`, not `sonnet'; echo hack` | use only letters, digits, `_`, `.`, `@` and `-`",
        ),
        (
            "effort: ultra",
            "1:9 `effort` must be one of `low`, `medium`, `high`, `xhigh`, `max`, not `ultra` | choose one of `low`, `medium`, `high`, `xhigh`, `max`",
        ),
        (
            "effort: HIGH",
            "1:9 `effort` must be one of `low`, `medium`, `high`, `xhigh`, `max`, not `HIGH` | did you mean `high`?",
        ),
        (
            "security: {fail_mode: opne}",
            "1:23 `security.fail_mode` must be one of `closed`, `open`, not `opne` | did you mean `open`?",
        ),
        (
            "security: {escalation: {on_critical: stop}}",
            "1:38 `security.escalation.on_critical` must be one of `halt`, `review`, not `stop` | choose one of `halt`, `review`",
        ),
        (
            "security: {sandbox_hooks: {tirith: {fail_on: low}}}",
            "1:46 `security.sandbox_hooks.tirith.fail_on` must be one of `critical`, `high`, `medium`, not `low` | choose one of `critical`, `high`, `medium`",
        ),
        (
            "security: {sandbox_hooks: {command_pretool: {fail_on: never}}}",
            "1:55 `security.sandbox_hooks.command_pretool.fail_on` must be one of `critical`, `high`, `medium`, not `never` | choose one of `critical`, `high`, `medium`",
        ),
        (
            "security: {host_scanners: {llm_guard: {match_type: word}}}",
            "1:52 `security.host_scanners.llm_guard.match_type` must be one of `sentence`, `full`, not `word` | choose one of `sentence`, `full`",
        ),
        (
            "env: {runner: {1A: x}}",
            "1:20 the variable name must consist of letters, digits and `_`, not starting with a digit, not `1A` | use only letters, digits and `_`, not starting with a digit",
        ),
    ] {
        assert_eq!(problems(text), [format!("invalid-value {expected}")], "{text}");
    }
    for text in
        ["slug: Custom_App", "slug: a1", "model: claude-sonnet-4-6@20250514", "role: a_b-c", "effort: xhigh"]
    {
        assert_eq!(problems(text), CLEAN, "{text}");
    }
}

#[test]
fn null_is_absent_and_null_elements_are_dropped() {
    assert_eq!(
        read(
            "agent: ~\nskills: null\nenv:\nsecurity: ~\ntimeout_minutes: Null\nforge: ~\nplugins: [p, ~, null, q]\n"
        ),
        json!({"plugins": ["p", "q"]})
    );
    assert_eq!(read("skills: [~, a, null]\nhost_files: [~]\n"), json!({"skills": ["a"], "host_files": []}));
}

#[test]
fn an_empty_document_is_an_empty_harness() {
    for text in ["", "\n", "# nothing\n", "---\n", "{}", "~", "\u{feff}"] {
        assert_eq!(read(text), json!({}), "{text:?}");
        let folder = Folder::empty();
        folder.write("harness/code.yaml", text);
        assert_eq!(
            folder.lint_briefly(),
            [
                "missing-key harness/code.yaml:1:1 the harness has no `agent`",
                "missing-key harness/code.yaml:1:1 the harness has no `role`",
            ],
            "{text:?}"
        );
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_read() {
    assert_eq!(read("\u{feff}role: coder\r\nmodel: opus\r\n"), json!({"role": "coder", "model": "opus"}));
    assert_eq!(
        problems("\u{feff}role: coder\r\nmodle: opus\r\n"),
        ["unknown-key 2:1 unknown key `modle` | did you mean `model`?"]
    );
}

#[test]
fn duplicate_keys_are_refused_and_the_first_is_kept() {
    assert_eq!(
        problems("role: a\nskills: []\nrole: b\nenv: {runner: {A: 1, A: 2}}\n"),
        [
            "duplicate-key 3:1 the key `role` stands twice | remove one of the two",
            "duplicate-key 4:22 the key `A` stands twice | remove one of the two",
        ]
    );
}

#[test]
fn anchors_and_merge_keys_work() {
    let text = "env:\n  runner: &common {A: x, B: y}\n  sandbox: {<<: *common, B: z}\n";
    assert_eq!(read(text), json!({"env": {"runner": {"A": "x", "B": "y"}, "sandbox": {"B": "z", "A": "x"}}}));
}

#[test]
fn skill_entries_have_two_forms_and_no_others() {
    let url = format!("https://github.com/o/r/tree/v1/s{PIN}");
    for (entry, expected) in [
        ("skills/a", json!("skills/a")),
        ("5", json!("5")),
        ("true", json!("true")),
        ("skills/a: {}", json!({"skills/a": {}})),
        (
            "skills/a: {sub/x.md: over/x.md, sub/y.md: null, z: ~}",
            json!({"skills/a": {"sub/x.md": "over/x.md", "sub/y.md": null, "z": null}}),
        ),
        ("5: {a: 6}", json!({"5": {"a": "6"}})),
        (&format!("'{url}': {{a: '{url}'}}"), json!({&url: {"a": &url}})),
        ("skills/a: {foo..bar: x..y}", json!({"skills/a": {"foo..bar": "x..y"}})),
    ] {
        assert_eq!(read(&format!("skills:\n- {entry}\n"))["skills"], json!([expected]), "{entry}");
    }
    assert_eq!(read("skills:\n-\n- ~\n")["skills"], json!([]));
    let shape = "write `- skills/name`, or `- skills/name: {path/in/skill.md: replacement.md}`";
    for (entry, expected) in [
        ("skills/a:", format!("wrong-type 2:11 `skills[0]` needs a mapping of files after the source | {shape}")),
        ("skills/a: text", format!("wrong-type 2:13 `skills[0]` needs a mapping of files after the source | {shape}")),
        ("{a: {}, b: {}}", format!("wrong-type 2:3 `skills[0]` must have exactly one key, the skill's source | {shape}")),
        ("{}", format!("wrong-type 2:3 `skills[0]` must have exactly one key, the skill's source | {shape}")),
        ("[a]", format!("wrong-type 2:3 `skills[0]` must be a source or `source: {{file: replacement}}`, not a list | {shape}")),
        ("''", "invalid-path 2:3 `skills[0]` is not a usable reference: the reference is empty | write a path or a pinned `https` URL".to_owned()),
        ("a: {x: ''}", "invalid-path 2:10 `skills[0].x` is empty | write `null` to remove the file, or the path of its replacement".to_owned()),
        ("a: {../x: b}", "skill-override 2:7 `skills[0]`: `../x` is not a path inside the skill | write a relative path without `..`".to_owned()),
        ("a: {/x: b}", "skill-override 2:7 `skills[0]`: `/x` is not a path inside the skill | write a relative path without `..`".to_owned()),
        ("a: {'': b}", "skill-override 2:7 `skills[0]`: `` is not a path inside the skill | write a relative path without `..`".to_owned()),
        ("a: {x/../y: b}", "skill-override 2:7 `skills[0]`: `x/../y` is not a path inside the skill | write a relative path without `..`".to_owned()),
        ("a: {\"x\\0\": b}", "skill-override 2:7 `skills[0]`: `x\\0` is not a path inside the skill | write a relative path without `..`".to_owned()),
        ("a: {x: [b]}", "wrong-type 2:10 `skills[0].x` must be text, not a list | write text".to_owned()),
    ] {
        assert_eq!(problems(&format!("skills:\n- {entry}\n")), [expected], "{entry}");
    }
}

#[test]
fn entries_need_their_required_keys_and_a_bad_value_is_not_a_missing_one() {
    for (text, expected) in [
        (
            "host_files: [{}]",
            vec![
                "1:14 `host_files[0]` has no `src` | add `src: …`",
                "1:14 `host_files[0]` has no `dest` | add `dest: …`",
            ],
        ),
        (
            "host_files: [{optional: true, src: a}]",
            vec!["1:15 `host_files[0]` has no `dest` | add `dest: …`"],
        ),
        ("host_files: [{src: a, dest: ''}]", vec!["1:15 `host_files[0]` has no `dest` | add `dest: …`"]),
        ("host_files: [{dest: /x, src: ~}]", vec!["1:15 `host_files[0]` has no `src` | add `src: …`"]),
        (
            "api_servers: [{port: 80}]",
            vec![
                "1:16 `api_servers[0]` has no `name` | add `name: …`",
                "1:16 `api_servers[0]` has no `script` | add `script: …`",
            ],
        ),
        ("validation_loop: {}", vec!["1:18 `validation_loop` has no `script` | add `script: …`"]),
        (
            "validation_loop: {schema: s.json}",
            vec!["1:19 `validation_loop` has no `script` | add `script: …`"],
        ),
        (
            "forge: {github: {validation_loop: {}}}",
            vec!["1:35 `forge.github.validation_loop` has no `script` | add `script: …`"],
        ),
    ] {
        let expected: Vec<String> = expected.iter().map(|line| format!("missing-key {line}")).collect();
        assert_eq!(problems(text), expected, "{text}");
    }
    assert_eq!(
        problems(
            "host_files:\n- {src: 'https://x.test/a', dest: /x}\n- {sorce: a, dest: /y}\n- {scr: a, dest: /y}\n"
        ),
        [
            "executable-url 2:9 `host_files[0].src` must be a local path, not a URL (`https://x.test/a`) | copy the file into the fullsend directory and name it by its path",
            "unknown-key 3:4 unknown key `sorce` in `host_files[1]` | remove it; known keys are src, dest, expand, optional",
            "missing-key 3:4 `host_files[1]` has no `src` | add `src: …`",
            "unknown-key 4:4 unknown key `scr` in `host_files[2]` | did you mean `src`?",
        ]
    );
}

#[test]
fn wrong_shapes_are_named() {
    for (text, expected) in [
        (
            "- a\n",
            "1:1 the document must be a mapping (`key: value` lines), not a list | write a mapping (`key: value` lines)",
        ),
        (
            "just text\n",
            "1:1 the document must be a mapping (`key: value` lines), not text | write a mapping (`key: value` lines)",
        ),
        ("skills: a\n", "1:9 `skills` must be a list, not text | write `[a]`, or `- a` on a line of its own"),
        (
            "skills: {a: b}\n",
            "1:9 `skills` must be a list, not a mapping | write each item on a line of its own, behind `- `",
        ),
        (
            "env: [A=1]\n",
            "1:6 `env` must be a mapping (`key: value` lines), not a list | write a mapping (`key: value` lines)",
        ),
        (
            "runner_env: [A=1]\n",
            "1:13 `runner_env` must be a mapping (`key: value` lines), not a list | write a mapping (`key: value` lines)",
        ),
        (
            "forge: github\n",
            "1:8 `forge` must be a mapping (`key: value` lines), not text | write a mapping (`key: value` lines)",
        ),
        ("description: [a]\n", "1:14 `description` must be text, not a list | write text"),
        ("env: {runner: {A: [b]}}\n", "1:19 `env.runner.A` must be text, not a list | write text"),
    ] {
        assert_eq!(problems(text), [format!("wrong-type {expected}")], "{text}");
    }
}
