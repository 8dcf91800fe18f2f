//! Names and places of runs.

use std::os::unix::fs::PermissionsExt as _;

use fullsend_runner::run_dir::{RunDir, RunName};

#[test]
fn names_have_nineteen_characters_and_read_back() {
    for (agent, begins) in
        [("review", "fs-rev-"), ("Q", "fs-qxx-"), ("42-ü", "fs-xxx-"), ("a_b.c", "fs-abc-")]
    {
        let name = RunName::generate(agent);
        assert_eq!((name.as_str().len(), name.as_str().starts_with(begins)), (19, true), "{name}");
        assert_eq!(name.as_str().parse(), Ok(name.clone()));
        assert_ne!(RunName::generate(agent), name);
    }
    for wrong in [
        "",
        "fs-",
        "fs-rev-",
        "fs-rev-0123456789a",
        "fs-rev-0123456789AB",
        "fs-re-0123456789ab",
        "../x",
        "fs-rev-../../../etc",
    ] {
        assert!(wrong.parse::<RunName>().is_err(), "{wrong}");
    }
}

#[test]
fn a_run_directory_is_the_owners_and_never_taken_twice() {
    let base = tempfile::tempdir().unwrap();
    let name = RunName::generate("review");
    let run = RunDir::create(&base.path().join("new"), &name).unwrap();
    let iteration = run.create_iteration(1).unwrap();
    for path in [run.path(), &run.security(), &run.logs(), iteration.path(), &iteration.transcripts()] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{}", path.display());
    }
    let again = RunDir::create(&base.path().join("new"), &name).unwrap_err();
    assert!(again.to_string().contains(name.as_str()), "{again}");
}

#[test]
fn only_the_winners_repository_stays() {
    let base = tempfile::tempdir().unwrap();
    let run = RunDir::create(base.path(), &RunName::generate("x")).unwrap();
    for number in 1..=3 {
        std::fs::create_dir_all(run.iteration(number).repo()).unwrap();
        std::fs::write(run.iteration(number).path().join("changes.patch"), "x").unwrap();
    }
    run.keep_repo_of(4, Some(2)).unwrap();
    let left: Vec<bool> = (1..=3).map(|number| run.iteration(number).repo().exists()).collect();
    assert_eq!(left, [false, true, false]);
    assert!(run.iteration(1).changes().exists());
}
