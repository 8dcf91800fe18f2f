//! A whole run: what the pipeline around the agent costs, against the agent alone and against starting a process.
//!
//! The example `hello` is run as it is, with a model that answers at once. The overhead is the time from start to exit less what
//! the harness asked for: the time within tool calls (from `tool_use` to `tool_result`) and the validation, which runs the tests.
//! All the rest counts, the sandbox, the scans, the copies, the record and the loop between the calls too.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use jiff::Timestamp;
use serde_json::Value;

use crate::Setting;
use crate::samples::{Samples, ratio};

const MOST_RUNS: u32 = 40;
const WARM_UP: u32 = 3;
/// What the overhead is meant to stay below.
const GOAL: Duration = Duration::from_millis(150);

/// The calls of the example that any agent can make, for one without a harness.
const SAME_CALLS: &str = r#"turns:
  - calls: [{tool: bash, args: {command: sh test.sh}}]
  - calls: [{tool: read_file, args: {path: slug.sh}}]
  - calls: [{tool: edit_file, args: {path: slug.sh, edits: [{oldText: "tr -c ", newText: "tr -cs "}]}}]
  - calls: [{tool: bash, args: {command: sh test.sh}}]
  - say: done
"#;

/// What one run took.
#[derive(Debug)]
struct Took {
    wall: Duration,
    tools: Duration,
    steps: BTreeMap<String, Duration>,
}

impl Took {
    fn validation(&self) -> Duration {
        self.steps.get("validate").copied().unwrap_or_default()
    }

    fn overhead(&self) -> Duration {
        self.wall.saturating_sub(self.tools).saturating_sub(self.validation())
    }
}

/// Measures whole runs, the agent alone and the cheapest process in turn.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/hello").canonicalize()?;
    let script = directory.path().join("same-calls.yaml");
    fs::write(&script, SAME_CALLS)?;
    let runs = setting.runs.min(MOST_RUNS);
    let (mut whole, mut alone, mut nothing) = (Vec::new(), Samples::default(), Samples::default());
    for round in 0..WARM_UP + runs {
        let run = whole_run(setting, &example, &directory.path().join(format!("run-{round}")))?;
        let agent = agent_alone(setting, &example, &script, &directory.path().join(format!("ws-{round}")))?;
        let start = time(&mut Command::new("/bin/true"))?;
        if round >= WARM_UP {
            whole.push(run);
            alone.push(agent);
            nothing.push(start);
        }
    }
    print(&whole, &alone, &nothing);
    Ok(())
}

fn whole_run(setting: &Setting, example: &Path, output: &Path) -> Result<Took> {
    let mut command = Command::new(&setting.fullsend);
    command.args(["--quiet", "run", "hello", "--fullsend-dir"]).arg(example);
    command.arg("--target-repo").arg(example.join("repo")).arg("--output-dir").arg(output);
    let wall = time(&mut command)?;
    let run = fs::read_dir(output)?.next().context("the run has no directory")??.path();
    let (tools, steps) = from_events(&run.join("events.jsonl"))?;
    Ok(Took { wall, tools, steps })
}

fn agent_alone(setting: &Setting, example: &Path, script: &Path, workspace: &PathBuf) -> Result<Duration> {
    fs::create_dir(workspace)?;
    for file in fs::read_dir(example.join("repo"))? {
        let file = file?;
        fs::copy(file.path(), workspace.join(file.file_name()))?;
    }
    let mut command = Command::new(&setting.fullsend);
    command.args(["exec", "--prompt", "fix", "--output-mode", "batch", "--replay"]).arg(script);
    time(command.arg("--workspace").arg(workspace))
}

/// The time within tool calls, and that of each step.
fn from_events(file: &Path) -> Result<(Duration, BTreeMap<String, Duration>)> {
    let mut open: BTreeMap<String, Timestamp> = BTreeMap::new();
    let (mut tools, mut steps) = (Duration::ZERO, BTreeMap::new());
    for line in fs::read_to_string(file)?.lines() {
        let event: Value = serde_json::from_str(line)?;
        let text = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        let at: Timestamp = text("at").parse()?;
        match (text("type"), text("event")) {
            ("runtime", "tool_use") => {
                open.insert(text("id").to_owned(), at);
            }
            ("runtime", "tool_result") => {
                if let Some(begun) = open.remove(text("id")) {
                    tools += Duration::try_from(at.duration_since(begun)).unwrap_or_default();
                }
            }
            ("step_ended", _) => {
                let took: Duration = serde_json::from_value(event.get("took").cloned().unwrap_or_default())?;
                *steps.entry(text("step").to_owned()).or_default() += took;
            }
            _ => {}
        }
    }
    Ok((tools, steps))
}

/// From start to exit.
fn time(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let output = command.output().with_context(|| format!("cannot start {command:?}"))?;
    let elapsed = start.elapsed();
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(elapsed)
}

fn print(whole: &[Took], alone: &Samples, nothing: &Samples) {
    let of = |value: &dyn Fn(&Took) -> Duration| {
        let mut samples = Samples::default();
        whole.iter().for_each(|took| samples.push(value(took)));
        samples
    };
    let overhead = of(&Took::overhead);
    println!("{:<34} {:>9} {:>12}", format!("{} runs in turn", whole.len()), "median", "min");
    report("fullsend run hello", &of(&|took| took.wall));
    report("  within tool calls", &of(&|took| took.tools));
    report("  validation", &of(&Took::validation));
    report("  overhead", &overhead);
    report("fullsend exec, the same calls", alone);
    report("/bin/true", nothing);
    println!(
        "{:<34} {:.2}x a whole `fullsend exec`, {:.0}x /bin/true; goal {} ms: {}",
        "overhead",
        ratio(overhead.median(), alone.median()),
        ratio(overhead.median(), nothing.median()),
        GOAL.as_millis(),
        if overhead.median() <= GOAL { "met" } else { "missed" }
    );
    let names: Vec<&String> = whole.first().map(|took| took.steps.keys().collect()).unwrap_or_default();
    for name in names {
        let step = of(&|took| took.steps.get(name).copied().unwrap_or_default());
        report(&format!("  step {name}"), &step);
    }
}

fn report(name: &str, samples: &Samples) {
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    println!("{name:<34} {:>6.1} ms {:>9.1} ms", millis(samples.median()), millis(samples.minimum()));
}
