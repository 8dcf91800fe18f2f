//! A repository whose harness names things on a forge, inside namespaces where the forge is real.

use fullsend_origin::{Sha256Digest, TreeDigest, TreePath};
use fullsend_testkit::{Host, TestCa, TestFile, TestForge, TestRepo, declare_skip};
use serde_json::Value;

use crate::suite::running::{Place, Ran};

/// The addresses are public, so that the rules about addresses hold as they do outside.
pub(crate) fn hosts() -> Vec<Host> {
    vec![
        Host::new("github.com", "140.82.112.3"),
        Host::new("api.github.com", "140.82.112.5"),
        Host::new("raw.githubusercontent.com", "185.199.108.133"),
        Host::new("gitlab.com", "172.65.251.78"),
    ]
}

const ADDRESSES: [&str; 4] =
    ["140.82.112.3:443", "140.82.112.5:443", "185.199.108.133:443", "172.65.251.78:443"];

pub(crate) const ALLOWED: &str = "allowed_remote_resources:\n  - https://github.com/org/\n  \
                                  - https://raw.githubusercontent.com/org/\n  - https://gitlab.com/org/\n";

/// A place, a forge, and the way from one to the other.
pub(crate) struct ForgePlace {
    pub(crate) place: Place,
    pub(crate) forge: TestForge,
}

impl ForgePlace {
    pub(crate) fn new() -> Self {
        let place = Place::with_harness();
        let ca = TestCa::new();
        place.write("ca.pem", ca.pem());
        place.write(".fullsend/config.yaml", ALLOWED);
        Self { place, forge: TestForge::start(&ca, &ADDRESSES) }
    }

    /// The same for programs that make sandboxes; none where they cannot, which is a skip of `test`.
    pub(crate) fn with_sandboxes(test: &str) -> Option<Self> {
        let mut at = Self::new();
        at.place.as_ordinary_user();
        let tried = at.place.run(&["sandbox", "exec", "--", "true"]);
        if tried.code == Some(0) {
            return Some(at);
        }
        declare_skip(test, &format!("no sandbox can be made here: {}", tried.stderr));
        None
    }

    /// Adds a repository with one commit and gives the commit's id.
    pub(crate) fn repository(&self, name: &str, files: &[TestFile]) -> String {
        let mut repo = TestRepo::new("org", name);
        let commit = repo.commit(files);
        repo.name_commit("main", &commit);
        self.forge.add(repo);
        commit
    }

    pub(crate) fn harness(&self, lines: &str) {
        self.place.write(".fullsend/harness/code.yaml", format!("role: coder\n{ALLOWED}{lines}"));
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = self.place.command(arguments);
        command.env("SSL_CERT_FILE", self.place.path().join("ca.pem"));
        Ran::from(command.output().unwrap())
    }

    /// The dependencies that a successful fetch reports.
    pub(crate) fn fetched(&self, arguments: &[&str]) -> Vec<Value> {
        let all: Vec<&str> = ["fetch", "code", "--format", "json"].iter().chain(arguments).copied().collect();
        let ran = self.run(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        report["dependencies"].as_array().unwrap().clone()
    }

    pub(crate) fn audit(&self) -> Vec<Value> {
        let path = self.place.path().join(".fullsend/.fullsend-cache/fetch-audit.jsonl");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// How many entries the cache has.
    pub(crate) fn cached(&self) -> usize {
        let ran = self.run(&["cache", "ls", "--format", "json"]);
        serde_json::from_str::<Value>(&ran.stdout).unwrap().as_array().unwrap().len()
    }
}

pub(crate) fn sha(bytes: &[u8]) -> String {
    Sha256Digest::of(bytes).to_string()
}

pub(crate) fn tree(files: &[(&str, &str)]) -> String {
    let files =
        files.iter().map(|(path, text)| (TreePath::parse(path).unwrap(), Sha256Digest::of(text.as_bytes())));
    TreeDigest::of(files).unwrap().to_string()
}

pub(crate) const AGENT: &str = "---\nname: code\ndescription: Writes code.\n---\nWrite code.\n";
