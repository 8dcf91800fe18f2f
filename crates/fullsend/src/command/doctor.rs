//! `fullsend doctor`.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Result;
use fullsend_sandbox::{DockerBackend, Layer, LayerStatus, SandboxBackend as _};
use fullsend_yaml::printable;
use serde::Serialize;
use serde_json::json;

use super::sandbox::backend;
use crate::cli::{DoctorArgs, ShowFormat};
use crate::environment;
use crate::exit::Exit;
use crate::output::Output;

/// What was found out about sandboxes.
struct Findings {
    layers: Vec<Layer>,
    /// Why there is no sandbox at all.
    refusal: Option<String>,
    /// What the container engine has.
    containers: Vec<Layer>,
    /// What can drive a model, and what runs use besides.
    programs: Vec<Layer>,
}

/// A program that a run may need.
struct Needed {
    name: &'static str,
    what_for: &'static str,
    how_to_get: &'static str,
}

/// Programs that are looked for on the search path.
const NEEDED: [Needed; 4] = [
    Needed {
        name: "claude",
        what_for: "for `fullsend run --runtime claude`",
        how_to_get: "install Claude Code, or name the program with `--runtime-program FILE`",
    },
    Needed {
        name: "codex",
        what_for: "for `fullsend run --runtime codex`",
        how_to_get: "install Codex CLI, or name the program with `--runtime-program FILE`",
    },
    Needed {
        name: "opencode",
        what_for: "for `fullsend run --runtime opencode`",
        how_to_get: "install OpenCode, or name the program with `--runtime-program FILE`",
    },
    Needed {
        name: "git",
        what_for: "for the patch of what an agent changed",
        how_to_get: "install the package `git`",
    },
];

/// How much of a sandbox there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Tier {
    /// Nothing can be run.
    None,
    /// Everything is enforced, but not all limits by control groups.
    Namespaces,
    /// Everything is enforced.
    Full,
}

impl Tier {
    fn description(self) -> &'static str {
        match self {
            Self::None => "none: no sandbox can be made, and commands that need one are refused",
            Self::Namespaces => {
                "namespaces: files, processes and network are enforced; limits that are missing above hold for \
                 each process, not for all together"
            }
            Self::Full => "full: files, processes, network and limits are enforced",
        }
    }
}

impl Findings {
    fn tier(&self) -> Tier {
        let mut limits = self.layers.iter().filter(|layer| layer.name.ends_with(" limits"));
        match &self.refusal {
            Some(_) => Tier::None,
            None if limits.all(Layer::is_available) => Tier::Full,
            None => Tier::Namespaces,
        }
    }
}

pub(super) fn run(args: &DoctorArgs, output: &mut Output) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let findings = runtime.block_on(examine(args));
    runtime.shutdown_background();
    match args.format {
        ShowFormat::Text => output.text(&text(&findings))?,
        ShowFormat::Json => output.json(&json!({
            "sandbox": {
                "tier": findings.tier(),
                "refusal": findings.refusal,
                "layers": findings.layers,
            },
            "containers": { "layers": findings.containers },
            "run": { "layers": findings.programs },
        }))?,
    }
    Ok(if findings.tier() == Tier::None { Exit::Failed } else { Exit::Done })
}

/// Tries every layer.
async fn examine(args: &DoctorArgs) -> Findings {
    let containers = DockerBackend::examine(&args.docker).await;
    let programs = programs(environment::search_path().as_deref());
    let backend = match backend::local(None) {
        Ok(backend) => backend,
        Err(error) => {
            return Findings { layers: Vec::new(), refusal: Some(error.to_string()), containers, programs };
        }
    };
    let layers = backend.layers();
    let refusal = (!backend.capabilities().local_process_sandbox)
        .then(|| "no command can be confined without what is missing above".to_owned());
    Findings { layers, refusal, containers, programs }
}

/// What is on the search path. Nothing is started: a program may do anything when it is.
fn programs(path: Option<&OsStr>) -> Vec<Layer> {
    let built_in = Layer {
        name: "native",
        status: LayerStatus::Available("the built-in agent, the default".to_owned()),
    };
    let looked_for = NEEDED.iter().map(|Needed { name, what_for, how_to_get }| {
        let files = std::env::split_paths(path.unwrap_or_default()).map(|directory| directory.join(name));
        let status = match files.into_iter().find(|file| is_program(file)) {
            Some(file) => LayerStatus::Available(format!("{}, {what_for}", file.display())),
            None => LayerStatus::Missing {
                why: format!("not on the search path, {what_for}"),
                fix: (*how_to_get).to_owned(),
            },
        };
        Layer { name, status }
    });
    [built_in].into_iter().chain(looked_for).collect()
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn text(findings: &Findings) -> String {
    let mut text = format!("Sandbox\n{}", rows(&findings.layers));
    if let Some(refusal) = &findings.refusal {
        text.push_str(&format!("  {}\n", printable(refusal.clone())));
    }
    text.push_str(&format!("Tier {}\n", findings.tier().description()));
    text.push_str(&format!("\nContainers, for `--backend docker`\n{}", rows(&findings.containers)));
    text.push_str(&format!("\nRuntimes and programs, for `fullsend run`\n{}", rows(&findings.programs)));
    text
}

fn rows(layers: &[Layer]) -> String {
    let mut text = String::new();
    let printable = |detail: &String| printable(detail.clone());
    let width = layers.iter().map(|layer| layer.name.len()).max().unwrap_or_default();
    for layer in layers {
        match &layer.status {
            LayerStatus::Available(detail) => {
                let line = format!("  ok       {:width$}  {}", layer.name, printable(detail));
                text.push_str(&format!("{}\n", line.trim_end()));
            }
            LayerStatus::Missing { why, fix } => {
                text.push_str(&format!("  missing  {:width$}  {}\n", layer.name, printable(why)));
                text.push_str(&format!("           {:width$}  to get it: {}\n", "", printable(fix)));
            }
        }
    }
    text
}
