//! `fullsend run` for people whose machine is not as ours: no root, a full disk, a home that cannot be written, results in the
//! repository, no network, much output.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use fullsend_testkit::declare_skip;
use serde_json::Value;

use crate::suite::running::{Place, Ran};

const NOBODY: &str = "65534";

/// The example of a whole run, in a place of its own that everybody can read.
struct Example {
    place: Place,
}

impl Example {
    fn new() -> Self {
        let place = Place::new();
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello");
        copy(&example, &place.path().join("hello"));
        fs::create_dir(place.path().join("state")).unwrap();
        fs::set_permissions(place.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self { place }
    }

    /// The example, if there are sandboxes here.
    fn if_possible(test: &str) -> Option<Self> {
        let example = Self::new();
        let ran = example.run(&[]);
        if ran.stderr.contains("the sandbox failed") {
            declare_skip(test, &format!("no sandbox can be made here: {}", ran.stderr));
            return None;
        }
        Some(example)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The words of a run of the example.
    fn words(&self, output: &Path) -> Vec<String> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut words = vec![env!("CARGO_BIN_EXE_fullsend").to_owned(), "run".to_owned(), "hello".to_owned()];
        words.extend(["--fullsend-dir".to_owned(), text(&self.path("hello"))]);
        words.extend(["--target-repo".to_owned(), text(&self.path("hello/repo"))]);
        words.extend(["--output-dir".to_owned(), text(output)]);
        words
    }

    /// Runs the example below other programs, whose words come first.
    fn run_below(&self, outer: &[&str], output: &Path) -> Ran {
        let words: Vec<String> =
            outer.iter().map(|word| (*word).to_owned()).chain(self.words(output)).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/").env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("XDG_STATE_HOME", self.path("state")).env("HOME", self.path("home"));
        Ran::from(command.output().unwrap())
    }

    fn run(&self, outer: &[&str]) -> Ran {
        self.run_below(outer, &self.path("out"))
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A small file system over `directory`, for the program whose words come after it.
fn small(directory: &Path, options: &str) -> Vec<String> {
    let script = format!("mount -t tmpfs -o {options} none '{}' && exec \"$@\"", directory.display());
    ["unshare", "--mount", "sh", "-c", &script, "sh"].map(str::to_owned).to_vec()
}

/// Whether this user can do what the test needs.
fn works(test: &str, words: &[&str]) -> bool {
    let done = Command::new(words[0]).args(&words[1..]).output().is_ok_and(|output| output.status.success());
    if !done {
        declare_skip(test, &format!("{words:?} does not work here"));
    }
    done
}

#[test]
fn nobody_in_particular_can_run_agents() {
    let test = "nobody_in_particular";
    let as_nobody = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"];
    if !works(test, &[&as_nobody[..], &[env!("CARGO_BIN_EXE_fullsend"), "--version"]].concat()) {
        return;
    }
    let Some(example) = Example::if_possible(test) else { return };
    let own = example.path("own");
    fs::create_dir(&own).unwrap();
    std::os::unix::fs::chown(&own, Some(65534), Some(65534)).unwrap();
    let home = format!("XDG_STATE_HOME={}", own.display());
    let ran = example.run_below(&[&as_nobody[..], &["env", &home]].concat(), &own.join("runs"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_full_disk_is_said_and_nothing_is_claimed() {
    let test = "a_full_disk";
    if !works(test, &["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]) {
        return;
    }
    let Some(example) = Example::if_possible(test) else { return };
    let out = example.path("small");
    fs::create_dir(&out).unwrap();
    let listing = example.path("listing");
    // Too small for a record, large enough for the record alone, and for some of the agent's work.
    for (options, begun) in
        [("size=4k,nr_inodes=3", false), ("size=64k", false), ("size=160k", true), ("size=200k", true)]
    {
        let mut outer = small(&out, options);
        let after = format!("\"$@\"; code=$?; cp -r '{}' '{}'; exit $code", out.display(), listing.display());
        outer.extend(["sh", "-c", &after, "sh"].map(str::to_owned));
        let outer: Vec<&str> = outer.iter().map(String::as_str).collect();
        let ran = example.run_below(&outer, &out);
        assert!(matches!(ran.code, Some(1 | 2)), "{options}: {ran:?}");
        assert!(ran.stderr.contains("No space left on device"), "{options}: {ran:?}");
        let runs: Vec<PathBuf> = fs::read_dir(&listing).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(!runs.is_empty(), begun, "{options}: {runs:?}, {ran:?}");
        for run in runs {
            let report: Value = serde_json::from_slice(&fs::read(run.join("report.json")).unwrap()).unwrap();
            assert_eq!(report["state"], "failure", "{options}: {report:#}");
            let log = run.join("security/findings.jsonl");
            let checked = example.place.run(&["scan", "verify-findings", log.to_str().unwrap()]);
            assert_eq!(checked.code, Some(0), "{options}: {checked:?}");
        }
        fs::remove_dir_all(&listing).unwrap();
    }
}

#[test]
fn a_home_that_cannot_be_written_is_said_with_what_to_do() {
    let test = "a_home_that_cannot_be_written";
    if !works(test, &["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]) {
        return;
    }
    let Some(example) = Example::if_possible(test) else { return };
    let outer = small(&example.path("state"), "ro");
    let outer: Vec<&str> = outer.iter().map(String::as_str).collect();
    let ran = example.run(&outer);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("Read-only file system"), "{ran:?}");
    assert!(ran.stderr.contains("help: set `XDG_STATE_HOME`"), "{ran:?}");

    let ran = example.run_below(&outer, &example.path("state/runs"));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("help: name a directory that can be written"), "{ran:?}");
    assert_eq!(ran.stderr.matches("cannot make the run directory").count(), 1, "said once: {ran:?}");
    assert!(!ran.stderr.contains("report"), "there is none: {ran:?}");
}

#[test]
fn results_in_the_repository_stay_out_of_the_next_run() {
    let Some(example) = Example::if_possible("results_in_the_repository") else { return };
    let results = example.path("hello/repo/results");
    for _ in 0..2 {
        let ran = example.run_below(&[], &results);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stderr.contains("3 files, 576 bytes"), "{ran:?}");
    }
    let runs = fs::read_dir(&results).unwrap().count();
    assert_eq!(runs, 2);
}

#[test]
fn no_network_at_all_is_enough() {
    let test = "no_network_at_all";
    if !works(test, &["unshare", "--net", "true"]) {
        return;
    }
    let Some(example) = Example::if_possible(test) else { return };
    let ran = example.run(&["unshare", "--net"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains('\x1b'), "no colours in a pipe: {ran:?}");
}

#[test]
fn much_output_is_refused_and_not_kept() {
    let Some(example) = Example::if_possible("much_output") else { return };
    example.place.write(
        "hello/replay/hello.yaml",
        "turns:\n  - calls: [{tool: bash, args: {command: \"yes | head -c 50000000; truncate -s 300M $FULLSEND_OUTPUT_DIR/big\"}}]\n  \
         - say: done\n",
    );
    let out = example.path("much");
    let ran = example.run_below(&[], &out);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("`big` has more than"), "{ran:?}");
    assert!(size(&out) < 4_000_000, "{} bytes", size(&out));
}

fn size(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries
        .map(
            |entry| if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() },
        )
        .sum()
}
