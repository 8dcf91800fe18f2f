//! `fullsend skills`.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fullsend_skills::{Limits, ModelInvocation, Note, Registry, Skill, SkillRoot, Validation, validate};
use fullsend_yaml::{Severity, printable};
use serde_json::{Value, json};

use crate::cli::{ShowFormat, SkillsCommand, SkillsListArgs, SkillsValidateArgs};
use crate::exit::Exit;
use crate::output::{Advice, Output, diagnostics, problems_json};

/// Where skills are looked for below the working directory, the first with precedence.
const DEFAULT_ROOTS: [&str; 3] = [".fullsend/skills", ".agents/skills", ".claude/skills"];

pub(super) fn run(command: SkillsCommand, output: &mut Output) -> Result<Exit> {
    match command {
        SkillsCommand::Ls(args) => list(&args, output),
        SkillsCommand::Validate(args) => check(&args, output),
    }
}

fn list(args: &SkillsListArgs, output: &mut Output) -> Result<Exit> {
    let registry = Registry::scan(&roots(&args.roots)?, Limits::default());
    match args.format {
        ShowFormat::Json => {
            let now = jiff::Timestamp::now().to_string();
            output.json(&serde_json::to_value(registry.record(&now))?)?;
        }
        ShowFormat::Text => {
            let here = std::env::current_dir()?.canonicalize()?;
            for skill in registry.skills() {
                output.text(&entry(skill, &here))?;
            }
            let notes = registry.skills().iter().flat_map(|skill| &skill.diagnostics);
            for note in registry.diagnostics().iter().chain(notes) {
                output.note(&remark(note, &here));
            }
            output.note(&count(registry.skills().len(), "skill"));
        }
    }
    Ok(Exit::Done)
}

fn roots(named: &[PathBuf]) -> Result<Vec<SkillRoot>> {
    if named.is_empty() {
        let defaults = DEFAULT_ROOTS.map(Path::new).into_iter().filter(|root| root.is_dir());
        return Ok(defaults.map(SkillRoot::same).collect());
    }
    for root in named {
        ensure!(
            root.is_dir(),
            Advice::new(
                format!("the skills root `{}` is not a directory", root.display()),
                "correct `--skills-root`",
            )
        );
    }
    Ok(named.iter().map(SkillRoot::same).collect())
}

/// Name, size and place on one line, the description on the next.
fn entry(skill: &Skill, here: &Path) -> String {
    let hidden = match skill.manifest.model_invocation {
        ModelInvocation::Allowed => "",
        ModelInvocation::Disabled => ", only by name",
    };
    let line = format!(
        "{} ({}{hidden})  {}",
        skill.name(),
        count(skill.resources.len(), "resource"),
        below(&skill.skill_path, here).display()
    );
    let description = skill.manifest.description.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}\n    {}\n", printable(line), printable(shortened(&description)))
}

/// Descriptions may have a thousand characters; a list is for finding, not for reading.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 160;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// A path as people would write it from where they are.
fn below<'p>(path: &'p Path, here: &Path) -> &'p Path {
    path.strip_prefix(here).unwrap_or(path)
}

fn remark(note: &Note, here: &Path) -> String {
    let place = note.path.as_ref().map_or(String::new(), |path| format!("{}: ", below(path, here).display()));
    let Note { rule, detail, .. } = note;
    let line = format!("{}[{}]: {place}{detail}", rule.severity.as_str(), rule.code);
    format!("{}\n  help: {}", printable(line), rule.remedy)
}

fn check(args: &SkillsValidateArgs, output: &mut Output) -> Result<Exit> {
    let checked: Vec<Validation> = args.paths.iter().map(|path| validate(path)).collect();
    let total = |severity: Severity| -> usize {
        let of = |checked: &Validation| {
            checked.problems.iter().filter(|problem| problem.rule.severity == severity).count()
        };
        checked.iter().map(of).sum()
    };
    let (errors, warnings) = (total(Severity::Error), total(Severity::Warning));
    match args.format {
        ShowFormat::Json => {
            let skills: Vec<Value> =
                args.paths.iter().zip(&checked).map(|(path, checked)| report(path, checked)).collect();
            output.json(&json!({ "errors": errors, "warnings": warnings, "skills": skills }))?;
        }
        ShowFormat::Text => {
            for checked in &checked {
                diagnostics::print(output, &checked.sources, &checked.problems)?;
            }
            let found = match (errors, warnings) {
                (0, 0) => "no problems".to_owned(),
                (0, _) => count(warnings, "warning"),
                (_, 0) => count(errors, "error"),
                _ => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
            };
            output.note(&format!("checked {}: {found}", count(checked.len(), "skill")));
        }
    }
    Ok(if errors == 0 { Exit::Done } else { Exit::Failed })
}

fn report(path: &Path, checked: &Validation) -> Value {
    let problems: Vec<Value> =
        checked.problems.iter().map(|problem| problems_json::problem(&checked.sources, problem)).collect();
    json!({ "path": path.display().to_string(), "valid": checked.is_valid(), "problems": problems })
}

fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
