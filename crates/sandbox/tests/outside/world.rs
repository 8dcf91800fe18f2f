//! A small internet for one test: this machine, with a wire to another one where names and servers are real.
//!
//! Three processes run the same test. The first, outside, only waits. The second is the other machine: a network
//! namespace of its own with a name server and web servers. The third is this machine: a second network namespace, a
//! `resolv.conf` that names the name server, and no way anywhere but over the wire. It runs the test. What arrives on
//! the other machine is written to files that the test reads.

use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use fullsend_sandbox::{
    FilesystemMount, LocalBackend, LocalConfig, NetworkPolicy, SandboxBackend, SandboxError,
    SandboxSessionId, SandboxSpec,
};
use fullsend_testkit::{declare_skip, reexec};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::Value;

use super::servers;
use crate::support::backends::Place;
use crate::support::caller::{Caller, ORDINARY, is_root};
use crate::support::context::{self, Context};
use crate::support::host;

/// Which machine a process is.
const MACHINE: &str = "FULLSEND_TEST_MACHINE";
/// Where the machines keep their files.
const FILES: &str = "FULLSEND_TEST_INTERNET";

/// Joins the machines and runs the test on this one. Its arguments: the directory of files, the way to become the
/// caller, as one word, and the test.
const SCRIPT: &str = r#"
set -e
files=$1; become=$2; shift 2
await() { n=0; while [ ! -e "$files/$1" ]; do n=$((n + 1)); [ $n -lt 600 ] || exit 9; sleep 0.05; done; }
ip link set lo up
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
for name in hosts resolv.conf nsswitch.conf; do
  [ ! -e "/etc/$name" ] || mount --bind "$files/$name" "/etc/$name"
done
FULLSEND_TEST_MACHINE=there unshare --net -- "$@" > "$files/there.log" 2>&1 &
there=$!
await born
there() { nsenter --net="/proc/$there/ns/net" -- ip "$@"; }
ip link add wire type veth peer name wire netns "$there"
ip addr add 140.82.112.1/24 dev wire
ip addr add 2606:50c0:8000::1/64 dev wire nodad
ip link set wire up
there link set lo up
for address in 140.82.112.3 140.82.112.4 140.82.112.53; do there addr add "$address/24" dev wire; done
for address in 10.0.0.5/32 169.254.169.254/32; do there addr add "$address" dev wire; ip route add "$address" dev wire; done
there addr add 2606:50c0:8000::3/64 dev wire nodad
there link set wire up
: > "$files/wired"
await serving
: > "$files/entered"
set +e
FULLSEND_TEST_MACHINE=here $become "$@"
code=$?
kill "$there"
exit $code
"#;

/// What the test on this machine sees of the other one.
#[derive(Debug)]
pub(crate) struct World {
    files: PathBuf,
}

/// Runs `body` on this machine, as `caller`.
pub(crate) fn run(test: &'static str, caller: Caller, body: impl AsyncFnOnce(&Context)) {
    match std::env::var(MACHINE).as_deref() {
        Ok("there") => servers::serve(&World::here().files),
        Ok(_) => {
            context::run(test, Caller::Itself, start, body);
            std::fs::write(World::here().files.join("home/witness"), test).unwrap();
        }
        Err(_) => join_machines(test, caller),
    }
}

/// The backend with a log of decisions, and with the other machine's authority for endpoints.
fn start(place: &Place) -> Result<Arc<dyn SandboxBackend>, String> {
    let authority = CertificateDer::from_pem_file(World::here().files.join("ca/ca.pem")).unwrap();
    let config = LocalConfig {
        state_dir: place.state(),
        egress_log: Some(place.path("egress.jsonl")),
        endpoint_roots: vec![authority],
    };
    match LocalBackend::start(config) {
        Ok(backend) => Ok(Arc::new(backend)),
        Err(error @ SandboxError::Unsupported { .. }) => Err(error.to_string()),
        Err(error) => panic!("the backend does not start: {error}"),
    }
}

fn join_machines(test: &str, caller: Caller) {
    let (namespaces, become_caller) = match (is_root(), caller) {
        (true, Caller::Itself) => (vec!["--net", "--mount"], String::new()),
        (true, Caller::Ordinary) => (
            vec!["--net", "--mount"],
            format!("setpriv --reuid={ORDINARY} --regid={ORDINARY} --clear-groups --"),
        ),
        // The rights over the machines are given up again before the test.
        (false, Caller::Itself) => (
            vec!["--user", "--map-root-user", "--net", "--mount"],
            format!("unshare --user --map-user={ORDINARY} --map-group={ORDINARY} --"),
        ),
        (false, Caller::Ordinary) => return declare_skip(test, "the caller is an ordinary user already"),
    };
    let possible = Command::new("unshare").args(&namespaces).args(["--", "ip", "link"]).output();
    if !possible.as_ref().is_ok_and(|output| output.status.success()) {
        return declare_skip(test, &format!("no network namespaces here: {possible:?}"));
    }
    let directory = make_files(caller);
    let files = directory.path();
    let inner = reexec::command(test, "internet");
    let mut command = Command::new("unshare");
    command.args(&namespaces).args(["--", "sh", "-c", SCRIPT, "sh"]);
    command.arg(files).arg(become_caller).arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.env(FILES, files).env("TMPDIR", files.join("home")).env("HOME", files.join("home"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    let there = std::fs::read_to_string(files.join("there.log")).unwrap_or_default();
    let (said, told) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the test failed:\n{said}{told}\nthe other machine said:\n{there}");
    assert!(files.join("home/witness").exists(), "no test is called `{test}`:\n{said}");
}

fn make_files(caller: Caller) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["home", "ca"] {
        std::fs::create_dir(path(name)).unwrap();
    }
    for (name, text) in [
        ("hosts", "127.0.0.1 localhost\n"),
        ("resolv.conf", "nameserver 140.82.112.53\noptions timeout:5 attempts:1\n"),
        ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ] {
        std::fs::write(path(name), text).unwrap();
    }
    if is_root() && caller == Caller::Ordinary {
        for name in ["", "home"] {
            chown(path(name), Some(ORDINARY), Some(ORDINARY)).unwrap();
        }
    }
    directory
}

impl World {
    pub(crate) fn here() -> Self {
        Self { files: std::env::var_os(FILES).map(PathBuf::from).expect("the files of the machines") }
    }

    /// Lines of a file that the other machine writes.
    fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.files.join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Questions that reached the name server: `1 ok.test` for its IPv4 addresses.
    pub(crate) fn questions(&self) -> Vec<String> {
        self.lines("questions")
    }

    /// How often the name server was asked for an address of `name`.
    pub(crate) fn lookups(&self, name: &str) -> usize {
        self.questions().iter().filter(|line| **line == format!("1 {name}")).count()
    }

    /// Requests that reached a web server.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.lines("requests").iter().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Connections to servers without TLS, and datagrams: the address at which each arrived.
    pub(crate) fn arrivals(&self) -> Vec<String> {
        self.lines("arrivals")
    }

    /// Makes the certificate authority known to a session.
    pub(crate) fn authority(&self) -> FilesystemMount {
        FilesystemMount::read_only(self.files.join("ca"), "/ca")
    }
}

/// A session that may reach `hosts`.
pub(crate) async fn session(cx: &Context, hosts: &[&str]) -> SandboxSessionId {
    with_policy(cx, NetworkPolicy::limited(hosts.iter().copied())).await
}

/// A session with this policy.
pub(crate) async fn with_policy(cx: &Context, network_policy: NetworkPolicy) -> SandboxSessionId {
    let mut mounts = vec![World::here().authority()];
    mounts.extend(cx.probe_mount());
    cx.provision(SandboxSpec { network_policy, mounts, ..SandboxSpec::default() }).await
}

/// The decisions so far.
pub(crate) fn decisions(cx: &Context) -> Vec<Value> {
    let text = std::fs::read_to_string(cx.place.path("egress.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits for a decision with these values.
pub(crate) fn decided(cx: &Context, wanted: &[(&str, Value)]) -> Value {
    let find =
        || decisions(cx).into_iter().find(|line| wanted.iter().all(|(key, value)| line[*key] == *value));
    host::wait_until(&format!("{wanted:?} in {:?}", decisions(cx)), || find().is_some());
    find().unwrap()
}

/// A file of the other machine, for the process that is that machine.
pub(super) fn signal(files: &Path, name: &str) {
    std::fs::write(files.join(name), "").unwrap();
}
