//! A forge, the parts of a run that fetching needs, and a client that says exactly what it is told to say.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fullsend_fetch::get::{ExtraRoots, Mode, PrivateHost, Resolve, Resolving, RetryRules};
use fullsend_fetch::{Audit, Cache, FetchRules, Fetcher, SystemClock};
use fullsend_guard::log::TraceId;
use fullsend_guard::{Checks, FailMode, FindingsLog, Policy};
use fullsend_harness::Library;
use fullsend_harness::schema::HarnessFile;
use fullsend_origin::{AllowList, ForgeHosts, Sha256Digest, TreeDigest, TreePath};
use fullsend_resolve::Store;
use fullsend_resolve::forge::{ForgeOptions, Forges, allowed_hosts};
use fullsend_runner::{FetchRefusal, FetchService, FetchedSkill, RuntimeFetcher, RuntimeFetcherConfig};
use fullsend_runtimes::Stage;
use fullsend_testkit::{TestCa, TestFile, TestForge, TestRepo};
use serde_json::Value;
use tempfile::TempDir;

/// The runtime's directory in the sandbox.
pub(crate) const CONFIG_DIR: &str = "/sandbox/claude-config";

pub(crate) const SKILL: &str =
    "---\nname: review\ndescription: How to review.\n---\nRead the change first.\n";

/// The findings log of the run.
const FINDINGS: &str = "run/security/findings.jsonl";

/// Finds everything on loopback.
#[derive(Debug)]
struct Loopback;

impl Resolve for Loopback {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }
}

/// What a test may want otherwise.
pub(crate) struct Wishes {
    pub(crate) harness: String,
    pub(crate) org: Vec<&'static str>,
    pub(crate) offline: bool,
    pub(crate) fail_mode: FailMode,
}

impl Default for Wishes {
    fn default() -> Self {
        Self {
            harness: "allow_runtime_fetch: true\n".to_owned(),
            org: vec!["https://github.com/", "https://gitlab.com/", "https://files.example.com/"],
            offline: false,
            fail_mode: FailMode::Closed,
        }
    }
}

/// Everything that a test needs.
pub(crate) struct FetchPlace {
    directory: TempDir,
    ca: TestCa,
    pub(crate) forge: TestForge,
    pub(crate) stage: Stage,
    log: FindingsLog,
}

impl FetchPlace {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ca = TestCa::new();
        let forge = TestForge::start(&ca, &["127.0.0.1:0"]);
        let stage = Stage::create(&directory.path().join("stage"), "repo").unwrap();
        let findings = directory.path().join(FINDINGS);
        let clock = Arc::new(fullsend_guard::SystemClock);
        let log = FindingsLog::create(&findings, TraceId::generate(), clock).unwrap();
        Self { directory, ca, forge, stage, log }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Puts a skill on the forge, in a repository `acme/<name>`, and gives its pinned URL on GitHub.
    pub(crate) fn skill(&self, name: &str, files: &[(&str, &str)]) -> String {
        let commit = self.repository(name, files);
        format!("https://github.com/acme/{name}/tree/{commit}/skills/{name}#sha256={}", tree(files))
    }

    pub(crate) fn repository(&self, name: &str, files: &[(&str, &str)]) -> String {
        let files: Vec<TestFile> = files
            .iter()
            .map(|(path, text)| {
                let path = format!("skills/{name}/{path}");
                if path.ends_with(".sh") {
                    TestFile::executable(&path, *text)
                } else {
                    TestFile::new(&path, *text)
                }
            })
            .collect();
        let mut repo = TestRepo::new("acme", name);
        let commit = repo.commit(&files);
        self.forge.add(repo);
        commit
    }

    pub(crate) fn harness(&self, lines: &str) -> Arc<HarnessFile> {
        let lists = "allowed_remote_resources:\n  - https://github.com/acme/\n  - https://gitlab.com/acme/\n  \
                     - https://files.example.com/\n";
        let lists = if lines.contains("allowed_remote_resources") { "" } else { lists };
        let path = self.path("code.yaml");
        std::fs::write(&path, format!("role: coder\n{lists}{lines}")).unwrap();
        let mut problems = Vec::new();
        let loaded = Library::new(self.directory.path()).harness(&path, &mut problems).unwrap();
        assert!(problems.is_empty(), "{problems:?}");
        loaded.harness.unwrap()
    }

    /// A store that asks the forge, or nobody.
    pub(crate) fn store(&self, offline: bool) -> Arc<Store> {
        let hosts = ForgeHosts::new();
        let port = self.forge.address().port();
        let mut rules = FetchRules::new(allowed_hosts(&hosts));
        let private = |host| PrivateHost { host, port, cidr: "127.0.0.0/8".parse().unwrap() };
        rules.private_hosts = allowed_hosts(&hosts).into_iter().map(private).collect();
        rules.extra_roots = vec![ExtraRoots::Pem(self.ca.pem().into_bytes())];
        rules.retries = RetryRules { max_retries: 0, ..RetryRules::default() };
        rules.mode = if offline { Mode::Offline } else { Mode::Online };
        let fetcher = Fetcher::with_resolver(rules, Arc::new(Loopback)).unwrap();
        let options = ForgeOptions { port: Some(port), ..ForgeOptions::default() };
        let forges = Forges::new(&fetcher, &hosts, &[], &options).unwrap();
        let cache = Cache::open(&self.path("workspace")).unwrap();
        let audit = Audit::open(&self.path("workspace"), "run-1", Arc::new(SystemClock)).unwrap();
        Arc::new(Store::new(fetcher, cache, audit, forges, hosts))
    }

    /// The fetcher that these wishes lead to, if any.
    pub(crate) fn try_fetcher(&self, wishes: &Wishes) -> Option<RuntimeFetcher> {
        let harness = self.harness(&wishes.harness);
        let org = AllowList::parse(&wishes.org).unwrap();
        RuntimeFetcher::for_harness(RuntimeFetcherConfig {
            harness: &harness,
            org: &org,
            store: self.store(wishes.offline),
            stage: &self.stage,
            skills_dir: self.stage.config().join("skills"),
            config_dir: CONFIG_DIR,
            checks: Checks::default(),
            policy: Policy { fail_mode: wishes.fail_mode, ..Policy::default() },
            log: self.log.clone(),
            told: None,
        })
        .unwrap()
    }

    pub(crate) fn fetcher(&self) -> RuntimeFetcher {
        self.try_fetcher(&Wishes::default()).unwrap()
    }

    /// What the findings log says.
    pub(crate) fn found(&self) -> Vec<Value> {
        lines(&self.path(FINDINGS))
    }

    /// What the audit log says.
    pub(crate) fn audit(&self) -> Vec<Value> {
        lines(&self.path("workspace/.fullsend-cache/fetch-audit.jsonl"))
    }

    /// Where a path of the sandbox is on the host.
    pub(crate) fn on_host(&self, inside: &str) -> PathBuf {
        self.stage.config().join(inside.strip_prefix(&format!("{CONFIG_DIR}/")).unwrap())
    }

    /// The names of all skills that were delivered.
    pub(crate) fn delivered(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.stage.config().join("skills")).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Whether anything is left where skills are put together.
    pub(crate) fn has_drafts(&self) -> bool {
        std::fs::read_dir(self.stage.root().join("fetched")).unwrap().next().is_some()
    }
}

/// The pin of a skill.
pub(crate) fn tree(files: &[(&str, &str)]) -> String {
    let files =
        files.iter().map(|(path, text)| (TreePath::parse(path).unwrap(), Sha256Digest::of(text.as_bytes())));
    TreeDigest::of(files).unwrap().to_string()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Runs a future to its end, with other threads for what it starts.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(future)
}

/// Status and message of a refusal.
pub(crate) fn refusal(answer: Result<FetchedSkill, FetchRefusal>) -> (u16, String) {
    let refusal = answer.unwrap_err();
    (refusal.status, refusal.message)
}

/// A reply as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) kind: String,
    pub(crate) body: String,
}

/// Sends these bytes and reads all that comes.
pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    // A service that has heard enough may close before everything is said.
    let _heard_enough = stream.write_all(bytes);
    let mut all = Vec::new();
    let _reset = stream.read_to_end(&mut all);
    let text = String::from_utf8(all).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: ")).unwrap_or_default();
    Reply { status, kind: kind.to_owned(), body: body.to_owned() }
}

/// The token in the lines for the sandbox.
pub(crate) fn token(service: &FetchService) -> String {
    let lines = service.env_lines();
    lines.split('\'').nth(1).unwrap().to_owned()
}

/// A request for a skill.
pub(crate) fn request(token: &str, body: &str) -> Vec<u8> {
    format!(
        "POST /fetch HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
