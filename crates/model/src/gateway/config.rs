//! Which gateway, with which key, with how much patience.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fullsend_fetch::get::{ExtraRoots, RulesError};

use crate::usage::Cost;

/// Everything that is decided about a gateway before it is asked anything.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where it is: `http://127.0.0.1:8080`, `https://llm.example/v1`. Its path is kept; `/v1` is added where it is
    /// missing, and a path that ends in `/chat/completions` is used as it is.
    pub base_url: String,
    /// Who is asking.
    pub auth: Auth,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// How often to try.
    pub retries: Retries,
    /// What the client calls itself.
    pub user_agent: String,
    /// Certificate authorities to trust besides those of the system.
    pub extra_roots: Vec<ExtraRoots>,
    /// Prices by the name of the model, for gateways that do not say what an answer cost.
    pub prices: BTreeMap<String, Cost>,
}

impl GatewayConfig {
    /// The usual patience.
    pub fn new(base_url: impl Into<String>, auth: Auth) -> Self {
        Self {
            base_url: base_url.into(),
            auth,
            timeouts: Timeouts::default(),
            retries: Retries::default(),
            user_agent: concat!("fullsend/", env!("CARGO_PKG_VERSION")).to_owned(),
            extra_roots: Vec::new(),
            prices: BTreeMap::new(),
        }
    }
}

/// Who is asking.
#[derive(Clone, Debug)]
pub enum Auth {
    /// Someone with a key.
    Bearer {
        /// The key.
        key: ApiKey,
        /// Where it came from, such as the name of a variable, for messages.
        source: String,
    },
    /// Anyone: no `Authorization` header is sent.
    None,
}

/// A key. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key without blanks around it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    /// For the one header that carries it.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection to one address, TLS included.
    pub connect: Duration,
    /// Until the head of the answer. Servers that read a long conversation without a cache take minutes.
    pub first_byte: Duration,
    /// Between two pieces of the answer.
    pub idle: Duration,
    /// For everything: all attempts and the pauses between them.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            idle: Duration::from_secs(120),
            total: Duration::from_secs(1_200),
        }
    }
}

/// How often to try what may pass by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How many times at most, the first included.
    pub max_attempts: u32,
    /// The longest pause before the second attempt; it doubles each time, and any part of it may be left out at random.
    pub base_delay: Duration,
    /// The longest pause, unless the gateway asks for more.
    pub max_delay: Duration,
}

impl Default for Retries {
    fn default() -> Self {
        Self { max_attempts: 4, base_delay: Duration::from_millis(500), max_delay: Duration::from_secs(30) }
    }
}

/// Why a gateway cannot be used; found before anything is sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The base URL is none.
    #[error("the base URL of the model gateway, `{url}`, {problem}")]
    BaseUrl {
        /// What was given, without what may be secret.
        url: String,
        /// What is wrong with it, and what to write instead.
        problem: &'static str,
    },
    /// There is no key.
    #[error(
        "no key for the model gateway: {key_source} is not set or blank; set it, or choose to ask without a key"
    )]
    KeyMissing {
        /// Where the key should come from.
        key_source: String,
    },
    /// The key is an example.
    #[error("the key for the model gateway in {key_source} is the placeholder `...`; put a real key there")]
    KeyPlaceholder {
        /// Where the key came from.
        key_source: String,
    },
    /// The key cannot be sent.
    #[error(
        "the key for the model gateway in {key_source} has characters that no key has; look for stray blanks or quotes"
    )]
    KeyCharacters {
        /// Where the key came from.
        key_source: String,
    },
    /// The name of the client cannot be sent.
    #[error(
        "the user agent for the model gateway has characters that a header cannot carry; use printable ASCII"
    )]
    UserAgent,
    /// Whom to trust cannot be found out.
    #[error("cannot set up TLS for the model gateway: {0}")]
    Tls(#[from] RulesError),
}
