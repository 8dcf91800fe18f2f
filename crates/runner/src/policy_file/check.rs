//! What is wrong with the entries of a policy file, each at its place.

use std::path::Path;

use fullsend_harness::schema::{EndpointEntry, SandboxPolicy};
use fullsend_sandbox::egress::{CompiledPolicy, check_endpoint};
use fullsend_sandbox::policy::PolicyList;
use fullsend_sandbox::{Endpoint, HttpRule, NetworkPolicy, PrivateHost, SandboxError};
use fullsend_yaml::{Diagnostic, Located, Location, rules};

/// For rules that are checked without their host.
const ANY_HOST: &str = "host";

const PATH_ENTRY_HELP: &str =
    "name a file or directory that exists, absolute or relative to the current directory";
const PROGRAM_HELP: &str = "write the name of a program, its absolute path, or `**` for all of the system's";
const HOST_HELP: &str = "write `host`, `*.domain` or an address, and `:port` if it is neither 80 nor 443";
const METHOD_HELP: &str = "write a method in upper case, such as `GET`";
const PATH_HELP: &str = "write a path such as `/api/items`, or its start and a `*`: `/api/*`";
const URL_HELP: &str = "write `https://host[:port][/path]`, or `http://` for a gateway on this machine";

/// Adds what is wrong with the entries to `problems`.
pub(super) fn check(
    policy: &SandboxPolicy,
    workspace: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Result<(), SandboxError> {
    permissions(policy, workspace, problems)?;
    hosts(policy, problems);
    for rule in policy.http_rules.iter().flatten() {
        if let Some(host) = &rule.host {
            report(compiled("http_rules", asking(host, &[], &[])), host.at, HOST_HELP, problems);
        }
        methods_and_paths("http_rules", rule.methods.as_ref(), rule.paths.as_ref(), problems);
    }
    for entry in policy.private_hosts.iter().flatten() {
        if let (Some(host), Some(network)) = (&entry.host, &entry.network) {
            let private = PrivateHost { host: host.value.clone(), network: network.value.to_string() };
            let help = "write one exact host name or address";
            report(compiled("private_hosts", with_private(private)), host.at, help, problems);
        }
    }
    endpoints(policy.endpoints.as_deref().unwrap_or_default(), problems);
    Ok(())
}

fn permissions(
    policy: &SandboxPolicy,
    workspace: &Path,
    problems: &mut Vec<Diagnostic>,
) -> Result<(), SandboxError> {
    let found = super::permissions(policy).problems(workspace)?;
    for (list, entries, help) in [
        (PolicyList::Read, &policy.read, PATH_ENTRY_HELP),
        (PolicyList::Write, &policy.write, PATH_ENTRY_HELP),
        (PolicyList::Exec, &policy.exec, PROGRAM_HELP),
        (PolicyList::Net, &policy.net, HOST_HELP),
    ] {
        for entry in entries.iter().flatten() {
            let about = |problem: &&fullsend_sandbox::policy::PolicyProblem| {
                problem.list == list && problem.entry == entry.value
            };
            report(found.iter().find(about).map(ToString::to_string), entry.at, help, problems);
        }
    }
    Ok(())
}

fn hosts(policy: &SandboxPolicy, problems: &mut Vec<Diagnostic>) {
    let has_filters =
        policy.deny.iter().flatten().next().is_some() || policy.http_rules.iter().flatten().next().is_some();
    for entry in policy.net.iter().flatten() {
        if is_everything(entry) {
            let message =
                format!("net entry `{}` takes all filters away, also `deny` and `http_rules`", entry.value);
            report(has_filters.then_some(message), entry.at, "list the hosts that are needed", problems);
        } else if !problems.iter().any(|problem| problem.at == entry.at) {
            // What has no form at all has been reported with the other lists.
            report(compiled("net", NetworkPolicy::limited([entry.as_str()])), entry.at, HOST_HELP, problems);
        }
    }
    for entry in policy.deny.iter().flatten() {
        if is_everything(entry) {
            let message = format!("deny entry `{}` names no host", entry.value);
            report(Some(message), entry.at, "leave `net` empty for no network at all", problems);
        } else {
            report(compiled("deny", denying(entry)), entry.at, HOST_HELP, problems);
        }
    }
}

fn is_everything(entry: &str) -> bool {
    matches!(entry, "*" | "**")
}

fn endpoints(entries: &[EndpointEntry], problems: &mut Vec<Diagnostic>) {
    for (index, entry) in entries.iter().enumerate() {
        for rule in entry.rules.iter().flatten() {
            methods_and_paths("rules", rule.methods.as_ref(), rule.paths.as_ref(), problems);
        }
        let (Some(name), Some(url)) = (&entry.name, &entry.url) else { continue };
        // Rules have been looked at one by one.
        let bare = Endpoint { rules: Vec::new(), ..super::endpoint(entry) };
        report(check_endpoint(&bare).err().map(|error| error.to_string()), url.at, URL_HELP, problems);
        let earlier = entries.iter().take(index).filter_map(|entry| entry.name.as_ref());
        if let Some(other) = earlier.into_iter().find(|other| other.value == name.value) {
            let message = format!("there are two endpoints with the name `{}`", name.value);
            let twice = Diagnostic::new(&rules::INVALID_VALUE, name.at, message);
            problems
                .push(twice.with_help("give one of them another name").with_related(other.at, "the other"));
        }
    }
}

/// Each method and path for itself, so that each has its place.
fn methods_and_paths(
    list: &str,
    methods: Option<&Vec<Located<String>>>,
    paths: Option<&Vec<Located<String>>>,
    problems: &mut Vec<Diagnostic>,
) {
    for method in methods.into_iter().flatten() {
        report(compiled(list, asking(ANY_HOST, &[method], &[])), method.at, METHOD_HELP, problems);
    }
    for path in paths.into_iter().flatten() {
        report(compiled(list, asking(ANY_HOST, &[], &[path])), path.at, PATH_HELP, problems);
    }
}

/// What the proxy says about a policy with one entry, by the name of the list in the file.
fn compiled(list: &str, policy: NetworkPolicy) -> Option<String> {
    let message = CompiledPolicy::compile(&policy).err()?.to_string();
    let (_, about) = message.split_once(": ")?;
    Some(
        about
            .strip_prefix(&format!("`{ANY_HOST}`: "))
            .map_or_else(|| format!("{list} entry {about}"), |why| format!("{list}: {why}")),
    )
}

fn denying(host: &str) -> NetworkPolicy {
    limited(vec![host.to_owned()], Vec::new(), Vec::new())
}

fn with_private(host: PrivateHost) -> NetworkPolicy {
    limited(Vec::new(), Vec::new(), vec![host])
}

fn asking(host: &str, methods: &[&str], paths: &[&str]) -> NetworkPolicy {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let rule = HttpRule { host: host.to_owned(), methods: owned(methods), paths: owned(paths) };
    limited(Vec::new(), vec![rule], Vec::new())
}

fn limited(
    denied_hosts: Vec<String>,
    http_rules: Vec<HttpRule>,
    private_hosts: Vec<PrivateHost>,
) -> NetworkPolicy {
    NetworkPolicy::Limited { allowed_hosts: Vec::new(), denied_hosts, http_rules, private_hosts }
}

fn report(message: Option<String>, at: Location, help: &str, problems: &mut Vec<Diagnostic>) {
    // However it is written.
    let is_metadata = message.as_ref().is_some_and(|message| message.contains("a metadata service"));
    let help = if is_metadata { "remove the entry" } else { help };
    problems.extend(
        message.map(|message| Diagnostic::new(&rules::INVALID_VALUE, at, message).with_help(help.to_owned())),
    );
}
