//! `fullsend skills`: what is listed, what is wrong with it, exit codes.

use serde_json::{Value, json};

use crate::suite::running::Place;

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nHow.\n")
}

#[test]
fn the_usual_places_are_listed_and_the_first_wins() {
    let place = Place::new();
    let ran = place.run(&["skills", "ls"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", "0 skills\n"));
    place.write(".fullsend/skills/a/SKILL.md", skill("a", "Ours"));
    place.write(".agents/skills/a/SKILL.md", skill("a", "Theirs"));
    place.write(".claude/skills/b/SKILL.md", skill("b", "Another\ndisable-model-invocation: true"));
    place.write(".claude/skills/b/references/x.md", "x");
    let ran = place.run(&["skills", "ls"]);
    assert_eq!(
        ran.stdout,
        "a (0 resources)  .fullsend/skills/a/SKILL.md\n    Ours\n\
         b (1 resource, only by name)  .claude/skills/b/SKILL.md\n    Another\n"
    );
    let duplicate = "warning[duplicate-skill-name]: .agents/skills/a/SKILL.md: another";
    assert!(ran.stderr.starts_with(duplicate) && ran.stderr.ends_with("\n2 skills\n"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(0));
    let quiet = place.run(&["--quiet", "skills", "ls"]);
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (ran.stdout, ""));
}

#[test]
fn named_roots_are_listed_in_their_order() {
    let place = Place::new();
    place.write("one/x/SKILL.md", skill("x", "First"));
    place.write("two/x/SKILL.md", skill("x", "Second"));
    let roots = ["skills", "ls", "--skills-root", "two", "--skills-root", "one", "--format", "json"];
    let ran = place.run(&roots);
    let registry: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!((&registry["type"], &registry["version"]), (&json!("fullsend.skill-registry"), &json!(1)));
    assert_eq!(registry["roots"].as_array().unwrap().len(), 2);
    assert_eq!(registry["skills"][0]["description"], "Second");
    assert_eq!(registry["diagnostics"][0]["code"], "duplicate-skill-name");
    let ran = place.run(&["skills", "ls", "--skills-root", "none"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.starts_with("error: the skills root `none` is not a directory\n  help: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn hostile_names_cannot_steer_the_terminal() {
    let place = Place::new();
    place.write(".agents/skills/x/SKILL.md", skill("x", "\"red \\u001b[31m and \\u202e back\""));
    place.write(".agents/skills/\u{1b}[2J/SKILL.md", skill("y", "d"));
    let ran = place.run(&["skills", "ls"]);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(!all.contains(['\u{1b}', '\u{202e}']) && ran.stderr.contains("unusable-file-name"), "{all}");
}

#[test]
fn a_valid_skill_says_so_on_stderr_only() {
    let place = Place::new();
    place.write("my-skill/SKILL.md", skill("my-skill", "Does it"));
    for path in ["my-skill", "./my-skill/", "my-skill/SKILL.md"] {
        let ran = place.run(&["skills", "validate", path]);
        let expected = (Some(0), "", "checked 1 skill: no problems\n");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), expected, "{path}");
    }
    let inside =
        place.command(&["skills", "validate", "."]).current_dir(place.path().join("my-skill")).output();
    assert_eq!(inside.unwrap().status.code(), Some(0), "the name of `.` is that of the directory");
}

#[test]
fn problems_have_a_place_a_line_and_a_remedy() {
    let place = Place::new();
    place.write("s/SKILL.md", "---\nname: s\ndescription: Use when: x\n---\n");
    let ran = place.run(&["skills", "validate", "s"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), "checked 1 skill: 1 error\n"));
    for part in [
        "error[front-matter-yaml]: Invalid YAML in frontmatter: ",
        "s/SKILL.md:3:",
        "help: put the value in quotes",
    ] {
        assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
    }
}

#[test]
fn json_covers_every_directory() {
    let place = Place::new();
    place.write("good/SKILL.md", format!("\u{feff}{}", skill("good", "d")));
    place.write("bad/SKILL.md", "---\nname: Bad\ndescription: d\n---\n");
    let ran = place.run(&["skills", "validate", "good", "bad", "gone", "--format", "json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""));
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&document["errors"], &document["warnings"]), (&json!(3), &json!(1)));
    let skills = document["skills"].as_array().unwrap();
    let valid: Vec<_> = skills.iter().map(|skill| (&skill["path"], &skill["valid"])).collect();
    assert_eq!(
        valid,
        [(&json!("good"), &json!(true)), (&json!("bad"), &json!(false)), (&json!("gone"), &json!(false))]
    );
    let problem = &skills[1]["problems"][0];
    assert_eq!(
        (&problem["code"], &problem["message"], &problem["line"], &problem["column"]),
        (&json!("skill-name"), &json!("Skill name 'Bad' must be lowercase"), &json!(2), &json!(7))
    );
    assert_eq!(skills[2]["problems"][0]["message"], "Path does not exist: gone");
}

#[test]
fn nothing_to_validate_is_a_usage_error() {
    assert_eq!(Place::new().run(&["skills", "validate"]).code, Some(2));
    assert_eq!(Place::new().run(&["skills"]).code, Some(2));
}
