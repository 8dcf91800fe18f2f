//! Finding skills: order, precedence, limits, links.

use std::path::PathBuf;

use fullsend_skills::{Limits, Registry, SkillRoot};

use crate::suite::place::{Place, codes, names, skill_codes};

#[test]
fn skills_are_found_at_any_level_and_not_inside_each_other() {
    let place = Place::new();
    place.skill("b", "Does b");
    place.skill("group/deep/a", "Does a");
    place.write("skills/b/nested/SKILL.md", "---\nname: nested\ndescription: n\n---\n");
    for skipped in [".git", ".github", ".hub", ".archive", "node_modules"] {
        place.write(&format!("skills/{skipped}/x/SKILL.md"), "---\nname: x\ndescription: x\n---\n");
    }
    place.write("skills/..foo/SKILL.md", "---\nname: dots\ndescription: d\n---\n");
    place.write("skills/small/skill.md", "---\nname: small\ndescription: d\n---\n");
    let registry = place.scan();
    assert_eq!(names(&registry), ["b", "dots", "group/deep/a", "small"]);
    assert_eq!(codes(&registry), [""; 0]);
    let dots = registry.skill("dots").unwrap();
    assert_eq!(dots.sandbox_skill_path, PathBuf::from("/sandbox/skills/..foo/SKILL.md"));
    assert_eq!(dots.skill_dir, place.path("skills/..foo"));
    assert_eq!(registry.skill("b").unwrap().resources[0].path, "nested/SKILL.md");
}

#[test]
fn a_skill_file_in_the_root_makes_it_the_only_skill() {
    let place = Place::with_skill();
    place.write("skills/SKILL.md", "---\nname: skills\ndescription: d\n---\n");
    let registry = place.scan();
    assert_eq!(names(&registry), ["skills"]);
    assert_eq!(registry.skills()[0].sandbox_skill_path, PathBuf::from("/sandbox/skills/SKILL.md"));
    assert_eq!(registry.skills()[0].sandbox_skill_dir, PathBuf::from("/sandbox/skills"));
}

#[test]
fn the_first_root_wins_and_the_first_name_within_it() {
    let place = Place::new();
    for (directory, description) in [("one/x", "first"), ("two/x", "second"), ("two/y", "third")] {
        place.write(
            &format!("{directory}/SKILL.md"),
            format!("---\nname: x\ndescription: {description}\n---\n"),
        );
    }
    let scan = |roots: &[&str]| {
        let roots: Vec<SkillRoot> = roots.iter().map(|root| SkillRoot::same(place.path(root))).collect();
        let registry = Registry::scan(&roots, Limits::default());
        (registry.skills()[0].manifest.description.clone(), codes(&registry))
    };
    let duplicate = "duplicate-skill-name";
    assert_eq!(scan(&["one", "two"]), ("first".to_owned(), vec![duplicate, duplicate]));
    assert_eq!(scan(&["two", "one"]), ("second".to_owned(), vec![duplicate, duplicate]));
    place.link("three", "one");
    assert_eq!(
        scan(&["one", "three", "one"]),
        ("first".to_owned(), vec![]),
        "the same directory is no duplicate"
    );
    assert_eq!(scan(&["none", "one"]), ("first".to_owned(), vec!["unusable-skills-root"]));
}

#[test]
fn names_that_mean_the_same_are_the_same() {
    let place = Place::new();
    place.write("skills/abc/SKILL.md", "---\nname: abc\ndescription: plain\n---\n");
    place.write("skills/z/SKILL.md", "---\nname: ａｂｃ\ndescription: disguised\n---\n");
    let registry = place.scan();
    assert_eq!((names(&registry), codes(&registry)), (vec!["abc"], vec!["duplicate-skill-name"]));
    assert_eq!(registry.skill(" ａｂｃ ").unwrap().manifest.description, "plain");
}

#[test]
fn scans_have_limits() {
    let place = Place::new();
    place.skill("1/2/3/4/5/6", "deepest");
    place.skill("1/2/3/4/5/x/7", "too deep");
    let registry = place.scan();
    assert_eq!((names(&registry), codes(&registry)), (vec!["1/2/3/4/5/6"], vec!["max-depth-exceeded"]));

    let place = Place::new();
    for name in ["a", "b", "c", "d"] {
        place.skill(name, "d");
    }
    let root = [place.root()];
    let limited = |limits: Limits| {
        let registry = Registry::scan(&root, limits);
        (registry.skills().len(), codes(&registry))
    };
    let stopped = vec!["scan-limit-exceeded"];
    assert_eq!(limited(Limits { directories: 3, ..Limits::default() }), (2, stopped.clone()));
    assert_eq!(limited(Limits { directories: 5, ..Limits::default() }), (4, vec![]));
    assert_eq!(limited(Limits { names: 3, ..Limits::default() }), (0, stopped.clone()));
    assert_eq!(limited(Limits { skill_bytes: 100, ..Limits::default() }), (2, stopped));
}

#[test]
fn very_deep_trees_end() {
    let place = Place::with_skill();
    let deep = "d/".repeat(400);
    place.write(&format!("skills/{deep}SKILL.md"), "---\nname: deep\ndescription: d\n---\n");
    place.write(&format!("skills/a/{deep}file"), "x");
    let registry = place.scan();
    assert_eq!((names(&registry), codes(&registry)), (vec!["a"], vec!["max-depth-exceeded"]));
    assert_eq!(skill_codes(&registry, "a"), ["resource-max-depth-exceeded"]);
}

#[test]
fn links_are_followed_inside_the_root_only() {
    let place = Place::new();
    place.write("outside/evil/SKILL.md", "---\nname: evil\ndescription: d\n---\n");
    place.link("skills/a-out", place.path("outside"));
    place.link("skills/b-out", "../outside/evil");
    place.link("skills/c-gone", "nowhere");
    place.link("skills/d-loop", ".");
    place.link("skills/e-proc", "/proc/self/root");
    place.write("skills/store/v1/SKILL.md", "---\nname: f-in\ndescription: d\n---\n");
    place.link("skills/f-in", place.path("skills/store/v1"));
    let registry = place.scan();
    assert_eq!(names(&registry), ["f-in"]);
    let outside = "skill-scan-outside-root";
    assert_eq!(codes(&registry), [outside, outside, "unresolvable-skill-scan-path", outside]);
    let inside = registry.skill("f-in").unwrap();
    assert_eq!(inside.skill_dir, place.path("skills/store/v1"));
    assert_eq!(inside.sandbox_skill_dir, PathBuf::from("/sandbox/skills/store/v1"));
    assert_eq!(inside.diagnostics, [], "it is called like the link that leads to it");
}

#[test]
fn skill_files_that_lead_out_or_nowhere_are_left_out() {
    let place = Place::new();
    let secret = place.write("secret", "---\nname: s\ndescription: d\n---\nsecret");
    place.link("skills/a/SKILL.md", &secret);
    place.link("skills/b/SKILL.md", "../../secret");
    place.link("skills/c/SKILL.md", "gone");
    place.write("skills/d/SKILL.md", [0xff]);
    place.write("skills/e/SKILL.md", "# Nothing\n");
    place.skill("f", "from a neighbour");
    place.link("skills/g/SKILL.md", "../f/SKILL.md");
    let registry = place.scan();
    assert_eq!(names(&registry), ["f"]);
    assert_eq!(
        codes(&registry),
        [
            "skill-outside-root",
            "skill-outside-root",
            "unresolvable-skill-path",
            "skill-encoding",
            "missing-description",
            "skill-outside-root",
        ]
    );
}

#[test]
fn names_with_control_characters_are_left_out() {
    let place = Place::with_skill();
    place.write("skills/x\ny/SKILL.md", "---\nname: x\ndescription: d\n---\n");
    place.write("skills/a/x\ny", "x");
    let registry = place.scan();
    assert_eq!((names(&registry), codes(&registry)), (vec!["a"], vec!["unusable-file-name"]));
    assert_eq!(skill_codes(&registry, "a"), ["unusable-file-name"]);
    assert!(!registry.diagnostics()[0].detail.contains('\n'));
}

#[test]
fn unknown_names_are_all_listed() {
    let place = Place::with_skill();
    place.skill("b", "Does b");
    let registry = place.scan();
    let selected: Vec<_> =
        registry.select(&["b", "a", "b"]).unwrap().into_iter().map(|skill| skill.name().to_owned()).collect();
    assert_eq!(selected, ["b", "a"]);
    let error = registry.select(&["x", "a", "y"]).unwrap_err();
    assert_eq!(error.to_string(), "unknown skills: x, y; available: a, b");
}

#[test]
fn a_root_that_cannot_be_written_down_is_left_out_and_on_record() {
    use std::os::unix::ffi::OsStrExt as _;
    let place = Place::new();
    let odd = place.path("").join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    std::fs::create_dir_all(odd.join("x")).unwrap();
    std::fs::write(odd.join("x/SKILL.md"), "---\nname: x\ndescription: d\n---\n").unwrap();
    let registry = Registry::scan(&[SkillRoot::same(odd)], Limits::default());
    assert_eq!((names(&registry).len(), codes(&registry)), (0, vec!["unusable-skills-root"]));
    assert!(serde_json::to_string(&registry.record("now")).is_ok());
}

#[test]
fn every_rule_has_a_code_of_its_own_and_a_remedy() {
    let mut seen = std::collections::HashSet::new();
    for rule in fullsend_skills::rules::all() {
        assert!(
            seen.insert(rule.code) && !rule.remedy.is_empty() && !rule.summary.is_empty(),
            "{}",
            rule.code
        );
    }
}
