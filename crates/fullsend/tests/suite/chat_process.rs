//! A chat service in a process of its own, talked to line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::suite::agent_place::AgentPlace;

/// A running service. It is killed when it is dropped.
pub(crate) struct Chat {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    asked: u64,
    /// Every event that was read, as it was written.
    pub(crate) events: Vec<Heard>,
    /// What was read of a line that has no end.
    pub(crate) cut: Option<String>,
    /// Every line in the order in which it was written or read: `> ` or `< ` before it.
    pub(crate) said: Vec<String>,
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) sequence: u64,
    pub(crate) line: String,
}

impl Heard {
    pub(crate) fn of(line: &str) -> Self {
        #[derive(Deserialize)]
        struct Numbered {
            sequence: u64,
        }
        let numbered: Numbered = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        Self { sequence: numbered.sequence, line: line.to_owned() }
    }

    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.line).unwrap()
    }

    pub(crate) fn kind(&self) -> String {
        self.value()["event"]["kind"].as_str().unwrap().to_owned()
    }
}

/// What came of a request.
pub(crate) type Answer = Result<Box<RawValue>, Value>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(rename = "type")]
    tag: String,
    #[serde(default)]
    request_id: Option<String>,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<Value>,
}

/// The usual arguments: a scripted model, and the store of the place.
pub(crate) const KEPT: [&str; 6] =
    ["chat", "--stdio", "--replay", "../model.yaml", "--chat-session-db", "../chat.db"];

impl Chat {
    pub(crate) fn start(place: &AgentPlace, arguments: &[&str]) -> Self {
        Self::spawn(place.command(&[&KEPT[..], arguments].concat()))
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, input, output, asked: 0, events: Vec::new(), cut: None, said: Vec::new() }
    }

    /// Writes a request, without waiting for its answer; false where nobody reads it.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> bool {
        self.asked += 1;
        let request = json!({"type": "fullsend.chat.request", "protocolVersion": 1,
            "requestId": format!("r{}", self.asked), "method": method, "params": params});
        self.said.push(format!("> {request}"));
        self.input.as_mut().unwrap().write_all(format!("{request}\n").as_bytes()).is_ok()
    }

    /// The answer to the last request; none when the service ended before.
    pub(crate) fn answer(&mut self) -> Option<Answer> {
        loop {
            if let Some(answer) = self.read()? {
                return Some(answer);
            }
        }
    }

    /// Asks and waits for the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Answer {
        assert!(self.send(method, params), "the service takes no requests");
        self.answer().unwrap_or_else(|| panic!("the service ended without an answer to {method} {params}"))
    }

    /// What comes of a request that must succeed.
    pub(crate) fn result(&mut self, method: &str, params: &Value) -> Value {
        let result = self.ask(method, params).unwrap_or_else(|error| panic!("{method} {params}: {error}"));
        serde_json::from_str(result.get()).unwrap()
    }

    /// All events of a session, or of all, after this one: as they are in the store.
    pub(crate) fn listed(&mut self, session: Option<&str>, after: u64) -> Vec<Heard> {
        let mut listed: Vec<Heard> = Vec::new();
        loop {
            let last = listed.last().map_or(after, |event| event.sequence);
            let page = self.page(&json!({"sessionId": session, "afterSequence": last, "limit": 2000}));
            if page.is_empty() {
                return listed;
            }
            listed.extend(page);
        }
    }

    /// One page of events, as they are in the store.
    pub(crate) fn page(&mut self, query: &Value) -> Vec<Heard> {
        #[derive(Deserialize)]
        struct Page {
            events: Vec<Box<RawValue>>,
        }
        let result = self.ask("list_events", query).unwrap();
        let page: Page = serde_json::from_str(result.get()).unwrap();
        page.events.iter().map(|event| Heard::of(event.get())).collect()
    }

    /// Reads events until there is one of these kinds, and returns it; none when the service ended before.
    pub(crate) fn until(&mut self, kinds: &[&str]) -> Option<Value> {
        loop {
            let before = self.events.len();
            assert!(self.read()?.is_none(), "nobody asked");
            if self.events.len() > before && kinds.contains(&self.events[before].kind().as_str()) {
                return Some(self.events[before].value());
            }
        }
    }

    /// Reads a line; the inner value is there if it is an answer. None when there is no further whole line.
    fn read(&mut self) -> Option<Option<Answer>> {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        if !line.ends_with('\n') {
            self.cut = Some(line).filter(|line| !line.is_empty());
            return None;
        }
        line.pop();
        self.said.push(format!("< {line}"));
        let read: Line = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if read.tag == "fullsend.chat.event" {
            self.events.push(Heard::of(&line));
            return Some(None);
        }
        assert_eq!(read.request_id, Some(format!("r{}", self.asked)), "{line}");
        Some(Some(read.result.ok_or_else(|| read.error.unwrap())))
    }

    /// Ends the input, reads what is left, and waits for the end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        self.input = None;
        while let Some(read) = self.read() {
            assert!(read.is_none(), "nobody asked");
        }
        self.child.wait().unwrap()
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A session in the workspace of the place.
pub(crate) fn session(place: &AgentPlace, id: &str) -> Value {
    json!({"sessionId": id, "workspace": {"hostPath": place.workspace()}})
}

/// A turn.
pub(crate) fn turn(session: &str, id: &str) -> Value {
    json!({"sessionId": session, "turnId": id, "input": {"text": "Go."}})
}

/// Events are numbered one by one from this number on.
pub(crate) fn without_gap(events: &[Heard], first: u64) {
    for (expected, event) in (first..).zip(events) {
        assert_eq!(event.sequence, expected, "{}", event.line);
    }
}
