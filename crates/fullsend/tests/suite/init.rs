//! `fullsend init`.

use crate::suite::running::Place;

const FILES: &str = "./.fullsend/.gitignore\n./.fullsend/config.yaml\n./.fullsend/harness/hello.yaml\n\
                     ./.fullsend/agents/hello.md\n./.fullsend/skills/greeting/SKILL.md\n";

#[test]
fn what_init_writes_lints_clean() {
    let place = Place::new();
    let ran = place.run(&["init"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), FILES));
    let lint = place.run(&["harness", "lint", "--deny-warnings"]);
    assert_eq!((lint.code, lint.stderr.as_str()), (Some(0), "checked 1 harness file: no problems\n"));
    let ignored = std::fs::read_to_string(place.path().join(".fullsend/.gitignore")).unwrap();
    assert!(ignored.lines().any(|line| line == ".fullsend-cache/"));
    let left: Vec<_> =
        std::fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".fullsend"]);
}

#[test]
fn what_is_there_is_never_changed() {
    let place = Place::new();
    place.write(".fullsend/config.yaml", "mine\n");
    let ran = place.run(&["init"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        ran.stderr,
        "error: `./.fullsend` exists already; nothing was changed\n  help: edit the files in it, or remove it to start again\n"
    );
    assert_eq!(std::fs::read_to_string(place.path().join(".fullsend/config.yaml")).unwrap(), "mine\n");
}

#[test]
fn a_dangling_link_is_not_followed() {
    let place = Place::new();
    std::os::unix::fs::symlink("/nonexistent/elsewhere", place.path().join(".fullsend")).unwrap();
    assert_eq!(place.run(&["init"]).code, Some(2));
}

#[test]
fn another_directory_can_be_named_and_must_exist() {
    let place = Place::new();
    std::fs::create_dir(place.path().join("repo")).unwrap();
    assert_eq!(place.run(&["init", "repo"]).code, Some(0));
    assert!(place.path().join("repo/.fullsend/harness/hello.yaml").is_file());
    let ran = place.run(&["init", "nowhere"]);
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: `nowhere` is not a directory\n  help: create it first, or name another directory\n"
    );
}
