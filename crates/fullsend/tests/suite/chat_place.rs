//! A chat service in a process of its own, and a client that talks to it line by line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::suite::agent_place::AgentPlace;

/// A service under way.
pub(crate) struct Chat {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
    /// Everything that it said.
    pub(crate) lines: Vec<Value>,
    /// Where the workspace of its sessions is.
    workspace: String,
}

impl Chat {
    /// Starts a service that plays the script of a place.
    pub(crate) fn start(place: &AgentPlace, arguments: &[&str]) -> Self {
        let mut command =
            place.command(&[&["chat", "--stdio", "--replay", "../model.yaml"], arguments].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        let workspace = place.workspace().to_str().unwrap().to_owned();
        Self { child, input, output, lines: Vec::new(), workspace }
    }

    /// The same with sessions in a file beside the workspace.
    pub(crate) fn kept(place: &AgentPlace, arguments: &[&str]) -> Self {
        Self::start(place, &[&["--chat-session-db", "../chat.db"], arguments].concat())
    }

    pub(crate) fn send(&mut self, method: &str, params: &Value) {
        let request = json!({"type": "fullsend.chat.request", "protocolVersion": 1, "requestId": method,
            "method": method, "params": params});
        writeln!(self.input.as_mut().unwrap(), "{request}").unwrap();
    }

    /// The next line; none at the end.
    pub(crate) fn line(&mut self) -> Option<Value> {
        let mut line = String::new();
        self.output.as_mut().unwrap().read_line(&mut line).unwrap();
        let line: Value = (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())?;
        self.lines.push(line.clone());
        Some(line)
    }

    /// Reads until something is said.
    pub(crate) fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let Some(line) = self.line() else { panic!("it was never said: {:#?}", self.lines) };
            if is_it(&line) {
                return line;
            }
        }
    }

    /// Reads until an event of this kind, or of another with which a turn ends.
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        let ends = ["turn_completed", "turn_failed", "status_changed"];
        let line = self.until(|line| {
            line["event"]["kind"].as_str().is_some_and(|found| found == kind || ends.contains(&found))
        });
        assert_eq!(line["event"]["kind"], kind, "{:#?}", self.lines);
        line["event"].clone()
    }

    /// Asks, and reads until the answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.send(method, params);
        self.until(|line| line["requestId"] == method)
    }

    pub(crate) fn done(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["result"].clone()
    }

    /// Begins a session in the workspace.
    pub(crate) fn session(&mut self, more: &Value) -> Value {
        let mut params = json!({"sessionId": "s1", "workspace": {"hostPath": self.workspace}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.done("start_session", &params)
    }

    /// Begins a turn.
    pub(crate) fn turn(&mut self, id: &str, more: &Value) {
        let mut params = json!({"sessionId": "s1", "turnId": id, "input": {"text": format!("Go: {id}.")}});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.send("start_turn", &params);
    }

    /// A turn from its beginning to its end; returns the event that ends it.
    pub(crate) fn complete(&mut self, id: &str, more: &Value) -> Value {
        self.turn(id, more);
        self.event("turn_completed")
    }

    /// Ends the input, and reads to the end: the code that the process ends with, and what it said to people.
    pub(crate) fn end(mut self) -> (Option<i32>, String, Vec<Value>) {
        drop(self.input.take());
        while self.line().is_some() {}
        let ran = self.child.wait_with_output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap(), self.lines)
    }

    /// Ends reading, as a client that is gone.
    pub(crate) fn stop_reading(&mut self) {
        drop(self.output.take());
    }

    /// The kinds of events so far.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        kinds(&self.lines)
    }
}

pub(crate) fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["event"]["kind"].as_str()).collect()
}
