//! Who answers: a gateway, or a script.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fullsend_agent::scene::ChosenModel;
use fullsend_fetch::get::ExtraRoots;
use fullsend_fetch::service::{Channel, ServiceUrl, ServiceUrlError};
use fullsend_model::gateway::{ApiKey, Auth};
use fullsend_model::{Cost, Gateway, GatewayConfig, Replay};

use crate::cli::ModelArgs;
use crate::environment;
use crate::output::Advice;

/// What a model is chosen by: options first, then the environment, then what is on record of a run that goes on.
#[derive(Debug, Default)]
pub(in crate::command) struct OnRecord {
    pub(in crate::command) model: Option<String>,
    pub(in crate::command) url: Option<String>,
    pub(in crate::command) auth: Option<String>,
}

/// Chooses the model.
pub(in crate::command) fn choose(args: &ModelArgs, recorded: &OnRecord) -> Result<ChosenModel> {
    // A run goes on with the model it began with, whatever the environment says meanwhile.
    let of_environment = || environment::agent_option("MODEL").map(|(_, value)| value);
    let name = args.model.clone().or_else(|| recorded.model.clone()).or_else(of_environment);
    if let Some(path) = replayed(args, recorded) {
        // A run may be gone on with from another directory.
        let path = std::path::absolute(&path).unwrap_or(path);
        let client = Replay::open(&path)?;
        let name = name.unwrap_or_else(|| "replay".to_owned());
        return Ok(ChosenModel {
            client: Arc::new(client),
            name,
            url: path.display().to_string(),
            auth: "replay",
        });
    }
    let name = name.ok_or_else(|| {
        Advice::new("no model is named", "name one with `--model NAME`, or set `FULLSEND_MODEL`")
    })?;
    let url = args.gateway_base_url.clone();
    let url = url.or_else(|| environment::agent_option("GATEWAY_BASE_URL").map(|(_, value)| value));
    let url = url.or_else(|| recorded.url.clone()).ok_or_else(|| {
        Advice::new(
            "no model gateway is named",
            "name one with `--gateway-base-url URL`, or set `FULLSEND_GATEWAY_BASE_URL`; `--replay FILE` needs none",
        )
    })?;
    let mode = auth_mode(args, recorded)?;
    let auth = match mode {
        "none" => Auth::None,
        UNENCRYPTED => bearer()?,
        _ => {
            keep_confidential(&url)?;
            bearer()?
        }
    };
    let mut config = GatewayConfig::new(url.clone(), auth);
    if let Some(seconds) = args.gateway_timeout_seconds {
        let wait = Duration::from_secs(seconds);
        (config.timeouts.first_byte, config.timeouts.idle) = (wait, wait);
    }
    // Gateways inside of companies often have a certificate of the company's own authority.
    config.extra_roots = environment::extra_roots().into_iter().map(ExtraRoots::File).collect();
    if let Some(prices) = &args.prices {
        config.prices.insert(name.clone(), parse_prices(prices)?);
    }
    let client = Gateway::new(config)?;
    Ok(ChosenModel { client: Arc::new(client), name, url, auth: mode })
}

fn replayed(args: &ModelArgs, recorded: &OnRecord) -> Option<std::path::PathBuf> {
    let of_record =
        || recorded.url.clone().filter(|_| recorded.auth.as_deref() == Some("replay")).map(Into::into);
    args.replay.clone().or_else(of_record)
}

fn auth_mode(args: &ModelArgs, recorded: &OnRecord) -> Result<&'static str> {
    let of_environment = || environment::agent_option("GATEWAY_AUTH_MODE").map(|(_, value)| value);
    let mode = args.gateway_auth_mode.clone().or_else(of_environment).or_else(|| recorded.auth.clone());
    match mode.as_deref() {
        None | Some("bearer") => Ok("bearer"),
        Some("none") => Ok("none"),
        Some(UNENCRYPTED) => Ok(UNENCRYPTED),
        Some(other) => bail!(no_way_to_authenticate(other)),
    }
}

/// The way to authenticate of those who send a key over a network that they trust.
pub(in crate::command) const UNENCRYPTED: &str = "bearer-unencrypted";

pub(in crate::command) fn no_way_to_authenticate(mode: &str) -> Advice {
    Advice::new(
        format!("`{mode}` is no way to authenticate"),
        format!(
            "use `bearer`, `{UNENCRYPTED}` or `none` for `--gateway-auth-mode` or `FULLSEND_GATEWAY_AUTH_MODE`"
        ),
    )
}

/// Refuses to send a key over `http` to another machine. What else is wrong with the address is told by who uses it.
pub(in crate::command) fn keep_confidential(url: &str) -> Result<()> {
    match ServiceUrl::parse(url, Channel::Confidential) {
        Err(ServiceUrlError::NotConfidential) => bail!(Advice::new(
            format!("the key of the model gateway would go to `{url}` without encryption"),
            format!(
                "use `https`, `--gateway-auth-mode none`, or `--gateway-auth-mode {UNENCRYPTED}` if everybody on the way \
                 may have the key"
            ),
        )),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn bearer() -> Result<Auth> {
    let (source, key) = environment::gateway_key().ok_or_else(|| {
        Advice::new(
            "there is no key for the model gateway",
            "set `FULLSEND_API_KEY` (or `OPENAI_API_KEY`), or use `--gateway-auth-mode none`",
        )
    })?;
    Ok(Auth::Bearer { key: ApiKey::new(&key), source })
}

/// `INPUT,OUTPUT` or `INPUT,CACHED,OUTPUT`, in US dollars for a million tokens.
fn parse_prices(text: &str) -> Result<Cost> {
    let wrong = || format!("`--prices {text}` is not `INPUT,OUTPUT` or `INPUT,CACHED,OUTPUT` in US dollars");
    let parts = text.split(',').map(|part| part.trim().parse::<f64>()).collect::<Result<Vec<_>, _>>();
    let parts = parts.with_context(wrong)?;
    ensure!(parts.iter().all(|price| price.is_finite() && *price >= 0.0), wrong());
    match parts.as_slice() {
        [input, output] => Ok(Cost { input: *input, cached_input: None, output: *output }),
        [input, cached, output] => Ok(Cost { input: *input, cached_input: Some(*cached), output: *output }),
        _ => bail!(wrong()),
    }
}
