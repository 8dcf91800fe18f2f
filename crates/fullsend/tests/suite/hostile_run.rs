//! Runs of the agent with a model that means harm, and what is true of every one of them, whatever was tried: it ends by
//! itself with exit code 0 or 1, the record is complete, no process is left, memory stays small, and the key of the gateway
//! is nowhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fullsend_testkit::declare_skip;
use fullsend_testkit::gateway::ScriptedGateway;
use serde_json::{Value, json};

use crate::suite::running::{Place, Ran};

/// The key of the gateway; it must not be found anywhere.
pub(crate) const CANARY: &str = "canary-7f3a9e51-of-the-gateway";
/// The most memory of the process itself, in KiB.
const MOST_MEMORY: u64 = 200 * 1024;

/// A workspace, with things around it that are none of the agent's business.
pub(crate) struct Target {
    pub(crate) place: Place,
}

/// A run that has ended, and has been found to be sound.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) ran: Ran,
    /// Where it is kept.
    pub(crate) directory: PathBuf,
    /// Its journal.
    pub(crate) rows: Vec<Value>,
}

impl Target {
    /// A workspace with a README; the host's home beside it has a secret. Nothing if there are no sandboxes here.
    pub(crate) fn new(test: &str) -> Option<Self> {
        let place = Place::new();
        place.write("ws/README.md", "A workspace.\n");
        place.write("home/secret.txt", "the-secret-of-the-host\n");
        let tried = place.run(&["sandbox", "exec", "--", "true"]);
        if tried.code != Some(0) {
            declare_skip(test, &format!("no sandbox can be made here: {}", tried.stderr));
            return None;
        }
        Some(Self { place })
    }

    /// The workspace on the host.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.place.path().join("ws")
    }

    /// A file of the host that no tool may read.
    pub(crate) fn secret(&self) -> PathBuf {
        self.place.path().join("home/secret.txt")
    }

    /// Runs a script of turns.
    pub(crate) fn play(&self, turns: &Value, options: &[&str]) -> Ended {
        // JSON is YAML once nothing in it needs to be escaped.
        let escaped = |letter: char| match letter.is_ascii() {
            true => letter.to_string(),
            false => format!("\\u{:04x}", u32::from(letter)),
        };
        let script: String = json!({"turns": turns}).to_string().chars().map(escaped).collect();
        self.place.write("model.yaml", script);
        self.run(&[&["--replay", "model.yaml"], options].concat())
    }

    /// Makes the calls one after the other, each in a turn of its own, and returns their results.
    pub(crate) fn results_of(&self, calls: &[Value]) -> Vec<Value> {
        let mut turns: Vec<Value> = calls.iter().map(|call| json!({"calls": [call]})).collect();
        turns.push(json!({"say": "done"}));
        let ended = self.play(&turns.into(), &["--max-model-turns", "1000"]);
        assert_eq!(ended.ran.code, Some(0), "{:?}", ended.ran);
        let results = ended.results();
        assert_eq!(results.len(), calls.len());
        results
    }

    /// Runs with a gateway.
    pub(crate) fn ask(&self, gateway: &ScriptedGateway, options: &[&str]) -> Ended {
        let url = gateway.url();
        let model = ["--model", "m", "--gateway-base-url", &url, "--gateway-auth-mode", "none"];
        self.run(&[&model, options].concat())
    }

    fn run(&self, options: &[&str]) -> Ended {
        let usual = ["exec", "--workspace", "ws", "--prompt", "go"];
        let mut command = self.place.command(&[&usual, options].concat());
        command.env("FULLSEND_API_KEY", CANARY).env("HOME", self.place.path().join("home"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let ended = AtomicBool::new(false);
        let (output, peak) = thread::scope(|scope| {
            let peak = scope.spawn(|| peak_memory(&status, &ended));
            let output = child.wait_with_output().unwrap();
            ended.store(true, Ordering::Relaxed);
            (output, peak.join().unwrap())
        });
        let ran = Ran::from(output);
        assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
        assert!(peak > 0 && peak < MOST_MEMORY, "{peak} KiB");
        self.nothing_is_left();
        self.sound(ran)
    }

    /// Every process of a sandbox has the workspace mounted.
    fn nothing_is_left(&self) {
        let name = self.place.path().file_name().unwrap().to_str().unwrap();
        let patience = Instant::now() + Duration::from_secs(20);
        loop {
            let left: Vec<String> = processes_with(name);
            if left.is_empty() {
                return;
            }
            // The kernel takes its time to end a namespace; what stays, stays.
            assert!(Instant::now() < patience, "still running: {left:?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// Reads the record of the newest run, and finds it complete.
    fn sound(&self, ran: Ran) -> Ended {
        let root = self.workspace().join(".fullsend-artifacts");
        let runs = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
        let mut runs: Vec<PathBuf> = runs.filter(|path| path.is_dir()).collect();
        runs.sort();
        let directory = runs.pop().unwrap_or_else(|| panic!("no run is on record: {ran:?}"));
        for name in ["run-report", "run-state", "transcript", "policy-trace", "artifacts"] {
            let text = fs::read(directory.join(format!("{name}.json"))).unwrap();
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert!(value.is_object() || value.is_array(), "{name}");
        }
        let journal = fs::read_to_string(directory.join("journal.jsonl")).unwrap();
        let rows: Vec<Value> = journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.last().unwrap()["kind"], "ended");
        answered_once(&rows);
        assert!(!ran.stdout.contains(CANARY) && !ran.stderr.contains(CANARY));
        no_file_has_the_canary(&root);
        Ended { ran, directory, rows }
    }
}

impl Ended {
    fn messages(&self, role: &str) -> Vec<&Value> {
        let messages = self.rows.iter().filter(|row| row["kind"] == "message").map(|row| &row["message"]);
        messages.filter(|message| message["role"] == role).collect()
    }

    /// What the model was answered, in order.
    pub(crate) fn results(&self) -> Vec<Value> {
        let parsed = |message: &&Value| serde_json::from_str(message["content"].as_str().unwrap()).unwrap();
        self.messages("tool").iter().map(parsed).collect()
    }

    /// How often the model has answered.
    pub(crate) fn turns(&self) -> usize {
        self.messages("assistant").len()
    }

    /// Why it ended.
    pub(crate) fn reason(&self) -> &str {
        self.rows.last().unwrap()["terminalReason"].as_str().unwrap()
    }

    /// The rows of one kind.
    pub(crate) fn rows_of(&self, kind: &str) -> Vec<&Value> {
        self.rows.iter().filter(|row| row["kind"] == kind).collect()
    }
}

/// A call for a script.
pub(crate) fn call(tool: &str, args: &Value) -> Value {
    json!({"tool": tool, "args": args})
}

/// A call of bash.
pub(crate) fn bash(command: &str) -> Value {
    call("bash", &json!({"command": command}))
}

/// The high-water mark of a process, read until it has ended.
fn peak_memory(status: &str, ended: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !ended.load(Ordering::Relaxed) {
        let text = fs::read_to_string(status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let now = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        peak = peak.max(now.unwrap_or_default());
        thread::sleep(Duration::from_millis(2));
    }
    peak
}

fn processes_with(name: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let numbered = entries.filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok());
    let here = |path: &Path| fs::read_to_string(path.join("mountinfo")).is_ok_and(|text| text.contains(name));
    let found = numbered.map(|entry| entry.path()).filter(|path| here(path));
    found.map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default()).collect()
}

/// Every call has one result, and whatever was started has ended.
fn answered_once(rows: &[Value]) {
    let mut answers: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["kind"] == "message") {
        for call in row["message"]["toolCalls"].as_array().into_iter().flatten() {
            answers.insert(call["id"].as_str().unwrap().to_owned(), 0);
        }
        if let Some(id) = row["message"]["toolCallId"].as_str() {
            *answers.get_mut(id).unwrap() += 1;
        }
    }
    assert!(answers.values().all(|count| *count == 1), "{answers:?}");
    let count = |kind: &str| rows.iter().filter(|row| row["kind"] == kind).count();
    assert_eq!(count("call_finished"), answers.len());
    assert!(count("call_started") <= answers.len());
}

/// Records can have a hundred megabytes, which is a lot for a search that is not optimised.
fn no_file_has_the_canary(directory: &Path) {
    let search = Command::new("grep").args(["-rlsaF", CANARY]).arg(directory).output().unwrap();
    assert_eq!((search.status.code(), String::from_utf8_lossy(&search.stdout).as_ref()), (Some(1), ""));
}
