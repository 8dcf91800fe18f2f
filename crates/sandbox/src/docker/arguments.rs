//! The command line that makes a container, as a pure function of what it is to be.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use crate::error::SandboxError;
use crate::local::environment::HOME;

/// Where commands find the program that is process 1; the place belongs to the sandbox.
pub(super) const INIT: &str = "/.fullsend/init";
/// Tells that program what it is.
const INIT_ARGUMENT: &str = "container";
/// Files of each part of the scratch space; small ones take more than their bytes.
const SCRATCH_FILES: u32 = 65_536;
/// Marks containers of ours; the value is the state directory, so that other users' containers are left alone.
pub(super) const LABEL_STATE: &str = "dev.fullsend.state";
/// Names the session.
pub(super) const LABEL_SESSION: &str = "dev.fullsend.session";

/// A user and a group, as numbers inside the container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ContainerUser {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl ContainerUser {
    /// The user and group of this process.
    pub(super) fn of_caller() -> Self {
        Self { uid: rustix::process::geteuid().as_raw(), gid: rustix::process::getegid().as_raw() }
    }
}

/// Everything that the engine is told about a container.
#[derive(Clone, Debug)]
pub(super) struct Container<'a> {
    pub(super) name: &'a str,
    pub(super) labels: BTreeMap<&'a str, &'a str>,
    pub(super) image: &'a str,
    pub(super) runtime: Option<&'a str>,
    /// `none`, or what the caller has configured for sessions without restrictions.
    pub(super) network: &'a str,
    /// Process 1 answers for the network: names, and the ports that programs connect to.
    pub(super) names_inside: bool,
    pub(super) user: ContainerUser,
    /// Podman without root: the caller's number means the caller.
    pub(super) keep_id: bool,
    pub(super) limits: Limits,
    pub(super) binds: Vec<Bind<'a>>,
}

/// Limits that the engine enforces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) memory_mb: u32,
    pub(super) processes: u32,
    pub(super) cpus: u32,
    pub(super) scratch_mb: u32,
}

/// A directory or file of the host and its place in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bind<'a> {
    pub(super) source: Cow<'a, Path>,
    pub(super) target: &'a str,
    pub(super) writable: bool,
}

/// The arguments of `docker` that make and run the container, attached to our pipes.
pub(super) fn run(container: &Container<'_>) -> Result<Vec<String>, SandboxError> {
    make("run", &["--sig-proxy=false"], container)
}

/// The arguments of `docker` that make the container and do not start it.
pub(super) fn create(container: &Container<'_>) -> Result<Vec<String>, SandboxError> {
    make("create", &[], container)
}

/// The arguments of `docker` that start such a container, attached to our pipes.
pub(super) fn start(name: &str) -> Vec<String> {
    ["start", "--attach", "--interactive", name].map(str::to_owned).into()
}

fn make(verb: &str, options: &[&str], container: &Container<'_>) -> Result<Vec<String>, SandboxError> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |parts: &[&str]| words.extend(parts.iter().map(|part| (*part).to_owned()));
    // Attached and removed with its end. Frames are nothing to keep in a log, and no image is fetched behind our back.
    add(&[verb, "--interactive", "--rm", "--pull", "never", "--log-driver", "none"]);
    add(options);
    add(&["--name", container.name, "--hostname", "sandbox"]);
    for (name, value) in &container.labels {
        add(&["--label", &format!("{name}={value}")]);
    }
    if let Some(runtime) = container.runtime {
        add(&["--runtime", runtime]);
    }
    add(&["--network", container.network, "--ipc", "private"]);
    if container.names_inside {
        add(&["--dns", "127.0.0.1", "--sysctl", "net.ipv4.ip_unprivileged_port_start=0"]);
    }
    add(&["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]);
    if container.keep_id {
        add(&["--userns", "keep-id"]);
    }
    let ContainerUser { uid, gid } = container.user;
    add(&["--user", &format!("{uid}:{gid}")]);
    let Limits { memory_mb, processes, cpus, scratch_mb } = container.limits;
    // Without swap: what does not fit is refused, not moved to disk.
    let memory = format!("{memory_mb}m");
    add(&["--memory", &memory, "--memory-swap", &memory]);
    add(&["--pids-limit", &processes.to_string(), "--cpus", &cpus.to_string(), "--ulimit", "core=0"]);
    let part = (scratch_mb / 4).max(1);
    // Owned by the user: some runtimes give a directory the mode that it has in the image, whatever they are told.
    let tmpfs = |target: &str, mode: &str| {
        format!(
            "{target}:rw,exec,nosuid,nodev,size={part}m,nr_inodes={SCRATCH_FILES},mode={mode},uid={uid},gid={gid}"
        )
    };
    for (target, mode) in [("/tmp", "1777"), ("/var/tmp", "1777"), (HOME, "0700")] {
        add(&["--tmpfs", &tmpfs(target, mode)]);
    }
    add(&["--shm-size", &format!("{part}m")]);
    for bind in &container.binds {
        add(&["--mount", &mount(bind)?]);
    }
    add(&["--workdir", "/", "--entrypoint", INIT, container.image, INIT_ARGUMENT]);
    Ok(words)
}

/// The engine reads the value of `--mount` as one line of comma-separated values.
fn mount(bind: &Bind<'_>) -> Result<String, SandboxError> {
    let source = bind.source.to_str().ok_or_else(|| {
        SandboxError::InvalidRequest(format!(
            "mount source `{}` is not UTF-8, which container engines cannot express",
            bind.source.display()
        ))
    })?;
    let mut fields = vec!["type=bind".to_owned(), field("src", source)?, field("dst", bind.target)?];
    if !bind.writable {
        fields.push("readonly".to_owned());
    }
    Ok(fields.join(","))
}

fn field(name: &str, value: &str) -> Result<String, SandboxError> {
    if value.chars().any(char::is_control) || value.trim() != value {
        return Err(SandboxError::InvalidRequest(format!(
            "mount path `{}` has control characters or spaces at its end, which container engines cannot express",
            value.escape_debug()
        )));
    }
    if value.contains([',', '"']) {
        return Ok(format!("\"{name}={}\"", value.replace('"', "\"\"")));
    }
    Ok(format!("{name}={value}"))
}

#[cfg(test)]
mod tests;
