//! The configuration of a fullsend directory: its file, the layer below it, and what they add up to.

use std::path::{Path, PathBuf};

use fullsend_origin::{AllowList, ForgeHosts, ForgeKind, Reference};
use fullsend_yaml::{Diagnostic, FromText, Location};

use crate::library::Library;
use crate::path;
use crate::rules;
use crate::schema::{AgentEntry, ConfigFile};
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
        let mut layers: Vec<ConfigFile> = Vec::new();
        for name in [CONFIG_FILE, CONFIG_BASE_FILE] {
            let path = self.root().join(name);
            if path.exists() && (layers.is_empty() || matches!(layers.first(), Some(ConfigFile::Repo(_)))) {
                layers.extend(self.config_layer(&path, &mut found));
            }
        }
        let configuration = assemble(layers, self.root(), &mut found);
        let damaged = found.iter().any(Diagnostic::is_error);
        problems.append(&mut found);
        Configuration { damaged, ..configuration }
    }

    fn config_layer(&mut self, path: &Path, problems: &mut Vec<Diagnostic>) -> Option<ConfigFile> {
        match self.document(path, problems) {
            Ok((_, config)) => config,
            Err(error) => {
                problems.push(self.unreadable(path, &error));
                None
            }
        }
    }
}

fn assemble(layers: Vec<ConfigFile>, root: &Path, problems: &mut Vec<Diagnostic>) -> Configuration {
    let allow: AllowList = layers
        .iter()
        .flat_map(ConfigFile::allowed_remote_resources)
        .map(|prefix| prefix.entry().clone())
        .collect();
    let agents: Vec<AgentEntry> = layers.iter().rev().flat_map(ConfigFile::agents).cloned().collect();
    let forges = forge_hosts(&layers, problems);
    check_private_hosts(&layers, problems);
    check_agents(&agents, &allow, root, problems);
    Configuration { layers, allow, forges, agents, damaged: false }
}

fn forge_hosts(layers: &[ConfigFile], problems: &mut Vec<Diagnostic>) -> ForgeHosts {
    let mut hosts = ForgeHosts::default();
    for forge in layers.iter().flat_map(ConfigFile::forges) {
        let (Some(host), Some(forge_type)) = (&forge.host, &forge.forge_type) else {
            report_missing(forge.host.as_ref().map(|host| host.at), "forges", "`host` and `type`", problems);
            continue;
        };
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

fn check_private_hosts(layers: &[ConfigFile], problems: &mut Vec<Diagnostic>) {
    for host in layers.iter().flat_map(ConfigFile::private_hosts) {
        if host.host.is_none() || host.cidr.is_none() {
            let at = host.host.as_ref().map(|host| host.at).or(host.cidr.as_ref().map(|cidr| cidr.at));
            report_missing(at, "private_hosts", "`host` and `cidr`", problems);
        }
    }
}

/// An entry without a single readable key has been reported already, where it could not be read.
fn report_missing(at: Option<Location>, list: &str, keys: &str, problems: &mut Vec<Diagnostic>) {
    if let Some(at) = at {
        let message = format!("an entry of `{list}` needs {keys}");
        problems.push(Diagnostic::new(&rules::MISSING_KEY, at, message).with_help(format!("add {keys}")));
    }
}

fn check_agents(agents: &[AgentEntry], allow: &AllowList, root: &Path, problems: &mut Vec<Diagnostic>) {
    for (index, entry) in agents.iter().enumerate() {
        if let Err(message) = check_agent(entry, allow, root) {
            problems.push(Diagnostic::new(&rules::CONFIG_AGENT, entry.at, message));
        } else if let Some(earlier) = agents.iter().take(index).find(|earlier| same_agent(earlier, entry)) {
            let message =
                format!("an agent named `{}` is registered twice", entry.name().unwrap_or_default());
            let problem = Diagnostic::new(&rules::CONFIG_AGENT, entry.at, message);
            problems.push(problem.with_related(earlier.at, "first registered here"));
        }
    }
}

/// A disabled entry may share its name with an enabled one: that is how an inherited agent is switched off.
fn same_agent(one: &AgentEntry, other: &AgentEntry) -> bool {
    let name = |entry: &AgentEntry| entry.name().map(|name| name.to_ascii_lowercase());
    one.enabled() == other.enabled() && name(one) == name(other)
}

fn check_agent(entry: &AgentEntry, allow: &AllowList, root: &Path) -> Result<(), String> {
    let name = entry.name().unwrap_or_default();
    if entry.enabled() && entry.agent.source.is_none() {
        return Err("an enabled agent needs a `source`".to_owned());
    }
    if !entry.enabled() && entry.agent.name.is_none() {
        return Err("a disabled agent needs its `name`".to_owned());
    }
    AgentName::from_text(&name)
        .map_err(|problem| format!("the agent's name `{name}` {}", problem.message))?;
    match entry.agent.source.as_ref().map(|source| source.value.reference()) {
        None => Ok(()),
        Some(Reference::Remote(url)) => match allow.matching(url.url().as_https()) {
            Some(_) => Ok(()),
            None => Err(format!("`{}` is not below any entry of `allowed_remote_resources`", url.url())),
        },
        Some(Reference::Local(path)) => check_local_source(path.as_str(), root),
    }
}

fn check_local_source(written: &str, root: &Path) -> Result<(), String> {
    let leaves = written.split('/').any(|segment| segment == "..");
    if Path::new(written).is_absolute() || leaves || written.contains('\\') {
        return Err(format!(
            "`{written}` must be a relative path inside the fullsend directory, without `..` or `\\`"
        ));
    }
    match path::resolve(root, written) {
        Some(path) if path.is_file() => Ok(()),
        _ => Err(format!("`{written}` does not exist")),
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
    #[must_use]
    pub fn look_up(&self, root: &Path, name: &str) -> Lookup {
        let registered = self.agents.iter().rfind(|entry| entry.name().is_some_and(|entry| entry == name));
        if let Some(entry) = registered {
            return registered_agent(entry, root);
        }
        let on_disk =
            ["yaml", "yml"].map(|extension| root.join("harness").join(format!("{name}.{extension}")));
        let found = on_disk.into_iter().chain([PathBuf::from(name)]).find(|path| path.is_file());
        found.map_or_else(|| Lookup::Unknown(self.known_names(root)), Lookup::File)
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

fn registered_agent(entry: &AgentEntry, root: &Path) -> Lookup {
    match entry.agent.source.as_ref() {
        _ if !entry.enabled() => Lookup::Disabled,
        Some(source) => match source.value.local().and_then(|written| path::resolve(root, written)) {
            Some(path) => Lookup::File(path),
            None => Lookup::Remote(source.value.to_string()),
        },
        None => Lookup::Disabled,
    }
}
