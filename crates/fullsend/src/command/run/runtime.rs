//! Which runtime drives the model, and with what.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use fullsend_agent::budget::Limits;
use fullsend_agent::gate::FlowMode;
use fullsend_agent::scene::ChosenModel;
use fullsend_harness::schema::ConfigFile;
use fullsend_harness::value::RuntimeName;
use fullsend_runner::Environment;
use fullsend_runtimes::{
    AgentRuntime, Claude, Codex, ModelService, Native, NativeConfig, OpenCode, replay_model,
};
use fullsend_sandbox::Secret;

use super::super::agent::model::{self, OnRecord, UNENCRYPTED, keep_confidential, no_way_to_authenticate};
use super::super::remote::Session;
use crate::cli::{ModelArgs, RunArgs};
use crate::environment;
use crate::output::Advice;

/// The most turns of a run when the agent definition does not say.
const MOST_TURNS: u32 = 200;

/// The runtime that is asked for, that the configuration names, or the built-in agent.
pub(super) fn choose(
    args: &RunArgs,
    session: &Session,
    environment: &Environment,
) -> Result<Arc<dyn AgentRuntime>> {
    let configured = session.configuration.layers.iter().find_map(|layer| match layer {
        ConfigFile::Org(config) => config.defaults.as_ref()?.runtime.as_ref(),
        ConfigFile::Repo(config) => config.runtime.as_ref(),
    });
    let name = args.runtime.or_else(|| configured.map(|name| name.value)).unwrap_or(RuntimeName::Native);
    refuse_unused(args, name)?;
    let program = |name: &str| program(args, environment, name);
    Ok(match name {
        RuntimeName::Native => {
            Arc::new(Native::new(native(model::choose(&args.model, &unnamed(&args.model))?)))
        }
        RuntimeName::Replay => {
            let script = args.model.replay.clone().unwrap_or_else(|| script_of(&session.root, &args.agent));
            let model = replay_model(&script).map_err(|error| {
                Advice::new(
                    error.to_string(),
                    "write what the model says there, or name another script with `--replay FILE`; docs/replay.md has the keys",
                )
            });
            Arc::new(Native::replay(native(model?)))
        }
        RuntimeName::Claude => {
            let service = service(&args.model, environment, &ANTHROPIC)?;
            Arc::new(Claude::new(&program("claude")?, service)?)
        }
        RuntimeName::Codex => {
            let service = service(&args.model, environment, &OPENAI)?;
            Arc::new(Codex::new(&program("codex")?, service)?)
        }
        RuntimeName::OpenCode => {
            let service = service(&args.model, environment, &OPENAI)?;
            Arc::new(OpenCode::new(&program("opencode")?, service)?)
        }
    })
}

/// The built-in agent with a model. Harnesses bound runs by time; turns are bounded so that none goes on for nothing.
fn native(model: ChosenModel) -> NativeConfig {
    NativeConfig {
        model,
        limits: Limits { turns: MOST_TURNS, ..Limits::default() },
        mode: FlowMode::EnforceExplicit,
        policy: fullsend_flow::Policy::default(),
        extra_roots: environment::extra_roots().into_iter().collect(),
    }
}

/// A harness may name the model, so it need not be named here.
fn unnamed(args: &ModelArgs) -> OnRecord {
    OnRecord { model: args.replay.is_none().then(String::new), ..OnRecord::default() }
}

/// Options that this runtime has no use for, rather than taking them for nothing.
fn refuse_unused(args: &RunArgs, name: RuntimeName) -> Result<()> {
    let model = &args.model;
    let replays = name == RuntimeName::Replay;
    let ours = matches!(name, RuntimeName::Native | RuntimeName::Replay);
    let native = name == RuntimeName::Native;
    let unused = [
        ("--replay", model.replay.is_some() && !ours),
        ("--runtime-program", args.runtime_program.is_some() && ours),
        ("--gateway-base-url", model.gateway_base_url.is_some() && replays),
        ("--gateway-auth-mode", model.gateway_auth_mode.is_some() && replays),
        ("--prices", model.prices.is_some() && !native),
        ("--gateway-timeout-seconds", model.gateway_timeout_seconds.is_some() && !native),
        // Children that search the web are not among what agents of harnesses may have.
        ("--web-search-model", model.web_search_model.is_some()),
    ];
    if let Some((option, _)) = unused.into_iter().find(|(_, unused)| *unused) {
        bail!(Advice::new(
            format!("`{option}` is of no use to the runtime `{}`", name.as_str()),
            "leave it out, or name another runtime with `--runtime NAME`",
        ));
    }
    if model.prices.is_some() && model.model.is_none() {
        bail!(Advice::new("`--prices` does not say of which model", "name it with `--model NAME`"));
    }
    Ok(())
}

/// The script of an agent's model, beside its harness.
fn script_of(root: &Path, agent: &str) -> PathBuf {
    let name = Path::new(agent).file_stem().unwrap_or_default();
    root.join("replay").join(name).with_extension("yaml")
}

/// Whose service it is.
struct Vendor {
    /// Where it is when nothing else is said.
    url: &'static str,
    url_variable: &'static str,
    key_variable: &'static str,
    header: &'static str,
    /// Before the key.
    scheme: &'static str,
}

const ANTHROPIC: Vendor = Vendor {
    url: "https://api.anthropic.com",
    url_variable: "ANTHROPIC_BASE_URL",
    key_variable: "ANTHROPIC_API_KEY",
    header: "x-api-key",
    scheme: "",
};

const OPENAI: Vendor = Vendor {
    url: "https://api.openai.com/v1",
    url_variable: "OPENAI_BASE_URL",
    key_variable: "OPENAI_API_KEY",
    header: "authorization",
    scheme: "Bearer ",
};

/// The service behind which the model is; its key stays on this side.
fn service(model: &ModelArgs, environment: &Environment, vendor: &Vendor) -> Result<ModelService> {
    let set = |name: &str| environment.get(name).map(str::trim).filter(|value| !value.is_empty());
    let upstream = model.gateway_base_url.as_deref().or_else(|| set("FULLSEND_GATEWAY_BASE_URL"));
    let upstream = upstream.or_else(|| set(vendor.url_variable)).unwrap_or(vendor.url).to_owned();
    let mode = model.gateway_auth_mode.as_deref().or_else(|| set("FULLSEND_GATEWAY_AUTH_MODE"));
    let headers = match mode {
        Some("none") => Vec::new(),
        None | Some("bearer" | UNENCRYPTED) => {
            if mode != Some(UNENCRYPTED) {
                keep_confidential(&upstream)?;
            }
            let key = set("FULLSEND_API_KEY").or_else(|| set(vendor.key_variable)).ok_or_else(|| {
                Advice::new(
                    "there is no key for the model",
                    format!(
                        "set `{}` or `FULLSEND_API_KEY`, or use `--gateway-auth-mode none`",
                        vendor.key_variable
                    ),
                )
            })?;
            vec![(vendor.header.to_owned(), Secret::new(format!("{}{key}", vendor.scheme)))]
        }
        Some(other) => bail!(no_way_to_authenticate(other)),
    };
    Ok(ModelService { upstream, headers })
}

/// The program that was named, or the first of that name on the search path.
fn program(args: &RunArgs, environment: &Environment, name: &str) -> Result<PathBuf> {
    if let Some(program) = &args.runtime_program {
        return program.canonicalize().with_context(|| format!("`--runtime-program {}`", program.display()));
    }
    let path = environment.get("PATH").unwrap_or_default();
    let found = std::env::split_paths(path).map(|directory| directory.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| {
        Advice::new(
            format!("the program `{name}` is not on the search path"),
            "install it, or say where it is with `--runtime-program FILE`",
        )
        .into()
    })
}
