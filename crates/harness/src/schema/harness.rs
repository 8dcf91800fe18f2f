//! The harness file.

use fullsend_yaml::{Located, record};
use indexmap::IndexMap;

use crate::schema::{FlowRules, ForgeOverlays, Security, SkillEntry};
use crate::value::{
    AllowPrefix, Bounded, Effort, ExecutablePath, FeedbackMode, ModelName, ProviderSource, RepositoryConfig,
    Resource, RoleName, SandboxSeconds, Slug, Template,
};

record! {
    /// A harness: one agent, what it may use, and how its run is prepared, bounded and checked.
    ///
    /// Relative paths are relative to the fullsend directory. Declarative resources may be HTTPS URLs with
    /// `#sha256=<64 hex digits>`; scripts and their inputs are always local.
    pub struct HarnessFile {
        /// The agent definition: a Markdown file, or its pinned URL. Required, here or in a base.
        agent: Located<Resource>,
        /// A page that documents this harness; for people only.
        doc: Located<String>,
        /// What the agent is for, in a sentence.
        description: Located<String>,
        /// The role the agent plays, such as `coder` or `review`. Required, here or in a base.
        role: Located<RoleName>,
        /// The short name under which the agent acts, such as that of its GitHub App.
        slug: Located<Slug>,
        /// A harness to inherit from: a path relative to this file, or a pinned URL. Chains may be five bases long.
        base: Located<Resource>,
        /// The container image of the sandbox.
        image: Located<String>,
        /// The sandbox policy: a file, or its pinned URL.
        policy: Located<Resource>,
        /// Agent Skills: directories, or pinned URLs of forge directories. An inherited skill with the same last path
        /// element is replaced.
        skills: Vec<SkillEntry>,
        /// Plugin directories, or pinned URLs of forge directories. Added to inherited ones.
        plugins: Vec<Located<Resource>>,
        /// Providers of credentials and endpoints: names defined under `providers/`, files, or pinned URLs. Added to
        /// inherited ones.
        providers: Vec<Located<ProviderSource>>,
        /// Settings of the OpenShell sandbox.
        openshell: OpenShell,
        /// Files to copy from the host into the sandbox. An inherited entry with the same `dest` is replaced.
        host_files: Vec<HostFile>,
        /// Servers to run beside the sandbox. Added to inherited ones.
        api_servers: Vec<ApiServer>,
        /// The model, by the runtime's name for it.
        model: Located<ModelName>,
        /// How much thought the model spends.
        effort: Located<Effort>,
        /// A script that runs on the host before the agent; exit code 78 skips the run.
        pre_script: Located<ExecutablePath>,
        /// A script that runs on the host after a successful run.
        post_script: Located<ExecutablePath>,
        /// A directory whose contents the agent receives as input.
        agent_input: Located<ExecutablePath>,
        /// How the agent's output is checked, and how often it may try again. Replaces an inherited loop, except that
        /// `preflight_check` is kept when this one has none.
        validation_loop: ValidationLoop,
        /// Variables for scripts on the host. Deprecated: use `env.runner`.
        runner_env: IndexMap<String, Located<String>>,
        /// Variables for host scripts and for the sandbox.
        env: Env,
        /// Minutes until the run is cancelled; 0 or absent means 30.
        timeout_minutes: Located<Bounded<0, { i64::MAX }>>,
        /// Whether the agent sees the repository without being able to change it. Default: `false`.
        readonly_repo: Located<bool>,
        /// Seconds to wait for the sandbox to be ready: 30 to 600; 0 or absent leaves it to the runner.
        sandbox_timeout_seconds: Located<SandboxSeconds>,
        /// Scanners, tool hooks and what findings lead to. Replaces an inherited block as a whole.
        security: Security,
        /// What may influence the agent, and where what it has seen may go. Never inherited: a base cannot
        /// make exceptions for its child.
        flow: FlowRules,
        /// HTTPS prefixes, ending in `/`, from which this harness may fetch. Each must lie within the organisation's
        /// list. Never inherited: a base cannot widen what its child may reach.
        allowed_remote_resources: Vec<Located<AllowPrefix>>,
        /// Whether the agent may fetch skills while it runs. Needs `allowed_remote_resources`. Never inherited.
        /// Default: `false`.
        allow_runtime_fetch: Located<bool>,
        /// How many skills the agent may fetch while it runs. Needs `allow_runtime_fetch`. Never inherited.
        /// Default: 10.
        max_runtime_fetches: Located<Bounded<1, 1000>>,
        /// Settings of agent runtimes that the target repository brings and that stay in the agent's copy of it, such as
        /// `.mcp.json`. All others are kept from the agent: whoever can change the repository could start programs with
        /// them. Never inherited.
        allow_repository_config: Vec<Located<RepositoryConfig>>,
        /// Overlays per platform; the active platform's is applied on top of this harness.
        forge: ForgeOverlays,
        /// When the harness applies: a CEL expression over `event` that yields a boolean.
        trigger: Located<String>,
    }
}

record! {
    /// Settings of the OpenShell sandbox.
    pub struct OpenShell {
        /// Provider profiles: YAML files or pinned URLs. Added to inherited ones.
        profiles: Vec<Located<Resource>>,
    }
}

record! {
    /// Variables for host scripts and for the sandbox; inherited key by key.
    pub struct Env {
        /// Variables for scripts on the host. `${VAR}` is replaced from the runner's environment.
        runner: IndexMap<String, Located<String>>,
        /// Variables inside the sandbox. `${VAR}` is replaced from the runner's environment.
        sandbox: IndexMap<String, Located<String>>,
    }
}

record! {
    /// A file to copy from the host into the sandbox.
    pub struct HostFile {
        /// The file on the host; `${VAR}` is replaced. Required.
        src: Located<Template> = required,
        /// Where it goes in the sandbox. Required.
        dest: Located<String> = required,
        /// Whether `${VAR}` in the file's content is replaced as well. Default: `false`.
        expand: Located<bool>,
        /// Whether a missing file is skipped instead of ending the run. Default: `false`.
        optional: Located<bool>,
    }
}

record! {
    /// A server to run beside the sandbox.
    pub struct ApiServer {
        /// Its name. Required.
        name: Located<Slug> = required,
        /// The script that starts it. Required.
        script: Located<ExecutablePath> = required,
        /// The port it listens on.
        port: Located<Bounded<1, 65535>>,
        /// Its variables; `${VAR}` is replaced from the runner's environment.
        env: IndexMap<String, Located<String>>,
    }
}

record! {
    /// How the agent's output is checked.
    pub struct ValidationLoop {
        /// The script that checks the output; exit code 0 accepts it. Required.
        script: Located<ExecutablePath> = required,
        /// A JSON Schema that the output must satisfy; `${VAR}` is replaced.
        schema: Located<Template>,
        /// How often the agent may try; 0 or absent means once.
        max_iterations: Located<Bounded<0, { i64::MAX }>>,
        /// What the next attempt is told: `output` (the default), what the checks said, made harmless; or `none`.
        feedback_mode: Located<FeedbackMode>,
        /// A shell command that must succeed before the sandbox is created; at most 30 seconds.
        preflight_check: Located<String>,
    }
}
