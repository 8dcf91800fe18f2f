//! The front door: version, help, wrong flags, completions, pipes that close, logging.

use std::process::Stdio;

use crate::suite::running::Place;

#[test]
fn version_is_one_line() {
    let ran = Place::new().run(&["--version"]);
    assert_eq!(
        (ran.code, ran.stdout, ran.stderr),
        (Some(0), format!("fullsend {}\n", env!("CARGO_PKG_VERSION")), String::new())
    );
}

#[test]
fn nothing_to_do_prints_help_and_is_a_usage_error() {
    let ran = Place::new().run(&[]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("Usage: fullsend"), "{}", ran.stderr);
}

#[test]
fn a_wrong_flag_is_a_usage_error_with_a_suggestion() {
    let ran = Place::new().run(&["harness", "lint", "--formt", "json"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("--format"), "{}", ran.stderr);
}

#[test]
fn completions_name_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = Place::new().run(&["completions", shell]);
        assert_eq!(ran.code, Some(0));
        assert!(ran.stdout.contains("harness"), "{shell}");
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let place = Place::new();
    let mut child =
        place.command(&["harness", "schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(141));
}

#[test]
fn a_full_disk_is_an_error() {
    let place = Place::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = place.command(&["harness", "schema"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: No space left"));
}

#[test]
fn logging_is_off_unless_asked_for_and_goes_to_stderr() {
    let place = Place::with_harness();
    let quiet = place.run(&["--quiet", "harness", "lint"]);
    assert_eq!((quiet.code, quiet.stdout.as_str(), quiet.stderr.as_str()), (Some(0), "", ""));
    let logged =
        place.command(&["--quiet", "harness", "lint"]).env("FULLSEND_LOG", "debug").output().unwrap();
    assert!(logged.stdout.is_empty());
    assert!(String::from_utf8(logged.stderr).unwrap().contains("code.yaml"));
    let wrong = place.command(&["harness", "lint"]).env("FULLSEND_LOG", "a=b=c").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(
        String::from_utf8(wrong.stderr)
            .unwrap()
            .starts_with("error: `FULLSEND_LOG` is not a log filter: `a=b=c`")
    );
}
