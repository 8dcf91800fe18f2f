//! Malformed harness files: each `tests/malformed/<name>.yaml` must give exactly `<name>.txt`.
//!
//! After a deliberate change run with `FULLSEND_UPDATE_EXPECTED=1` and read the difference.

use std::path::{Path, PathBuf};

use crate::suite::running::Place;

fn cases() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/malformed");
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    cases.sort();
    cases
}

fn place() -> Place {
    let place = Place::with_harness();
    place.write(
        ".fullsend/config.yaml",
        "allowed_remote_resources:\n  - https://example.com/\n  - https://github.com/o/\n",
    );
    place.write(".fullsend/other/s/SKILL.md", "---\nname: s\ndescription: Another\n---\nHow.\n");
    place.write(".fullsend/agents/my agent.md", "---\nname: x\ndescription: An agent\n---\nDo it.\n");
    place.write(".fullsend/profiles/p", "id: p\n");
    place
}

#[test]
fn every_malformed_harness_gets_its_place_and_a_fix() {
    let place = place();
    let mut wrong = Vec::new();
    for case in cases() {
        place.write(".fullsend/harness/case.yaml", std::fs::read(&case).unwrap());
        let ran = place.run(&["harness", "lint", ".fullsend/harness/case.yaml"]);
        let name = case.file_stem().unwrap().to_string_lossy().into_owned();
        assert_eq!(ran.code, Some(1), "{name}: {ran:?}");
        let problems = ran.stdout.matches("error[").count() + ran.stdout.matches("warning[").count();
        assert_eq!(
            ran.stdout.matches("help: ").count(),
            problems,
            "{name}: every problem has a fix:\n{}",
            ran.stdout
        );
        let places = ran.stdout.lines().filter(|line| is_place(line)).count();
        assert!(places >= problems, "{name}: every problem has a place:\n{}", ran.stdout);
        assert!(!ran.stdout.contains('\u{1b}'), "{name}: no control characters");
        let expected = case.with_extension("txt");
        if std::env::var_os("FULLSEND_UPDATE_EXPECTED").is_some() {
            std::fs::write(&expected, &ran.stdout).unwrap();
        } else if std::fs::read_to_string(&expected).ok().as_deref() != Some(&ran.stdout) {
            wrong.push(format!("{name}:\n{}", ran.stdout));
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "these differ from their .txt file");
}

/// `--> path:line:column`.
fn is_place(line: &str) -> bool {
    line.trim_start().strip_prefix("--> ").is_some_and(|place| {
        let mut parts = place.rsplit(':');
        parts.next().is_some_and(|column| column.parse::<u32>().is_ok())
            && parts.next().is_some_and(|line| line.parse::<u32>().is_ok())
    })
}

#[test]
fn there_are_enough_cases() {
    assert!(cases().len() >= 40);
}
