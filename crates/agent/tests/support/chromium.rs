//! A real browser, and pages for it on loopback.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fullsend_agent::browser::Lease;
use fullsend_testkit::declare_skip;
use serde_json::Value;

/// A browser that lives as long as the test.
pub(crate) struct Chromium {
    process: Child,
    pub(crate) port: u16,
    pub(crate) profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts one, or says aloud that there is none.
    pub(crate) fn start(test: &str) -> Option<Self> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places = std::env::split_paths(&path).map(|directory| directory.join("chromium"));
        let Some(program) = places.find(|file| file.is_file()) else {
            declare_skip(test, "chromium is not installed");
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        let process = Self::launch(&program, &profile);
        let mut started = Self { process, port: 0, profile };
        started.port = started.wait_for_port();
        Some(started)
    }

    fn launch(program: &PathBuf, profile: &tempfile::TempDir) -> Child {
        let mut command = Command::new(program);
        command.args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ]);
        command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
        command.args(["--remote-debugging-port=0", "about:blank"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.env("HOME", profile.path()).current_dir(profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// The browser writes its port down when it listens.
    fn wait_for_port(&mut self) -> u16 {
        let file = self.profile.path().join("DevToolsActivePort");
        loop {
            let written = std::fs::read_to_string(&file).unwrap_or_default();
            if let Some((port, _)) = written.split_once('\n') {
                return port.parse().unwrap();
            }
            assert_eq!(self.process.try_wait().unwrap(), None, "chromium ended before it listened");
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn lease(&self) -> Lease {
        Lease::new(&format!("http://127.0.0.1:{}", self.port)).unwrap()
    }

    /// The pages that are open, as the browser itself says.
    pub(crate) fn pages(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
        stream.write_all(request.as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let (mut line, mut length) = (String::new(), 0);
        while reader.read_line(&mut line).unwrap() > 2 {
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let list: Vec<Value> = serde_json::from_slice(&body).unwrap();
        let pages = list.iter().filter(|target| target["type"] == "page");
        pages.map(|target| target["url"].as_str().unwrap().to_owned()).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Pages by path, and who asked for them.
pub(crate) struct Site {
    port: u16,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    pub(crate) fn start(pages: &[(&str, String)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let pages: HashMap<String, String> =
            pages.iter().map(|(path, answer)| ((*path).to_owned(), answer.clone())).collect();
        let (pages, seen) = (Arc::new(pages), Arc::clone(&requests));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (pages, seen) = (Arc::clone(&pages), Arc::clone(&seen));
                thread::spawn(move || answer(stream.unwrap(), &pages, &seen));
            }
        });
        Self { port, requests }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn answer(mut stream: TcpStream, pages: &HashMap<String, String>, seen: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    let _ = reader.read_line(&mut first);
    let (mut line, mut cookie) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
        if line.to_ascii_lowercase().starts_with("cookie:") {
            cookie = format!(" {}", line.trim());
        }
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(format!("{path}{cookie}"));
    let plain = path.split('?').next().unwrap_or_default();
    let found = pages.get(&path).or_else(|| pages.get(plain));
    let missing = "HTTP/1.0 404 Not Found\r\n\r\n".to_owned();
    let _ = stream.write_all(found.unwrap_or(&missing).as_bytes());
}

pub(crate) fn page(body: &str) -> String {
    format!("HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!doctype html>{body}")
}

pub(crate) fn redirect(to: &str) -> String {
    format!("HTTP/1.0 302 Found\r\nLocation: {to}\r\n\r\n")
}
