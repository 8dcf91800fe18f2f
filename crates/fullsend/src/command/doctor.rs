//! `fullsend doctor`.

use std::collections::BTreeMap;

use anyhow::Result;
use fullsend_sandbox::cgroup::Cgroups;
use fullsend_sandbox::{
    ExecRequest, FilesystemMount, Layer, LayerStatus, LocalBackend, SandboxBackend, SandboxError, SandboxSpec,
};
use fullsend_yaml::printable;
use serde::Serialize;
use serde_json::json;

use super::sandbox::backend;
use crate::cli::{DoctorArgs, ShowFormat};
use crate::exit::Exit;
use crate::output::Output;

/// What a session reports about itself, and what people call it.
const REPORTED: [(&str, &str); 7] = [
    ("user_namespace", "user namespaces"),
    ("mount_namespace", "mount namespaces"),
    ("pid_namespace", "process namespaces"),
    ("ipc_namespace", "IPC namespaces"),
    ("network", "network namespaces"),
    ("landlock", "Landlock"),
    ("seccomp", "seccomp filters"),
];

/// What was found out about the sandbox.
struct Findings {
    layers: Vec<Layer>,
    /// Why there is no sandbox at all.
    refusal: Option<String>,
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
    let findings = runtime.block_on(examine())?;
    runtime.shutdown_background();
    match args.format {
        ShowFormat::Text => output.text(&text(&findings))?,
        ShowFormat::Json => output.json(&json!({
            "sandbox": {
                "tier": findings.tier(),
                "refusal": findings.refusal,
                "layers": findings.layers,
            }
        }))?,
    }
    Ok(if findings.tier() == Tier::None { Exit::Failed } else { Exit::Done })
}

/// Makes sandboxes and runs a command in them.
async fn examine() -> Result<Findings> {
    let mut layers = Vec::new();
    let refusal = match probe_all(&mut layers).await {
        Ok(()) => None,
        Err(error) => Some(error.to_string()),
    };
    layers.extend(Cgroups::detect().available().layers());
    Ok(Findings { layers, refusal })
}

async fn probe_all(layers: &mut Vec<Layer>) -> Result<(), SandboxError> {
    let backend = backend::local(None)?;
    let report = probe(&backend, SandboxSpec::default()).await?;
    layers.extend(REPORTED.iter().filter_map(|(key, name)| reported(name, report.get(*key)?)));
    layers.push(overlay(&backend).await?);
    Ok(())
}

/// Runs a command in a session of its own; returns what the session reports about its layers.
async fn probe(backend: &LocalBackend, spec: SandboxSpec) -> Result<BTreeMap<String, String>, SandboxError> {
    let session = backend.provision(spec).await?;
    let ran = backend.exec(&session.id, ExecRequest::new("/bin/true", Vec::<String>::new())).await;
    backend.terminate(&session.id).await?;
    let ran = ran?;
    if ran.success() {
        return Ok(session.metadata);
    }
    Err(SandboxError::Exec(format!("`/bin/true` ended with {} in a sandbox", ran.exit_code)))
}

fn reported(name: &'static str, status: &str) -> Option<Layer> {
    let (state, detail) = status.split_once(": ").unwrap_or((status, ""));
    match state {
        // The probe asks for no network: the layer is what keeps it away.
        "absent" => None,
        "degraded" => Some(Layer::missing(name, detail, "use a newer kernel")),
        _ => Some(Layer::available(name, detail)),
    }
}

async fn overlay(backend: &LocalBackend) -> Result<Layer, SandboxError> {
    let lower = tempfile::tempdir().map_err(SandboxError::io("making a directory to lay an overlay on"))?;
    let source =
        std::fs::canonicalize(lower.path()).map_err(SandboxError::io("finding a temporary directory"))?;
    let mounts = vec![FilesystemMount::overlay(source, "/mnt/overlay")];
    Ok(match probe(backend, SandboxSpec { mounts, ..SandboxSpec::default() }).await {
        Ok(_) => Layer::available("overlays", ""),
        Err(error) => Layer::missing(
            "overlays",
            error.to_string(),
            "use Linux 5.11 or newer, and keep state on a file system that overlays can write to, such as ext4 or xfs",
        ),
    })
}

fn text(findings: &Findings) -> String {
    let mut text = String::from("Sandbox\n");
    let printable = |detail: &String| printable(detail.clone());
    let width = findings.layers.iter().map(|layer| layer.name.len()).max().unwrap_or_default();
    for layer in &findings.layers {
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
    if let Some(refusal) = &findings.refusal {
        text.push_str(&format!("  {}\n", printable(refusal)));
    }
    text.push_str(&format!("Tier {}\n", findings.tier().description()));
    text
}
