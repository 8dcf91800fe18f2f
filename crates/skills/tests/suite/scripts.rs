//! Preparing scripts: order of checks, programs, exchanged files.

use fullsend_skills::{
    AllowedScript, ExecutionTarget, PreparedScript, Registry, ScriptErrorCode, ScriptRefusal, ScriptRequest,
};

use crate::suite::place::{Place, set};

fn request<'a>(path: &'a str, args: &'a [String]) -> ScriptRequest<'a> {
    ScriptRequest { skill: "a", path, args, run_id: "run-1", target: ExecutionTarget::Sandbox }
}

fn allowed(specs: &[&str]) -> Vec<AllowedScript> {
    specs.iter().map(|spec| spec.parse().unwrap()).collect()
}

fn prepare(registry: &Registry, path: &str, args: &[String]) -> Result<PreparedScript, ScriptRefusal> {
    registry.script(&request(path, args), &set(&["a"]), &allowed(&["a:scripts/run"]))
}

/// What comes of a script with this text.
fn prepared(text: impl AsRef<[u8]>) -> Result<PreparedScript, ScriptRefusal> {
    let place = Place::with_skill();
    place.write("skills/a/scripts/run", text);
    prepare(&place.scan(), "scripts/run", &["one".to_owned(), "-- two".to_owned()])
}

fn argv(text: &str) -> Vec<String> {
    prepared(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}")).argv
}

#[test]
fn a_script_is_its_bytes_its_program_and_its_variables() {
    let text = "#!/bin/bash\necho $1\n";
    let script = prepared(text).unwrap();
    assert_eq!(script.argv, ["bash", "-s", "--", "one", "-- two"]);
    assert_eq!(script.stdin, text.as_bytes());
    let variables: Vec<_> = script.environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(
        variables,
        [
            ("FULLSEND_RUN_ID", "run-1"),
            ("SKILL_NAME", "a"),
            ("SKILL_DIR", "/sandbox/skills/a"),
            ("SKILL_SCRIPT", "/sandbox/skills/a/scripts/run"),
            ("FULLSEND_SKILL_SCRIPT_EXECUTION_TARGET", "sandbox"),
        ]
    );
}

#[test]
fn on_the_host_the_variables_name_places_of_the_host() {
    let place = Place::with_skill();
    place.write("skills/a/scripts/run", "#!/bin/sh\n");
    let request = ScriptRequest { target: ExecutionTarget::Host, ..request("scripts/run", &[]) };
    let script = place.scan().script(&request, &set(&["a"]), &allowed(&["a:scripts/run"])).unwrap();
    assert_eq!(script.environment[2].1, place.path("skills/a").to_str().unwrap());
    assert_eq!(script.environment[4].1, "host");
}

#[test]
fn programs_are_started_without_what_the_script_could_smuggle_in() {
    let cases: &[(&str, &[&str])] = &[
        ("#!/usr/bin/env bash\n", &["bash", "-s", "--"]),
        ("#!/usr/bin/bash\n", &["bash", "-s", "--"]),
        ("#!/bin/sh\n", &["sh", "-s", "--"]),
        ("#!/usr/bin/env python3\nimport json\n", &["python3", "-I", "-"]),
        ("#!/usr/bin/env -S deno run --allow-net -A\n", &["deno", "run", "--allow-net", "-A", "-"]),
        ("#!/usr/bin/env -S deno run extra.ts - --\n", &["deno", "run", "-"]),
    ];
    for (text, expected) in cases {
        let found = argv(text);
        assert_eq!(found[..found.len() - 2], **expected, "{text}");
    }
    for refused in [
        "#!/bin/bash -e\n",
        "#!/usr/bin/env -S bash -c x\n",
        "#!/opt/evil/bash\n",
        "#!./bash\n",
        "#!/usr/bin/env node\n",
        "#!/usr/bin/env deno\n",
        "#!\n",
        "echo no first line\n",
        "",
    ] {
        assert_eq!(prepared(refused).unwrap_err().code, ScriptErrorCode::UnsupportedRuntime, "{refused}");
    }
    let not_text = prepared(b"#!/bin/bash\n\xff\n").unwrap_err();
    assert_eq!(not_text.code, ScriptErrorCode::UnsupportedRuntime);
}

#[test]
fn scripts_that_load_their_neighbours_are_refused() {
    let deno = "#!/usr/bin/env -S deno run\n";
    let cases: &[(&str, &str, bool)] = &[
        (deno, "import './helper.ts'", false),
        (deno, "import { a } from \"../helper.ts\"", false),
        (deno, "export * from './x.ts'", false),
        (deno, "const x = await import ( `./x.ts` )", false),
        (deno, "import x from '.'", false),
        (deno, "import x from '..'", false),
        (deno, "import { a } from 'npm:left-pad'; const p = './x'", true),
        (deno, "import x from './'", false),
        (deno, "console.log('.hidden', \"...\")", true),
        ("#!/bin/bash\n", "source ./helper.sh", false),
        ("#!/bin/bash\n", ". helper.sh", false),
        ("#!/bin/bash\n", "  set -e; source \"../x.sh\"", false),
        ("#!/bin/sh\n", "if true; then . ./x; fi", false),
        ("#!/bin/bash\n", "source \"$SKILL_DIR/lib.sh\"", true),
        ("#!/bin/bash\n", ". /etc/os-release", true),
        ("#!/bin/bash\n", "echo source ./x # . ./y", true),
        ("#!/bin/bash\n", "find . -name x", true),
        ("#!/usr/bin/python3\n", "from .helper import x", false),
        ("#!/usr/bin/python3\n", "from os import path", true),
    ];
    for (first, line, fine) in cases {
        let result = prepared(format!("{first}{line}\n"));
        let found = result.map(|_| ()).map_err(|refusal| refusal.code);
        assert_eq!(found, if *fine { Ok(()) } else { Err(ScriptErrorCode::UnsupportedRuntime) }, "{line}");
    }
}

#[test]
fn checks_come_in_order() {
    let place = Place::with_skill();
    place.skill("b", "Does b");
    place.write("skills/a/scripts/run", "#!/bin/bash\n");
    place.write("skills/a/scripts/other", "#!/bin/bash\n");
    place.write("skills/a/run", "#!/bin/bash\n");
    let registry = place.scan();
    let none: &[&str] = &[];
    let check = |skill: &str, path: &str, activated: &[&str], specs: &[&str]| {
        let request = ScriptRequest { skill, ..request(path, &[]) };
        registry
            .script(&request, &set(activated), &allowed(specs))
            .map(|_| ())
            .map_err(|refusal| refusal.code)
    };
    assert_eq!(check("x", "../run", none, none), Err(ScriptErrorCode::ScriptPathInvalid));
    assert_eq!(check("x", "scripts/run", none, none), Err(ScriptErrorCode::SkillActivationsMissing));
    assert_eq!(check("x", "scripts/run", &["b"], none), Err(ScriptErrorCode::SkillNotFound));
    assert_eq!(check("a", "scripts/run", &["b"], none), Err(ScriptErrorCode::SkillNotActivated));
    assert_eq!(check("a", "scripts/run", &["a"], none), Err(ScriptErrorCode::ScriptNotAllowlisted));
    assert_eq!(
        check("a", "scripts/run", &["a"], &["b:scripts/run"]),
        Err(ScriptErrorCode::ScriptNotAllowlisted)
    );
    assert_eq!(
        check("a", "scripts/other", &["a"], &["a:scripts/run"]),
        Err(ScriptErrorCode::ScriptNotAllowlisted)
    );
    assert_eq!(check("a", "run", &["a"], &["a:scripts/run"]), Err(ScriptErrorCode::ScriptNotAllowlisted));
    assert_eq!(check("a", "scripts/no", &["a"], &["a:scripts/no"]), Err(ScriptErrorCode::ScriptNotIndexed));
    assert_eq!(check("a", "./scripts//run", &["a"], &["a:scripts/run"]), Ok(()));
    let nul = [String::from("a\0b")];
    let refused = registry.script(&request("scripts/run", &nul), &set(&["a"]), &allowed(&["a:scripts/run"]));
    assert_eq!(refused.unwrap_err().code, ScriptErrorCode::ScriptPathInvalid);
}

#[test]
fn a_script_that_has_changed_is_not_run() {
    type Attack = fn(&Place);
    let cases: [(Attack, ScriptErrorCode); 6] = [
        (
            |place| drop(place.write("skills/a/scripts/run", "#!/bin/sh\nrm\n")),
            ScriptErrorCode::ScriptSnapshotMismatch,
        ),
        (
            |place| drop(place.write("skills/a/scripts/run", "#!/bin/sh\nok\nrm\n")),
            ScriptErrorCode::ScriptSnapshotMismatch,
        ),
        (|place| drop(place.write("skills/a/scripts/run", "")), ScriptErrorCode::ScriptSnapshotMismatch),
        (
            |place| {
                std::fs::remove_file(place.path("skills/a/scripts/run")).unwrap();
                place.link("skills/a/scripts/run", place.path("same"));
            },
            ScriptErrorCode::ScriptOutsideRoot,
        ),
        (
            |place| std::fs::remove_file(place.path("skills/a/scripts/run")).unwrap(),
            ScriptErrorCode::ScriptNotFound,
        ),
        (
            |place| {
                std::fs::remove_file(place.path("skills/a/scripts/run")).unwrap();
                std::fs::create_dir(place.path("skills/a/scripts/run")).unwrap();
            },
            ScriptErrorCode::ScriptNotFile,
        ),
    ];
    for (number, (attack, expected)) in cases.into_iter().enumerate() {
        let place = Place::with_skill();
        place.write("skills/a/scripts/run", "#!/bin/sh\nok\n");
        place.write("same", "#!/bin/sh\nok\n");
        let registry = place.scan();
        attack(&place);
        assert_eq!(prepare(&registry, "scripts/run", &[]).unwrap_err().code, expected, "attack {number}");
    }
}

#[test]
fn scripts_are_allowed_one_by_one() {
    for refused in [
        "a",
        ":x",
        "a:",
        "A:scripts/x",
        "a:x.sh",
        "a:scripts",
        "a:../scripts/x",
        "a:/scripts/x",
        "a b:scripts/x",
        "",
    ] {
        assert!(refused.parse::<AllowedScript>().is_err(), "{refused}");
    }
    let script: AllowedScript = "a:scripts/./b.sh".parse().unwrap();
    assert_eq!(
        (script.skill(), script.path(), script.to_string().as_str()),
        ("a", "scripts/b.sh", "a:scripts/b.sh")
    );
    let written = serde_json::to_string(&script).unwrap();
    assert_eq!(written, r#"{"skill":"a","path":"scripts/b.sh"}"#);
    assert_eq!(serde_json::from_str::<AllowedScript>(&written).unwrap(), script);
    assert!(serde_json::from_str::<AllowedScript>(r#"{"skill":"a","path":"../x"}"#).is_err());
}
