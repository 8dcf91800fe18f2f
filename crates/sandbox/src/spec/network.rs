//! What a session may reach.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Which hosts commands can connect to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case", deny_unknown_fields)]
pub enum NetworkPolicy {
    /// The network of the host, as any process of the caller has it.
    Unrestricted,
    /// Listed hosts through the egress proxy, nothing else; an empty list is no network at all.
    Limited {
        /// `host`, `*.domain` (names below it), each with an optional `:port`; without one, ports 80 and 443.
        allowed_hosts: Vec<String>,
        /// Same form; what is listed here is refused whatever the other list says.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        denied_hosts: Vec<String>,
        /// Requests that are allowed on hosts named here, where the proxy sees them: plain HTTP.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        http_rules: Vec<HttpRule>,
        /// Hosts that may have addresses which are not public.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        private_hosts: Vec<PrivateHost>,
    },
}

impl NetworkPolicy {
    /// No network at all.
    pub fn none() -> Self {
        Self::limited(Vec::<String>::new())
    }

    /// The listed hosts and nothing else.
    pub fn limited(hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self::Limited {
            allowed_hosts: hosts.into_iter().map(Into::into).collect(),
            denied_hosts: Vec::new(),
            http_rules: Vec::new(),
            private_hosts: Vec::new(),
        }
    }
}

/// No network: what is not granted is not there.
impl Default for NetworkPolicy {
    fn default() -> Self {
        Self::none()
    }
}

/// Requests that are allowed on a host: once a host has a rule, only requests that match one of its rules pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpRule {
    /// `host` or `*.domain`, with an optional `:port`.
    pub host: String,
    /// Upper-case methods; empty for all.
    #[serde(default)]
    pub methods: Vec<String>,
    /// A path, or a prefix followed by `*`; empty for all.
    #[serde(default)]
    pub paths: Vec<String>,
}

/// A host that may have an address which is not public. Metadata services never qualify.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrivateHost {
    /// The exact host name, or an address.
    pub host: String,
    /// Addresses it may have, such as `10.1.0.0/16`.
    pub network: String,
}

/// An upstream service offered to the session as a plain local URL, with credentials that the session never sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// A short name; the URL is in `FULLSEND_ENDPOINT_<NAME>`.
    pub name: String,
    /// `https://host[:port][/path]`, or `http://` for a gateway on this machine. Named by the operator, so any address will do.
    pub upstream: String,
    /// Headers that are added outside the session, in place of any the session sends.
    pub headers: Vec<(String, Secret)>,
    /// Requests that are allowed, by method and path below the upstream's; the host is ignored. Empty for all.
    pub rules: Vec<HttpRule>,
}

/// A value that is in no message, log or file.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::NetworkPolicy;

    #[test]
    fn the_wire_shape_is_kept() {
        let json = r#"{"mode":"limited","allowed_hosts":["ok.test"]}"#;
        let policy: NetworkPolicy = serde_json::from_str(json).unwrap();
        assert_eq!(policy, NetworkPolicy::limited(["ok.test"]));
        assert_eq!(serde_json::to_string(&policy).unwrap(), json);
        assert_eq!(
            serde_json::to_string(&NetworkPolicy::Unrestricted).unwrap(),
            r#"{"mode":"unrestricted"}"#
        );
        for bad in
            [r#"{"mode":"limited"}"#, r#"{"mode":"open"}"#, r#"{"mode":"limited","allowed_hosts":[],"x":1}"#]
        {
            assert!(serde_json::from_str::<NetworkPolicy>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_default_is_no_network() {
        assert_eq!(NetworkPolicy::default(), NetworkPolicy::limited(Vec::<String>::new()));
    }
}
