//! The browser tool with a real browser, on pages served from loopback.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use fullsend_agent::browser::{AccountAccess, Lease, ProfileMode};
use fullsend_testkit::{declare_skip, test_name};
use serde_json::{Value, json};

use crate::support::browser::Driver;

/// A browser that lives as long as the test.
struct Chromium {
    process: Child,
    port: u16,
    profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts one, or says aloud that there is none.
    fn start(test: &str) -> Option<Self> {
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

    fn lease(&self) -> Lease {
        Lease::new(&format!("http://127.0.0.1:{}", self.port)).unwrap()
    }

    /// The pages that are open, as the browser itself says.
    fn pages(&self) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!("GET /json/list HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", self.port);
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
struct Site {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start(pages: &[(&str, String)]) -> Self {
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

    fn url(&self, path: &str) -> String {
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
    let missing = "HTTP/1.0 404 Not Found\r\n\r\n".to_owned();
    let _ = stream.write_all(pages.get(&path).unwrap_or(&missing).as_bytes());
}

fn page(body: &str) -> String {
    format!("HTTP/1.0 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!doctype html>{body}")
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.0 302 Found\r\nLocation: {to}\r\n\r\n")
}

/// The name of the element whose line holds `words`.
fn named(snapshot: &str, words: &str) -> String {
    let line = snapshot.lines().find(|line| line.contains(words));
    let line = line.unwrap_or_else(|| panic!("no `{words}` in:\n{snapshot}"));
    line.rsplit(' ').next().unwrap().to_owned()
}

const FORM: &str = r#"<title>A form</title><h1>Register</h1>
<form action="/done"><label>Name <input name=name value=old></label><label>Note <textarea name=note></textarea></label>
<label>State <select name=state><option value=NY>New York</option><option value=CA>California</option></select></label>
<label>Agree <input type=checkbox name=agree></label><label>Born <input type=date name=born></label>
<label>Picture <input type=file name=picture></label>
<button>Send</button></form><p>Some text.</p><div id=editor contenteditable aria-label=Editor role=textbox>draft</div>
<button disabled>Off</button>
<script>console.log("hello", 7, {a: 1}); console.warn("careful");
addEventListener("keydown", (event) => { if (event.key === "k" && event.ctrlKey) document.title = "pressed"; });
setTimeout(() => { undefinedThing(); });</script>"#;

#[test]
fn a_form_is_read_filled_and_sent() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let site = Site::start(&[("/form", page(FORM)), ("/done?x", page("<title>no</title>"))]);
    let driver = Driver::new(chromium.lease());

    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), "about:blank");
    let opened = driver.ok(json!({ "action": "open", "url": site.url("/form") }));
    assert_eq!(opened, format!("A form\n{}", site.url("/form")));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "A form");

    let whole = driver.ok(json!({ "action": "snapshot" }));
    for words in ["heading \"Register\" [level=1] @e", "text \"Some text.\"", "button \"Off\" [disabled] @e"]
    {
        assert!(whole.contains(words), "{words} in:\n{whole}");
    }
    let stale = named(&whole, "button \"Send\"");
    let seen = driver.ok(json!({ "action": "snapshot", "interactive": true }));
    assert!(!seen.contains("heading") && !seen.contains("text \"Some"), "{seen}");
    assert!(seen.contains("textbox \"Name\" [value=\"old\"]"), "{seen}");
    let (code, message) = driver.error(json!({ "action": "click", "ref": stale }));
    assert_eq!(code, "command_failed");
    assert_eq!(message, format!("{stale} is not in the last snapshot of this page; take a new snapshot"));

    let name = named(&seen, "textbox \"Name\"");
    driver.ok(json!({ "action": "fill", "ref": name, "value": "Ada" }));
    driver.ok(json!({ "action": "type", "ref": name, "value": " L" }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "textbox \"Note\""), "value": "two\nlines" }));
    driver.ok(json!({ "action": "select", "ref": named(&seen, "\"State\""), "value": "California" }));
    let box_ref = named(&seen, "checkbox");
    driver.ok(json!({ "action": "check", "ref": box_ref }));
    driver.ok(json!({ "action": "check", "ref": box_ref }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "1815-12-10" }));
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Editor\""), "value": "final" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "text", "target": "#editor" })), "final");
    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Editor\""), "value": "" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "text", "target": "#editor" })).trim(), "");

    let refused = [
        (json!({ "action": "click", "ref": named(&seen, "\"Off\"") }), "is disabled"),
        (
            json!({ "action": "select", "ref": named(&seen, "\"State\""), "value": "Utah" }),
            "has no such option",
        ),
        (json!({ "action": "select", "ref": name, "value": "x" }), "is not a list of options"),
        (json!({ "action": "fill", "ref": box_ref, "value": "x" }), "cannot be filled"),
        (
            json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "soon" }),
            "does not take this value",
        ),
        (
            json!({ "action": "fill", "ref": named(&seen, "\"Picture"), "value": "/etc/passwd" }),
            "files are refused",
        ),
        (json!({ "action": "check", "ref": name }), "cannot be checked"),
        (json!({ "action": "get", "kind": "text", "target": "#none" }), "is not on the page"),
        (json!({ "action": "get", "kind": "text", "target": "p[" }), "is not a CSS selector"),
    ];
    for (input, words) in refused {
        let (code, message) = driver.error(input.clone());
        assert!(code == "command_failed" && message.contains(words), "{input}: {message}");
    }

    driver.ok(json!({ "action": "fill", "ref": named(&seen, "\"Born\""), "value": "1815-12-10" }));
    driver.ok(json!({ "action": "press", "key": "Control+k" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "title" })), "pressed");
    driver.ok(json!({ "action": "click", "ref": named(&seen, "button \"Send\"") }));
    driver.ok(json!({ "action": "wait", "urlPattern": "*/done?name=Ada+L&*" }));
    let sent = driver.ok(json!({ "action": "get", "kind": "url" }));
    let expected = "/done?name=Ada+L&note=two%0D%0Alines&state=CA&agree=on&born=1815-12-10&picture=";
    assert_eq!(sent, site.url(expected));
    let (_, message) = driver.error(json!({ "action": "click", "ref": name }));
    assert!(message.contains("take a new snapshot"), "{message}");
}

#[test]
fn consoles_errors_and_waits_are_told() {
    let Some(chromium) = Chromium::start(test_name!()) else { return };
    let late = r#"<button hidden id=b>Later</button><a href="/form#part">Go</a><p id=log></p><input aria-label=Box>
        <script>setTimeout(() => { document.getElementById("b").hidden = false; history.pushState({}, "", "/late/there"); }, 300);
        addEventListener("keydown", (event) => { document.getElementById("log").textContent += event.key; });</script>"#;
    let site = Site::start(&[("/form", page(FORM)), ("/late", page(late))]);
    let driver = Driver::new(chromium.lease());

    driver.ok(json!({ "action": "open", "url": site.url("/form") }));
    driver.ok(json!({ "action": "wait", "loadState": "networkidle" }));
    let console = driver.ok(json!({ "action": "console" }));
    assert!(console.contains("[log] hello 7 Object\n[warning] careful"), "{console}");
    let errors = driver.ok(json!({ "action": "errors" }));
    assert!(errors.contains("undefinedThing is not defined"), "{errors}");

    driver.ok(json!({ "action": "open", "url": site.url("/late") }));
    for state in ["domcontentloaded", "load", "networkidle"] {
        driver.ok(json!({ "action": "wait", "loadState": state }));
    }
    driver.ok(json!({ "action": "wait", "urlPattern": "*/late/there" }));
    let seen = driver.ok(json!({ "action": "snapshot" }));
    driver.ok(json!({ "action": "wait", "ref": named(&seen, "button \"Later\"") }));
    driver.ok(json!({ "action": "wait", "ms": 0 }));
    let (code, message) =
        driver.error(json!({ "action": "wait", "urlPattern": "*/never", "timeoutMs": 200 }));
    assert_eq!((code.as_str(), message.as_str()), ("command_failed", "wait did not finish within 200 ms"));

    driver.ok(json!({ "action": "type", "ref": named(&seen, "\"Box\""), "value": "aß 1" }));
    for key in ["ArrowLeft", "Tab", "Shift+A", "+"] {
        driver.ok(json!({ "action": "press", "key": key }));
    }
    let log = driver.ok(json!({ "action": "get", "kind": "text", "target": "#log" }));
    assert_eq!(log, "aß 1ArrowLeftTabA+");
    let clicked = driver.call(&json!({ "action": "click", "ref": named(&seen, "link \"Go\"") })).record;
    assert_eq!(clicked["detail"], format!("the page is now at {}", site.url("/form")), "{clicked}");
    driver.ok(json!({ "action": "wait", "loadState": "load" }));
    assert_eq!(driver.ok(json!({ "action": "get", "kind": "url" })), site.url("/form#part"));
}
