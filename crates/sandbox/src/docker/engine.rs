//! What the engine is and can do, as it says itself.

use serde_json::Value;

use super::arguments::ContainerUser;
use super::client::Client;
use crate::error::SandboxError;

/// Who commands run as when the caller is root: an ordinary number that no account has.
const UNPRIVILEGED: ContainerUser = ContainerUser { uid: 64_987, gid: 64_987 };

/// What is known of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Engine {
    pub(super) version: String,
    pub(super) runtimes: Vec<String>,
    pub(super) default_runtime: String,
    pub(super) cpus: u32,
    pub(super) rootless: bool,
    /// The engine shows containers other user numbers than the host has.
    pub(super) remaps_users: bool,
    pub(super) podman: bool,
}

impl Engine {
    /// Asks the engine.
    pub(super) async fn detect(client: &Client) -> Result<Self, SandboxError> {
        let format = if client.is_podman() { "json" } else { "{{json .}}" };
        let json = client.ask(&["info", "--format", format]).await?;
        let info: Value = serde_json::from_str(&json).map_err(|source| SandboxError::Json {
            doing: format!("reading the answer of {}", client.name()),
            source,
        })?;
        let engine = if info.get("host").is_some() { Self::of_podman(&info) } else { Self::of_docker(&info) };
        engine.ok_or_else(|| {
            SandboxError::Lifecycle(format!(
                "`{} info` does not describe an engine: is its daemon running?",
                client.name()
            ))
        })
    }

    fn of_docker(info: &Value) -> Option<Self> {
        let version = info.get("ServerVersion")?.as_str().filter(|version| !version.is_empty())?;
        let options: Vec<&str> = info
            .get("SecurityOptions")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let runtimes = info.get("Runtimes").and_then(Value::as_object);
        Some(Self {
            version: version.to_owned(),
            runtimes: runtimes.into_iter().flat_map(|runtimes| runtimes.keys().cloned()).collect(),
            default_runtime: text(info.get("DefaultRuntime")),
            cpus: number(info.get("NCPU")),
            rootless: options.iter().any(|option| option.starts_with("name=rootless")),
            remaps_users: options.iter().any(|option| option.starts_with("name=userns")),
            podman: false,
        })
    }

    fn of_podman(info: &Value) -> Option<Self> {
        let host = info.get("host")?;
        let runtime = text(host.pointer("/ociRuntime/name"));
        Some(Self {
            version: text(info.pointer("/version/Version")),
            runtimes: vec![runtime.clone()],
            default_runtime: runtime,
            cpus: number(host.get("cpus")),
            rootless: host.pointer("/security/rootless").and_then(Value::as_bool).unwrap_or(false),
            remaps_users: false,
            podman: true,
        })
    }

    pub(super) fn has_runtime(&self, name: &str) -> bool {
        self.runtimes.iter().any(|runtime| runtime == name)
    }

    /// Who commands run as: the caller, so that files have the right owner; never root of the host.
    pub(super) fn user(&self, caller: ContainerUser) -> Identity {
        if self.rootless && !self.podman {
            // Number 0 of a rootless engine is the caller; every other number is nobody's.
            return Identity { user: ContainerUser { uid: 0, gid: 0 }, keep_id: false };
        }
        let user = if caller.uid == 0 { UNPRIVILEGED } else { caller };
        Identity { user, keep_id: self.rootless }
    }
}

/// Who commands run as, and how the engine is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) user: ContainerUser,
    pub(super) keep_id: bool,
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: Option<&Value>) -> u32 {
    value.and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok()).unwrap_or(1).max(1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ContainerUser, Engine, Identity, UNPRIVILEGED};

    fn docker(options: &[&str]) -> Engine {
        let info = json!({
            "ServerVersion": "20.10.24", "Runtimes": {"runc": {}, "runsc": {}}, "DefaultRuntime": "runc", "NCPU": 2,
            "SecurityOptions": options,
        });
        Engine::of_docker(&info).unwrap()
    }

    #[test]
    fn the_answer_of_docker_is_understood() {
        let engine = docker(&["name=seccomp,profile=default"]);
        assert_eq!((engine.version.as_str(), engine.cpus, engine.rootless), ("20.10.24", 2, false));
        assert_eq!(engine.runtimes, ["runc", "runsc"]);
        assert!(docker(&["name=userns"]).remaps_users);
        // A client without a daemon answers all the same.
        assert_eq!(Engine::of_docker(&json!({"ServerVersion": "", "ServerErrors": ["no daemon"]})), None);
    }

    #[test]
    fn nobody_runs_as_root_of_the_host() {
        let caller = ContainerUser { uid: 1000, gid: 100 };
        let root = ContainerUser { uid: 0, gid: 0 };
        let podman = Engine { podman: true, ..docker(&[]) };
        let rootless = docker(&["name=rootless"]);
        let rootless_podman = Engine { rootless: true, ..podman.clone() };
        let cases = [
            (docker(&[]), caller, caller, false),
            (docker(&[]), root, UNPRIVILEGED, false),
            (podman, root, UNPRIVILEGED, false),
            (rootless, caller, root, false),
            (rootless_podman, caller, caller, true),
        ];
        for (engine, who, user, keep_id) in cases {
            assert_eq!(engine.user(who), Identity { user, keep_id }, "{engine:?}");
        }
    }
}
