//! The built-in agent: what a turn with one sandboxed command costs, against a bare loop of the same requests and commands.
//!
//! Both sides talk to the same gateway, which answers at once. The floor is this program itself in a hidden mode: it sends the
//! growing conversation and runs the command with `sh -c`, and does nothing else. Processor time is that of the whole tree of
//! processes, because seconds depend on what else the machine does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_testkit::gateway::{GatewayReply, GatewayRequest, GatewayScript, ScriptedGateway, ShellTurns};
use serde_json::{Value, json};

use crate::Setting;

/// How many turns with a command.
const TURNS: usize = 500;
/// The turns that are compared: early ones, and late ones, in which the conversation is long.
const EARLY: (usize, usize) = (10, 100);
pub(crate) const LATE: (usize, usize) = (400, 500);
const MOST_RUNS: u32 = 5;
/// What the fastest agent of its kind takes for a turn, in milliseconds of processor time: measured on the same work with the
/// same gateway, 10 to 100 turns.
const FASTEST_PEER_MS: f64 = 12.3;
/// The hidden mode of this program.
pub(crate) const FLOOR: &str = "--floor-of-turns";

/// What a run used.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    /// Up to each request.
    cpu: Vec<Duration>,
    total: Duration,
    wall: Duration,
    rss_kb: u64,
    first_request: Duration,
}

impl Used {
    /// Milliseconds of a turn between these two requests.
    pub(crate) fn turn(&self, (from, to): (usize, usize)) -> f64 {
        let at = |index: usize| self.cpu.get(index).map_or(0.0, Duration::as_secs_f64);
        (at(to) - at(from)) * 1000.0 / (to - from) as f64
    }
}

/// Measures both in turn and prints the table.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let this = std::env::current_exe()?;
    let floor = |url: &str, _: &Path| {
        let mut command = Command::new(&this);
        command.args([FLOOR, url]);
        command
    };
    let agent = |url: &str, directory: &Path| {
        let mut command = Command::new(&setting.fullsend);
        command.args(["exec", "--prompt", "count", "--output-mode", "batch", "--model", "mock"]);
        command.args(["--gateway-auth-mode", "none", "--gateway-base-url", url]);
        command.args(["--max-model-turns", "1000", "--workspace"]).arg(directory);
        command
    };
    let (mut floors, mut agents) = (Vec::new(), Vec::new());
    for _ in 0..setting.runs.min(MOST_RUNS) {
        floors.push(once(&floor)?);
        agents.push(once(&agent)?);
    }
    print(&floors, &agents);
    Ok(())
}

/// Ratios are those of the middle, over pairs of runs one after the other.
fn print(floors: &[Used], agents: &[Used]) {
    println!(
        "{} runs of {TURNS} turns each, medians   CPU ms of a turn: 10 to 100, 400 to 500   CPU s   wall s   RSS MB   1st request ms",
        agents.len()
    );
    for (name, used) in [("floor", floors), ("fullsend exec", agents)] {
        let of = |value: &dyn Fn(&Used) -> f64| middle(used.iter().map(value));
        println!(
            "{name:<36} {:>26.2} {:>12.2} {:>11.2} {:>8.2} {:>8.1} {:>16.1}",
            of(&|used| used.turn(EARLY)),
            of(&|used| used.turn(LATE)),
            of(&|used| used.total.as_secs_f64()),
            of(&|used| used.wall.as_secs_f64()),
            of(&|used| used.rss_kb as f64 / 1024.0),
            of(&|used| used.first_request.as_secs_f64() * 1000.0),
        );
    }
    let pairs = || floors.iter().zip(agents);
    println!(
        "{:<16} {:.2}x the floor early, {:.2}x late",
        "ratio",
        middle(pairs().map(|(floor, agent)| agent.turn(EARLY) / floor.turn(EARLY))),
        middle(pairs().map(|(floor, agent)| agent.turn(LATE) / floor.turn(LATE))),
    );
    let growth = |used: &[Used]| middle(used.iter().map(|used| used.turn(LATE) / used.turn(EARLY)));
    println!(
        "{:<16} {:.2}x late turns to early ones (the floor: {:.2}x)",
        "",
        growth(agents),
        growth(floors)
    );
    let early = middle(agents.iter().map(|used| used.turn(EARLY)));
    println!("{:<16} 1/{:.1} of the fastest peer ({FASTEST_PEER_MS} ms a turn)", "", FASTEST_PEER_MS / early);
}

pub(crate) fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Answers like [`ShellTurns`], and takes down what was used up to each request.
struct Stopwatch {
    turns: ShellTurns,
    meter: Arc<Meter>,
    seen: Arc<Mutex<Vec<Duration>>>,
}

impl GatewayScript for Stopwatch {
    fn reply(&self, request: &GatewayRequest) -> GatewayReply {
        let used = self.meter.read().unwrap_or_default();
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(used);
        self.turns.reply(request)
    }
}

/// Measures one run of the command that is made for a gateway and a directory.
pub(crate) fn once(command: &impl Fn(&str, &Path) -> Command) -> Result<Used> {
    let (meter, seen) = (Arc::new(Meter::new()?), Arc::new(Mutex::new(Vec::new())));
    let watch = Stopwatch { turns: ShellTurns::new(TURNS), meter: meter.clone(), seen: seen.clone() };
    let gateway = ScriptedGateway::start(watch);
    let directory = tempfile::tempdir()?;
    let start = Instant::now();
    let mut child = meter
        .wrap(&command(&gateway.url(), directory.path()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = child.id();
    // The peak can only be read as long as the process is there.
    let watcher = std::thread::spawn(move || {
        let mut peak = 0;
        while let Some(seen) = peak_rss(pid) {
            peak = seen.max(peak);
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    });
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().context("no output")?.read_to_string(&mut stdout)?;
    child.stderr.take().context("no output")?.read_to_string(&mut stderr)?;
    let status = child.wait()?;
    let wall = start.elapsed();
    let rss_kb = watcher.join().unwrap_or_default();
    ensure!(status.success() && stdout.trim() == "done", "the run failed ({status}): {stdout}{stderr}");
    let cpu = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    ensure!(cpu.len() > LATE.1, "only {} requests were made", cpu.len());
    Ok(Used { cpu, total: meter.read()?, wall, rss_kb, first_request: first_request(command)? })
}

/// The time until the gateway is first asked, of a run that nobody meters: joining a group takes longer than starting.
fn first_request(command: &impl Fn(&str, &Path) -> Command) -> Result<Duration> {
    let asked = Arc::new(Mutex::new(None));
    let (turns, first) = (ShellTurns::new(0), asked.clone());
    let gateway = ScriptedGateway::start(move |request: &GatewayRequest| {
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(Instant::now);
        turns.reply(request)
    });
    let directory = tempfile::tempdir()?;
    let start = Instant::now();
    let ran = command(&gateway.url(), directory.path()).output()?;
    ensure!(ran.status.success(), "the run failed: {}", String::from_utf8_lossy(&ran.stderr));
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).context("no request was made")?;
    Ok(asked.duration_since(start))
}

/// The most memory a process has had, as long as it has not ended.
fn peak_rss(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Where the kernel counts the processor time of a group of processes, in the first and the second version of control groups.
const COUNTERS: [(&str, &str); 2] =
    [("/sys/fs/cgroup/cpuacct", "cpuacct.usage"), ("/sys/fs/cgroup", "cpu.stat")];

/// Counts the processor time of a tree of processes, also of those that nobody waits for: commands in a sandbox.
struct Meter {
    group: PathBuf,
    file: &'static str,
}

impl Meter {
    fn new() -> Result<Self> {
        let name = format!("fullsend-bench-{}", std::process::id());
        let made = COUNTERS.into_iter().find_map(|(parent, file)| {
            let group = Path::new(parent).join(&name);
            let there = std::fs::create_dir(&group).is_ok() && group.join(file).exists();
            there.then_some(Self { group, file })
        });
        made.context("this measurement needs control groups that can be written to: run it as root")
    }

    /// The command, started inside of the group.
    fn wrap(&self, command: &Command) -> Command {
        let mut wrapped = Command::new("/bin/sh");
        wrapped.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.group.join("cgroup.procs"));
        wrapped.arg(command.get_program()).args(command.get_args());
        wrapped
    }

    fn read(&self) -> Result<Duration> {
        let text = std::fs::read_to_string(self.group.join(self.file))?;
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let of_second = || number(text.lines().find_map(|line| line.strip_prefix("usage_usec "))?);
        match number(&text) {
            Some(nanos) => Ok(Duration::from_nanos(nanos)),
            None => of_second().map(Duration::from_micros).context("an unknown form of counter"),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        // The last processes of a run may still be on their way out.
        for _ in 0..100 {
            if std::fs::remove_dir(&self.group).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The bare loop: sends the conversation, runs the command, until there is no call.
pub(crate) fn floor(url: &str) -> Result<()> {
    let address = url.strip_prefix("http://").context("not an http URL")?;
    let mut stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let mut messages = json!({"role": "user", "content": "count"}).to_string();
    loop {
        let body = format!(r#"{{"model":"mock","stream":true,"messages":[{messages}]}}"#);
        write!(
            stream,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        let Some((id, arguments)) = answer(&mut stream)? else { break };
        let input: Value = serde_json::from_str(&arguments)?;
        let line = input.get("command").and_then(Value::as_str).context("no command")?;
        let ran = Command::new("/bin/sh").args(["-c", line]).output()?;
        let result = String::from_utf8_lossy(&ran.stdout).into_owned();
        let call =
            json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": arguments}});
        messages += &format!(",{}", json!({"role": "assistant", "content": "", "tool_calls": [call]}));
        messages += &format!(",{}", json!({"role": "tool", "tool_call_id": id, "content": result}));
    }
    println!("done");
    Ok(())
}

/// The call that an answer asks for.
fn answer(stream: &mut TcpStream) -> Result<Option<(String, String)>> {
    let mut reader = BufReader::new(stream);
    let mut call = None;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            bail!("the gateway has closed the connection");
        }
        let text = line.trim();
        if text == "0" {
            // The last chunk, and the empty line after it.
            line.clear();
            reader.read_line(&mut line)?;
            return Ok(call);
        }
        let Some(data) = text.strip_prefix("data: ") else { continue };
        let Ok(event) = serde_json::from_str::<Value>(data) else { continue };
        if let Some(found) = event.pointer("/choices/0/delta/tool_calls/0") {
            let text =
                |path: &str| found.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
            call = Some((text("/id"), text("/function/arguments")));
        }
    }
}
