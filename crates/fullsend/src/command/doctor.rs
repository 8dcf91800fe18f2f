//! `fullsend doctor`.

use anyhow::Result;
use fullsend_sandbox::{DockerBackend, Layer, LayerStatus, SandboxBackend as _};
use fullsend_yaml::printable;
use serde::Serialize;
use serde_json::json;

use super::sandbox::backend;
use crate::cli::{DoctorArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::Output;

/// What was found out about sandboxes.
struct Findings {
    layers: Vec<Layer>,
    /// Why there is no sandbox at all.
    refusal: Option<String>,
    /// What the container engine has.
    containers: Vec<Layer>,
}

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
        }))?,
    }
    Ok(if findings.tier() == Tier::None { Exit::Failed } else { Exit::Done })
}

/// Tries every layer.
async fn examine(args: &DoctorArgs) -> Findings {
    let containers = DockerBackend::examine(&args.docker).await;
    let backend = match backend::local(None) {
        Ok(backend) => backend,
        Err(error) => {
            return Findings { layers: Vec::new(), refusal: Some(error.to_string()), containers };
        }
    };
    let layers = backend.layers();
    let refusal = (!backend.capabilities().local_process_sandbox)
        .then(|| "no command can be confined without what is missing above".to_owned());
    Findings { layers, refusal, containers }
}

fn text(findings: &Findings) -> String {
    let mut text = format!("Sandbox\n{}", rows(&findings.layers));
    if let Some(refusal) = &findings.refusal {
        text.push_str(&format!("  {}\n", printable(refusal.clone())));
    }
    text.push_str(&format!("Tier {}\n", findings.tier().description()));
    text.push_str(&format!("\nContainers, for `--backend docker`\n{}", rows(&findings.containers)));
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
