//! Scripts of the harness on the host.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use fullsend_runner::script::{End, Program, Ran, Script, ScriptError, Stream, run};
use fullsend_runtimes::{Cancel, cancellation};

const LONG: Duration = Duration::from_secs(60);

fn env() -> BTreeMap<String, String> {
    BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned()), ("GIVEN".to_owned(), "yes".to_owned())])
}

async fn ran(program: Program<'_>, timeout: Duration, cancel: &Cancel) -> Result<Ran, ScriptError> {
    let env = env();
    let script = Script { program, directory: Path::new("/"), env: &env, timeout, cancel };
    run(&script, &mut |_, _| {}).await
}

fn script(directory: &Path, text: &str, mode: u32) -> PathBuf {
    let path = directory.join("it.sh");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Whether the process exists and is no zombie.
fn alive(pid: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !state.is_empty() && !state.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

async fn dies(pid: &str) -> bool {
    for _ in 0..500 {
        if !alive(pid) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

#[tokio::test]
async fn output_exit_code_and_environment_are_as_given() {
    let (_canceller, cancel) = cancellation();
    let env = env();
    let line = "echo one; echo two >&2; pwd; env | sort | tr '\\n' ' '; exit 7";
    let script = Script {
        program: Program::Shell(line),
        directory: Path::new("/usr"),
        env: &env,
        timeout: LONG,
        cancel: &cancel,
    };
    let mut heard = Vec::new();
    let ran = run(&script, &mut |stream, line| heard.push((stream, line.to_owned()))).await.unwrap();
    assert_eq!(ran.end, End::Exited(7));
    assert!(heard.contains(&(Stream::Stderr, "two".to_owned())), "{heard:?}");
    assert!(heard.contains(&(Stream::Stdout, "/usr".to_owned())), "{heard:?}");
    let variables = ran.last_line.unwrap();
    assert!(variables.contains("GIVEN=yes") && !variables.contains("CARGO"), "{variables}");
}

#[tokio::test]
async fn a_script_without_permission_is_read_by_what_its_first_line_names() {
    let (_canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    for (first, flags) in [("#!/bin/sh", ""), ("#! /bin/sh -e", "e"), ("#!/bin/sh\t-eu  ", "eu")] {
        let path = script(directory.path(), &format!("{first}\necho \"$0 $-\"\n"), 0o644);
        let ran = ran(Program::File(&path), LONG, &cancel).await.unwrap();
        let last = ran.last_line.unwrap();
        let (name, set) = last.rsplit_once(' ').unwrap();
        assert_eq!((ran.end, name), (End::Exited(0), path.to_str().unwrap()), "{first}");
        assert!(flags.chars().all(|flag| set.contains(flag)), "{first}: {set}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o644);
    }
    for text in ["", "#!", "#!   \n", "echo no first line\n", "#!/no/such/program\n"] {
        let path = script(directory.path(), text, 0o644);
        let refused = ran(Program::File(&path), LONG, &cancel).await.unwrap_err();
        assert!(matches!(refused, ScriptError::Start { .. }), "{text:?}: {refused}");
    }
}

/// The script would be done with tidying up before it is ended for taking too long.
#[tokio::test]
async fn somebody_in_a_hurry_does_not_wait_for_a_script_that_tidies_up() {
    let (canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    let mark = |name: &str| directory.path().join(name);
    let (begun, heard, tidied) = (mark("begun"), mark("heard"), mark("tidied"));
    let line = format!(
        "trap 'touch {}; for i in 1 2 3 4 5 6 7 8; do sleep 0.5; done; touch {}; exit 3' TERM; touch {}; while :; do sleep 0.05; done",
        heard.display(),
        tidied.display(),
        begun.display()
    );
    let running = tokio::spawn(async move { ran(Program::Shell(&line), LONG, &cancel).await });
    while !begun.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    canceller.cancel(2);
    while !heard.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    canceller.hurry();
    assert_eq!(running.await.unwrap().unwrap().end, End::Cancelled(2));
    assert!(!tidied.exists());
}

#[tokio::test]
async fn what_is_no_script_is_refused() {
    let (_canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    let refused = ran(Program::File(directory.path()), LONG, &cancel).await.unwrap_err();
    assert!(matches!(refused, ScriptError::NotAFile(_)), "{refused}");
    let binary = script(directory.path(), "\u{1}\u{2}", 0o755);
    for path in [directory.path().join("missing"), binary] {
        let refused = ran(Program::File(&path), LONG, &cancel).await.unwrap_err();
        assert!(matches!(refused, ScriptError::Start { .. }), "{refused}");
    }
}

#[tokio::test]
async fn a_script_that_takes_too_long_ends_with_its_children_however_stubborn() {
    let (_canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let line = format!(
        "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > {}; sleep 600 & wait' & sleep 600",
        pid.display()
    );
    let ran = ran(Program::Shell(&line), Duration::from_secs(1), &cancel).await.unwrap();
    assert_eq!(ran.end, End::TimedOut);
    assert!(dies(&std::fs::read_to_string(pid).unwrap()).await);
}

#[tokio::test]
async fn cancelling_lets_a_script_tidy_up_and_ends_it() {
    let (canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    let (begun, tidy) = (directory.path().join("begun"), directory.path().join("tidy"));
    let line = format!(
        "trap 'touch {}; exit 3' TERM; touch {}; while :; do sleep 0.05; done",
        tidy.display(),
        begun.display()
    );
    let running = tokio::spawn(async move { ran(Program::Shell(&line), LONG, &cancel).await });
    while !begun.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    canceller.cancel(15);
    assert_eq!(running.await.unwrap().unwrap().end, End::Cancelled(15));
    assert!(tidy.exists());
}

#[tokio::test]
async fn what_a_script_leaves_in_the_background_ends_with_it() {
    let (_canceller, cancel) = cancellation();
    let ran = ran(Program::Shell("sleep 600 & echo $!"), LONG, &cancel).await.unwrap();
    assert_eq!(ran.end, End::Exited(0));
    assert!(dies(&ran.last_line.unwrap()).await);
}

#[tokio::test]
async fn dropping_the_future_ends_the_script() {
    let (_canceller, cancel) = cancellation();
    let directory = tempfile::tempdir().unwrap();
    let pid = directory.path().join("pid");
    let line = format!("echo $$ > {0}.new; mv {0}.new {0}; sleep 600", pid.display());
    let running = tokio::spawn(async move { ran(Program::Shell(&line), LONG, &cancel).await });
    while !pid.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    assert!(running.await.unwrap_err().is_cancelled());
    assert!(dies(&std::fs::read_to_string(pid).unwrap()).await);
}

#[tokio::test]
async fn endless_lines_and_endless_output_take_bounded_memory() {
    let (_canceller, cancel) = cancellation();
    let line =
        "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; yes line | head -c 1000000; echo last";
    let ran = ran(Program::Shell(line), LONG, &cancel).await.unwrap();
    assert!(ran.output.len() < 200_000, "{}", ran.output.len());
    assert!(ran.output.starts_with("first\n") && ran.output.ends_with("last\n"));
    assert!(ran.output.contains("bytes left out"));
}
