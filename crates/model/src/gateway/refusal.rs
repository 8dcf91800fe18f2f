//! What refusals mean, and who can do something about them.

use std::borrow::Cow;

use hyper::Uri;
use hyper::header::HeaderValue;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::chunk::{object, server_error, text};
use super::config::Auth;

/// The places in which servers explain themselves.
#[derive(Debug, Default, Deserialize)]
struct Explanation<'a> {
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    detail: Option<&'a RawValue>,
}

/// What the body of a refusal says, without the JSON around it.
pub(super) fn message(body: &str) -> Cow<'_, str> {
    let raw: Option<&RawValue> = serde_json::from_str(body).ok();
    let explanation: Explanation<'_> = object(raw);
    let error = server_error(explanation.error).map(|error| error.message);
    let plain = || text(explanation.message).or_else(|| text(explanation.detail)).map(Cow::into_owned);
    error.or_else(plain).map_or(Cow::Borrowed(body.trim()), Cow::Owned)
}

/// What the gateway said, and what may be done about it.
pub(super) fn explain(status: u16, said: &str, auth: &Auth) -> String {
    let said = if said.is_empty() { "no explanation" } else { said };
    let remedy = match (status, auth) {
        (401 | 403, Auth::None) => {
            " (the request was made without a key; if the gateway wants one, give it one)".to_owned()
        }
        (401 | 403, Auth::Bearer { source, .. }) => {
            format!(" (the key came from {source}; check that it is the right one for this gateway)")
        }
        (404, _) => " (check the base URL and the name of the model)".to_owned(),
        _ => String::new(),
    };
    format!("{said}{remedy}")
}

/// Why a redirect is an error.
pub(super) fn redirect(target: Option<&str>) -> String {
    let target = target.map(|target| format!(" to {target}")).unwrap_or_default();
    format!("a redirect{target}, which is not followed; put the final address into the base URL")
}

/// Where a redirect leads, without its query: that may carry secrets.
pub(super) fn redirect_target(location: &HeaderValue) -> String {
    let uri = location.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
    let Some(uri) = uri else { return "an unreadable place".to_owned() };
    let host = uri.host().map(|host| match uri.port_u16() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    });
    match (uri.scheme_str(), host) {
        (Some(scheme), Some(host)) => format!("{scheme}://{host}{}", uri.path()),
        (_, Some(host)) => format!("{host}{}", uri.path()),
        (_, None) => uri.path().to_owned(),
    }
}
