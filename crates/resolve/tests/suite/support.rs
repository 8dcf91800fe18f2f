//! A forge, and clients that find it under the names of real ones.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fullsend_fetch::get::{ExtraRoots, PrivateHost, Resolve, Resolving, RetryRules};
use fullsend_fetch::{Clock, FetchRules, Fetcher};
use fullsend_origin::{ForgeHosts, ForgeUrl, HttpsUrl};
use fullsend_resolve::forge::{
    CommitId, DEFAULT_CONCURRENCY, DownloadedTree, ForgeError, ForgeOptions, ForgeToken, Forges, ListedFile,
    TreeLimits, allowed_hosts, download_directory,
};
use fullsend_testkit::{Recorded, TestCa, TestFile, TestForge, TestRepo};
use jiff::Timestamp;

/// Fails so many times, then finds everything on loopback.
#[derive(Debug, Default)]
pub(crate) struct Loopback {
    pub(crate) failures: AtomicUsize,
}

impl Resolve for Loopback {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        let fails =
            self.failures.try_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        Box::pin(async move {
            if fails {
                Err(io::Error::other("no such name, for now"))
            } else {
                Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)])
            }
        })
    }
}

/// A clock that stands still.
#[derive(Debug)]
pub(crate) struct Stopped(pub(crate) Timestamp);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// The forges that most tests are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    GitHub,
    GitLab,
}

pub(crate) const BOTH: [Dialect; 2] = [Dialect::GitHub, Dialect::GitLab];

impl Dialect {
    pub(crate) fn host(self) -> &'static str {
        match self {
            Self::GitHub => "github.com",
            Self::GitLab => "gitlab.com",
        }
    }

    /// The URL of a directory in `acme/skills`.
    pub(crate) fn tree(self, reference: &str, path: &str) -> String {
        self.tree_at(self.host(), "acme/skills", reference, path)
    }

    pub(crate) fn tree_at(self, host: &str, repo: &str, reference: &str, path: &str) -> String {
        match self {
            Self::GitHub => format!("https://{host}/{repo}/tree/{reference}/{path}"),
            Self::GitLab => format!("https://{host}/{repo}/-/tree/{reference}/{path}"),
        }
    }
}

/// Everything that a test needs.
pub(crate) struct World {
    pub(crate) forge: TestForge,
    pub(crate) rules: FetchRules,
    pub(crate) resolver: Arc<Loopback>,
    pub(crate) hosts: ForgeHosts,
    pub(crate) options: ForgeOptions,
    pub(crate) tokens: Vec<ForgeToken>,
    pub(crate) limits: TreeLimits,
    pub(crate) concurrency: NonZeroUsize,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with_hosts(ForgeHosts::new())
    }

    /// A world with these files in `acme/skills`, and the id of their commit.
    pub(crate) fn holding(files: &[TestFile]) -> (Self, String) {
        let world = Self::new();
        let mut repo = TestRepo::new("acme", "skills");
        let commit = repo.commit(files);
        world.forge.add(repo);
        (world, commit)
    }

    pub(crate) fn with_hosts(hosts: ForgeHosts) -> Self {
        let ca = TestCa::new();
        let forge = TestForge::start(&ca, &["127.0.0.1:0"]);
        let port = forge.address().port();
        let mut rules = FetchRules::new(allowed_hosts(&hosts));
        let private = |host| PrivateHost { host, port, cidr: "127.0.0.0/8".parse().unwrap() };
        rules.private_hosts = allowed_hosts(&hosts).into_iter().map(private).collect();
        rules.extra_roots = vec![ExtraRoots::Pem(ca.pem().into_bytes())];
        rules.retries = RetryRules { max_retries: 0, ..RetryRules::default() };
        Self {
            forge,
            rules,
            resolver: Arc::default(),
            hosts,
            options: ForgeOptions { port: Some(port), ..ForgeOptions::default() },
            tokens: Vec::new(),
            limits: TreeLimits::default(),
            concurrency: DEFAULT_CONCURRENCY,
        }
    }

    pub(crate) fn give_token(&mut self, host: &str, token: &str) {
        self.tokens.push(ForgeToken::new(host, token).unwrap());
    }

    pub(crate) fn forges(&self) -> Forges {
        let resolver: Arc<dyn Resolve> = Arc::<Loopback>::clone(&self.resolver);
        let fetcher = Fetcher::with_resolver(self.rules.clone(), resolver).unwrap();
        Forges::new(&fetcher, &self.hosts, &self.tokens, &self.options).unwrap()
    }

    pub(crate) fn url(&self, text: &str) -> ForgeUrl {
        ForgeUrl::parse(&HttpsUrl::parse(text).unwrap(), &self.hosts).unwrap()
    }

    pub(crate) fn download(&self, text: &str) -> Result<DownloadedTree, ForgeError> {
        self.download_with(&self.forges(), text)
    }

    pub(crate) fn download_with(&self, forges: &Forges, text: &str) -> Result<DownloadedTree, ForgeError> {
        let url = self.url(text);
        let forge = forges.at(url.host())?;
        run(must_be_send(download_directory(forge.as_ref(), &url, &self.limits, self.concurrency)))
    }

    /// The code of the error that a download ends with.
    pub(crate) fn code(&self, text: &str) -> &'static str {
        match self.download(text) {
            Ok(tree) => panic!("{tree:?}"),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                error.code()
            }
        }
    }

    pub(crate) fn list(&self, text: &str, commit: &str) -> Result<Vec<ListedFile>, ForgeError> {
        let (forges, url) = (self.forges(), self.url(text));
        let commit = CommitId::parse(commit).unwrap();
        run(forges.at(url.host())?.list_directory(&url, &commit, &self.limits))
    }

    /// What was asked for, without the parameters.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.forge.requests().iter().map(describe).collect()
    }
}

/// Host and path of a request.
pub(crate) fn describe(request: &Recorded) -> String {
    let host = request.header("host").unwrap_or_default().split(':').next().unwrap_or_default();
    format!("{host}{}", request.target.split('?').next().unwrap_or_default())
}

/// Paths, contents and modes of a download.
pub(crate) fn contents(tree: &DownloadedTree) -> Vec<(String, String, bool)> {
    let is_program = |mode| mode == fullsend_fetch::cache::FileMode::Executable;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    tree.files.iter().map(|file| (file.path.to_string(), text(&file.bytes), is_program(file.mode))).collect()
}

/// Runs of an agent move between threads.
pub(crate) fn must_be_send<F: Future + Send>(future: F) -> F {
    future
}

/// Runs a future to its end.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
