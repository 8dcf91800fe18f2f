//! The configuration of a fullsend directory: its file, the layer below it, and what they add up to.

use std::path::{Path, PathBuf};

use fullsend_origin::{AllowList, ForgeHosts, ForgeKind, Reference};
use fullsend_yaml::{Diagnostic, FromNode, FromText, Location};

use crate::library::Library;
use crate::path::{self, Containment};
use crate::rules;
use crate::schema::{AgentEntry, ConfigFile, RepoConfig};
use crate::value::{AgentName, ForgeType};

/// The configuration file of a fullsend directory.
pub const CONFIG_FILE: &str = "config.yaml";
/// The layer below it, for repositories.
pub const CONFIG_BASE_FILE: &str = "config.base.yaml";

/// What the configuration of a fullsend directory adds up to.
#[derive(Debug, Default)]
pub struct Configuration {
    /// The layers, the uppermost first.
    pub layers: Vec<ConfigFile>,
    /// The prefixes that any harness may fetch from; empty when nothing may be.
    pub allow: AllowList,
    /// The forges that skills may come from.
    pub forges: ForgeHosts,
    /// The registered agents, in the order in which later ones win.
    pub agents: Vec<AgentEntry>,
    /// Whether a file is broken, so that what seems missing may merely be unreadable.
    pub damaged: bool,
}

impl Library {
    /// Reads the configuration; a missing file is the same as an empty one.
    pub fn configuration(&mut self, problems: &mut Vec<Diagnostic>) -> Configuration {
        let mut found = Vec::new();
        let mut layers: Vec<ConfigFile> = self.config_layer(CONFIG_FILE, &mut found).into_iter().collect();
        if matches!(layers.first(), Some(ConfigFile::Org(_))) {
            self.unused_layer(&mut found);
        } else {
            // Only a repository's configuration has layers, so an organisation's keys are refused below it.
            let below: Option<RepoConfig> = self.config_layer(CONFIG_BASE_FILE, &mut found);
            layers.extend(below.map(|below| ConfigFile::Repo(Box::new(below))));
        }
        let configuration = assemble(layers, self.root(), &mut found);
        let damaged = found.iter().any(Diagnostic::is_error);
        problems.append(&mut found);
        Configuration { damaged, ..configuration }
    }

    fn config_layer<T: FromNode>(&mut self, name: &str, problems: &mut Vec<Diagnostic>) -> Option<T> {
        let path = self.root().join(name);
        if is_absent(&path) {
            return None;
        }
        match self.document(&path, problems) {
            Ok((_, config)) => config,
            Err(error) => {
                problems.push(self.unreadable(&path, &error));
                None
            }
        }
    }

    fn unused_layer(&mut self, problems: &mut Vec<Diagnostic>) {
        let path = self.root().join(CONFIG_BASE_FILE);
        if let Ok(Some(file)) = self.text(&path, &mut Vec::new()) {
            let message = format!("`{CONFIG_BASE_FILE}` is not read: `{CONFIG_FILE}` is an organisation's");
            let problem = Diagnostic::new(&rules::NO_EFFECT, Location::new(file, 0..0), message);
            problems.push(problem.with_help(format!("move what it says to `{CONFIG_FILE}`, and remove it")));
        }
    }
}

/// Only a file that is not there is absent. A dangling link or one behind a closed directory is a broken file: taking
/// it for absent would drop what an operator decided.
fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn assemble(layers: Vec<ConfigFile>, root: &Path, problems: &mut Vec<Diagnostic>) -> Configuration {
    let allow = allow_list(&layers);
    let agents: Vec<AgentEntry> = layers.iter().rev().flat_map(ConfigFile::agents).cloned().collect();
    let forges = forge_hosts(&layers, problems);
    check_agents(&agents, &allow, root, problems);
    Configuration { layers, allow, forges, agents, damaged: false }
}

/// The lists of all layers together. An explicit empty list refuses everything, so nothing below it counts.
fn allow_list(layers: &[ConfigFile]) -> AllowList {
    let lists = layers.iter().filter_map(ConfigFile::allowed_remote_resources);
    lists.take_while(|list| !list.is_empty()).flatten().map(|prefix| prefix.entry().clone()).collect()
}

/// An entry that lacks a key was reported when it was read.
fn forge_hosts(layers: &[ConfigFile], problems: &mut Vec<Diagnostic>) -> ForgeHosts {
    let mut hosts = ForgeHosts::default();
    for forge in layers.iter().flat_map(ConfigFile::forges) {
        let (Some(host), Some(forge_type)) = (&forge.host, &forge.forge_type) else { continue };
        let kind = match forge_type.value {
            ForgeType::GitHub => ForgeKind::GitHub,
            ForgeType::GitLab => ForgeKind::GitLab,
        };
        match hosts.clone().with_host(host.as_str(), kind) {
            Ok(extended) => hosts = extended,
            Err(error) => problems.push(
                Diagnostic::new(&rules::CONFIG_FORGE, host.at, error.to_string()).with_help_if(error.help()),
            ),
        }
    }
    hosts
}

fn check_agents(agents: &[AgentEntry], allow: &AllowList, root: &Path, problems: &mut Vec<Diagnostic>) {
    for (index, entry) in agents.iter().enumerate().filter(|(_, entry)| !entry.damaged()) {
        if let Err((message, help)) = check_agent(entry, allow, root) {
            problems.push(Diagnostic::new(&rules::CONFIG_AGENT, entry.at, message).with_help(help));
        } else if let Some(earlier) = agents.iter().take(index).find(|earlier| same_agent(earlier, entry)) {
            let message =
                format!("an agent named `{}` is registered twice", entry.name().unwrap_or_default());
            let problem = Diagnostic::new(&rules::CONFIG_AGENT, entry.at, message);
            let problem = problem.with_help("give one of them another `name`, or remove it");
            problems.push(problem.with_related(earlier.at, "first registered here"));
        }
    }
}

/// A disabled entry may share its name with an enabled one: that is how an inherited agent is switched off.
fn same_agent(one: &AgentEntry, other: &AgentEntry) -> bool {
    let name = |entry: &AgentEntry| entry.name().map(|name| name.to_ascii_lowercase());
    one.enabled() == other.enabled() && name(one) == name(other)
}

/// What is wrong with an entry, and what to do about it.
type AgentProblem = (String, String);

fn check_agent(entry: &AgentEntry, allow: &AllowList, root: &Path) -> Result<(), AgentProblem> {
    let name = entry.name().unwrap_or_default();
    if entry.enabled() && entry.agent.source.is_none() {
        let help = "add `source: harness/<name>.yaml`, or `enabled: false`";
        return Err(("an enabled agent needs a `source`".to_owned(), help.to_owned()));
    }
    if !entry.enabled() && entry.agent.name.is_none() {
        let help = "add `name: <name>`: it says which agent is switched off";
        return Err(("a disabled agent needs its `name`".to_owned(), help.to_owned()));
    }
    AgentName::from_text(&name).map_err(|problem| {
        (format!("the agent's name `{name}` {}", problem.message), "add a `name` to the entry".to_owned())
    })?;
    match entry.agent.source.as_ref().map(|source| source.value.reference()) {
        None => Ok(()),
        Some(Reference::Remote(url)) => match allow.matching(url.url().as_https()) {
            Some(_) => Ok(()),
            None => Err((
                format!("`{}` is not below any entry of `allowed_remote_resources`", url.url()),
                "add its prefix, ending in `/`, to `allowed_remote_resources` in this file".to_owned(),
            )),
        },
        Some(Reference::Local(path)) => check_local_source(path.as_str(), entry.enabled(), root),
    }
}

/// The file of a disabled agent may be gone: that may be why it is disabled.
fn check_local_source(written: &str, must_exist: bool, root: &Path) -> Result<(), AgentProblem> {
    let leaves = written.split('/').any(|segment| segment == "..");
    if Path::new(written).is_absolute() || leaves || written.contains('\\') {
        return Err((
            format!("`{written}` is not a relative path inside the fullsend directory"),
            "write it relative to the fullsend directory, without `..` or `\\`".to_owned(),
        ));
    }
    match path::resolve(root, written) {
        Some(path) if !must_exist || path.is_file() => Ok(()),
        Some(path) if path.exists() => {
            Err((format!("`{}` is not a file", path.display()), "name a harness file".to_owned()))
        }
        Some(path) => Err((
            format!("`{}` does not exist", path.display()),
            "create the file, or correct `source`".to_owned(),
        )),
        None => Err((format!("`{written}` is not a file"), "name a harness file".to_owned())),
    }
}

/// What a name that a person typed leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// A harness file.
    File(PathBuf),
    /// A registered agent whose harness is remote.
    Remote(String),
    /// A registered agent that is switched off.
    Disabled,
    /// Nothing; these are the names that exist.
    Unknown(Vec<String>),
}

impl Configuration {
    /// Finds the harness for a name: registered agents first, then `harness/<name>.yaml`, then a path.
    ///
    /// Registered names are unique whatever their case and are found the same way: an agent that is switched off must
    /// not run because its name was typed in another case.
    #[must_use]
    pub fn look_up(&self, root: &Path, name: &str) -> Lookup {
        let is_named = |entry: &&AgentEntry| entry.name().is_some_and(|own| own.eq_ignore_ascii_case(name));
        let registered = self.agents.iter().rfind(is_named);
        if let Some(entry) = registered {
            return self.registered(entry, root);
        }
        let on_disk =
            ["yaml", "yml"].map(|extension| root.join("harness").join(format!("{name}.{extension}")));
        let found = on_disk.into_iter().chain([PathBuf::from(name)]).find(|path| path.is_file());
        found.map_or_else(|| Lookup::Unknown(self.known_names(root)), Lookup::File)
    }

    fn registered(&self, entry: &AgentEntry, root: &Path) -> Lookup {
        let Some(source) = entry.agent.source.as_ref().filter(|_| entry.enabled()) else {
            return Lookup::Disabled;
        };
        match (source.value.local(), registered_file(entry, root)) {
            (None, _) => Lookup::Remote(source.value.to_string()),
            (Some(_), Some(path)) => Lookup::File(path),
            (Some(_), None) => Lookup::Unknown(self.known_names(root)),
        }
    }

    fn known_names(&self, root: &Path) -> Vec<String> {
        let enabled = self.agents.iter().filter(|entry| entry.enabled()).filter_map(AgentEntry::name);
        let on_disk = crate::workspace::harness_files(root)
            .into_iter()
            .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        let mut names: Vec<String> = enabled.chain(on_disk).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// The harness file of a registered agent; `None` when it is remote, or lies outside the fullsend directory.
pub(crate) fn registered_file(entry: &AgentEntry, root: &Path) -> Option<PathBuf> {
    let path = path::resolve(root, entry.agent.source.as_ref()?.value.local()?)?;
    (path::containment(root, &path) == Containment::Inside).then_some(path)
}
