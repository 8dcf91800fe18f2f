//! `fullsend fetch`.

use anyhow::Result;
use fullsend_fetch::audit::Source;
use fullsend_resolve::{Dependency, Resolution};
use serde_json::{Value, json};

use crate::cli::{FetchArgs, ShowFormat};
use crate::command::remote::{Session, warn};
use crate::exit::Exit;
use crate::output::Output;

pub(super) fn run(args: &FetchArgs, output: &mut Output) -> Result<Exit> {
    let mut session = Session::open(&args.directory, &args.network, output)?;
    let path = session.harness(&args.name)?;
    let resolution = session.resolve(&path, args.forge, output)?;
    warn(&resolution, output);
    match args.format {
        ShowFormat::Json => output.json(&document(&resolution)?)?,
        ShowFormat::Text => {
            for dependency in &resolution.dependencies {
                output.text(&format!("{}  {}\n", dependency.field, dependency.path.display()))?;
            }
            output.note(&summary(&resolution));
        }
    }
    Ok(Exit::Done)
}

fn summary(resolution: &Resolution) -> String {
    let total = resolution.dependencies.len();
    let cached =
        resolution.dependencies.iter().filter(|dependency| dependency.source == Source::Cache).count();
    match total {
        0 => "the harness names nothing remote".to_owned(),
        1 => {
            format!("1 remote resource verified, {} the cache", if cached == 1 { "from" } else { "not from" })
        }
        _ => format!("{total} remote resources verified, {cached} of them from the cache"),
    }
}

fn document(resolution: &Resolution) -> Result<Value> {
    let dependency = |dependency: &Dependency| {
        json!({
            "field": dependency.field,
            "url": dependency.url,
            "sha256": dependency.sha256.to_string(),
            "type": dependency.kind.as_str(),
            "path": dependency.path,
            "cache_hit": dependency.source == Source::Cache,
            "fetched_at": dependency.fetched_at.to_string(),
        })
    };
    Ok(json!({
        "harness": serde_json::to_value(&resolution.harness)?,
        "dependencies": resolution.dependencies.iter().map(dependency).collect::<Vec<_>>(),
        "warnings": resolution.warnings,
        "chain": resolution.chain,
    }))
}
