//! `fullsend run` that is interrupted at any instant: nothing of it is left, and its record is whole.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fullsend_testkit::declare_skip;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::suite::docker_engine;
use crate::suite::running::{Place, Ran};

/// How many instants are tried.
const INSTANTS: u32 = 50;
/// How many runs go on at once.
const AT_ONCE: usize = 4;
/// How long the kernel may take to end what was killed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A script with a child that hears no signal but the last one, and another that has left for a session of its own.
const SCRIPT: &str = "#!/bin/sh\n(trap '' TERM INT; sleep 300) &\nsetsid sleep 300 &\nsleep 0.15\n";

/// A place with a harness that has everything in it that can be interrupted.
pub(crate) struct Scene {
    place: Place,
    /// What is added to every run.
    options: &'static [&'static str],
}

impl Scene {
    fn new() -> Self {
        let place = Place::new();
        place.write("fs/config.yaml", "version: \"1\"\nruntime: replay\n");
        place.write("fs/agents/a.md", "---\nname: a\ndescription: An agent\ntools: Bash\n---\nDo it.\n");
        place.write("fs/policies/p.yaml", "exec: [\"**\"]\n");
        place.write(
            "fs/harness/c.yaml",
            "agent: agents/a.md\nrole: coder\npolicy: policies/p.yaml\npre_script: scripts/s.sh\npost_script: scripts/s.sh\n\
             timeout_minutes: 2\nvalidation_loop:\n  script: scripts/s.sh\n  max_iterations: 2\n",
        );
        // Without permission to be executed, so that a private copy is made somewhere.
        place.write("fs/scripts/s.sh", SCRIPT);
        let bash = |command: &str| json!({"calls": [{"tool": "bash", "args": {"command": command}}]});
        let turns = json!({"turns": [
            bash("sleep 300 & (trap '' TERM INT HUP; sleep 300) & sleep 0.1; echo begun"),
            bash("setsid sh -c \"trap '' TERM; sleep 300\" >/dev/null 2>&1 & sleep 0.1"),
            bash("trap '' TERM INT; sleep 0.2"),
            {"say": "done"},
        ]});
        place.write("fs/replay/c.yaml", turns.to_string());
        place.write("repo/README.md", "A repository.\n");
        for directory in ["tmp", "home"] {
            fs::create_dir(place.path().join(directory)).unwrap();
        }
        Self { place, options: &[] }
    }

    /// The same in containers.
    pub(crate) fn in_containers() -> Self {
        Self { options: &["--sandbox-image", docker_engine::IMAGE], ..Self::new() }
    }

    /// A place, if there are sandboxes here.
    fn if_possible(test: &str) -> Option<Self> {
        let scene = Self::new();
        let tried = scene.place.run(&["sandbox", "exec", "--", "true"]);
        if tried.code != Some(0) {
            declare_skip(test, &format!("no sandbox can be made here: {}", tried.stderr));
            return None;
        }
        Some(scene)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The command, in a process group of its own.
    fn command(&self, options: &[&str]) -> Command {
        let usual =
            ["run", "c", "--fullsend-dir", "fs", "--target-repo", "repo", "--output-dir", "runs"].as_slice();
        let mut command = self.place.command(&[usual, self.options, options].concat());
        docker_engine::announce(&mut command);
        command
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("TMPDIR", self.path("tmp"))
            .env("HOME", self.path("home"));
        command.env("XDG_STATE_HOME", self.path("state")).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn start(&self, options: &[&str]) -> Child {
        self.command(options).spawn().unwrap()
    }

    /// The directories of runs.
    pub(crate) fn runs(&self) -> Vec<PathBuf> {
        fs::read_dir(self.path("runs")).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
    }

    /// What is left of a run in this place beside its record.
    pub(crate) fn left(&self, pid: u32) -> Vec<String> {
        let mut left = processes_of(self.place.path());
        for directory in [
            "tmp",
            "state/fullsend/stages",
            "state/fullsend/sandbox/sessions",
            "state/fullsend/sandbox/layers",
            "state/fullsend/docker/sessions",
            "state/fullsend/docker/shown",
        ] {
            let entries = fs::read_dir(self.path(directory)).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path().display().to_string()));
        }
        if self.path("state/fullsend/docker").is_dir() {
            left.extend(docker_engine::containers(&self.path("state")).lines().map(str::to_owned));
        }
        let name = self.name();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        left.extend(mounts.lines().filter(|line| line.contains(&name)).map(str::to_owned));
        left.extend(groups_of(Path::new("/sys/fs/cgroup"), &format!("fullsend-{pid}-"), 6));
        left
    }

    /// The same without processes: those of scripts outlive a run that is killed.
    pub(crate) fn files_left(&self, pid: u32) -> Vec<String> {
        let own = [self.path("state"), self.path("tmp")];
        let is_own = |left: &String| own.iter().any(|own| left.starts_with(own.to_str().unwrap()));
        self.left(pid).into_iter().filter(is_own).collect()
    }

    fn name(&self) -> String {
        self.place.path().file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// How long a run takes that nobody interrupts.
    pub(crate) fn runs_through(&self) -> Duration {
        let start = Instant::now();
        let child = self.start(&[]);
        let pid = child.id();
        let ran = Ran::from(child.wait_with_output().unwrap());
        let length = start.elapsed();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        self.nothing_is_left(pid, "undisturbed");
        length
    }

    /// The kernel takes its time to end a namespace; what stays, stays.
    pub(crate) fn nothing_is_left(&self, pid: u32, when: &str) {
        let start = Instant::now();
        loop {
            let left = self.left(pid);
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{when}: left behind: {left:#?}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The record of every run is whole, and says one of these.
    pub(crate) fn records_are_whole(&self, states: &[&str], when: &str) {
        for run in self.runs() {
            let text = fs::read_to_string(run.join("report.json")).unwrap_or_default();
            let report: Value =
                serde_json::from_str(&text).unwrap_or_else(|error| panic!("{when}: {error}: {text:?}"));
            let state = report["state"].as_str().unwrap_or_default();
            assert!(states.contains(&state), "{when}: {state}, not {states:?}: {report:#}");
            assert!(report["ended_at"].is_string() && report["exit_code"].is_number(), "{when}: {report:#}");
            let log = run.join("security/findings.jsonl");
            let head = report["findings"]["log_head"].as_str().unwrap_or_default();
            let checked = self.place.run(&["scan", "verify-findings", log.to_str().unwrap(), "--head", head]);
            assert_eq!(checked.code, Some(0), "{when}: {checked:?}");
        }
    }
}

/// Processes whose files, variables or directory are in `place`.
fn processes_of(place: &Path) -> Vec<String> {
    let name = place.file_name().unwrap().to_str().unwrap();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let process = entry.path();
        if entry.file_name().to_string_lossy().parse::<u32>().is_err() {
            continue;
        }
        let read = |file: &str| {
            let mut bytes = Vec::new();
            let _gone = fs::File::open(process.join(file)).and_then(|mut file| file.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
        let where_from = [read("environ"), read("mountinfo"), directory.display().to_string()];
        if where_from.iter().any(|text| text.contains(name)) {
            found.push(format!("{} {}", entry.file_name().display(), read("cmdline")));
        }
    }
    found
}

/// Control groups below a directory whose names begin so.
fn groups_of(directory: &Path, prefix: &str, depth: u32) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(prefix) {
                found.push(entry.path().display().to_string());
            }
            found.extend(groups_of(&entry.path(), prefix, depth - 1));
        }
    }
    found
}

/// How one run is interrupted.
#[derive(Clone, Copy, Debug)]
struct Interruption {
    after: Duration,
    signal: Signal,
    /// As a terminal does, which sends it to everything in the foreground.
    to_group: bool,
    /// Another one follows at once.
    twice: bool,
}

impl Interruption {
    fn send(self, child: &Child) {
        let pid = Pid::from_child(child);
        for _ in 0..=u32::from(self.twice) {
            // A run that has ended is not reaped yet, so the number is still its own.
            let _ended = match self.to_group {
                true => kill_process_group(pid, self.signal),
                false => kill_process(pid, self.signal),
            };
        }
    }

    /// What the run ends with when it hears it.
    fn code(self) -> i32 {
        128 + self.signal.as_raw()
    }
}

/// As a shell says it.
fn code_of(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap()
}

fn interrupt(scene: &Scene, interruption: Interruption) -> String {
    let child = scene.start(&[]);
    let pid = child.id();
    thread::sleep(interruption.after);
    interruption.send(&child);
    let output = child.wait_with_output().unwrap();
    let code = code_of(output.status);
    let when = format!("{interruption:?}, exit code {code}, {}", String::from_utf8_lossy(&output.stderr));
    scene.nothing_is_left(pid, &when);
    if code == interruption.code() {
        scene.records_are_whole(&["cancelled"], &when);
    } else {
        assert_eq!(code, 0, "{when}");
        scene.records_are_whole(&["success"], &when);
        assert_eq!(scene.runs().len(), 1, "{when}");
    }
    let report = scene.runs().pop().map(|run| fs::read_to_string(run.join("report.json")).unwrap());
    let report: Value = report.map(|text| serde_json::from_str(&text).unwrap()).unwrap_or_default();
    let steps = report["steps"].as_array().cloned().unwrap_or_default();
    let reached = steps.iter().rev().find(|step| step["step"] != "report").cloned().unwrap_or_default();
    format!(
        "{} {} ms: {code} in {}",
        interruption.signal.as_raw(),
        interruption.after.as_millis(),
        reached["step"]
    )
}

#[test]
fn interrupted_at_any_instant_it_leaves_nothing_but_its_record() {
    let Some(undisturbed) = Scene::if_possible("interrupted_at_any_instant") else { return };
    // The first run reads everything from the disk, and says little about the others.
    let length = (0..3).map(|_| undisturbed.runs_through()).min().unwrap();
    undisturbed.records_are_whole(&["success"], "undisturbed");
    interrupt_all(length, INSTANTS, AT_ONCE, Scene::new);
}

/// Interrupts as many runs, each in a scene of its own, at instants that are spread over the length of one.
#[expect(clippy::print_stderr, reason = "whoever repeats the test needs the seed")]
pub(crate) fn interrupt_all(length: Duration, number: u32, at_once: usize, scene: fn() -> Scene) {
    let clock = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = std::env::var("FULLSEND_TEST_SEED").map_or(clock, |seed| seed.parse().unwrap());
    eprintln!("FULLSEND_TEST_SEED={seed}, a run takes {} ms", length.as_millis());
    let waiting = Mutex::new(interruptions(seed, length, number));
    let told = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().unwrap().pop();
                    let Some(interruption) = next else { return };
                    let line = interrupt(&scene(), interruption);
                    told.lock().unwrap().push(line);
                }
            });
        }
    });
    eprintln!("{}", told.into_inner().unwrap().join("\n"));
}

/// Instants spread over the length of a run, the first of them at its very beginning.
fn interruptions(seed: u64, length: Duration, many: u32) -> Vec<Interruption> {
    let mut state = seed | 1;
    let mut chance = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // Runs beside each other are slower.
    let part = length * 5 / 4 / many;
    let mut instants = Vec::new();
    for number in 0..many {
        let within = Duration::from_nanos(chance() % (part.as_nanos() as u64).max(1));
        instants.push(Interruption {
            after: if number == 0 { Duration::ZERO } else { part * number + within },
            signal: if chance() % 4 == 0 { Signal::TERM } else { Signal::INT },
            to_group: chance() % 3 == 0,
            twice: chance() % 3 == 0,
        });
    }
    instants
}

/// Starts a run and waits until its report says that a step has begun.
fn until(scene: &Scene, options: &[&str], step: &str) -> Child {
    let mut child = scene.start(options);
    let wanted = format!("\"step\": \"{step}\"");
    let start = Instant::now();
    loop {
        let begun = scene.runs().iter().any(|run| {
            fs::read_to_string(run.join("report.json")).is_ok_and(|report| report.contains(&wanted))
        });
        if begun {
            return child;
        }
        assert!(child.try_wait().unwrap().is_none(), "ended before {step}");
        assert!(start.elapsed() < PATIENCE, "no {step}");
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn what_a_killed_run_leaves_is_removed_by_the_next_one() {
    let Some(scene) = Scene::if_possible("what_a_killed_run_leaves") else { return };
    the_next_tidies_up_after(&scene, &["upload", "provision", "agent", "validate"]);
}

/// Kills a run in each of these steps, and sees that the next one leaves nothing of theirs.
pub(crate) fn the_next_tidies_up_after(scene: &Scene, steps: &[&str]) {
    for step in steps {
        let mut child = until(scene, &[], step);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let child = scene.start(&[]);
    let pid = child.id();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(scene.files_left(pid), Vec::<String>::new());
}

#[test]
fn what_is_to_be_kept_is_kept_when_a_run_is_interrupted() {
    let Some(scene) = Scene::if_possible("what_is_to_be_kept") else { return };
    let child = until(&scene, &["--keep-sandbox"], "agent");
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let next = scene.start(&[]).wait_with_output().unwrap();
    assert_eq!(next.status.code(), Some(0), "{next:?}");
    let kept: Vec<_> = fs::read_dir(scene.path("state/fullsend/stages")).unwrap().flatten().collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(ran.stderr.contains(kept[0].path().to_str().unwrap()), "{ran:?}");
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_run_halfway() {
    let Some(scene) = Scene::if_possible("a_reader_that_goes_away") else { return };
    for options in [&[][..], &["--format", "json"]] {
        let mut child = scene.start(options);
        let pid = child.id();
        drop((child.stdout.take(), child.stderr.take()));
        // The result cannot be told, and the exit code says so as for every other command.
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), Some(0 | 141)), "{options:?}: {status:?}");
        scene.nothing_is_left(pid, "no readers");
        scene.records_are_whole(&["success"], "no readers");
    }
}

/// Tidies up for longer than anybody in a hurry waits, and says when it begins and when it is done.
fn slow(marks: &Path) -> String {
    let marks = marks.display();
    format!(
        "#!/bin/sh\ntrap 'touch {marks}/heard; for i in 1 2 3 4 5 6 7 8; do sleep 0.5; done; touch {marks}/tidied; exit 1' TERM\n\
         touch {marks}/begun\nwhile :; do sleep 0.1; done\n"
    )
}

#[test]
fn a_second_signal_does_not_wait_for_anybody() {
    let Some(scene) = Scene::if_possible("a_second_signal") else { return };
    scene.place.write("fs/scripts/s.sh", slow(&scene.path("fs")));
    for (twice, tidied) in [(false, true), (true, false)] {
        for mark in ["begun", "heard", "tidied"] {
            let _first_time = fs::remove_file(scene.path("fs").join(mark));
        }
        let child = scene.start(&[]);
        let pid = Pid::from_child(&child);
        appears(&scene.path("fs/begun"));
        kill_process(pid, Signal::INT).unwrap();
        appears(&scene.path("fs/heard"));
        if twice {
            // What comes at once is taken for the same signal.
            thread::sleep(Duration::from_millis(500));
            kill_process(pid, Signal::INT).unwrap();
        }
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert_eq!(scene.path("fs/tidied").exists(), tidied, "{ran:?}");
        scene.nothing_is_left(pid.as_raw_nonzero().get().unsigned_abs(), "a second signal");
        scene.records_are_whole(&["cancelled"], "a second signal");
    }
}

fn appears(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < PATIENCE, "no {}", path.display());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn interrupted_while_results_are_taken_out_it_keeps_no_half_of_them() {
    let Some(scene) = Scene::if_possible("interrupted_while_results") else { return };
    let much = "i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero > /sandbox/workspace/output/$i; i=$((i+1)); done";
    let turns = json!({"turns": [{"calls": [{"tool": "bash", "args": {"command": much}}]}, {"say": "done"}]});
    scene.place.write("fs/replay/c.yaml", turns.to_string());
    let child = until(&scene, &[], "extract");
    let pid = child.id();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    scene.nothing_is_left(pid, "extract");
    scene.records_are_whole(&["cancelled"], "extract");
    let attempt = scene.runs().pop().unwrap().join("iteration-1");
    assert!(attempt.is_dir() && !attempt.join("output").exists() && !attempt.join("repo").exists());
}
