//! A container engine for tests: the one that is there, or a private one for as long as it is needed.
//!
//! No image can be pulled in a test run, so the image is made from programs of this machine, see [`image`]. A
//! private daemon has its socket, its data and its process in one temporary directory, and ends with us even when
//! we are killed: a shell holds the other end of a pipe of ours.

mod image;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::process;
use crate::repo::Repo;
use crate::setup::in_path;
use crate::totals::Skip;

/// What tests call the image.
pub(crate) const IMAGE: &str = "fullsend-test:latest";
/// How the docker client and its users learn where the daemon listens.
const HOST_VARIABLE: &str = "DOCKER_HOST";
/// The group of the user without rights as whom tests run again.
const ORDINARY_GROUP: &str = "1000";
/// How long a daemon may take until it answers.
const START: Duration = Duration::from_secs(20);
/// How long a daemon may take until it is gone; it ends its containers first.
const STOP: Duration = Duration::from_secs(20);

/// Starts the daemon, ends it when standard input ends or a signal comes, and leaves nothing behind. `$1` is the directory of the
/// engine, `$2` and the rest the daemon's command line.
const KEEPER: &str = r#"directory=$1; shift
trap : INT TERM HUP
"$@" >"$directory/log" 2>&1 </dev/null &
daemon=$!
read -r _
kill "$daemon" 2>/dev/null
wait "$daemon"
umount "$directory"/exec/netns/* 2>/dev/null
rm -rf -- "$directory""#;

/// An engine that answers and has the test image.
#[derive(Debug)]
pub(crate) struct Engine {
    /// None for the engine that the environment already names.
    private: Option<Private>,
}

/// A daemon of ours.
#[derive(Debug)]
struct Private {
    keeper: Child,
    socket: PathBuf,
}

impl Engine {
    /// An engine with the test image in it, or why there is none.
    pub(crate) fn ready(repo: &Repo) -> Result<Self, Skip> {
        let engine = Self::find_or_start().map_err(|error| skip("container engine", &error))?;
        image::import(repo, |arguments| engine.docker(arguments))
            .map_err(|error| skip("test image", &error))?;
        Ok(engine)
    }

    /// Tells a program that is about to be started where the engine listens.
    pub(crate) fn announce(&self, command: &mut Command) {
        if let Some(private) = &self.private {
            command.env(HOST_VARIABLE, private.host());
        }
    }

    fn find_or_start() -> Result<Self> {
        let there = Self { private: None };
        if there.answers() {
            return Ok(there);
        }
        let dockerd = in_path("dockerd").context("there is no dockerd, and no other engine answers")?;
        let directory = std::env::temp_dir().join(format!("fullsend-engine-{}", std::process::id()));
        let socket = directory.join("socket");
        std::fs::create_dir(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        let daemon = daemon_command(dockerd, &directory, &socket)?;
        let mut keeper = Command::new("/bin/sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(&directory).args(daemon);
        let keeper = keeper.stdin(Stdio::piped()).spawn().context("cannot start /bin/sh")?;
        let engine = Self { private: Some(Private { keeper, socket }) };
        engine.wait_until_it_answers(&directory)?;
        Ok(engine)
    }

    fn wait_until_it_answers(&self, directory: &Path) -> Result<()> {
        let deadline = Instant::now() + START;
        while !self.answers() {
            if Instant::now() > deadline {
                bail!("dockerd does not answer; it said: {}", last_lines(&directory.join("log")));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    fn answers(&self) -> bool {
        process::capture(self.docker(&["info"]).stdin(Stdio::null())).is_ok()
    }

    /// A client command that cannot hang.
    fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args(["-k", "1", "30", "docker"]).args(arguments);
        self.announce(&mut command);
        command
    }
}

impl std::fmt::Display for Engine {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.private {
            None => write!(formatter, "the one that is running"),
            Some(_) => write!(formatter, "none is running; each test run starts one of its own"),
        }
    }
}

impl Private {
    fn host(&self) -> String {
        format!("unix://{}", self.socket.display())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline && matches!(self.keeper.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Neither a bridge nor firewall rules: containers of tests have no network, and the machine's stays as it is.
fn daemon_command(dockerd: PathBuf, directory: &Path, socket: &Path) -> Result<Vec<OsString>> {
    let config = directory.join("daemon.json");
    // Its own network needs a bridge, which this engine does not have.
    let runsc = |path| serde_json::json!({ "runsc": { "path": path, "runtimeArgs": ["--network=none"] } });
    let runtimes = in_path("runsc").map(runsc);
    let json = serde_json::json!({ "runtimes": runtimes.unwrap_or_else(|| serde_json::json!({})) });
    std::fs::File::create(&config)?.write_all(json.to_string().as_bytes())?;
    let mut words: Vec<OsString> = vec![dockerd.into()];
    words.extend(["--iptables=false", "--ip6tables=false", "--bridge=none"].map(Into::into));
    // Tests that run as root run again as an ordinary user of this number, who needs the socket.
    words.extend(["--group".into(), ORDINARY_GROUP.into()]);
    for (option, name) in [
        ("--data-root", "data"),
        ("--exec-root", "exec"),
        ("--pidfile", "pid"),
        ("--config-file", "daemon.json"),
    ] {
        words.extend([option.into(), directory.join(name).into()]);
    }
    words.extend(["--host".into(), format!("unix://{}", socket.display()).into()]);
    Ok(words)
}

fn last_lines(log: &Path) -> String {
    const KEPT: usize = 3;
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(KEPT).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

fn skip(name: &str, error: &anyhow::Error) -> Skip {
    Skip {
        name: name.to_owned(),
        reason: format!("{error:#}").split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
