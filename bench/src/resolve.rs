//! Resolution of a harness with fifty skills: warm against hashing the same bytes, cold against one request at a time.
//!
//! The forge is real HTTPS on this machine. For the cold run every answer takes 50 ms, so the time is that of waiting;
//! it should shrink with the number of downloads under way, not grow with the number of files.

use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fullsend_fetch::get::{ExtraRoots, PrivateHost, Resolve, Resolving};
use fullsend_fetch::{Audit, Cache, FetchRules, Fetcher, SystemClock};
use fullsend_harness::Library;
use fullsend_origin::{HostPattern, Sha256Digest, TreeDigest, TreePath};
use fullsend_resolve::forge::{ForgeOptions, Forges, allowed_hosts};
use fullsend_resolve::{Limits, Resolution, Resolver, Store};
use fullsend_testkit::{TestCa, TestFile, TestForge, TestRepo};

use crate::Setting;
use crate::samples::{Samples, ratio};

const SKILLS: usize = 50;
const FILES: usize = 8;
const FILE_BYTES: usize = 64 * 1024;
const LATENCY: Duration = Duration::from_millis(50);
const MOST_RUNS: u32 = 10;

/// Measures and prints both.
pub(crate) fn run(setting: &Setting) -> Result<()> {
    let bench = Bench::new()?;
    bench.forge.set_latency(LATENCY);
    let start = Instant::now();
    let cold = bench.resolve()?;
    let elapsed = start.elapsed();
    ensure!(cold.dependencies.len() == SKILLS, "{} skills were resolved", cold.dependencies.len());
    let requests = bench.forge.requests().len();
    let in_turn = LATENCY * u32::try_from(requests).unwrap_or(u32::MAX);
    println!("cold, {SKILLS} skills of {FILES} files, 50 ms a request: {requests} requests in {elapsed:.2?}");
    println!("one at a time they would wait {in_turn:.2?}: {:.1}x as long", ratio(in_turn, elapsed));
    bench.warm(setting.runs.min(MOST_RUNS))
}

struct Bench {
    directory: tempfile::TempDir,
    forge: TestForge,
    ca: String,
    runtime: tokio::runtime::Runtime,
    contents: Vec<Vec<u8>>,
}

/// Every name is this machine.
#[derive(Debug)]
struct Here;

impl Resolve for Here {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }
}

impl Bench {
    fn new() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let ca = TestCa::new();
        let forge = TestForge::start(&ca, &["127.0.0.1:0"]);
        let mut repo = TestRepo::new("org", "skills");
        let Skills { files, contents, digests } = skills()?;
        let commit = repo.commit(&files);
        forge.add(repo);
        write_directory(directory.path(), &commit, &digests)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { directory, forge, ca: ca.pem(), runtime, contents })
    }

    fn resolve(&self) -> Result<Resolution> {
        let mut library = Library::new(self.directory.path());
        let configuration = library.configuration(&mut Vec::new());
        let port = self.forge.address().port();
        let hosts = allowed_hosts(&configuration.forges);
        let open = |host: HostPattern| -> Result<PrivateHost> {
            Ok(PrivateHost { host, port, cidr: "127.0.0.0/8".parse()? })
        };
        let rules = FetchRules {
            private_hosts: hosts.iter().cloned().map(open).collect::<Result<_>>()?,
            extra_roots: vec![ExtraRoots::Pem(self.ca.clone().into_bytes())],
            ..FetchRules::new(hosts)
        };
        let fetcher = Fetcher::with_resolver(rules, Arc::new(Here))?;
        let options = ForgeOptions { port: Some(port), ..ForgeOptions::default() };
        let forges = Forges::new(&fetcher, &configuration.forges, &[], &options)?;
        let root = self.directory.path();
        let audit = Audit::open(root, "bench", Arc::new(SystemClock))?;
        let store = Store::new(fetcher, Cache::open(root)?, audit, forges, configuration.forges.clone());
        let resolver = Resolver::new(store, Limits::default());
        let path = root.join("harness/code.yaml");
        let resolving = resolver.resolve(&mut library, &configuration, &path, None);
        self.runtime.block_on(resolving).context("resolution failed")
    }

    fn warm(&self, runs: u32) -> Result<()> {
        let (mut resolving, mut hashing) = (Samples::default(), Samples::default());
        for round in 0..=runs {
            let start = Instant::now();
            self.resolve()?;
            let resolved = start.elapsed();
            let start = Instant::now();
            for content in &self.contents {
                std::hint::black_box(Sha256Digest::of(content));
            }
            if round > 0 {
                resolving.push(resolved);
                hashing.push(start.elapsed());
            }
        }
        let megabytes = self.contents.iter().map(Vec::len).sum::<usize>() >> 20;
        println!("warm, {megabytes} MiB, {runs} runs: {:.2?} median", resolving.median());
        println!("hashing the same bytes: {:.2?} median", hashing.median());
        println!("ratio: {:.2}x", ratio(resolving.median(), hashing.median()));
        Ok(())
    }
}

/// What the forge serves.
#[derive(Default)]
struct Skills {
    /// The files of all skills.
    files: Vec<TestFile>,
    /// Their bytes.
    contents: Vec<Vec<u8>>,
    /// The digest of each skill.
    digests: Vec<TreeDigest>,
}

fn skills() -> Result<Skills> {
    let mut skills = Skills::default();
    for skill in 0..SKILLS {
        let mut tree = Vec::new();
        for file in 0..FILES {
            let name = if file == 0 { "SKILL.md".to_owned() } else { format!("references/{file}.md") };
            let bytes = format!("{skill} {file}\n").repeat(FILE_BYTES / 8).into_bytes();
            tree.push((TreePath::parse(&name)?, Sha256Digest::of(&bytes)));
            skills.files.push(TestFile::new(&format!("skills/s{skill}/{name}"), bytes.clone()));
            skills.contents.push(bytes);
        }
        skills.digests.push(TreeDigest::of(tree)?);
    }
    Ok(skills)
}

fn write_directory(root: &Path, commit: &str, digests: &[TreeDigest]) -> Result<()> {
    let list = "allowed_remote_resources: [https://github.com/org/]\n";
    std::fs::create_dir_all(root.join("harness"))?;
    std::fs::write(root.join("config.yaml"), list)?;
    let skills: String = digests
        .iter()
        .enumerate()
        .map(|(skill, digest)| {
            format!("  - https://github.com/org/skills/tree/{commit}/skills/s{skill}#sha256={digest}\n")
        })
        .collect();
    let harness = format!("agent: agents/a.md\nrole: coder\n{list}skills:\n{skills}");
    Ok(std::fs::write(root.join("harness/code.yaml"), harness)?)
}
