//! `fullsend scan verify-findings`.

use std::error::Error as _;

use anyhow::Result;
use fullsend_guard::log::{Broken, Verdict, verify};
use fullsend_yaml::printable;
use serde_json::{Value, json};

use crate::cli::{ShowFormat, VerifyFindingsArgs};
use crate::exit::Exit;
use crate::output::{Advice, Output};

pub(super) fn run(args: &VerifyFindingsArgs, output: &mut Output) -> Result<Exit> {
    let head = args.head.map(|head| head.to_string());
    let verdict = verify(&args.file, head.as_deref()).map_err(|error| {
        let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
        Advice::new(format!("{error}{cause}"), "name a findings log, `security/findings.jsonl` of a run")
    })?;
    let file = args.file.display().to_string();
    match args.format {
        ShowFormat::Json => output.json(&json(&file, &verdict))?,
        ShowFormat::Text => output.text(&text(&printable(file), &verdict))?,
    }
    Ok(match verdict {
        Verdict::Sealed { .. } => Exit::Done,
        Verdict::Unsealed { .. } if args.allow_unsealed => Exit::Done,
        Verdict::Unsealed { .. } | Verdict::Broken(_) => Exit::Failed,
    })
}

fn text(file: &str, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Sealed { entries, head } => {
            format!("{file}: complete and unchanged, {}\n  head: {head}\n", counted(*entries))
        }
        Verdict::Unsealed { entries, head } => format!(
            "{file}: the end is missing; {} before it, unchanged\n  head: {head}\n  help: the run is still going, it \
             crashed, or lines at the end were removed; compare with the report of the run\n",
            counted(*entries)
        ),
        Verdict::Broken(broken) => format!(
            "{file}:{}: broken: {}\n  {} before it, unchanged\n  help: {}\n",
            broken.at.saturating_add(1),
            broken.problem,
            counted(broken.at),
            broken.problem.help()
        ),
    }
}

fn counted(entries: u64) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}

fn json(file: &str, verdict: &Verdict) -> Value {
    match verdict {
        Verdict::Sealed { entries, head } => {
            json!({ "file": file, "state": "sealed", "entries": entries, "head": head })
        }
        Verdict::Unsealed { entries, head } => {
            json!({ "file": file, "state": "unsealed", "entries": entries, "head": head })
        }
        Verdict::Broken(Broken { at, problem }) => json!({
            "file": file,
            "state": "broken",
            "entries": at,
            "broken_at": at,
            "problem": problem.code(),
            "message": problem.to_string(),
        }),
    }
}
