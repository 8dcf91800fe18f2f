//! Runs of the past, whole, damaged and hostile.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;

use fullsend_guard::hook::{Action, Recorded};
use fullsend_guard::log::{CHANNEL_MISUSE, FindingsLog, Phase, TraceId};
use fullsend_guard::{Checks, Finding, SystemClock};
use fullsend_runner::event_log::EventLog;
use fullsend_runner::report::{Report, ReportFile, State};
use fullsend_runner::run_dir::{RunDir, RunName};
use fullsend_runner::runs::{list, show};
use fullsend_runner::{Event, Step};
use fullsend_runtimes::{RuntimeEvent, TokenUsage};

fn make(base: &Path) -> RunDir {
    let name = RunName::generate("review");
    let run = RunDir::create(base, &name).unwrap();
    let (checks, clock) = (Checks::default(), Arc::new(SystemClock));
    let log = FindingsLog::create(&run.findings(), TraceId::generate(), clock.clone()).unwrap();
    let finding = Finding::new(&CHANNEL_MISUSE, None, "x");
    log.append(Phase::HostInput, &Recorded { finding, action: Action::Warn }).unwrap();
    let mut report = ReportFile::create(
        &run.report(),
        Report::new(name.as_str(), "review", "t", "w"),
        &checks,
        clock.clone(),
    )
    .unwrap();
    report.update(|report| report.findings.log_head = Some(log.seal().unwrap()));
    report.finish(State::Success, 0, None).unwrap();
    let mut events = EventLog::create(&run.events(), &checks, clock).unwrap();
    events.write(&Event::StepBegan { step: Step::Agent, iteration: Some(2) }).unwrap();
    for event in [
        RuntimeEvent::ToolUse { id: None, name: "Bash".to_owned(), summary: "ls".to_owned() },
        RuntimeEvent::Result {
            num_turns: 2,
            total_cost_usd: 0.25,
            is_error: false,
            message: String::new(),
            subtype: "success".to_owned(),
            usage: TokenUsage::default(),
        },
    ] {
        events.write(&Event::Runtime { iteration: 2, event }).unwrap();
    }
    run
}

#[test]
fn a_whole_run_tells_its_story() {
    let base = tempfile::tempdir().unwrap();
    let run = make(base.path());
    let runs = list(base.path()).unwrap().unwrap();
    assert_eq!(
        (runs.len(), runs[0].state.as_str(), runs[0].agent.as_deref()),
        (1, "success", Some("review"))
    );
    let shown = show(run.path()).unwrap();
    let told: Vec<(&str, &str)> =
        shown.timeline.iter().map(|moment| (moment.kind, moment.text.as_str())).collect();
    assert_eq!(
        told,
        [
            ("step", "agent (iteration 2) …"),
            ("tool", "Bash ls"),
            ("runtime", "ends after 2 turns, $0.25: success")
        ]
    );
    assert_eq!((shown.findings_log.as_str(), shown.problems.len()), ("whole, 1 entries", 0));
}

#[test]
fn a_findings_log_that_was_written_anew_does_not_fit_the_report() {
    let base = tempfile::tempdir().unwrap();
    let run = make(base.path());
    fs::remove_file(run.findings()).unwrap();
    let other = FindingsLog::create(&run.findings(), TraceId::generate(), Arc::new(SystemClock)).unwrap();
    other.seal().unwrap();
    assert!(show(run.path()).unwrap().findings_log.starts_with("changed"));
}

#[test]
fn damage_and_malice_are_told_and_never_followed() {
    let base = tempfile::tempdir().unwrap();
    let deep = "[".repeat(100_000);
    for content in [
        "",
        "{",
        "[]",
        "null",
        "\u{0}\u{1}",
        deep.as_str(),
        "{\"state\": 7, \"metrics\": [], \"findings\": {\"total\": -1}}",
    ] {
        let run = make(base.path());
        for file in [run.report(), run.events(), run.findings()] {
            fs::write(file, content).unwrap();
        }
        let shown = show(run.path()).unwrap();
        assert_eq!((shown.summary.state.as_str(), shown.timeline.len()), ("unknown", 0), "{content:.20}");
        fs::remove_dir_all(run.path()).unwrap();
    }
    let secret = base.path().join("secret");
    fs::write(&secret, "{\"state\": \"success\", \"agent\": \"stolen\"}").unwrap();
    let run = make(base.path());
    for file in [run.report(), run.events(), run.findings()] {
        fs::remove_file(&file).unwrap();
        symlink(&secret, &file).unwrap();
    }
    let shown = show(run.path()).unwrap();
    assert_eq!((shown.report, shown.summary.agent, shown.problems.len()), (None, None, 2));
    assert_eq!(shown.findings_log, "not a file");
    let linked = base.path().join("fs-abc-0123456789ab");
    symlink(run.path(), &linked).unwrap();
    assert!(show(&linked).is_err());
    assert_eq!(list(base.path()).unwrap().unwrap().len(), 1);
    assert_eq!(list(&base.path().join("missing")).unwrap(), None);
    assert!(show(&base.path().join("missing")).is_err());
}

#[test]
fn an_unfinished_line_is_no_more_than_that() {
    let base = tempfile::tempdir().unwrap();
    let run = make(base.path());
    let mut bytes = fs::read(run.events()).unwrap();
    bytes.truncate(bytes.len() - 10);
    fs::write(run.events(), bytes).unwrap();
    let shown = show(run.path()).unwrap();
    assert_eq!((shown.timeline.len(), shown.problems.len()), (2, 1));
}
