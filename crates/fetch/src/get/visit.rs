//! Guarded visits to pages: GET requests to public hosts that nobody listed, at the word of a model.
//!
//! The host is anybody's, so nothing is sent that anybody must not see: no credentials, no cookies, nothing of the
//! environment. The rules about addresses are those of the rest of this module: a name is resolved once, every address
//! of the answer is judged, and the connection goes to one of them. Redirects are followed by hand, each under the same
//! rules and never from HTTPS to plain HTTP.

mod address;
mod error;
mod exchange;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::time::{Instant, timeout_at};

pub use address::PageUrl;
pub use error::VisitError;

use super::admit::{self, Target};
use super::{
    ExtraRoots, FetchError, FetchRules, PrivateHost, Resolve, RulesError, SystemResolver, after, roots,
};
use exchange::Answer;

/// The most redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Ports of the web.
const PORTS: [u16; 2] = [80, 443];

/// Whether pages may come over plain HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlainHttp {
    /// They may not.
    #[default]
    Refused,
    /// They may: whoever is on the way can read and change them.
    Allowed,
}

/// What a visitor may do.
#[derive(Clone, Debug, Default)]
pub struct VisitRules {
    /// Whether pages may come over plain HTTP.
    pub plain_http: PlainHttp,
    /// Exceptions to the rules about ports and addresses.
    pub private_hosts: Vec<PrivateHost>,
    /// Certificate authorities to trust besides those of the system.
    pub extra_roots: Vec<ExtraRoots>,
}

/// Visits pages by one set of rules. Nothing is kept between visits.
#[derive(Clone, Debug)]
pub struct Visitor {
    plain_http: PlainHttp,
    rules: FetchRules,
    tls: Arc<roots::Tls>,
    resolver: Arc<dyn Resolve>,
}

/// One visit.
#[derive(Clone, Copy, Debug)]
pub struct Visit<'a> {
    /// Where to.
    pub url: &'a str,
    /// The `Accept` header.
    pub accept: &'a str,
    /// Media types, in lower case and without parameters, of which the body is read.
    pub wanted: fn(&str) -> bool,
    /// The most bytes of the body; the rest is left.
    pub max_bytes: usize,
    /// For everything, redirects included.
    pub timeout: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The URL that was asked for, in normal form.
    pub url: PageUrl,
    /// The URL that answered.
    pub final_url: PageUrl,
    /// Its status: any but a redirect that leads somewhere.
    pub status: u16,
    /// The `Content-Type` header as it was sent.
    pub content_type: Option<String>,
    /// The body, or its beginning.
    pub body: Vec<u8>,
    /// Whether there was more.
    pub truncated: bool,
    /// The redirects that were followed.
    pub redirects: Vec<Hop>,
}

/// A redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Its status.
    pub status: u16,
    /// The URL that sent it.
    pub url: PageUrl,
    /// The URL that it led to.
    pub location: PageUrl,
}

impl Visitor {
    /// A visitor that resolves names like the rest of the system. Reads certificate files, so it may block briefly.
    pub fn new(rules: VisitRules) -> Result<Self, RulesError> {
        Self::with_resolver(rules, Arc::new(SystemResolver))
    }

    /// A visitor with a resolver of its own.
    pub fn with_resolver(rules: VisitRules, resolver: Arc<dyn Resolve>) -> Result<Self, RulesError> {
        let VisitRules { plain_http, private_hosts, extra_roots } = rules;
        let tls = Arc::new(roots::Tls::new(&extra_roots)?);
        let rules = FetchRules { private_hosts, extra_roots, ..FetchRules::new(Vec::new()) };
        Ok(Self { plain_http, rules, tls, resolver })
    }

    /// Gets a page. A redirect is followed only where `may_follow` says so: what may be sent to one host may not be another's
    /// to see.
    pub async fn get(
        &self,
        visit: &Visit<'_>,
        may_follow: impl Fn(&PageUrl) -> bool,
    ) -> Result<Page, VisitError> {
        let start = PageUrl::parse(visit.url)?;
        let deadline = after(visit.timeout);
        let mut at = start.clone();
        let mut redirects = Vec::new();
        loop {
            let answer = self.ask(&at, visit, deadline).await?;
            let Answer::Redirect { status, location } = answer else {
                return page(start, at, redirects, answer);
            };
            let location = self.follow(&at, &location)?;
            if !may_follow(&location) {
                let reason = format!("it redirects to `{}`, where this request may not go", location.host());
                return Err(VisitError::Blocked { at, reason });
            }
            if redirects.len() == MAX_REDIRECTS {
                return Err(VisitError::TooManyRedirects { at, limit: MAX_REDIRECTS });
            }
            redirects.push(Hop { status, url: at, location: location.clone() });
            at = location;
        }
    }

    /// Where a redirect leads, if it may be followed.
    fn follow(&self, at: &PageUrl, location: &str) -> Result<PageUrl, VisitError> {
        let blocked = |reason: &str| VisitError::Blocked { at: at.clone(), reason: reason.to_owned() };
        let next = at
            .join(location)
            .ok_or_else(|| blocked("it redirects to something that is no page of the web"))?;
        if at.is_encrypted() && !next.is_encrypted() {
            return Err(blocked("it redirects from https to http"));
        }
        Ok(next)
    }

    /// One request, within the time that is left.
    async fn ask(&self, at: &PageUrl, visit: &Visit<'_>, deadline: Instant) -> Result<Answer, VisitError> {
        let target = self.admit(at)?;
        let asked = timeout_at(deadline, async {
            let found = match target.address {
                Some(address) => vec![address],
                None => self.resolver.resolve(&target.host).await.map_err(|source| {
                    let host = target.host.clone();
                    FetchError::Dns { host, source }
                })?,
            };
            let addresses = admit::pin_addresses(&target, &found, &self.rules)?;
            let tls = at.is_encrypted().then(|| self.tls.config());
            let stream = exchange::connect(&target, &addresses, &self.rules, tls).await?;
            exchange::exchange(&target, stream, at, visit).await
        });
        match asked.await {
            Ok(answer) => answer.map_err(|error| VisitError::of(at, error)),
            Err(_) => Err(VisitError::Timeout { at: at.clone() }),
        }
    }

    /// Checks everything that needs no network.
    fn admit(&self, at: &PageUrl) -> Result<Target, VisitError> {
        let blocked = |reason: String| VisitError::Blocked { at: at.clone(), reason };
        let (host, port, address) = (at.host(), at.port(), at.address());
        let opened = self.rules.private(&host, port).next().is_some();
        if !at.is_encrypted() && self.plain_http == PlainHttp::Refused {
            return Err(blocked("only https is allowed here".to_owned()));
        }
        if !opened && !PORTS.contains(&port) {
            return Err(blocked(format!("port {port} is not a port of the web")));
        }
        if !opened && at.names_this_machine() {
            return Err(blocked(format!("`{host}` is a name of this machine or of its network")));
        }
        match ServerName::try_from(host.clone()) {
            Ok(name) => Ok(Target { host, port, name, address }),
            Err(_) => Err(blocked(format!("`{host}` cannot be looked up"))),
        }
    }

    /// Whether a URL can be told to lead nowhere public, without looking its name up.
    pub fn refuses(&self, url: &PageUrl) -> bool {
        let Ok(target) = self.admit(url) else { return true };
        let refused = |address: IpAddr| admit::check_address(&target, address, &self.rules).is_err();
        target.address.is_some_and(refused)
    }
}

fn page(url: PageUrl, final_url: PageUrl, redirects: Vec<Hop>, answer: Answer) -> Result<Page, VisitError> {
    match answer {
        Answer::Content { status, content_type, body, truncated } => {
            Ok(Page { url, final_url, status, content_type, body, truncated, redirects })
        }
        Answer::Unwanted { status, content_type } => {
            Err(VisitError::ContentType { at: final_url, status, content_type })
        }
        Answer::Redirect { .. } => Err(VisitError::TooManyRedirects { at: final_url, limit: MAX_REDIRECTS }),
    }
}
