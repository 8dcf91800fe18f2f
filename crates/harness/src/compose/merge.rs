//! How a child harness combines with its base, key by key.
//!
//! Both sides are taken apart completely, without `..`: a key that is added to the schema does not compile until it has
//! a rule here, so no key can be dropped silently.

use fullsend_yaml::Located;
use indexmap::IndexMap;

use crate::schema::{
    Env, ForgeOverlay, ForgeOverlays, HarnessFile, HostFile, OpenShell, SkillEntry, ValidationLoop,
};
use crate::value::Bounded;

/// What happens to a key of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeRule {
    /// The child's value if it has one, else the base's.
    Replace,
    /// The base's elements, then the child's.
    Append,
    /// Elements that name the same thing are replaced in place, others appended.
    ByName,
    /// Key by key, the child's value winning.
    PerKey,
    /// The child's block replaces the base's as a whole.
    WholeBlock,
    /// Only what the child itself says counts.
    NotInherited,
    /// Used up by composition.
    Consumed,
}

impl MergeRule {
    /// The rule in words, for the reference.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            MergeRule::Replace => "child's value if set, else the base's",
            MergeRule::Append => "base's entries, then the child's",
            MergeRule::ByName => "entries of the same name replaced in place, others appended",
            MergeRule::PerKey => "key by key, the child winning",
            MergeRule::WholeBlock => "child's block replaces the base's",
            MergeRule::NotInherited => "not inherited",
            MergeRule::Consumed => "used up by composition",
        }
    }
}

/// The rule of every key of a harness.
pub const MERGE_RULES: &[(&str, MergeRule)] = &[
    ("agent", MergeRule::Replace),
    ("doc", MergeRule::Replace),
    ("description", MergeRule::Replace),
    ("role", MergeRule::Replace),
    ("slug", MergeRule::Replace),
    ("base", MergeRule::Consumed),
    ("image", MergeRule::Replace),
    ("policy", MergeRule::Replace),
    ("skills", MergeRule::ByName),
    ("plugins", MergeRule::Append),
    ("providers", MergeRule::Append),
    ("openshell", MergeRule::Append),
    ("host_files", MergeRule::ByName),
    ("api_servers", MergeRule::Append),
    ("model", MergeRule::Replace),
    ("effort", MergeRule::Replace),
    ("pre_script", MergeRule::Replace),
    ("post_script", MergeRule::Replace),
    ("agent_input", MergeRule::Replace),
    ("validation_loop", MergeRule::WholeBlock),
    ("runner_env", MergeRule::PerKey),
    ("env", MergeRule::PerKey),
    ("timeout_minutes", MergeRule::Replace),
    ("readonly_repo", MergeRule::Replace),
    ("sandbox_timeout_seconds", MergeRule::Replace),
    ("security", MergeRule::WholeBlock),
    ("flow", MergeRule::NotInherited),
    ("allowed_remote_resources", MergeRule::NotInherited),
    ("allow_runtime_fetch", MergeRule::NotInherited),
    ("max_runtime_fetches", MergeRule::NotInherited),
    ("allow_repository_config", MergeRule::NotInherited),
    ("forge", MergeRule::PerKey),
    ("trigger", MergeRule::Replace),
];

/// The child laid over its base. The child's own `base` key is kept as it is; the base's replaces nothing.
#[must_use]
pub fn merge(base: HarnessFile, child: HarnessFile) -> HarnessFile {
    let HarnessFile {
        agent,
        doc,
        description,
        role,
        slug,
        base: _consumed,
        image,
        policy,
        skills,
        plugins,
        providers,
        openshell,
        host_files,
        api_servers,
        model,
        effort,
        pre_script,
        post_script,
        agent_input,
        validation_loop,
        runner_env,
        env,
        timeout_minutes,
        readonly_repo,
        sandbox_timeout_seconds,
        security,
        flow: _own_exceptions_only,
        allowed_remote_resources: _own_list_only,
        allow_runtime_fetch: _own_switch_only,
        max_runtime_fetches: _own_limit_only,
        allow_repository_config: _own_names_only,
        forge,
        trigger,
    } = base;
    HarnessFile {
        agent: child.agent.or(agent),
        doc: text(doc, child.doc),
        description: text(description, child.description),
        role: child.role.or(role),
        slug: child.slug.or(slug),
        base: child.base,
        image: text(image, child.image),
        policy: child.policy.or(policy),
        skills: both(skills, child.skills, merge_skills),
        plugins: both(plugins, child.plugins, append),
        providers: both(providers, child.providers, append),
        openshell: both(openshell, child.openshell, merge_openshell),
        host_files: both(host_files, child.host_files, merge_host_files),
        api_servers: both(api_servers, child.api_servers, append),
        model: child.model.or(model),
        effort: child.effort.or(effort),
        pre_script: child.pre_script.or(pre_script),
        post_script: child.post_script.or(post_script),
        agent_input: child.agent_input.or(agent_input),
        validation_loop: both(validation_loop, child.validation_loop, carry_preflight),
        runner_env: both(runner_env, child.runner_env, per_key),
        env: both(env, child.env, merge_env),
        timeout_minutes: nonzero(timeout_minutes, child.timeout_minutes, Bounded::get),
        readonly_repo: child.readonly_repo.or(readonly_repo),
        sandbox_timeout_seconds: nonzero(sandbox_timeout_seconds, child.sandbox_timeout_seconds, |seconds| {
            seconds.get()
        }),
        security: child.security.or(security),
        flow: child.flow,
        allowed_remote_resources: child.allowed_remote_resources,
        allow_runtime_fetch: child.allow_runtime_fetch,
        max_runtime_fetches: child.max_runtime_fetches,
        allow_repository_config: child.allow_repository_config,
        forge: both(forge, child.forge, merge_forge),
        trigger: text(trigger, child.trigger),
    }
}

/// A platform's overlay in the child laid over the same platform's in the base, by the rules of the keys themselves.
fn merge_overlays(base: ForgeOverlay, child: ForgeOverlay) -> ForgeOverlay {
    let ForgeOverlay {
        pre_script,
        post_script,
        policy,
        skills,
        providers,
        openshell,
        host_files,
        validation_loop,
        runner_env,
        env,
    } = base;
    ForgeOverlay {
        pre_script: child.pre_script.or(pre_script),
        post_script: child.post_script.or(post_script),
        policy: child.policy.or(policy),
        skills: both(skills, child.skills, merge_skills),
        providers: both(providers, child.providers, append),
        openshell: both(openshell, child.openshell, merge_openshell),
        host_files: both(host_files, child.host_files, merge_host_files),
        validation_loop: both(validation_loop, child.validation_loop, carry_preflight),
        runner_env: both(runner_env, child.runner_env, per_key),
        env: both(env, child.env, merge_env),
    }
}

/// Combines two values when both are there, else takes the one that is.
pub(super) fn both<T>(base: Option<T>, child: Option<T>, combine: impl FnOnce(T, T) -> T) -> Option<T> {
    match (base, child) {
        (Some(base), Some(child)) => Some(combine(base, child)),
        (base, child) => child.or(base),
    }
}

/// Empty text counts as absent.
fn text(base: Option<Located<String>>, child: Option<Located<String>>) -> Option<Located<String>> {
    child.filter(|text| !text.is_empty()).or(base)
}

/// Zero counts as absent.
fn nonzero<T: Copy>(
    base: Option<Located<T>>,
    child: Option<Located<T>>,
    number: impl Fn(T) -> i64,
) -> Option<Located<T>> {
    child.filter(|value| number(value.value) != 0).or(base)
}

pub(super) fn append<T>(mut base: Vec<T>, child: Vec<T>) -> Vec<T> {
    base.extend(child);
    base
}

pub(super) fn per_key<T>(mut base: IndexMap<String, T>, child: IndexMap<String, T>) -> IndexMap<String, T> {
    base.extend(child);
    base
}

pub(super) fn merge_env(base: Env, child: Env) -> Env {
    Env {
        runner: both(base.runner, child.runner, per_key),
        sandbox: both(base.sandbox, child.sandbox, per_key),
    }
}

pub(super) fn merge_openshell(base: OpenShell, child: OpenShell) -> OpenShell {
    OpenShell { profiles: both(base.profiles, child.profiles, append) }
}

/// The digest in a URL is not part of the skill's name: re-pinning an inherited skill replaces it.
pub(super) fn merge_skills(base: Vec<SkillEntry>, child: Vec<SkillEntry>) -> Vec<SkillEntry> {
    let mut merged = base;
    for entry in child {
        let name = entry.source.base_name();
        match merged.iter_mut().find(|inherited| inherited.source.base_name() == name) {
            Some(inherited) => {
                inherited.source = entry.source;
                inherited.overrides = both(inherited.overrides.take(), entry.overrides, per_key);
            }
            None => merged.push(entry),
        }
    }
    merged
}

pub(super) fn merge_host_files(base: Vec<HostFile>, child: Vec<HostFile>) -> Vec<HostFile> {
    let dest = |file: &HostFile| file.dest.as_ref().map(|dest| dest.value.clone());
    let mut merged = base;
    for file in child {
        match merged.iter_mut().find(|inherited| dest(inherited).is_some() && dest(inherited) == dest(&file))
        {
            Some(inherited) => *inherited = file,
            None => merged.push(file),
        }
    }
    merged
}

/// A child that overrides the loop to change its script must not lose the base's check of the environment.
fn carry_preflight(base: ValidationLoop, child: ValidationLoop) -> ValidationLoop {
    ValidationLoop { preflight_check: text(base.preflight_check, child.preflight_check), ..child }
}

fn merge_forge(base: ForgeOverlays, child: ForgeOverlays) -> ForgeOverlays {
    let mut platforms = base.platforms;
    for (platform, overlay) in child.platforms {
        let merged = match (platforms.get_mut(&platform).and_then(Option::take), overlay) {
            (Some(inherited), Some(overlay)) => Some(merge_overlays(inherited, overlay)),
            (_, overlay) => overlay,
        };
        platforms.insert(platform, merged);
    }
    ForgeOverlays { platforms }
}
