//! What is protected without being told.

use std::sync::LazyLock;

use crate::pattern::{PathPattern, PathSet};

/// Names of files that hold credentials.
const CREDENTIAL_PATHS: [&str; 22] = [
    "**/.env",
    "**/.env.*",
    "**/.netrc",
    "**/_netrc",
    "**/.npmrc",
    "**/.pypirc",
    "**/.git-credentials",
    "**/.htpasswd",
    "**/.pgpass",
    "**/.vault-token",
    "**/.ssh",
    "**/.gnupg",
    "**/.aws/credentials",
    "**/.docker/config.json",
    "**/.kube/config",
    "**/id_{rsa,dsa,ecdsa,ed25519}",
    "**/*.{pem,key,p12,pfx,jks,keystore,kdbx}",
    "**/credentials.{json,yaml,yml,toml,ini}",
    "**/service[-_]account*.json",
    "**/secrets.{json,yaml,yml,toml,ini,env}",
    "**/.cargo/credentials*",
    "**/terraform.tfstate*",
];

/// Names that look like those, of files that are there to be read.
const EXAMPLES: [&str; 2] = ["**/.env.{example,sample,template,dist,defaults}", "**/*.pub"];

/// What is run, or believed, without anybody asking: changing it needs the operator's word.
const PROTECTED_PATHS: [&str; 34] = [
    "**/.git",
    "**/.gitmodules",
    "**/.gitattributes",
    "**/.githooks",
    "**/.husky",
    "**/.pre-commit-config.yaml",
    "**/lefthook.{yml,yaml}",
    ".github",
    ".gitlab-ci.yml",
    ".gitlab",
    ".circleci",
    ".buildkite",
    ".drone.yml",
    ".travis.yml",
    ".woodpecker*",
    "azure-pipelines*.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile*",
    "**/AGENTS.md",
    "**/AGENTS.override.md",
    "**/CLAUDE*.md",
    "**/GEMINI.md",
    "**/SKILL.md",
    "**/.claude",
    "**/.codex",
    "**/.cursor",
    "**/.cursorrules",
    "**/.opencode",
    "**/opencode.json",
    "**/.mcp.json",
    "**/.fullsend",
    "**/.vscode",
    "**/.devcontainer",
    "**/.envrc",
];

static CREDENTIALS: LazyLock<PathSet> = LazyLock::new(|| built(&CREDENTIAL_PATHS));
static NOT_CREDENTIALS: LazyLock<PathSet> = LazyLock::new(|| built(&EXAMPLES));
static PROTECTED: LazyLock<PathSet> = LazyLock::new(|| built(&PROTECTED_PATHS));

/// Whether a file of this name holds credentials.
pub(super) fn holds_credentials(path: &str) -> bool {
    // The directory itself is asked about before there is time for patterns.
    !path.is_empty() && CREDENTIALS.matches(path) && !NOT_CREDENTIALS.matches(path)
}

/// Whether a change of this path needs the operator's word.
pub(super) fn is_protected(path: &str) -> bool {
    PROTECTED.matches(path)
}

fn built(patterns: &[&str]) -> PathSet {
    // A test builds every one of them.
    PathSet::new(patterns.iter().filter_map(|pattern| PathPattern::new(pattern).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_pattern() {
        for pattern in CREDENTIAL_PATHS.iter().chain(&EXAMPLES).chain(&PROTECTED_PATHS) {
            PathPattern::new(pattern).unwrap();
        }
    }
}
