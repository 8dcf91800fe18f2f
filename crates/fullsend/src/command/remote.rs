//! What commands that may use the network share: the parts of a resolver, made from configuration and environment.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Error, Result};
use fullsend_fetch::get::{ExtraRoots, Mode, PrivateHost};
use fullsend_fetch::{Audit, Cache, FetchRules, Fetcher, SystemClock};
use fullsend_harness::Library;
use fullsend_harness::config::Configuration;
use fullsend_harness::schema::ConfigFile;
use fullsend_harness::value::Platform;
use fullsend_origin::{AllowList, ForgeHosts, HostPattern};
use fullsend_resolve::forge::{ForgeOptions, ForgeToken, Forges, allowed_hosts, token_variables};
use fullsend_resolve::lock::{self, LockError, LockFile};
use fullsend_resolve::locking::{agrees, locked_digests};
use fullsend_resolve::{Limits, Resolution, ResolveError, Resolver, Store};
use fullsend_yaml::{Diagnostic, SourceMap};

use crate::cli::{DirectoryArgs, NetworkArgs};
use crate::command::{fullsend_directory, show};
use crate::environment;
use crate::output::progress::Downloads;
use crate::output::{Advice, Output, diagnostics};

/// One fullsend directory, ready for resolving what is in it.
pub(super) struct Session {
    pub(super) root: PathBuf,
    pub(super) library: Library,
    pub(super) configuration: Configuration,
    limits: Limits,
    mode: Mode,
    runtime: tokio::runtime::Runtime,
}

impl Session {
    pub(super) fn open(
        directory: &DirectoryArgs,
        network: &NetworkArgs,
        output: &mut Output,
    ) -> Result<Self> {
        let root = fullsend_directory(directory)?;
        let mut library = Library::new(&root);
        let mut problems = Vec::new();
        let configuration = library.configuration(&mut problems);
        // Without a readable configuration nobody knows what is allowed.
        if configuration.damaged {
            diagnostics::print_to_stderr(output, library.sources(), &problems);
            return Err(Advice::new("the configuration has errors", "correct the problems above").into());
        }
        let limits = Limits {
            max_depth: network.max_depth,
            max_resources: usize::from(network.max_resources),
            ..Limits::default()
        };
        let mode = if network.offline { Mode::Offline } else { Mode::Online };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { root, library, configuration, limits, mode, runtime })
    }

    /// As [`Session::open`], or without a fullsend directory when there is none: then nothing is configured.
    pub(super) fn open_anywhere(
        directory: &DirectoryArgs,
        network: &NetworkArgs,
        output: &mut Output,
    ) -> Result<Self> {
        if directory.fullsend_dir.is_some() || fullsend_directory(directory).is_ok() {
            return Self::open(directory, network, output);
        }
        Ok(Self {
            root: PathBuf::from("."),
            library: Library::new("."),
            configuration: Configuration::default(),
            limits: Limits::default(),
            mode: Mode::Online,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
        })
    }

    /// The harness file that a name leads to.
    pub(super) fn harness(&self, name: &str) -> Result<PathBuf> {
        show::locate(&self.configuration, &self.root, name)
    }

    /// Resolves a harness.
    pub(super) fn resolve(
        &mut self,
        path: &Path,
        platform: Option<Platform>,
        output: &mut Output,
    ) -> Result<Resolution> {
        let lock = self.lock(output)?;
        let name = harness_name(path);
        let resolver = self.resolver()?.with_locked(locked_digests(&lock, &name, platform));
        let resolution = self.run_resolver(&resolver, path, platform, output)?;
        if lock.harnesses.contains_key(&name) {
            agrees(&lock, &name, platform, &resolution.dependencies)
                .map_err(|problem| Advice::new(problem.to_string(), problem.help()))?;
        }
        Ok(resolution)
    }

    /// A resolver on the cache of this directory.
    pub(super) fn resolver(&self) -> Result<Resolver> {
        let hosts = list_hosts(&self.configuration.allow);
        Ok(Resolver::new(self.store(&hosts)?, self.limits))
    }

    /// Waits for a resolver.
    pub(super) fn run_resolver(
        &mut self,
        resolver: &Resolver,
        path: &Path,
        platform: Option<Platform>,
        output: &mut Output,
    ) -> Result<Resolution> {
        let resolving = resolver.resolve(&mut self.library, &self.configuration, path, platform);
        self.runtime.block_on(resolving).map_err(|error| explain(error, output))
    }

    /// The platforms that a harness has overlays for.
    pub(super) fn platforms(
        &mut self,
        resolver: &Resolver,
        path: &Path,
        output: &mut Output,
    ) -> Result<Vec<Option<Platform>>> {
        let composing = resolver.platforms(&mut self.library, &self.configuration, path);
        self.runtime.block_on(composing).map_err(|error| explain(error, output))
    }

    /// The lock file of the directory.
    pub(super) fn lock(&self, output: &mut Output) -> Result<LockFile> {
        let mut sources = SourceMap::new();
        match lock::load(&self.lock_path(), &mut sources) {
            Ok(loaded) => {
                diagnostics::print_to_stderr(output, &sources, &loaded.warnings);
                Ok(loaded.lock)
            }
            Err(error) => Err(lock_failure(error, &sources, output)),
        }
    }

    /// Where the lock file is.
    pub(super) fn lock_path(&self) -> PathBuf {
        self.root.join(lock::FILE_NAME)
    }

    /// The limits in force.
    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// A fetcher that may ask these hosts, and the forges behind them.
    pub(super) fn fetcher(&self, hosts: &[HostPattern]) -> Result<(Fetcher, Forges)> {
        let known = &self.configuration.forges;
        let mut allowed = hosts.to_vec();
        allowed.extend(allowed_hosts(known));
        let rules = FetchRules {
            private_hosts: private_hosts(&self.configuration.layers),
            mode: self.mode,
            extra_roots: environment::extra_roots().into_iter().map(ExtraRoots::File).collect(),
            ..FetchRules::new(allowed)
        };
        let fetcher = Fetcher::new(rules).map_err(|error| advise(&error.to_string(), error.help()))?;
        let forges = Forges::new(&fetcher, known, &tokens(known)?, &ForgeOptions::default())
            .map_err(|error| advise(&error.to_string(), error.help()))?;
        Ok((fetcher, forges))
    }

    /// A store on such a fetcher.
    fn store(&self, hosts: &[HostPattern]) -> Result<Store> {
        let (fetcher, forges) = self.fetcher(hosts)?;
        let cache = Cache::open(&self.root).map_err(|error| advise(&error.to_string(), error.help()))?;
        let audit = Audit::open(&self.root, uuid::Uuid::new_v4().to_string(), Arc::new(SystemClock))?;
        let store = Store::new(fetcher, cache, audit, forges, self.configuration.forges.clone());
        Ok(store.with_progress(Arc::new(Downloads::new())))
    }

    /// Runs something that waits for the network.
    pub(super) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }
}

/// The hosts of the organisation's list: what it does not permit is refused before a host is asked.
fn list_hosts(list: &AllowList) -> Vec<HostPattern> {
    list.iter().filter_map(|entry| HostPattern::parse(entry.host()).ok()).collect()
}

fn private_hosts(layers: &[ConfigFile]) -> Vec<PrivateHost> {
    let host = |entry: &fullsend_harness::schema::PrivateHost| {
        let port = entry.port.as_ref().map_or(Some(443), |port| u16::try_from(port.value.get()).ok())?;
        Some(PrivateHost {
            host: entry.host.as_ref()?.pattern().clone(),
            port,
            cidr: entry.cidr.as_ref()?.range(),
        })
    };
    layers.iter().flat_map(ConfigFile::private_hosts).filter_map(host).collect()
}

/// The tokens that the environment has for known forges.
fn tokens(hosts: &ForgeHosts) -> Result<Vec<ForgeToken>> {
    let mut tokens = Vec::new();
    for (host, kind) in hosts.iter() {
        let variables = token_variables(kind, host);
        if let Some(secret) = environment::first_set(variables) {
            let token = ForgeToken::new(host, &secret).map_err(|error| {
                let message = format!("`{}` for `{host}`: {error}", variables.join("` or `"));
                advise(&message, error.help())
            });
            tokens.push(token?);
        }
    }
    Ok(tokens)
}

/// Prints what a person should know about a resolution.
pub(super) fn warn(resolution: &Resolution, output: &mut Output) {
    for warning in &resolution.warnings {
        output.note(&format!("warning: {}", fullsend_yaml::printable(warning.clone())));
    }
}

/// The name under which a harness is locked: its file name without extension.
pub(super) fn harness_name(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What a person sees of a lock file that cannot be used.
pub(super) fn lock_failure(error: LockError, sources: &SourceMap, output: &mut Output) -> Error {
    if let LockError::Invalid { problems, .. } = &error {
        diagnostics::print_to_stderr(output, sources, problems);
    }
    let help = error.help();
    Error::new(error).context(Advice::new("the lock file cannot be used", help))
}

/// An error with its next step.
pub(super) fn advise(message: &str, help: Option<String>) -> Error {
    match help {
        Some(help) => Advice::new(message, help).into(),
        None => Error::msg(message.to_owned()),
    }
}

/// What a person sees of a failed resolution.
pub(super) fn explain(error: ResolveError, output: &mut Output) -> Error {
    if let ResolveError::Broken { sources, problems } = &error {
        let errors: Vec<Diagnostic> = problems.iter().filter(|problem| problem.is_error()).cloned().collect();
        diagnostics::print_to_stderr(output, sources, &errors);
    }
    let help = error.help();
    match help {
        Some(help) => Error::new(error).context(Advice::new("the harness cannot be resolved", help)),
        None => Error::new(error).context("the harness cannot be resolved"),
    }
}
