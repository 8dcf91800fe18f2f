//! What leaves a run.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use fullsend_testkit::gateway::{
    GatewayReply, GatewayRequest, GatewayScript, LeakyModel, QuotingModel, ScriptedCall, ScriptedGateway,
    steady,
};
use fullsend_testkit::victims;
use serde_json::Value;

use super::secrets::Leak;

/// Two secrets of the same class of size. No guess of a scenario fits the second.
pub(super) const SECRETS: [&str; 2] =
    ["CANARY-a1b2c3d4e5", "CANARY-zyxwvutsrqponmlkjihgfedcba98765432100123456789"];

/// Two of the same size.
pub(super) const ALIKE: [&str; 2] = ["CANARY-a1b2c3d4e5", "CANARY-z9y8x7w6v5"];

/// What leaves a run, without names and times that differ from run to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Trace {
    /// What the gateway was sent.
    pub(super) sent: Vec<String>,
    /// Files that are no secret.
    pub(super) files: BTreeMap<String, String>,
    /// What was decided about which tool.
    decided: Vec<String>,
    /// What the command said.
    pub(super) said: String,
}

/// A model that leaks, and children that tell what they are asked for.
struct Leaky {
    parent: LeakyModel,
    child: QuotingModel,
}

impl GatewayScript for Leaky {
    fn reply(&self, request: &GatewayRequest) -> GatewayReply {
        match is_of_child(request) {
            true => self.child.reply(request),
            false => self.parent.reply(request),
        }
    }
}

fn is_of_child(request: &GatewayRequest) -> bool {
    String::from_utf8_lossy(&request.body).contains("\"Task:\\n")
}

impl Trace {
    /// Plays a scenario with a secret.
    pub(super) fn of(leak: &Leak, sinks: &[ScriptedCall], secret: &str, mode: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let workspace = place.path().join("workspace");
        for (path, content) in
            [("README.md", "A library.\n"), ("src/lib.sh", "true\n")].iter().chain(&leak.secret)
        {
            let path = workspace.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let content = content.replace("SECRET", secret);
            match path.extension().is_some_and(|kind| kind == "png") {
                true => fs::write(path, victims::picture(&content)).unwrap(),
                false => fs::write(path, content).unwrap(),
            }
        }
        for (name, target, symbolic) in &leak.links {
            match symbolic {
                true => std::os::unix::fs::symlink(target, workspace.join(name)).unwrap(),
                false => fs::hard_link(workspace.join(target), workspace.join(name)).unwrap(),
            }
        }
        let first = leak.secret.first().unwrap().0;
        let gateway = ScriptedGateway::start(Leaky {
            parent: LeakyModel { task: leak.task.clone(), sinks: sinks.to_vec() },
            child: QuotingModel {
                task: [
                    &[ScriptedCall::new("read_file", serde_json::json!({"path": first}))],
                    &leak.child[..],
                ]
                .concat(),
                only_last: true,
            },
        });
        let said = start(place.path(), leak, mode, &gateway);
        let (journals, run) = journals(&place.path().join("runs"));
        let text = |bytes: &[u8]| steady(&String::from_utf8_lossy(bytes), &run);
        let own: Vec<&str> =
            leak.secret.iter().map(|(path, _)| *path).chain(leak.links.iter().map(|link| link.0)).collect();
        let mut files = BTreeMap::new();
        collect(&workspace, &workspace, &mut |name, content| {
            if !own.contains(&name) {
                files.insert(name.to_owned(), text(content));
            }
        });
        let decisions = journals.iter().filter(|row| row["kind"] == "decision");
        let decided =
            decisions.map(|row| format!("{} {} {}", row["toolId"], row["decision"], row["reasonCodes"]));
        // A child that may look has seen the secret; what the run itself learns from it is what this is about.
        let counts = |request: &&GatewayRequest| leak.child.is_empty() || !is_of_child(request);
        Self {
            sent: gateway.requests().iter().filter(counts).map(|request| text(&request.body)).collect(),
            files,
            decided: decided.collect(),
            said: steady(&said, &run),
        }
    }

    /// Leaves out a secret that was released, plain or as digits.
    pub(super) fn forget(&mut self, secret: &str) {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        let without = |text: &mut String| *text = text.replace(secret, "SECRET").replace(&hex, "SECRET");
        self.sent.iter_mut().for_each(without);
        self.files.values_mut().for_each(without);
    }

    /// The first thing that differs.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self.decided != other.decided {
            return Some(format!("other decisions:\n  {:?}\n  {:?}", self.decided, other.decided));
        }
        for (number, (left, right)) in self.sent.iter().zip(&other.sent).enumerate() {
            if left != right {
                return Some(format!("request {number}: {}", at(left, right)));
            }
        }
        if self.sent.len() != other.sent.len() {
            return Some("more requests".to_owned());
        }
        let names = |trace: &Self| trace.files.keys().cloned().collect::<Vec<_>>();
        if names(self) != names(other) {
            return Some(format!("other files: {:?}, {:?}", names(self), names(other)));
        }
        let mut pairs = self.files.iter().zip(other.files.values());
        pairs
            .find_map(|((name, left), right)| (left != right).then(|| format!("{name}: {}", at(left, right))))
    }
}

/// Where two texts part.
fn at(left: &str, right: &str) -> String {
    let same = left.bytes().zip(right.bytes()).take_while(|(left, right)| left == right).count();
    let around = |text: &str| {
        let bytes = text.as_bytes();
        let part = &bytes[same.saturating_sub(150).min(bytes.len())..(same + 100).min(bytes.len())];
        String::from_utf8_lossy(part).into_owned()
    };
    format!("\n  {}\n  {}", around(left), around(right))
}

fn start(place: &Path, leak: &Leak, mode: &str, gateway: &ScriptedGateway) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fullsend"));
    command.args(["exec", "--prompt", "Go.", "--artifact-root", "../runs", "--model", "m"]);
    command.args(["--gateway-auth-mode", "none", "--gateway-base-url", &gateway.url()]);
    command.args(["--max-model-turns", "24", "--cfc-enforcement-mode", mode]);
    let tools = ["bash", "read_file", "view_image", "web_fetch", "edit_file", "write_file", "list_files"];
    for tool in tools.iter().chain(&["search_files", "delegate_task"]) {
        command.args(["--allow-tool", tool]);
    }
    command.args(["--allow-subagent-profile", "default"]);
    if let Some(policy) = &leak.policy {
        fs::write(place.join("policy.yaml"), policy.to_string()).unwrap();
        command.args(["--flow-policy", "../policy.yaml"]);
    }
    command.current_dir(place.join("workspace")).env_clear().env("PATH", "/usr/bin:/bin");
    command.env("XDG_STATE_HOME", place.join("state")).stdin(Stdio::null());
    let output = command.output().unwrap();
    format!("{:?} {}", output.status.code(), String::from_utf8_lossy(&output.stderr))
}

/// The rows of all journals, and the name of the run.
fn journals(root: &Path) -> (Vec<Value>, String) {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.retain(|name| root.join(name).join("journal.jsonl").is_file());
    names.sort();
    let mut rows = Vec::new();
    for name in &names {
        let text = fs::read_to_string(root.join(name).join("journal.jsonl")).unwrap();
        rows.extend(text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()));
    }
    (rows, names.into_iter().next().unwrap_or_default())
}

fn collect(root: &Path, directory: &Path, take: &mut impl FnMut(&str, &[u8])) {
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, take);
        } else {
            let content = match path.is_symlink() {
                true => fs::read_link(&path).unwrap().to_string_lossy().into_owned().into_bytes(),
                false => fs::read(&path).unwrap_or_default(),
            };
            take(path.strip_prefix(root).unwrap().to_str().unwrap(), &content);
        }
    }
}
