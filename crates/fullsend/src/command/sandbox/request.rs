//! From arguments to what the sandbox is asked for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Result, bail, ensure};
use fullsend_sandbox::{
    Endpoint, ExecRequest, FilesystemAccess, FilesystemMount, NetworkPolicy, PermissionPolicy,
    ResourceLimits, SandboxSpec, Secret,
};

use crate::cli::{EgressArgs, FileArgs, LimitArgs, SandboxExecArgs};
use crate::environment;
use crate::output::Advice;

/// A sandbox and the command for it.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) spec: SandboxSpec,
    pub(super) request: ExecRequest,
}

/// Puts together what the arguments ask for. Relative paths start at `current`; `key` looks up variables with keys.
pub(super) fn build(
    args: &SandboxExecArgs,
    current: &Path,
    key: impl Fn(&str) -> Option<String>,
) -> Result<Wanted> {
    let mounts = mounts(&args.files, current)?;
    let cwd = match &args.cwd {
        Some(directory) => Some(text_of(&plain(&current.join(directory)))?),
        None => start_directory(&mounts, current)?,
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
        timeout: args.limits.timeout,
        interactive: true,
        ..ExecRequest::default()
    };
    let spec = SandboxSpec {
        network_policy: network(&args.network)?,
        mounts,
        limits: limits(&args.limits),
        endpoints: endpoints(&args.network, key)?,
        ..SandboxSpec::default()
    };
    Ok(Wanted { spec, request })
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

fn network(args: &EgressArgs) -> Result<NetworkPolicy> {
    if args.allow_network {
        return Ok(NetworkPolicy::Unrestricted);
    }
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
    Ok(NetworkPolicy::Limited {
        allowed_hosts: args.allow_host.clone(),
        denied_hosts: args.deny_host.clone(),
        http_rules: Vec::new(),
        private_hosts: Vec::new(),
    })
}

fn endpoints(args: &EgressArgs, key: impl Fn(&str) -> Option<String>) -> Result<Vec<Endpoint>> {
    let mut endpoints: Vec<Endpoint> = Vec::new();
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
    for (name, variable) in &args.endpoint_key {
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

fn limits(args: &LimitArgs) -> ResourceLimits {
    ResourceLimits {
        wall_time: args.timeout,
        cpu_count: args.cpus,
        memory_mb: args.memory,
        processes: args.processes,
        ..ResourceLimits::default()
    }
}

#[cfg(test)]
mod tests;
