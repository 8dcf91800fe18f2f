//! `fullsend harness rules`.

use anyhow::Result;
use fullsend_harness::{reference, rules};
use serde_json::json;

use crate::cli::{RulesArgs, RulesFormat};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &RulesArgs, output: &mut Output) -> Result<Exit> {
    match args.format {
        RulesFormat::Text => {
            for rule in rules::all() {
                output.text(&format!(
                    "{} ({})\n    {}\n",
                    rule.code,
                    rule.severity.as_str(),
                    rule.summary
                ))?;
            }
        }
        RulesFormat::Json => {
            let rule = |rule: &fullsend_yaml::Rule| {
                json!({
                    "code": rule.code,
                    "severity": rule.severity.as_str(),
                    "summary": rule.summary,
                    "remedy": rule.remedy,
                })
            };
            output.json(&rules::all().map(rule).collect())?;
        }
        RulesFormat::Markdown => output.text(&reference::rules_markdown())?,
    }
    Ok(Exit::Done)
}
