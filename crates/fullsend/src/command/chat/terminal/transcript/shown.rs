//! The lines of one item.

use fullsend_chat::protocol::{ApprovalRequest, Decision, ToolStatus};

use super::super::markdown;
use super::super::text::{Breaks, Colour, Line, Style, lines as lines_of};
use super::{Call, CallEnd, Item};

/// How many lines of a diff or a result are shown.
const MOST_LINES: usize = 400;
/// How many columns are ours.
const GUTTER: usize = 2;
const RED: Style = Style::coloured(Colour::Red);
const GREEN: Style = Style::coloured(Colour::Green);
const YELLOW: Style = Style::coloured(Colour::Yellow);

pub(in super::super) fn lines(item: &Item) -> Vec<Line> {
    match item {
        Item::Said(text) => marked("› ", Style::BOLD, text, Style::BOLD),
        Item::Answer { text, .. } => {
            markdown::lines(text).into_iter().map(|line| line.indented(GUTTER)).collect()
        }
        Item::Tool(call) => tool(call),
        Item::Question { request, answer } => question(request, answer.as_ref()),
        Item::Note(text) => marked("· ", Style::DIM, text, Style::DIM),
        Item::Problem(text) => marked("! ", RED.bold(), text, RED),
    }
}

/// Text of several lines with a mark before the first.
fn marked(mark: &str, mark_style: Style, text: &str, style: Style) -> Vec<Line> {
    let mut shown: Vec<Line> = Vec::new();
    for (index, line) in text.split('\n').enumerate() {
        let mark = if index == 0 { mark } else { "  " };
        shown.push(Line::new(mark, mark_style).with(line, style).hanging(GUTTER));
    }
    shown
}

fn tool(call: &Call) -> Vec<Line> {
    let fold = if call.is_folded { "▸ " } else { "▾ " };
    let (mark, style) = match call.end.as_ref().map(|end| end.status) {
        None => ("… ", YELLOW),
        Some(ToolStatus::Completed) => ("✓ ", GREEN),
        Some(ToolStatus::Failed) => ("✗ ", RED),
        Some(ToolStatus::Denied) => ("⊘ ", RED),
    };
    let is_denied = call.end.as_ref().is_some_and(|end| end.status == ToolStatus::Denied);
    let mut head = Line::new(fold, Style::DIM).with(mark, style);
    if is_denied {
        head.push("denied: ", RED);
    }
    head.push(&call.tool.tool_id, Style::BOLD);
    // Some tools begin the line with their name.
    let summary = call.summary.strip_prefix(call.tool.tool_id.as_str()).unwrap_or(&call.summary);
    let summary = summary.trim_start_matches([':', ' ']);
    head.push(" ", Style::PLAIN);
    head.push(summary, Style::DIM);
    if call.is_folded {
        return vec![head.breaking(Breaks::Nowhere)];
    }
    let mut shown = vec![head.hanging(2 * GUTTER)];
    let subagent = call.subagent.iter().map(|profile| Line::new(&format!("subagent: {profile}"), Style::DIM));
    shown.extend(subagent.map(|line| line.indented(2 * GUTTER)));
    shown.extend(call.end.iter().flat_map(ended));
    shown
}

fn ended(end: &CallEnd) -> Vec<Line> {
    let mut shown = Vec::new();
    if let Some(reason) = &end.reason {
        shown.extend(lines_of(reason, RED));
    }
    if end.reason.as_deref() != Some(end.result.as_str()) {
        shown.extend(lines_of(&end.result, Style::PLAIN).take(MOST_LINES));
    }
    if let Some(diff) = &end.diff {
        shown.extend(diff.lines().take(MOST_LINES).map(changed));
        let left_out = diff.lines().count().saturating_sub(MOST_LINES);
        if left_out > 0 {
            shown.push(Line::new(&format!("… {left_out} more lines"), Style::DIM));
        }
    }
    shown.into_iter().map(|line| line.indented(2 * GUTTER)).collect()
}

/// A line of a diff.
fn changed(line: &str) -> Line {
    let style = match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => Style::BOLD,
        [b'@', b'@', ..] => Style::coloured(Colour::Cyan),
        [b'+', ..] => GREEN,
        [b'-', ..] => RED,
        _ => Style::PLAIN,
    };
    Line::new(line, style).breaking(Breaks::Anywhere)
}

/// All of what a person is asked about: what is not seen cannot be judged.
fn question(request: &ApprovalRequest, answer: Option<&(Decision, String)>) -> Vec<Line> {
    let asked = format!("{} asks to be called: {}", request.tool.tool_id, request.reason);
    let mut shown = marked("? ", YELLOW.bold(), &asked, YELLOW);
    for (key, value) in &request.input {
        // Text is easier to judge without the escapes of JSON.
        let text = value.as_str().map(str::to_owned);
        let value = text.unwrap_or_else(|| serde_json::to_string_pretty(value).unwrap_or_default());
        shown.push(Line::new(&format!("{key}:"), Style::DIM).indented(GUTTER));
        let value = value.split('\n').map(|line| Line::new(line, Style::PLAIN).breaking(Breaks::Anywhere));
        shown.extend(value.map(|line| line.indented(2 * GUTTER)));
    }
    if let Some((decision, by)) = answer {
        let (word, style) = match decision {
            Decision::Allow => ("allowed", GREEN),
            Decision::Deny => ("not allowed", RED),
        };
        let by = if by == "client" { String::new() } else { format!(" ({by})") };
        shown.push(Line::new(&format!("{word}{by}"), style).indented(GUTTER));
    }
    shown
}
