//! What a composed harness must say, and what it must not say together.

use std::collections::HashMap;

use fullsend_yaml::{Diagnostic, FromText, Located};
use indexmap::IndexMap;

use crate::compose::Composition;
use crate::lint::missing_key;
use crate::rules;
use crate::schema::HarnessFile;
use crate::trigger;
use crate::value::{BareName, EnvName};

pub(super) fn check(composition: &Composition, harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    if !composition.incomplete {
        required(composition, harness, problems);
    }
    agent_name(harness, problems);
    plugin_names(harness, problems);
    profile_names(harness, problems);
    skills(harness, problems);
    if !composition.damaged {
        runtime_fetch(harness, problems);
    }
    environment_names(harness, problems);
    expression(harness, problems);
    if let Some(flow) = &harness.flow {
        flow.check(problems);
    }
    classifier(harness, problems);
    notices(harness, problems);
}

/// A switch that nothing acts on would leave its author believing that he is protected.
fn classifier(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let scanners = harness.security.as_ref().and_then(|security| security.host_scanners.as_ref());
    let guard = scanners.and_then(|scanners| scanners.llm_guard.as_ref());
    if let Some(switch) = guard.and_then(|guard| guard.enabled.as_ref()).filter(|switch| switch.value) {
        let message =
            "`security.host_scanners.llm_guard.enabled` is on, and this program has no such classifier";
        let problem = Diagnostic::new(&rules::UNSUPPORTED, switch.at, message);
        problems.push(
            problem.with_help("set it to `false`; `context_injection` looks for injected instructions"),
        );
    }
}

fn required(composition: &Composition, harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    if harness.agent.is_none() {
        problems.push(missing_key(composition, "agent", "add `agent: agents/<name>.md`"));
    }
    if harness.role.is_none() {
        problems.push(missing_key(composition, "role", "add `role: <name>`, such as `role: coder`"));
    }
}

fn agent_name(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let Some(agent) = harness.agent.as_ref().filter(|agent| agent.local().is_some()) else { return };
    let file = agent.base_name();
    let name = file.strip_suffix(".md").unwrap_or(&file);
    if BareName::from_text(name).is_err() {
        let message = format!("the agent's name would be `{name}`");
        problems.push(Diagnostic::new(&rules::FILE_NAME, agent.at, message));
    }
}

fn plugin_names(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    for plugin in harness.plugins.iter().flatten() {
        let name = plugin.base_name();
        if BareName::from_text(&name).is_err() {
            let message = format!("the plugin's name would be `{name}`");
            problems.push(Diagnostic::new(&rules::FILE_NAME, plugin.at, message));
        }
    }
}

/// The sandbox chooses its parser by extension.
fn profile_names(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let profiles = harness.openshell.iter().filter_map(|openshell| openshell.profiles.as_ref()).flatten();
    for profile in profiles {
        let Some(written) = profile.local().filter(|written| !written.starts_with('/')) else { continue };
        let lower = written.to_ascii_lowercase();
        if !lower.ends_with(".yaml") && !lower.ends_with(".yml") {
            let problem =
                Diagnostic::new(&rules::FILE_NAME, profile.at, format!("`{written}` is not a YAML file"));
            problems.push(problem.with_help("give the profile the extension `.yaml`"));
        }
    }
}

fn skills(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let mut first_uses = HashMap::new();
    for skill in harness.skills.iter().flatten() {
        let name = skill.source.base_name();
        if let Some(first) = first_uses.get(&name) {
            let problem = Diagnostic::new(
                &rules::DUPLICATE_SKILL,
                skill.source.at,
                format!("two skills are named `{name}`"),
            );
            problems.push(problem.with_related(*first, "the other one"));
        } else {
            first_uses.insert(name, skill.source.at);
        }
    }
}

fn runtime_fetch(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let allowed = harness.allow_runtime_fetch.as_ref().filter(|allow| allow.value);
    let lists_any = harness.allowed_remote_resources.as_ref().is_some_and(|list| !list.is_empty());
    if let Some(allow) = allowed.filter(|_| !lists_any) {
        let message = "`allow_runtime_fetch` is on, but `allowed_remote_resources` is empty";
        problems.push(Diagnostic::new(&rules::FETCH_WITHOUT_LIST, allow.at, message));
    }
    if let Some(limit) = harness.max_runtime_fetches.as_ref().filter(|_| allowed.is_none()) {
        let message = "`max_runtime_fetches` is set, but `allow_runtime_fetch` is not on";
        problems.push(Diagnostic::new(&rules::FETCHES_WITHOUT_FETCH, limit.at, message));
    }
}

fn environment_names(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let env = harness.env.as_ref();
    let runner = [harness.runner_env.as_ref(), env.and_then(|env| env.runner.as_ref())];
    let servers = harness.api_servers.iter().flatten().filter_map(|server| server.env.as_ref());
    for (name, value) in runner.into_iter().flatten().chain(servers).flatten() {
        identifier(name, value, problems);
    }
    for (name, value) in env.and_then(|env| env.sandbox.as_ref()).into_iter().flatten() {
        identifier(name, value, problems);
        if crate::expand::is_reserved(name) {
            let message = format!("`env.sandbox.{name}` cannot be set");
            problems.push(Diagnostic::new(&rules::RESERVED_VARIABLE, value.at, message));
        }
    }
}

fn identifier(name: &str, value: &Located<String>, problems: &mut Vec<Diagnostic>) {
    if let Err(problem) = EnvName::from_text(name) {
        let message = format!("the variable name {}", problem.message);
        problems.push(Diagnostic::new(problem.rule, value.at, message).with_help_if(problem.help));
    }
}

fn expression(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    if let Some(trigger) = harness.trigger.as_ref().filter(|trigger| !trigger.is_empty())
        && let Err(message) = trigger::check(trigger)
    {
        problems.push(Diagnostic::new(&rules::TRIGGER, trigger.at, format!("`trigger` {message}")));
    }
}

/// Keys that work, but not as their author may think.
fn notices(harness: &HarnessFile, problems: &mut Vec<Diagnostic>) {
    let overlays = harness.forge.iter().flat_map(|forge| forge.platforms.values()).flatten();
    let runner_envs = overlays.map(|overlay| &overlay.runner_env).chain([&harness.runner_env]);
    for (_, value) in runner_envs.flatten().filter_map(IndexMap::first) {
        let problem = Diagnostic::new(&rules::DEPRECATED, value.at, "`runner_env` is deprecated");
        problems.push(problem.with_help("move the variables to `env: {runner: …}`"));
    }
}
