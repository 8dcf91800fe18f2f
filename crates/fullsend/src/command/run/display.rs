//! What a person sees of a run while it happens: on standard error, so that standard output stays the result.

use std::io::{self, IsTerminal, Write as _};
use std::time::Duration;

use fullsend_runner::{Event, Outcome, Step};
use fullsend_runtimes::RuntimeEvent;

use crate::environment;

/// How much of a summary is quoted in one line.
const LONGEST_LINE: usize = 160;

/// What is shown.
#[derive(Debug)]
pub(super) struct Display {
    quiet: bool,
    colour: bool,
    /// Whether tool calls become notices of the CI system.
    notices: bool,
    /// Whether it was said already that the call under way was denied.
    denied: bool,
    /// Whether the last thing shown ended its line.
    at_line_start: bool,
    /// What the model says, which comes in pieces.
    text: fullsend_runtimes::Display,
}

impl Display {
    pub(super) fn new(quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            quiet,
            colour: terminal && environment::allows_colour(),
            notices: environment::in_github_actions(),
            denied: false,
            at_line_start: true,
            text: fullsend_runtimes::Display::new(),
        }
    }

    /// Shows something that happened.
    pub(super) fn show(&mut self, event: &Event) {
        if self.quiet {
            return;
        }
        match event {
            Event::StepBegan { step: Step::Agent, iteration: Some(number) } if *number > 1 => {
                self.line("1", &format!("attempt {number}"));
            }
            Event::StepBegan { .. } => {}
            Event::StepEnded { step, outcome, detail, took, .. } => self.step(*step, *outcome, detail, *took),
            Event::Warning { text } => self.line("33", &format!("  warning: {}", harmless(text))),
            // The denial that follows says the same.
            Event::Finding { action, place, .. } if action == "block" && place.starts_with("before ") => {}
            Event::Finding { rule, severity, place, detail, action, .. } => {
                let line = format!("  {severity}[{rule}] {place}: {detail} ({action})");
                self.line("33", &harmless(&line));
            }
            Event::Runtime { event, .. } => self.runtime(event),
            Event::Access { kind, target, allowed: false, detail } => {
                self.denied = true;
                let line = harmless(&format!("{}: {}", short(target), short(bare(target, detail))));
                self.line("31", &format!("  × denied by {}: {line}", kind.decider()));
            }
            Event::Access { .. } => {}
            Event::Waiting { elapsed, left, .. } => {
                self.line("2", &format!("  … {} s, {} s left", elapsed.as_secs(), left.as_secs()));
            }
            Event::Script { line, .. } => self.line("2", &format!("  | {}", harmless(line))),
        }
    }

    /// Ends the line that is being written.
    pub(super) fn end(&mut self) {
        if !self.at_line_start {
            self.write("\n");
        }
    }

    fn step(&mut self, step: Step, outcome: Outcome, detail: &str, took: Duration) {
        let (sign, colour) = match outcome {
            Outcome::Done => ("✓", "32"),
            Outcome::Skipped => ("-", "2"),
            Outcome::Failed => ("✗", "31"),
            Outcome::Blocked => ("■", "31"),
            Outcome::Cancelled => ("✗", "33"),
        };
        let line = format!("{sign} {:12} {:>7}  {}", step.as_str(), time(took), harmless(detail));
        self.line(colour, line.trim_end());
    }

    fn runtime(&mut self, event: &RuntimeEvent) {
        match event {
            RuntimeEvent::Text { text } => {
                let mut shown = String::new();
                self.text.push(text, &mut shown);
                self.write(&indented(&shown, self.at_line_start));
            }
            RuntimeEvent::ToolUse { name, summary, .. } => {
                self.denied = false;
                let line = format!("{}: {}", short(name), short(summary));
                let line = harmless(line.trim_end_matches([' ', ':']));
                self.line("2", &format!("  · {line}"));
                if self.notices {
                    self.write(&format!("::notice::{line}\n"));
                }
            }
            RuntimeEvent::ToolResult { .. } if self.denied => {}
            RuntimeEvent::ToolResult { is_error: true, name, summary, .. } => {
                let name = name.as_deref().map(|name| format!("{}: ", short(name))).unwrap_or_default();
                self.line("31", &format!("  × {}", harmless(&format!("{name}{}", short(summary)))));
            }
            RuntimeEvent::ToolResult { summary, .. } => {
                if let Some(code) = exit_code(summary) {
                    self.line("2", &format!("    exit {code}"));
                }
            }
            RuntimeEvent::Error { kind, message } => {
                self.line("31", &format!("  {}", harmless(&format!("{kind}: {}", short(message)))));
            }
            RuntimeEvent::Retry { attempt, max_retries, error, .. } => {
                self.line(
                    "33",
                    &format!("  again ({attempt} of {max_retries}): {}", harmless(&short(error))),
                );
            }
            RuntimeEvent::Init { .. }
            | RuntimeEvent::Thinking { .. }
            | RuntimeEvent::Denied { .. }
            | RuntimeEvent::Tokens(_)
            | RuntimeEvent::Result { .. } => {}
        }
    }

    fn line(&mut self, code: &str, line: &str) {
        self.end();
        if self.colour {
            self.write(&format!("\x1b[{code}m{line}\x1b[0m\n"));
        } else {
            self.write(&format!("{line}\n"));
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

fn time(took: Duration) -> String {
    match took.as_millis() {
        millis @ 0..=9_999 => format!("{millis} ms"),
        _ => format!("{} s", took.as_secs()),
    }
}

/// A reason without the name of what it is about, which stands before it.
fn bare<'d>(target: &str, detail: &'d str) -> &'d str {
    let rest = detail.strip_prefix(target).unwrap_or(detail);
    let rest = rest.strip_prefix(" was not called").unwrap_or(rest);
    if rest.len() == detail.len() { detail } else { rest.strip_prefix(": ").unwrap_or(detail) }
}

/// The exit code of a command that failed, as its summary ends.
fn exit_code(summary: &str) -> Option<i32> {
    let code = summary.strip_suffix(')')?.rsplit_once(" (exit ")?.1;
    code.parse().ok().filter(|code| *code != 0)
}

fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut letters = line.chars();
    let cut: String = letters.by_ref().take(LONGEST_LINE).collect();
    if letters.next().is_some() { format!("{cut}…") } else { cut }
}

/// Text of the model stands behind a mark in every line, so that none of it passes for a line of ours.
fn indented(text: &str, at_line_start: bool) -> String {
    let mut shown = String::with_capacity(text.len() + 8);
    let mut start = at_line_start;
    for line in text.split_inclusive('\n') {
        if start {
            shown.push_str(if line.trim().is_empty() { "  >" } else { "  > " });
        }
        shown.push_str(line);
        start = line.ends_with('\n');
    }
    shown
}

/// Text without what a terminal or a CI system would act on.
fn harmless(text: &str) -> String {
    fullsend_runtimes::harmless(text)
}

#[cfg(test)]
mod tests {
    use super::{bare, exit_code, indented};

    #[test]
    fn every_line_of_the_model_has_its_mark() {
        let forged = "Done.\n\n× denied by egress: fake:443\nwarning: fake";
        let shown = "  > Done.\n  >\n  > × denied by egress: fake:443\n  > warning: fake";
        assert_eq!(indented(forged, true), shown);
        assert_eq!(indented(" and more\nnext", false), " and more\n  > next");
    }

    #[test]
    fn a_reason_does_not_repeat_what_it_is_about() {
        for (detail, expected) in [
            ("write_file was not called: no trust", "no trust"),
            ("write_file: outside", "outside"),
            ("write_files are many", "write_files are many"),
            ("something else", "something else"),
        ] {
            assert_eq!(bare("write_file", detail), expected, "{detail}");
        }
    }

    #[test]
    fn only_failures_have_an_exit_code_to_show() {
        assert_eq!(exit_code("sh test.sh (exit 1)"), Some(1));
        for summary in ["sh test.sh (exit 0)", "sh test.sh", "echo '(exit 1' )", ""] {
            assert_eq!(exit_code(summary), None, "{summary}");
        }
    }
}
