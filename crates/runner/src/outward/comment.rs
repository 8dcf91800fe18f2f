//! The text of a comment on how a run stands.
//!
//! It is read by people who trust the forge, and rendered as Markdown. What harnesses and scripts wrote stands in code spans,
//! where neither mentions nor links nor references work, and never at the start of a line, where forges look for commands.

use std::time::Duration;

use crate::report::State;

/// The most of a name or a reason that is quoted, in characters.
const LONGEST: usize = 200;

/// What comments of one run have in common.
#[derive(Clone, Debug)]
pub(super) struct Comment {
    /// The agent.
    pub(super) agent: String,
    /// Where the run can be watched.
    pub(super) run_url: Option<String>,
}

impl Comment {
    /// The run begins.
    pub(super) fn started(&self) -> String {
        format!("**fullsend**: agent {} is at work{}", code(&self.agent), self.link())
    }

    /// The run has ended.
    pub(super) fn ended(&self, state: State, reason: Option<&str>, took: Duration) -> String {
        let outcome = outcome(state, reason);
        let time = duration(took);
        format!("**fullsend**: agent {} ended after {time}: {outcome}{}", code(&self.agent), self.link())
    }

    fn link(&self) -> String {
        let link = |url: &String| format!(" ([run](<{}>))", destination(url));
        self.run_url.as_ref().map(link).unwrap_or_default()
    }
}

/// One of four words. Only what a pre-script says is added: other reasons may quote what nobody meant to publish.
fn outcome(state: State, reason: Option<&str>) -> String {
    match (state, reason) {
        (State::Success, _) => "**success**".to_owned(),
        (State::Cancelled, _) => "**cancelled**".to_owned(),
        (State::Skipped, Some(reason)) => format!("**skipped** ({})", code(reason)),
        (State::Skipped, None) => "**skipped**".to_owned(),
        (State::Blocked, _) => "**failure** (blocked by a finding or a policy)".to_owned(),
        (State::Timeout, _) => "**failure** (its time was over)".to_owned(),
        (State::Failure | State::Running, _) => "**failure**".to_owned(),
    }
}

fn duration(took: Duration) -> String {
    match (took.as_secs() / 60, took.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A text as a code span, in one line: nothing in it can end the span.
fn code(text: &str) -> String {
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let line = fullsend_guard::visible(&line).replace('`', "'");
    let mut letters = line.chars();
    let mut shown: String = letters.by_ref().take(LONGEST).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    if shown.is_empty() { "`-`".to_owned() } else { format!("`{shown}`") }
}

/// An address that cannot end the link it stands in.
fn destination(url: &str) -> String {
    let mut safe = String::with_capacity(url.len());
    for byte in url.bytes() {
        match byte {
            b'<' | b'>' | b'`' | b'\\' | b'[' | b']' | b'(' | b')' | b'"' | b'|' | 0..=b' ' | 127.. => {
                safe.push_str(&format!("%{byte:02X}"));
            }
            other => safe.push(char::from(other)),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Comment;
    use crate::report::State;

    #[test]
    fn what_others_wrote_stays_in_its_span() {
        let comment = Comment {
            agent: "a`](https://evil.example) @everyone".to_owned(),
            run_url: Some("https://ci.example/x>)`[b](y".to_owned()),
        };
        assert_eq!(
            comment.started(),
            "**fullsend**: agent `a'](https://evil.example) @everyone` is at work \
             ([run](<https://ci.example/x%3E%29%60%5Bb%5D%28y>))"
        );
        let ended = comment.ended(State::Skipped, Some("no\n/close\n\u{202e}x`y"), Duration::from_secs(61));
        assert!(!ended.contains(['\n', '\u{202e}']), "{ended}");
        assert!(ended.contains("ended after 1 min 1 s: **skipped** (`no /close "), "{ended}");
        assert_eq!(ended.matches('`').count(), 4, "{ended}");
    }

    #[test]
    fn reasons_of_failures_are_not_published() {
        let comment = Comment { agent: "code".to_owned(), run_url: None };
        for (state, word) in [
            (State::Success, "**success**"),
            (State::Failure, "**failure**"),
            (State::Cancelled, "**cancelled**"),
            (State::Timeout, "**failure** (its time was over)"),
            (State::Blocked, "**failure** (blocked by a finding or a policy)"),
        ] {
            let text = comment.ended(state, Some("inner matter"), Duration::from_secs(5));
            assert_eq!(text, format!("**fullsend**: agent `code` ended after 5 s: {word}"));
        }
    }
}
