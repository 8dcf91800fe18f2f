//! What a person sees of a run while it happens: on standard error, so that standard output stays the result.

use std::io::{self, IsTerminal, Write as _};

use fullsend_agent::event::Event;
use fullsend_model::ToolCall;
use serde_json::Value;

use crate::environment;

/// How much of a result is quoted in one line.
const LONGEST_LINE: usize = 180;

/// What is shown.
#[derive(Debug)]
pub(super) struct Display {
    /// Text as it comes, and one line for each call.
    live: bool,
    /// One line for each message, for programs.
    events: bool,
    colour: bool,
    /// Whether the last thing shown ended its line.
    at_line_start: bool,
    /// Whether pieces of the current answer were shown.
    streamed: bool,
}

impl Display {
    pub(super) fn new(live: bool, events: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            live,
            events,
            colour: terminal && environment::allows_colour(),
            at_line_start: true,
            streamed: false,
        }
    }

    /// Shows something that happened.
    pub(super) fn show(&mut self, event: &Event<'_>) {
        if self.events {
            self.event_lines(event);
        } else if self.live {
            self.live(event);
        }
    }

    /// Ends the line that is being written.
    pub(super) fn end(&mut self) {
        self.fresh_line();
    }

    fn live(&mut self, event: &Event<'_>) {
        match event {
            Event::TurnBegan { .. } => self.streamed = false,
            Event::Text(text) => {
                self.streamed = true;
                self.write(&harmless(text));
            }
            Event::Reasoning(_) => {}
            Event::Restarted => {
                self.fresh_line();
                self.dim("the gateway broke off; asking again");
            }
            Event::Answered { content, calls } => {
                // A gateway that does not stream, and an answer on record.
                if !self.streamed && !calls.is_empty() && !content.trim().is_empty() {
                    self.write(&harmless(content));
                }
                self.fresh_line();
            }
            Event::CallBegan { .. } => self.fresh_line(),
            // The end of the call says that it was not made.
            Event::Denied { .. } => {}
            Event::CallEnded { call, shown, done, .. } => {
                let sign = if *done { "·" } else { "×" };
                // Some tools begin the line with their name.
                let line = match shown.line.starts_with(call.name.as_str()) {
                    true => one_line(&shown.line),
                    false => format!("{}: {}", one_line(&call.name), one_line(&shown.line)),
                };
                self.dim(&format!("{sign} {line}"));
                if let Some(diff) = &shown.diff {
                    self.diff(diff);
                }
            }
            Event::Told { role: "user", content, .. } if self.streamed => {
                self.dim(&format!("told: {}", harmless(content)));
            }
            Event::Told { .. } => {}
        }
    }

    fn diff(&mut self, diff: &str) {
        for line in diff.lines().skip(2) {
            let colour = match line.as_bytes().first() {
                Some(b'+') => "32",
                Some(b'-') => "31",
                _ => "2",
            };
            self.coloured(colour, &format!("    {}", harmless(line)));
        }
    }

    fn event_lines(&mut self, event: &Event<'_>) {
        match event {
            Event::Told { role: "user", content, images } => {
                self.write(&format!("user: {}\n", harmless(content)));
                if *images > 0 {
                    self.write(&format!("user images: {images}\n"));
                }
            }
            Event::Answered { content, calls } => {
                if !calls.is_empty() {
                    let named = |call: &ToolCall| match detail(call) {
                        Some(detail) => format!("{}({detail})", one_line(&call.name)),
                        None => one_line(&call.name),
                    };
                    let calls: Vec<String> = calls.iter().map(named).collect();
                    self.write(&format!("assistant -> tools: {}\n", calls.join(", ")));
                }
                if !content.trim().is_empty() {
                    self.write(&format!("assistant: {}\n", harmless(content)));
                }
            }
            Event::CallEnded { call, shown, .. } => {
                self.write(&format!("tool {}: {}\n", one_line(&call.name), one_line(&shown.line)));
            }
            Event::TurnBegan { .. }
            | Event::Text(_)
            | Event::Reasoning(_)
            | Event::Restarted
            | Event::CallBegan { .. }
            | Event::Denied { .. }
            | Event::Told { .. } => {}
        }
    }

    fn dim(&mut self, line: &str) {
        self.coloured("2", line);
    }

    fn coloured(&mut self, code: &str, line: &str) {
        self.fresh_line();
        if self.colour {
            self.write(&format!("\x1b[{code}m{line}\x1b[0m\n"));
        } else {
            self.write(&format!("{line}\n"));
        }
    }

    fn fresh_line(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
    }

    fn write(&mut self, text: &str) {
        if !text.is_empty() {
            self.at_line_start = text.ends_with('\n');
            // Nothing can be done about a standard error that cannot be written to.
            let _nowhere_to_tell = io::stderr().lock().write_all(text.as_bytes());
        }
    }
}

/// What a call is about, in a few words.
fn detail(call: &ToolCall) -> Option<String> {
    let input: Value = serde_json::from_str(&call.arguments).ok()?;
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let quoted = |key: &str| text(key).map(|value| format!("{key}={}", Value::from(short(value))));
    let count =
        |key: &str| input.get(key).and_then(Value::as_array).map(|items| format!("{key}={}", items.len()));
    let parts: Vec<Option<String>> = match call.name.as_str() {
        "bash" => vec![quoted("command")],
        "read_file" | "view_image" | "list_files" => vec![quoted("path")],
        "search_files" => vec![quoted("pattern"), quoted("path")],
        "web_fetch" => vec![quoted("url")],
        "edit_file" => vec![quoted("path"), count("edits")],
        "write_file" => vec![quoted("path"), quoted("mode")],
        "delegate_task" => vec![quoted("profile"), quoted("goal")],
        "load_skill" => vec![quoted("name")],
        "read_skill_resource" => vec![quoted("skill"), quoted("path")],
        "run_skill_script" => vec![quoted("skill"), quoted("path"), count("args")],
        _ => Vec::new(),
    };
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| harmless(&parts.join(" ")))
}

fn short(text: &str) -> String {
    let mut letters = text.chars();
    let cut: String = letters.by_ref().take(LONGEST_LINE).collect();
    if letters.next().is_some() { format!("{cut}…") } else { cut }
}

/// A name with a line break could pass for a line of ours.
fn one_line(text: &str) -> String {
    harmless(&short(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
}

/// Text without what a terminal would act on; lines and tabs stay.
pub(super) fn harmless(text: &str) -> String {
    let acts = |letter: char| {
        (letter.is_control() && letter != '\n' && letter != '\t')
            || matches!(letter, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(acts) {
        return text.to_owned();
    }
    let shown =
        |letter: char| if acts(letter) { letter.escape_debug().to_string() } else { letter.to_string() };
    text.chars().map(shown).collect()
}
