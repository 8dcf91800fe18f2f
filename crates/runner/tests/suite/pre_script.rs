//! What pre-scripts say.

use std::path::Path;

use fullsend_runner::pre_script::{Declared, LineProblem, PreScriptError, judge, parse, relay};
use fullsend_runner::script::{End, Ran};

fn ran(end: End, last_line: Option<&str>) -> Ran {
    Ran { end, output: String::new(), last_line: last_line.map(str::to_owned) }
}

fn problem(text: &str) -> (usize, LineProblem) {
    match parse(text.as_bytes()) {
        Err(PreScriptError::Line { line, problem }) => (line, problem),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn reads_pairs_and_the_last_one_counts() {
    let declared = parse(b"# note\n\nskipped = true\r\nreason=   padded   \nX=1\nX=a=b\n_y-z=\n").unwrap();
    assert_eq!((declared.skipped, declared.reason.as_deref()), (true, Some("padded")));
    let outputs: Vec<_> =
        declared.outputs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(outputs, [("X", "a=b"), ("_y-z", "")]);
    assert_eq!(parse(b"reason=shift left << 2").unwrap().reason.as_deref(), Some("shift left << 2"));
    assert!(!parse(b"skipped=true\nskipped=false").unwrap().skipped);
    assert_eq!(parse(b"").unwrap(), Declared::default());
}

#[test]
fn names_the_line_that_is_wrong() {
    let cases = [
        ("a=1\nno pair", (2, LineProblem::NotAPair)),
        ("\n1a=1", (2, LineProblem::Key)),
        ("=x", (1, LineProblem::Key)),
        ("a b=1", (1, LineProblem::Key)),
        ("Skipped=true", (1, LineProblem::Case("skipped"))),
        ("a=1\nb=2\nREASON=x", (3, LineProblem::Case("reason"))),
        ("body<<EOF\nx\nEOF", (1, LineProblem::Heredoc)),
        ("body<<E=F", (1, LineProblem::Heredoc)),
        ("a=x\u{7}y", (1, LineProblem::Control)),
        ("a=x\u{85}y", (1, LineProblem::Control)),
        ("skipped=", (1, LineProblem::Skipped)),
        ("skipped=TRUE", (1, LineProblem::Skipped)),
        ("skipped=1", (1, LineProblem::Skipped)),
    ];
    for (text, expected) in cases {
        assert_eq!(problem(text), expected, "{text:?}");
    }
    assert!(matches!(
        parse(b"a=\xff"),
        Err(PreScriptError::Line { line: 1, problem: LineProblem::Encoding })
    ));
}

#[test]
fn exit_code_78_skips_whatever_the_file_says() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("out");
    let long = format!("\u{1b}[31m{}", "é".repeat(2000));
    let cases: [(Option<&str>, Option<&str>, Option<&str>); 4] = [
        (Some("skipped=false\nreason=from file"), Some("printed"), Some("from file")),
        (Some("not a pair"), Some("  printed\u{7} "), Some("printed")),
        (None, None, None),
        (Some(""), Some("printed"), Some("printed")),
    ];
    for (content, printed, reason) in cases {
        let _there_or_not = std::fs::remove_file(&file);
        if let Some(content) = content {
            std::fs::write(&file, content).unwrap();
        }
        let declared = judge(&ran(End::Exited(78), printed), &file).unwrap();
        assert_eq!((declared.skipped, declared.reason.as_deref()), (true, reason), "{content:?}");
    }
    let reason = judge(&ran(End::Exited(78), Some(&long)), &file).unwrap().reason.unwrap();
    assert!(reason.len() <= 1024 && reason.starts_with("[31mé"), "{}", reason.len());
}

#[test]
fn every_other_end_is_a_failure_and_so_is_a_file_that_is_gone() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("out");
    std::fs::write(&file, "skipped=true").unwrap();
    for end in [End::Exited(1), End::Exited(77), End::Signal(9), End::TimedOut, End::Cancelled(15)] {
        assert!(matches!(judge(&ran(end, None), &file), Err(PreScriptError::Failed(_))), "{end:?}");
    }
    assert!(judge(&ran(End::Exited(0), None), &file).unwrap().skipped);
    std::fs::remove_file(&file).unwrap();
    assert!(matches!(judge(&ran(End::Exited(0), None), &file), Err(PreScriptError::Unreadable(_))));
    std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
    assert!(matches!(judge(&ran(End::Exited(0), None), &file), Err(PreScriptError::Unreadable(_))));
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(matches!(judge(&ran(End::Exited(0), None), &file), Err(PreScriptError::TooLarge)));
}

#[test]
fn the_workflow_is_told_in_order() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("github");
    std::fs::write(&path, "before=1\n").unwrap();
    relay(&parse(b"zeta=1\nalpha=2\nskipped=true\nreason=why").unwrap(), &path).unwrap();
    relay(&Declared::default(), &path).unwrap();
    let told = std::fs::read_to_string(&path).unwrap();
    assert_eq!(told, "before=1\nskipped=true\nalpha=2\nreason=why\nzeta=1\nskipped=false\n");
    let nowhere = relay(&Declared::default(), Path::new("/nonexistent/x")).unwrap_err();
    assert!(matches!(nowhere, PreScriptError::Relay { .. }));
}
