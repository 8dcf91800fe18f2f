//! A server, a resolver and a fetcher that know each other.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fullsend_fetch::get::{ExtraRoots, PrivateHost, Resolve, Resolving, RetryRules};
use fullsend_fetch::{Cache, FetchError, FetchRules, Fetched, Fetcher, Request};
use fullsend_origin::HostPattern;
use fullsend_testkit::{Reply, Server, TestCa, Validity};

use super::support::url;

/// The name of the server.
pub(crate) const NAME: &str = "server.test";

/// What a resolver answers.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Addresses(Vec<IpAddr>),
    Failure,
    Never,
}

impl Answer {
    pub(crate) fn of(addresses: &[&str]) -> Self {
        Self::Addresses(addresses.iter().map(|address| address.parse().unwrap()).collect())
    }
}

/// Gives one answer after the other, the last one for ever.
#[derive(Debug)]
pub(crate) struct Script {
    answers: Mutex<Vec<Answer>>,
    calls: AtomicUsize,
}

impl Script {
    pub(crate) fn new(answers: &[Answer]) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(answers.to_vec()), calls: AtomicUsize::new(0) })
    }

    pub(crate) fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn next(&self) -> Answer {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() }
    }
}

impl Resolve for Script {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            match self.next() {
                Answer::Addresses(addresses) => Ok(addresses),
                Answer::Failure => Err(io::Error::other("no such name, for now")),
                Answer::Never => std::future::pending().await,
            }
        })
    }
}

/// A server on loopback that the rules allow under its name, and a cache that must stay empty when it misbehaves.
pub(crate) struct Network {
    pub(crate) ca: TestCa,
    pub(crate) server: Server,
    pub(crate) resolver: Arc<Script>,
    pub(crate) rules: FetchRules,
    directory: tempfile::TempDir,
}

impl Network {
    pub(crate) fn new() -> Self {
        Self::with_answers(&[Answer::of(&["127.0.0.1"])])
    }

    pub(crate) fn with_answers(answers: &[Answer]) -> Self {
        let ca = TestCa::new();
        let server = Server::start(&ca.leaf(&[NAME], Validity::Current), &["127.0.0.1:0"]);
        let rules = rules(&ca, server.address());
        let directory = tempfile::tempdir().unwrap();
        Self { ca, server, resolver: Script::new(answers), rules, directory }
    }

    /// A network whose server answers requests for `/x` like this.
    pub(crate) fn replying(reply: Reply) -> Self {
        let network = Self::new();
        network.server.route("/x", reply);
        network
    }

    pub(crate) fn fetcher(&self) -> Fetcher {
        let resolver: Arc<dyn Resolve> = Arc::<Script>::clone(&self.resolver);
        Fetcher::with_resolver(self.rules.clone(), resolver).unwrap()
    }

    /// The text of a URL at the server.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{NAME}:{}{path}", self.server.address().port())
    }

    /// Fetches `/x` and stores what came.
    pub(crate) fn get(&self) -> Result<Fetched, FetchError> {
        let target = url(&self.url("/x"));
        let fetched = run(self.fetcher().get(&Request::new(&target)))?;
        self.cache().put_file(&target, &fetched.bytes).unwrap();
        Ok(fetched)
    }

    /// Fetches `/x` and expects to be refused, with nothing in the cache.
    pub(crate) fn refused(&self) -> FetchError {
        let error = self.get().unwrap_err();
        assert!(!self.cache().root().exists(), "{error} left something in the cache");
        assert!(!error.to_string().is_empty());
        error
    }

    /// The code of the refusal.
    pub(crate) fn refused_code(&self) -> &'static str {
        self.refused().code()
    }

    fn cache(&self) -> Cache {
        Cache::open(self.directory.path()).unwrap()
    }
}

/// Rules for a server on loopback: its name, its port, its address, no retries.
pub(crate) fn rules(ca: &TestCa, address: SocketAddr) -> FetchRules {
    let host = HostPattern::parse(NAME).unwrap();
    let cidr = "127.0.0.0/8".parse().unwrap();
    let mut rules = FetchRules::new(vec![host.clone()]);
    rules.private_hosts = vec![PrivateHost { host, port: address.port(), cidr }];
    rules.extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
    rules.retries =
        RetryRules { max_retries: 0, base_delay: Duration::from_millis(1), ..RetryRules::default() };
    rules
}

/// Runs a future to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
