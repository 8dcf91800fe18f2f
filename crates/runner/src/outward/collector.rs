//! Sends the trace of a run to a collector, in OTLP's JSON over HTTP: the spans of `run-telemetry.jsonl`, in one document.

use std::time::Duration;

use fullsend_fetch::service::{
    Channel, ServiceClient, ServiceError, ServiceLimits, ServiceMethod, ServiceRequest, ServiceUrl,
    ServiceUrlError, WrongHeader,
};
use fullsend_sandbox::Secret;
use serde_json::Value;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout_at};

use super::mint::with_cause;
use crate::environment::Environment;

/// The variable with the whole address.
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
/// The variable with the address below which everything is.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// What traces are below.
const TRACES: &str = "/v1/traces";
/// The variable with headers to send along, and the one with more of them for traces.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"];
/// For everything: a run that has ended does not stay for its trace.
const BUDGET: Duration = Duration::from_secs(5);
/// The first and the longest pause before another attempt.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(2));

/// A collector of traces.
#[derive(Clone, Debug)]
pub struct Collector {
    url: ServiceUrl,
    headers: Vec<(String, Secret)>,
}

/// Why a trace did not arrive.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CollectorError {
    /// That is no address.
    #[error("`{variable}` {problem}")]
    Endpoint {
        /// Where it stands.
        variable: &'static str,
        /// What is wrong with it.
        problem: ServiceUrlError,
    },
    /// Headers that cannot be sent.
    #[error("{0}")]
    Header(#[from] WrongHeader),
    /// There is no answer.
    #[error("{}", with_cause(.0))]
    Service(#[from] ServiceError),
    /// The answer is no.
    #[error("`{host}` answered {status}{}", reason.as_ref().map(|said| format!(": {said}")).unwrap_or_default())]
    Refused {
        /// Who.
        host: String,
        /// The status.
        status: u16,
        /// What it says.
        reason: Option<String>,
    },
}

impl CollectorError {
    /// Whether it is worth trying again.
    fn may_pass(&self) -> bool {
        match self {
            Self::Service(error) => error.may_pass(),
            Self::Refused { status, .. } => matches!(status, 429 | 502 | 503 | 504),
            Self::Endpoint { .. } | Self::Header(_) => false,
        }
    }
}

impl Collector {
    /// The collector that variables name; none if none does.
    pub fn named(environment: &Environment) -> Result<Option<Self>, CollectorError> {
        let set = |name: &str| environment.get(name).map(str::trim).filter(|value| !value.is_empty());
        let read = |variable, text: &str| {
            ServiceUrl::parse(text, Channel::Any)
                .map_err(|problem| CollectorError::Endpoint { variable, problem })
        };
        let url = match (set(TRACES_ENDPOINT), set(ENDPOINT)) {
            (Some(whole), _) => read(TRACES_ENDPOINT, whole)?,
            (None, Some(base)) => {
                let base = read(ENDPOINT, base)?;
                base.below(TRACES).unwrap_or(base)
            }
            (None, None) => return Ok(None),
        };
        let lists = HEADERS.iter().filter_map(|name| set(name)).flat_map(|list| list.split(','));
        let pairs = lists.filter_map(|pair| pair.split_once('='));
        let headers = pairs.map(|(name, value)| (name.trim().to_owned(), Secret::new(decoded(value.trim()))));
        Ok(Some(Self { url, headers: headers.collect() }))
    }

    /// Sends a document, again if need be, for five seconds at most.
    pub async fn send(&self, client: &ServiceClient, document: &Value) -> Result<(), CollectorError> {
        let mut request = ServiceRequest::new(ServiceMethod::Post, &self.url).json(document);
        for (name, value) in &self.headers {
            request = request.header(name, value.expose())?;
        }
        let deadline = Instant::now() + BUDGET;
        let mut pause = PAUSES.0;
        let mut last = CollectorError::Service(ServiceError::Timeout { host: self.url.host().to_owned() });
        loop {
            // What went wrong before says more than that there was no time left.
            let Ok(sent) = timeout_at(deadline, self.attempt(client, &request)).await else {
                return Err(last);
            };
            match sent {
                Ok(()) => return Ok(()),
                Err(error) if error.may_pass() && Instant::now() + pause < deadline => last = error,
                Err(error) => return Err(error),
            }
            sleep(pause).await;
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    async fn attempt(
        &self,
        client: &ServiceClient,
        request: &ServiceRequest<'_>,
    ) -> Result<(), CollectorError> {
        let limits = ServiceLimits { total: BUDGET, ..ServiceLimits::default() };
        let answer = client.send(request, limits).await?;
        if answer.is_success() {
            return Ok(());
        }
        let host = self.url.host().to_owned();
        Err(CollectorError::Refused { host, status: answer.status, reason: answer.reason() })
    }
}

/// A value with `%20` and the like replaced; what is no such thing stays.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, after @ ..] = rest {
        let code = match (first, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::{Collector, decoded};
    use crate::Environment;

    fn named(variables: &[(&str, &str)]) -> Result<Option<Collector>, String> {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Collector::named(&Environment::new(variables)).map_err(|error| error.to_string())
    }

    #[test]
    fn the_more_particular_address_counts_as_it_is() {
        let url = |variables: &[(&str, &str)]| named(variables).unwrap().map(|one| one.url.to_string());
        let (traces, all) = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT");
        assert_eq!(url(&[]), None);
        assert_eq!(url(&[(all, " ")]), None);
        assert_eq!(url(&[(all, " http://c:4318/ ")]).unwrap(), "http://c:4318/v1/traces");
        assert_eq!(url(&[(all, "http://c"), (traces, "https://t/x")]).unwrap(), "https://t/x");
        assert!(named(&[(traces, "c:4317")]).unwrap_err().contains(traces));
    }

    #[test]
    fn headers_are_decoded_and_never_shown() {
        let collector = named(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20s3cret==, x-team = a"),
        ]);
        let collector = collector.unwrap().unwrap();
        let headers: Vec<_> =
            collector.headers.iter().map(|(name, value)| (name.as_str(), value.expose())).collect();
        assert_eq!(headers, [("Authorization", "Basic s3cret=="), ("x-team", "a")]);
        assert!(!format!("{collector:?}").contains("s3cret"));
        for (written, meant) in
            [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("a%41%", "aA%"), ("%e4%41", "\u{fffd}A")]
        {
            assert_eq!(decoded(written), meant);
        }
    }
}
