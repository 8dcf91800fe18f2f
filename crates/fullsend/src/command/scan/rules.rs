//! `fullsend scan rules`.

use std::fmt::Write as _;

use anyhow::Result;
use fullsend_guard::{Meaning, Rule, rules};
use serde_json::{Value, json};

use crate::cli::{RulesArgs, RulesFormat};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &RulesArgs, output: &mut Output) -> Result<Exit> {
    match args.format {
        RulesFormat::Text => output.text(&text())?,
        RulesFormat::Json => output.json(&rules::all().map(value).collect())?,
        RulesFormat::Markdown => output.text(&markdown())?,
    }
    Ok(Exit::Done)
}

fn text() -> String {
    let line = |rule: &Rule| {
        format!(
            "{}/{} ({}{})\n    {}\n",
            rule.scanner,
            rule.id,
            rule.severity,
            incomplete(rule),
            rule.summary
        )
    };
    rules::all().map(line).collect()
}

fn value(rule: &'static Rule) -> Value {
    json!({
        "scanner": rule.scanner.as_str(),
        "rule": rule.id,
        "severity": rule.severity.as_str(),
        "incomplete": rule.meaning == Meaning::Incomplete,
        "summary": rule.summary,
        "remedy": rule.remedy,
    })
}

fn incomplete(rule: &Rule) -> &'static str {
    match rule.meaning {
        Meaning::Incomplete => ", incomplete",
        Meaning::Found => "",
    }
}

fn markdown() -> String {
    let mut page = String::from(
        "# Scan rules\n\n\
         What `fullsend scan` and the tool hooks look for. Scanner and rule stand in brackets after the severity, in JSON as \
         `scanner` and `rule`, in SARIF as `ruleId`. A finding may be more or less severe than its rule, depending on what \
         surrounds it. A finding that is *incomplete* says that a check could not be finished; it blocks whatever its \
         severity, unless findings do not block at all (`--fail-mode open`).\n",
    );
    let mut scanner = None;
    for rule in rules::all() {
        if scanner.replace(rule.scanner) != Some(rule.scanner) {
            let _infallible = write!(
                page,
                "\n## `{}`\n\n| Rule | Severity | What is found | What to do |\n|---|---|---|---|\n",
                rule.scanner
            );
        }
        let (summary, remedy) = (cell(rule.summary), cell(rule.remedy));
        let _infallible = writeln!(
            page,
            "| `{}` | {}{} | {summary} | {remedy} |",
            rule.id,
            rule.severity,
            incomplete(rule)
        );
    }
    page
}

/// Text in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
