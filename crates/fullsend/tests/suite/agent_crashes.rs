//! A run that is killed again and again comes to the same end as one that is left alone, and does nothing twice.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::suite::agent_place::{AgentPlace, document, finish, kill_group, send, wait_for};

const TURNS: usize = 200;
const KILLS: usize = 100;
/// Room for turns that are inserted after a call was interrupted.
const MOST_TURNS: &str = "2000";

#[test]
fn killed_a_hundred_times_it_comes_to_the_same_end() {
    let undisturbed = fresh_place();
    let ran = finish(undisturbed.exec(&["--max-model-turns", MOST_TURNS]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let expected = (undisturbed.files(), turns(&undisturbed.run()));
    assert_eq!(expected.1.len(), TURNS + 1);

    let mut chance = Chance::new();
    let mut kills = 0;
    while kills < KILLS {
        let place = fresh_place();
        let (run, killed) = run_with_kills(&place, KILLS - kills, &mut chance);
        kills += killed;
        same_files(&place.files(), &expected.0);
        same_turns(&turns(&run), &expected.1);
        each_part_is_reported(&run, killed);
    }
}

fn fresh_place() -> AgentPlace {
    let place = AgentPlace::new(&script());
    fs::write(place.workspace().join("edited"), "end\n").unwrap();
    place
}

/// Says only what differs.
fn same_files(found: &[(PathBuf, String)], expected: &[(PathBuf, String)]) {
    let names = |files: &[(PathBuf, String)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(found), names(expected));
    for ((name, found), (_, expected)) in found.iter().zip(expected) {
        assert_eq!(found, expected, "{}", name.display());
    }
}

/// Kills a run at most so often, goes on with it each time, and lets it come to its end.
fn run_with_kills(place: &AgentPlace, most: usize, chance: &mut Chance) -> (PathBuf, usize) {
    let mut run: Option<PathBuf> = None;
    let mut kills = 0;
    while kills < most {
        let command = next_process(place, run.as_deref());
        if !killed(place, command, chance) {
            break;
        }
        kills += 1;
        // Nobody acts before the prompt is on record; such a run is started again.
        run = place.runs().pop().filter(|run| journal(run).contains(r#""kind":"opened""#));
        if run.is_none() {
            for begun in place.runs() {
                fs::remove_dir_all(begun).unwrap();
            }
        }
    }
    if kills == most {
        let ran = finish(next_process(place, run.as_deref()));
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    (place.run(), kills)
}

fn next_process(place: &AgentPlace, run: Option<&Path>) -> Command {
    let limit = ["--max-model-turns", MOST_TURNS];
    match run {
        Some(run) => place.resume(run, &limit),
        None => place.exec(&limit),
    }
}

/// Starts a process and kills it: after so many bytes of the journal more, or a moment after its start. False when it was done before.
fn killed(place: &AgentPlace, mut command: Command, chance: &mut Chance) -> bool {
    let log = fs::File::create(place.beside("log")).unwrap();
    let length = || {
        let run = place.runs().pop();
        run.and_then(|run| fs::metadata(run.join("journal.jsonl")).ok()).map_or(0, |journal| journal.len())
    };
    // A dozen rows on average.
    let enough = length() + 1 + chance.below(10_000) as u64;
    let mut child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
    let goes_on = if chance.below(8) == 0 {
        std::thread::sleep(Duration::from_micros(chance.below(60_000) as u64));
        true
    } else {
        wait_for(&mut child, || length() >= enough)
    };
    std::thread::sleep(Duration::from_micros(chance.below(3_000) as u64));
    if goes_on && child.try_wait().unwrap().is_none() {
        // With and without help the sandbox must end.
        if chance.below(2) == 0 { kill_group(&child) } else { send(&child, Signal::KILL) }
    }
    let status = child.wait().unwrap();
    let log = || fs::read_to_string(place.beside("log")).unwrap();
    assert!(matches!(status.code(), None | Some(0)), "{status}: {}", log());
    status.code().is_none()
}

fn journal(run: &Path) -> String {
    String::from_utf8_lossy(&fs::read(run.join("journal.jsonl")).unwrap_or_default()).into_owned()
}

/// One answer: what was said, and each call with its result.
type Turn = (String, Vec<(Value, Value)>);

/// The answers of a transcript. Those that were inserted because a call was interrupted are left out.
fn turns(run: &Path) -> Vec<Turn> {
    let transcript = document(run, "transcript.json");
    let mut answers: Vec<Turn> = Vec::new();
    for message in transcript["messages"].as_array().unwrap() {
        match message["role"].as_str().unwrap() {
            "assistant" => {
                let calls = message["toolCalls"].as_array().cloned().unwrap_or_default();
                let calls = calls.into_iter().map(|call| (call, Value::Null)).collect();
                answers.push((message["content"].as_str().unwrap().to_owned(), calls));
            }
            "tool" => {
                let (_, calls) = answers.last_mut().unwrap();
                let asked = calls.iter_mut().find(|(call, _)| call["id"] == message["toolCallId"]).unwrap();
                assert_eq!(asked.1, Value::Null, "answered twice: {message}");
                asked.1 = serde_json::from_str(message["content"].as_str().unwrap()).unwrap();
                asked.1.as_object_mut().unwrap().remove("outputId");
            }
            _ => {}
        }
    }
    let mut after_interruption = false;
    answers.retain(|(_, calls)| {
        let inserted = after_interruption;
        after_interruption = calls.iter().any(|(_, result)| is_interrupted(result));
        !inserted
    });
    for (_, calls) in &mut answers {
        calls.iter_mut().for_each(|(call, _)| drop(call.as_object_mut().unwrap().remove("id")));
    }
    answers
}

fn is_interrupted(result: &Value) -> bool {
    result["type"] == "fullsend.interrupted"
}

fn same_turns(found: &[Turn], expected: &[Turn]) {
    assert_eq!(found.len(), expected.len());
    for (number, (found, expected)) in (1..).zip(found.iter().zip(expected)) {
        assert_eq!(found.0, expected.0, "turn {number}");
        assert_eq!(found.1.len(), expected.1.len(), "turn {number}");
        for ((call, result), (expected_call, expected_result)) in found.1.iter().zip(&expected.1) {
            assert_eq!(call, expected_call, "turn {number}");
            assert!(is_interrupted(result) || result == expected_result, "turn {number}: {result}");
        }
    }
}

fn each_part_is_reported(run: &Path, kills: usize) {
    let report = document(run, "run-report.json");
    assert_eq!(report["status"], "completed");
    let parts = report["parts"].as_array().unwrap();
    // Some were killed before they had begun.
    assert!(!parts.is_empty() && parts.len() <= kills + 1, "{} parts", parts.len());
    assert_eq!(
        parts.iter().filter(|part| part.get("status").is_some()).count(),
        1,
        "one part ended by itself"
    );
    let transcript = document(run, "transcript.json");
    let messages = transcript["messages"].as_array().unwrap();
    let answers = messages.iter().filter(|message| message["role"] == "assistant").count();
    assert_eq!(report["modelTurns"], answers);
    for reference in report["toolOutputs"].as_array().unwrap() {
        assert!(run.join(reference["artifactPath"].as_str().unwrap()).is_file(), "{reference}");
    }
}

/// Effects of every kind, each with a way to look before it is repeated.
fn script() -> Value {
    let mut turns: Vec<Value> = (1..=TURNS).map(turn).collect();
    turns.push(json!({"say": "Done."}));
    json!({ "turns": turns })
}

fn turn(number: usize) -> Value {
    let bash = |command: String| json!({"tool": "bash", "args": {"command": command}});
    let line = format!("turn {number}");
    let look_first = |file: &str| bash(format!("grep -qx '{line}' {file} || echo '{line}' >> {file}"));
    let say = format!("Step {number}.");
    let (calls, repair) = match number % 5 {
        0 => (vec![bash(format!("echo '{line}' >> log"))], vec![look_first("log")]),
        1 => {
            let args = json!({"path": "notes", "content": format!("{line}\n"), "mode": "append"});
            (vec![json!({"tool": "write_file", "args": args})], vec![look_first("notes")])
        }
        2 => {
            let path = format!("parts/{}/{number}.txt", number % 7);
            let args = json!({"path": path, "content": line, "mode": "create", "createParents": true});
            let parts =
                format!("[ -e {path} ] || {{ mkdir -p parts/{} && printf '{line}' > {path}; }}", number % 7);
            (
                vec![json!({"tool": "write_file", "args": args}), bash(format!("echo '{line}' >> log"))],
                vec![bash(parts), look_first("log")],
            )
        }
        3 => {
            let edits = json!([{"oldText": "end", "newText": format!("{line}\nend")}]);
            let edit = json!({"tool": "edit_file", "args": {"path": "edited", "edits": edits}});
            let repair = format!("grep -qx '{line}' edited || sed -i 's/^end$/{line}\\nend/' edited");
            (vec![edit], vec![bash(repair)])
        }
        _ => (
            vec![
                json!({"tool": "read_file", "args": {"path": "notes"}}),
                bash(format!("sleep 0.02; echo '{line}' >> log")),
            ],
            vec![look_first("log")],
        ),
    };
    json!({"say": say, "calls": calls, "when_interrupted": repair})
}

/// Numbers that look random and are the same for the same seed. The seed is told when the test fails.
pub(crate) struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    pub(crate) fn new() -> Self {
        let clock = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("FULLSEND_TEST_SEED").map_or_else(|_| clock(), |seed| seed.parse().unwrap());
        Self { seed, state: seed | 1 }
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state % limit as u64) as usize
    }
}

impl Drop for Chance {
    #[expect(clippy::print_stderr, reason = "whoever repeats the test needs the seed")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("repeat with FULLSEND_TEST_SEED={}", self.seed);
        }
    }
}
