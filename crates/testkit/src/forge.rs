//! A forge: repositories in memory behind the endpoints of GitHub and GitLab that a client needs.
//!
//! One server plays all hosts. Which API it speaks follows from the request, as on the real ones: `api.github.com` and
//! `/api/v3` are GitHub's, `/api/v4` is GitLab's, `raw.githubusercontent.com` serves files by their paths. On top of
//! the honest answers, a test can make the forge lie in its listings, change files after they were listed, refuse or
//! limit requests, and be slow.

mod github;
mod gitlab;
mod object;
mod repo;
mod request;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::{Recorded, Reply, Respond, Server, TestCa, Validity};
use object::Entry;
use request::Asked;

pub use repo::{TestFile, TestRepo};

/// Every host that a [`TestForge`] has a certificate for.
pub const ALL_HOSTS: [&str; 5] =
    ["github.com", "api.github.com", "raw.githubusercontent.com", "gitlab.com", "git.example.com"];

/// How GitLab leads to the next page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Paging {
    /// By number, in `X-Next-Page`.
    #[default]
    Numbers,
    /// By token, in `Link`.
    Keyset,
}

/// What the forge knows and how it misbehaves.
#[derive(Debug, Default)]
struct State {
    repos: Vec<TestRepo>,
    /// Repositories by the token that opens them, and the status for all others, if it is no success.
    tokens: HashMap<String, (Vec<String>, u16)>,
    paging: Paging,
    /// Entries that listings also have, with their paths below the directory.
    also: Vec<(String, Entry)>,
    /// Entries that listings of GitLab also have, with their paths from the top.
    astray: Vec<(String, Entry)>,
    /// The most entries of one answer of GitHub.
    cut: Option<usize>,
    /// What files have become since they were listed, by the ids they were listed with.
    changed: HashMap<String, Vec<u8>>,
    /// How many honest answers come first, and how many times the reply comes instead of one then.
    interjections: Vec<(usize, usize, Reply)>,
}

/// Answers requests from the state.
#[derive(Debug)]
struct Responder(Arc<Mutex<State>>);

/// A running forge.
#[derive(Debug)]
pub struct TestForge {
    state: Arc<Mutex<State>>,
    server: Server,
}

impl TestForge {
    /// Starts a forge without repositories, for [`ALL_HOSTS`], on `addresses`; port 0 picks a free port.
    pub fn start(ca: &TestCa, addresses: &[&str]) -> Self {
        let state = Arc::<Mutex<State>>::default();
        let responder = Arc::new(Responder(Arc::clone(&state)));
        let leaf = ca.leaf(&ALL_HOSTS, Validity::Current);
        Self { state, server: Server::start_with(&leaf, addresses, responder) }
    }

    /// Adds a repository, on all hosts.
    pub fn add(&self, repo: TestRepo) {
        self.state().repos.push(repo);
    }

    /// Accepts a token for some repositories, given as `owner/name`. For others it gets the status `elsewhere`, or
    /// what an anonymous request gets if that is 200. Tokens that the forge does not know get a 401.
    pub fn accept_token(&self, token: &str, repos: &[&str], elsewhere: u16) {
        let repos = repos.iter().map(|repo| (*repo).to_owned()).collect();
        self.state().tokens.insert(token.to_owned(), (repos, elsewhere));
    }

    /// How GitLab's listings go on.
    pub fn set_paging(&self, paging: Paging) {
        self.state().paging = paging;
    }

    /// Adds an entry to all listings, whatever its path. It has an object id but no object.
    pub fn list_also(&self, path: &str, mode: &str) {
        self.state().also.push((path.to_owned(), phantom(mode)));
    }

    /// Adds an entry outside the directory asked for to all listings of GitLab.
    pub fn list_astray(&self, path: &str, mode: &str) {
        self.state().astray.push((path.to_owned(), phantom(mode)));
    }

    /// Cuts listings of GitHub after so many entries, and marks them as truncated.
    pub fn truncate_listings(&self, entries: usize) {
        self.state().cut = Some(entries);
    }

    /// Serves `now` for every file that was listed as `before`.
    pub fn change_file(&self, before: &[u8], now: impl Into<Vec<u8>>) {
        self.state().changed.insert(object::object_id("blob", before), now.into());
    }

    /// Replies `times` times with `reply`, after `skip` honest answers.
    pub fn interject(&self, skip: usize, times: usize, reply: Reply) {
        self.state().interjections.push((skip, times, reply));
    }

    /// Waits this long before every reply.
    pub fn set_latency(&self, latency: Duration) {
        self.server.set_latency(latency);
    }

    /// The largest number of requests that were waiting for their replies at the same time.
    pub fn most_at_once(&self) -> usize {
        self.server.most_at_once()
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Recorded> {
        self.server.requests()
    }

    /// The first address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An entry without an object.
fn phantom(mode: &str) -> Entry {
    let id = object::object_id("blob", b"phantom");
    Entry { mode: mode.to_owned(), name: String::new(), id, size: Some(7) }
}

impl Respond for Responder {
    fn respond(&self, request: &Recorded) -> Reply {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reply) = state.interjection() {
            return reply;
        }
        let asked = Asked::read(request);
        let host = request.header("host").unwrap_or_default();
        let segments: Vec<&str> = asked.segments.iter().map(String::as_str).collect();
        match (host.split(':').next().unwrap_or_default(), segments.as_slice()) {
            ("api.github.com", segments) | (_, ["api", "v3", segments @ ..]) => {
                github::api(&state, request, &asked, segments)
            }
            ("raw.githubusercontent.com", segments) => github::raw(&state, request, segments),
            (_, ["api", "v4", "projects", segments @ ..]) => gitlab::api(&state, request, &asked, segments),
            _ => Reply::status(404),
        }
    }
}

impl State {
    /// The reply that was put in the way of this request.
    fn interjection(&mut self) -> Option<Reply> {
        let (skip, times, reply) = self.interjections.first_mut()?;
        if *skip > 0 {
            *skip -= 1;
            return None;
        }
        let reply = reply.clone();
        *times -= 1;
        if *times == 0 {
            self.interjections.remove(0);
        }
        Some(reply)
    }

    /// The repository that a request with this token may see, or the refusal.
    fn open(&self, name: &str, token: Option<&str>) -> Result<&TestRepo, Reply> {
        let scope = match token.map(|token| self.tokens.get(token)) {
            Some(None) => return Err(refusal(401, "Bad credentials")),
            Some(Some(scope)) => Some(scope),
            None => None,
        };
        let opened = scope.is_some_and(|(repos, _)| repos.iter().any(|repo| repo == name));
        if let Some((_, elsewhere @ 201..)) = scope.filter(|_| !opened) {
            return Err(refusal(*elsewhere, "Resource not accessible"));
        }
        let found = self.repos.iter().find(|repo| repo.name == name);
        found.filter(|repo| opened || !repo.private).ok_or_else(|| refusal(404, "Not Found"))
    }

    /// The content that is served for an object.
    fn content(&self, repo: &TestRepo, id: &str) -> Option<Vec<u8>> {
        self.changed.get(id).or_else(|| repo.objects.blobs.get(id)).cloned()
    }
}

/// A refusal in the form of both APIs.
fn refusal(status: u16, message: &str) -> Reply {
    Reply::status(status).body(serde_json::json!({ "message": message }).to_string())
}

/// A file, or a 404.
fn file(content: Option<Vec<u8>>) -> Reply {
    content.map_or_else(|| refusal(404, "Not Found"), Reply::ok)
}
