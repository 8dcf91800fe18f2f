//! From arguments to what the sandbox is asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail, ensure};
use fullsend_sandbox::{
    Endpoint, ExecRequest, FilesystemAccess, FilesystemMount, NetworkPolicy, PermissionPolicy,
    ResourceLimits, SandboxSpec, Secret, WriteMode,
};

use crate::cli::{BackendName, EgressArgs, FileArgs, LimitArgs, SandboxExecArgs};
use crate::environment;
use crate::output::Advice;
use fullsend_runner::policy_file::PolicyFile;

/// A sandbox and the command for it.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) spec: SandboxSpec,
    pub(super) request: ExecRequest,
}

/// Puts together what a policy file and the arguments ask for. Relative paths start at `current`; `key` looks up
/// variables with keys.
pub(super) fn build(
    args: &SandboxExecArgs,
    policy: Option<&PolicyFile>,
    current: &Path,
    key: impl Fn(&str) -> Option<String>,
) -> Result<Wanted> {
    let spec = spec(args, policy, current, key)?;
    let cwd = match &args.cwd {
        Some(directory) => Some(text_of(&plain(&current.join(directory)))?),
        None => start_directory(&spec.mounts, current)?,
    };
    let mut env: BTreeMap<String, String> = args.env.iter().cloned().collect();
    if args.tty
        && let Some(kind) = environment::terminal_kind()
    {
        env.entry(environment::TERM.to_owned()).or_insert(kind);
    }
    let mut command = args.command.iter().map(argument);
    let request = ExecRequest {
        command: command.next().transpose()?.unwrap_or_default(),
        args: command.collect::<Result<_>>()?,
        cwd,
        env,
        timeout: spec.limits.wall_time,
        interactive: true,
        ..ExecRequest::default()
    };
    Ok(Wanted { spec, request })
}

fn spec(
    args: &SandboxExecArgs,
    policy: Option<&PolicyFile>,
    current: &Path,
    key: impl Fn(&str) -> Option<String>,
) -> Result<SandboxSpec> {
    let unsaid = PolicyFile::default();
    let file = policy.unwrap_or(&unsaid);
    let mounts = mounts(&args.files, current)?;
    let asked = SandboxSpec {
        network_policy: network(&args.network, file)?,
        limits: limits(&args.limits, &file.limits),
        endpoints: endpoints(&args.network, file, key)?,
        watch_paths: args.explain && args.backend == BackendName::Local,
        ..SandboxSpec::default()
    };
    let Some(file) = policy else {
        return Ok(SandboxSpec { mounts, ..asked });
    };
    let open =
        if args.network.allow_network { vec!["*".to_owned()] } else { args.network.allow_host.clone() };
    let permissions =
        file.permissions.compose(&PermissionPolicy { net: open, ..PermissionPolicy::default() });
    let lowered = lower(&permissions, current, asked)?;
    ensure!(
        lowered.programs.as_ref().is_none_or(|programs| !programs.is_empty()),
        Advice::new(
            format!("the sandbox policy `{}` lets nothing run", file.path.display()),
            "list programs under `exec`, or write `exec: [\"**\"]` for all of the system's",
        )
    );
    Ok(SandboxSpec { mounts: united(lowered.mounts, mounts)?, ..lowered })
}

/// What a policy file alone grants.
pub(super) fn from_policy(
    file: &PolicyFile,
    current: &Path,
    key: impl Fn(&str) -> Option<String>,
) -> Result<SandboxSpec> {
    let asked = SandboxSpec {
        network_policy: network(&EgressArgs::default(), file)?,
        limits: file.limits.clone(),
        endpoints: endpoints(&EgressArgs::default(), file, key)?,
        ..SandboxSpec::default()
    };
    lower(&file.permissions, current, asked)
}

/// Entries of the file have been checked; what is left is said in one line.
fn lower(permissions: &PermissionPolicy, current: &Path, asked: SandboxSpec) -> Result<SandboxSpec> {
    match permissions.lower(current, asked) {
        Ok(lowered) => Ok(lowered.spec),
        Err(error) => bail!("{}", error.to_string().replace("\n ", "")),
    }
}

/// The mounts of a file and those of options. Of two for one place the one that can do more counts.
fn united(of_file: Vec<FilesystemMount>, of_options: Vec<FilesystemMount>) -> Result<Vec<FilesystemMount>> {
    let mut united = of_file;
    for mount in of_options {
        let Some(known) = united.iter_mut().find(|known| known.target == mount.target) else {
            united.push(mount);
            continue;
        };
        match (known.access, mount.access, mount.write_mode) {
            _ if known.source != mount.source => bail!(
                "`{}` is granted as `{}` by the policy, and as `{}` by an option",
                mount.target,
                known.source.display(),
                mount.source.display()
            ),
            (FilesystemAccess::ReadWrite, FilesystemAccess::ReadWrite, WriteMode::Overlay) => bail!(
                "`{}` can be changed by the policy, and only a copy of it by `--overlay`: leave one of them out",
                mount.target
            ),
            (FilesystemAccess::ReadWrite, ..) => {}
            (FilesystemAccess::ReadOnly, ..) => *known = mount,
        }
    }
    Ok(united)
}

fn argument(argument: &OsString) -> Result<String> {
    match argument.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => bail!("the argument `{}` is not UTF-8", argument.to_string_lossy()),
    }
}

fn mounts(files: &FileArgs, current: &Path) -> Result<Vec<FilesystemMount>> {
    let mut mounts = Vec::new();
    for (paths, make) in [
        (&files.rw, FilesystemMount::read_write as fn(PathBuf, String) -> FilesystemMount),
        (&files.ro, FilesystemMount::read_only),
        (&files.overlay, FilesystemMount::overlay),
    ] {
        for path in paths {
            let (source, target) = place(path, current)?;
            mounts.push(make(source, target));
        }
    }
    Ok(mounts)
}

/// Where a file or directory is, and where the command sees it.
fn place(argument: &Path, current: &Path) -> Result<(PathBuf, String)> {
    let text = text_of(argument)?;
    // A target is absolute, so that names with colons stay possible.
    let (directory, target) = match text.rsplit_once(":/") {
        Some((directory, below)) if !directory.is_empty() => (directory, Some(format!("/{below}"))),
        _ => (text.as_str(), None),
    };
    let named = current.join(directory);
    let source = fs::canonicalize(&named).map_err(|error| {
        Advice::new(
            format!("`{directory}` cannot be granted: {error}"),
            "name a file or directory that exists; a target after `:` is an absolute path",
        )
    })?;
    let target = match target {
        Some(target) => target,
        // Only the file system knows where `..` leads when there are links.
        None if named.components().any(|part| part == Component::ParentDir) => text_of(&source)?,
        None => text_of(&plain(&named))?,
    };
    Ok((source, target))
}

/// Without `.` and doubled slashes.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

fn text_of(path: &Path) -> Result<String> {
    match path.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => bail!("the path `{}` is not UTF-8", path.display()),
    }
}

/// The current directory as the command sees it, else the first directory that it can write to.
fn start_directory(mounts: &[FilesystemMount], current: &Path) -> Result<Option<String>> {
    let inside = mounts
        .iter()
        .filter_map(|mount| Some((mount, current.strip_prefix(&mount.source).ok()?)))
        .max_by_key(|(mount, _)| mount.source.as_os_str().len());
    if let Some((mount, below)) = inside {
        return text_of(&plain(&Path::new(&mount.target).join(below))).map(Some);
    }
    let writable =
        |mount: &&FilesystemMount| mount.access == FilesystemAccess::ReadWrite && mount.source.is_dir();
    Ok(mounts.iter().find(writable).map(|mount| mount.target.clone()))
}

fn network(args: &EgressArgs, file: &PolicyFile) -> Result<NetworkPolicy> {
    for (flag, hosts) in [("--allow-host", &args.allow_host), ("--deny-host", &args.deny_host)] {
        for host in hosts {
            ensure!(
                !matches!(host.as_str(), "*" | "**"),
                Advice::new(
                    format!("`{flag} {host}` names no host"),
                    "list hosts or domains such as `*.example.com`; `--allow-network` takes all filters away",
                )
            );
            let listed = PermissionPolicy { net: vec![host.clone()], ..PermissionPolicy::default() };
            if let Some(problem) = listed.lint().first() {
                bail!("`{flag} {host}` {}", problem.message);
            }
        }
    }
    let denied_hosts: Vec<String> = file.denied_hosts.iter().chain(&args.deny_host).cloned().collect();
    if args.allow_network && denied_hosts.is_empty() && file.http_rules.is_empty() {
        return Ok(NetworkPolicy::Unrestricted);
    }
    Ok(NetworkPolicy::Limited {
        allowed_hosts: args.allow_host.clone(),
        denied_hosts,
        http_rules: file.http_rules.clone(),
        private_hosts: file.private_hosts.clone(),
    })
}

fn endpoints(
    args: &EgressArgs,
    file: &PolicyFile,
    key: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Endpoint>> {
    let mut endpoints: Vec<Endpoint> = file.endpoints.iter().map(|(endpoint, _)| endpoint.clone()).collect();
    for (name, upstream) in &args.endpoint {
        ensure!(
            endpoints.iter().all(|known| known.name != *name),
            "there are two endpoints with the name `{name}`"
        );
        endpoints.push(Endpoint {
            name: name.clone(),
            upstream: upstream.clone(),
            headers: Vec::new(),
            rules: Vec::new(),
        });
    }
    let of_file = file.endpoints.iter().filter_map(|(endpoint, key)| Some((&endpoint.name, key.as_ref()?)));
    let of_options = args.endpoint_key.iter().map(|(name, variable)| (name, variable));
    for (name, variable) in of_file.chain(of_options) {
        let Some(endpoint) = endpoints.iter_mut().find(|endpoint| endpoint.name == *name) else {
            let help = format!("add `--endpoint {name}=URL`");
            bail!(Advice::new(
                format!("`--endpoint-key` is for an endpoint `{name}` that is not there"),
                help
            ));
        };
        let Some(secret) = key(variable) else {
            let help = "give the name of the variable that has the key, not the key";
            bail!(Advice::new(format!("the variable `{variable}` for the key of `{name}` is not set"), help));
        };
        ensure!(endpoint.headers.is_empty(), "the endpoint `{name}` has two keys");
        endpoint.headers.push(("Authorization".to_owned(), Secret::new(format!("Bearer {secret}"))));
    }
    Ok(endpoints)
}

/// An option says it last.
fn limits(args: &LimitArgs, file: &ResourceLimits) -> ResourceLimits {
    ResourceLimits {
        wall_time: args.timeout.or(file.wall_time),
        cpu_count: args.cpus.or(file.cpu_count),
        memory_mb: args.memory.or(file.memory_mb),
        processes: args.processes.or(file.processes),
        ..file.clone()
    }
}

#[cfg(test)]
mod tests;
