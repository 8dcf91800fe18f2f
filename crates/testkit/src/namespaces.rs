//! A private network in which real host names lead to servers of the test.
//!
//! Rules about addresses, ports and certificates are only tested for real when the code under test resolves
//! `github.com` with the system's resolver, connects to port 443 of a public address and checks a certificate for that
//! name. [`in_namespace`] makes that possible without a network: it runs the test again inside new user, network and
//! mount namespaces, where the chosen addresses belong to the loopback device and `/etc/hosts` names them. There is no
//! other device, so that nothing can leave.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{declare_skip, reexec};

/// The role of the process inside.
const INSIDE: &str = "inside-namespaces";
/// Names the file by which the process inside shows that the right test ran.
const WITNESS: &str = "FULLSEND_TESTKIT_WITNESS";
/// Makes directories of tests that run at once differ.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A name and an address that it has inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The host name.
    pub name: &'static str,
    /// An address of it. Give a name several times for several addresses.
    pub address: IpAddr,
}

impl Host {
    /// A name with an address in the usual spelling.
    pub fn new(name: &'static str, address: &str) -> Self {
        Self { name, address: address.parse().expect("an IP address") }
    }
}

/// Runs `body` inside namespaces where `hosts` are real. `test` is the name of the calling test, by
/// [`test_name!`](crate::test_name).
///
/// The test runs twice: outside, where this function starts the test again inside and waits for it, and inside, where
/// it calls `body`. Where the system does not allow such namespaces, the test is declared as skipped.
pub fn in_namespace(test: &str, hosts: &[Host], body: impl FnOnce()) {
    if reexec::role().as_deref() == Some(INSIDE) {
        let witness = std::env::var_os(WITNESS).expect("the witness file");
        body();
        return std::fs::write(witness, test).expect("to write the witness file");
    }
    match run_inside(test, hosts) {
        Outcome::Passed => {}
        Outcome::Cannot(reason) => declare_skip(test, &reason),
        Outcome::Failed(text) => panic!("the test failed inside its namespaces:\n{text}"),
        Outcome::NoSuchTest(text) => panic!("no test is called `{test}`:\n{text}"),
    }
}

/// How the run inside ended.
#[derive(Debug)]
enum Outcome {
    /// The test ran and passed.
    Passed,
    /// The system does not allow it.
    Cannot(String),
    /// The test ran and failed, with this output.
    Failed(String),
    /// The binary has no such test, by this output.
    NoSuchTest(String),
}

/// Runs the test inside and waits for it.
fn run_inside(test: &str, hosts: &[Host]) -> Outcome {
    let files = Files::create(hosts);
    let output = match command(test, hosts, &files).output() {
        Ok(output) => output,
        Err(error) => return Outcome::Cannot(format!("cannot run unshare: {error}")),
    };
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !files.path("entered").exists() {
        return Outcome::Cannot(format!("no namespaces here: {text}"));
    }
    match (output.status.success(), files.path("witness").exists()) {
        (true, true) => Outcome::Passed,
        (true, false) => Outcome::NoSuchTest(text),
        (false, _) => Outcome::Failed(text),
    }
}

/// The command that enters the namespaces, sets them up and runs the test.
fn command(test: &str, hosts: &[Host], files: &Files) -> Command {
    let inner = reexec::command(test, INSIDE);
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--net", "--mount", "--", "sh", "-c", &script(hosts), "sh"]);
    command.arg(&files.directory).arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command.env(WITNESS, files.path("witness"));
    command
}

/// The set-up, a shell script; its first argument is the directory of files, the others are the command to run.
fn script(hosts: &[Host]) -> String {
    let mut addresses: Vec<String> = hosts.iter().map(|host| host.address.to_string()).collect();
    addresses.sort();
    addresses.dedup();
    let add = |address: &String| match address.contains(':') {
        true => format!("ip addr add {address}/128 dev lo nodad"),
        false => format!("ip addr add {address}/32 dev lo"),
    };
    let is_own = |address: &&String| address.starts_with("127.") || *address == "::1";
    let adds: Vec<String> = addresses.iter().filter(|address| !is_own(address)).map(add).collect();
    let mounts = ["hosts", "resolv.conf", "nsswitch.conf"]
        .map(|name| format!("if [ -e /etc/{name} ]; then mount --bind \"$files/{name}\" /etc/{name}; fi"));
    let steps = [vec!["ip link set lo up".to_owned()], adds, mounts.to_vec()].concat().join(" &&\n");
    format!("files=$1; shift\n{{ {steps}\n}} || exit 1\n: > \"$files/entered\"\nexec \"$@\"\n")
}

/// The files that are mounted inside.
struct Files {
    directory: PathBuf,
}

impl Files {
    /// Writes them to a new directory.
    fn create(hosts: &[Host]) -> Self {
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fullsend-testkit-{}-{count}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir(&directory).expect("a directory for the namespaces' files");
        let lines: String = hosts.iter().map(|host| format!("{} {}\n", host.address, host.name)).collect();
        let files = Self { directory };
        files.write("hosts", &format!("127.0.0.1 localhost\n{lines}"));
        files.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n");
        files.write("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n");
        files
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a file for the namespaces");
    }

    fn path(&self, name: &str) -> PathBuf {
        Path::new(&self.directory).join(name)
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // A leftover in the temporary directory harms nobody.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, ToSocketAddrs as _};

    use super::{Host, Outcome, in_namespace, run_inside};
    use crate::declare_skip;

    #[test]
    fn real_names_lead_to_listeners_of_the_test() {
        let hosts = [
            Host::new("github.com", "140.82.112.3"),
            Host::new("raw.githubusercontent.com", "185.199.108.133"),
        ];
        in_namespace(crate::test_name!(), &hosts, || {
            let found: Vec<_> = ("github.com", 443).to_socket_addrs().unwrap().collect();
            assert_eq!(found, ["140.82.112.3:443".parse().unwrap()]);
            let listener = TcpListener::bind("140.82.112.3:443").unwrap();
            let stream = TcpStream::connect(("github.com", 443)).unwrap();
            assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
            assert!(TcpStream::connect("1.1.1.1:443").is_err(), "there is a way out");
            assert!(("example.com", 443).to_socket_addrs().is_err());
        });
    }

    #[test]
    fn a_failure_inside_is_a_failure_outside() {
        let hosts = [Host::new("github.com", "140.82.112.3")];
        if crate::reexec::role().is_some() {
            return in_namespace(crate::test_name!(), &hosts, || panic!("as planned"));
        }
        match run_inside(crate::test_name!(), &hosts) {
            Outcome::Failed(text) => assert!(text.contains("as planned"), "{text}"),
            Outcome::Cannot(reason) => declare_skip(crate::test_name!(), &reason),
            other @ (Outcome::Passed | Outcome::NoSuchTest(_)) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_wrong_name_is_not_a_pass() {
        match run_inside("no::such::test", &[]) {
            Outcome::NoSuchTest(_) => {}
            Outcome::Cannot(reason) => declare_skip(crate::test_name!(), &reason),
            other @ (Outcome::Passed | Outcome::Failed(_)) => panic!("{other:?}"),
        }
    }
}
