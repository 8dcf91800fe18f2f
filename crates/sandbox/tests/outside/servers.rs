//! The other machine: its names, its web servers, and a log of everything that arrives.

use std::fs::OpenOptions;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use fullsend_testkit::dns::{serve_names, zone};
use fullsend_testkit::{Recorded, Reply, Respond, Server, TestCa, Validity};
use serde_json::{Value, json};

use super::world::signal;
use crate::support::host;

/// Names, each with its answers one after the other. Every address but loopback and `140.82.112.1` is on this machine.
const NAMES: &[(&str, &[&[&str]])] = &[
    ("ok.test", &[&["140.82.112.3"]]),
    ("evil.test", &[&["140.82.112.3"]]),
    ("api.test", &[&["140.82.112.3"]]),
    ("a.wild.test", &[&["140.82.112.3"]]),
    ("wild.test", &[&["140.82.112.3"]]),
    ("other.test", &[&["140.82.112.4"]]),
    ("evilok.test", &[&["140.82.112.4"]]),
    ("ok.test.evil.test", &[&["140.82.112.4"]]),
    ("six.test", &[&["2606:50c0:8000::3"]]),
    ("rebind.test", &[&["140.82.112.3"], &["10.0.0.5"]]),
    ("mixed.test", &[&["140.82.112.3", "10.0.0.5"]]),
    ("private.test", &[&["10.0.0.5"]]),
    ("metadata.test", &[&["169.254.169.254"]]),
    ("loop.test", &[&["127.0.0.1"]]),
    ("own.test", &[&["140.82.112.1"]]),
    ("mapped.test", &[&["::ffff:10.0.0.5"]]),
    ("nat64.test", &[&["64:ff9b::a00:5"]]),
];

const WITH_TLS: [&str; 5] =
    ["140.82.112.3:443", "140.82.112.3:8443", "140.82.112.4:443", "10.0.0.5:443", "[2606:50c0:8000::3]:443"];

const WITHOUT_TLS: [&str; 6] = [
    "140.82.112.3:80",
    "140.82.112.3:22",
    "140.82.112.4:80",
    "10.0.0.5:80",
    "169.254.169.254:80",
    "[2606:50c0:8000::3]:80",
];

/// Answers a datagram with the same.
const ECHO: &str = "140.82.112.3:9999";

/// Serves until the process is ended, at the latest with its parent.
pub(crate) fn serve(files: &Path) {
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    signal(files, "born");
    host::wait_until("the wire", || files.join("wired").exists());
    serve_names("140.82.112.53:53", zone(NAMES), &files.join("questions"));
    let ca = TestCa::new();
    std::fs::write(files.join("ca/ca.pem"), ca.pem()).unwrap();
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    let log = Log { files: files.to_owned() };
    log.make_repository();
    let leaf = ca.leaf(&names, Validity::Current);
    let _server = Server::start_with(&leaf, &WITH_TLS, Arc::new(log.clone()));
    for address in WITHOUT_TLS {
        let (log, listener) = (log.clone(), TcpListener::bind(address).unwrap());
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let log = log.clone();
                std::thread::spawn(move || log.converse(stream, address));
            }
        });
    }
    let (echo, echo_log) = (UdpSocket::bind(ECHO).unwrap(), log);
    std::thread::spawn(move || {
        let mut buffer = [0; 512];
        while let Ok((length, peer)) = echo.recv_from(&mut buffer) {
            echo_log.append("arrivals", ECHO);
            let _ = echo.send_to(&buffer[..length], peer);
        }
    });
    signal(files, "serving");
    loop {
        std::thread::park();
    }
}

/// Writes down what arrives.
#[derive(Clone, Debug)]
struct Log {
    files: PathBuf,
}

impl Log {
    fn append(&self, name: &str, line: &str) {
        let mut file = OpenOptions::new().append(true).create(true).open(self.files.join(name)).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Reads one head without TLS and answers it.
    fn converse(&self, mut stream: TcpStream, address: &str) {
        self.append("arrivals", address);
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        self.append("requests", &json!({ "at": address, "sni": null, "head": head }).to_string());
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nplain";
        // Whoever only knocks does not wait for an answer.
        let _ = stream.write_all(answer.as_bytes());
    }

    /// A repository with one commit, as files that any web server can serve.
    fn make_repository(&self) {
        let line = "git init -q work && cd work && echo content > file && git add file && \
            git -c user.name=n -c user.email=e@e.test commit -q -m m && \
            git clone -q --bare . ../repo.git && cd ../repo.git && git update-server-info";
        let output = Command::new("sh").args(["-c", line]).current_dir(&self.files).output();
        assert!(output.as_ref().is_ok_and(|output| output.status.success()), "no repository: {output:?}");
    }
}

impl Respond for Log {
    fn respond(&self, request: &Recorded) -> Reply {
        let headers: Value =
            request.headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let line = json!({
            "at": request.local.to_string(), "sni": request.sni, "target": request.target,
            "method": request.method, "headers": headers,
        });
        self.append("requests", &line.to_string());
        let path = request.target.split('?').next().unwrap_or_default();
        match path.strip_prefix("/repo.git/") {
            Some(name) if !name.contains("..") => {
                std::fs::read(self.files.join("repo.git").join(name)).map_or(Reply::status(404), Reply::ok)
            }
            _ if path == "/stall" => {
                Reply::Stall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nstart\n".to_vec())
            }
            _ => Reply::ok("hello"),
        }
    }
}
