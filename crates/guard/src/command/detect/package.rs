//! Packages from odd places, and names that only look right.

use super::{Found, View};
use crate::command::names::{is_downloader, is_one_change_apart};
use crate::command::request;
use crate::command::rules::{HOST_LOOKALIKE, PACKAGE_FROM_URL, PACKAGE_LOOKALIKE};
use crate::command::script::{Command, Word};
use crate::severity::Severity;

pub(super) fn look(view: View<'_>, found: &mut Found<'_>) {
    let command = view.command;
    if let Some(manager) = manager(command) {
        let packages = installed(command, manager);
        packages.iter().for_each(|package| odd_source(package, found));
        if let Some(index) = other_index(command, manager) {
            found.report(&PACKAGE_FROM_URL, format!("another package index is used: {index}"));
        }
        packages.iter().for_each(|package| lookalike(&package.text, manager, found));
    }
    for target in request::targets(command) {
        if let Some(what) = odd_host(target.known_prefix()) {
            let severity = if is_downloader(command.name()) { Severity::High } else { Severity::Medium };
            found.report_as(&HOST_LOOKALIKE, severity, what);
        }
    }
}

/// Which language's packages are installed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    Python,
    Node,
    Other,
}

fn manager(command: &Command) -> Option<Manager> {
    let verbs: Vec<&str> = command.operands().take(3).map(|word| word.text.as_str()).collect();
    let has = |verb: &str| verbs.contains(&verb);
    match command.name() {
        "pip" | "pip3" | "pipx" => has("install").then_some(Manager::Python),
        "uv" | "poetry" => (has("install") || has("add")).then_some(Manager::Python),
        name if name.starts_with("python") => {
            (command.has(&["-m"]) && has("pip") && has("install")).then_some(Manager::Python)
        }
        "npm" | "pnpm" | "yarn" | "bun" => {
            (has("install") || has("i") || has("add")).then_some(Manager::Node)
        }
        "npx" | "uvx" => Some(Manager::Node),
        "gem" | "cargo" => (has("install") || has("add")).then_some(Manager::Other),
        "apt" | "apt-get" | "dnf" | "yum" | "apk" | "dpkg" | "rpm" => {
            (has("install") || has("add")).then_some(Manager::Other)
        }
        _ => None,
    }
}

/// The words that name packages.
fn installed(command: &Command, manager: Manager) -> Vec<Word> {
    let verbs = ["pip", "install", "add", "i"];
    let valued = match manager {
        Manager::Python => command.values(&[
            "-r",
            "--requirement",
            "-c",
            "--constraint",
            "-t",
            "--target",
            "-i",
            "--index-url",
            "--extra-index-url",
            "-f",
        ]),
        Manager::Node => command.values(&["--registry", "--prefix", "-C"]),
        Manager::Other => command.values(&[
            "--version",
            "--git",
            "--branch",
            "-v",
            "--source",
            "--path",
            "--features",
            "-t",
        ]),
    };
    command
        .operands()
        .filter(|word| {
            !verbs.contains(&word.text.as_str()) && !valued.iter().any(|value| value.text == word.text)
        })
        .cloned()
        .collect()
}

fn odd_source(package: &Word, found: &mut Found<'_>) {
    let text = package.text.as_str();
    let remote = [
        "http://",
        "https://",
        "git+",
        "git://",
        "ssh://",
        "git@",
        "github:",
        "gitlab:",
        "bitbucket:",
        "hg+",
        "svn+",
    ];
    if remote.iter().any(|start| text.starts_with(start))
        || text.contains("@ http")
        || text.contains("@ git+")
    {
        found.report(&PACKAGE_FROM_URL, "a package is installed straight from an address");
    }
}

fn other_index(command: &Command, manager: Manager) -> Option<&'static str> {
    let given = |options: &[&str]| !command.values(options).is_empty();
    match manager {
        Manager::Python
            if given(&["--index-url", "--extra-index-url", "--find-links", "--index", "--trusted-host"]) =>
        {
            Some("an option names it")
        }
        Manager::Python if command.has(&["-i"]) => Some("an option names it"),
        Manager::Node if given(&["--registry"]) => Some("an option names it"),
        Manager::Other if given(&["--git", "--index", "--source"]) => Some("an option names it"),
        Manager::Python | Manager::Node | Manager::Other => None,
    }
}

static PYTHON: &[&str] = &[
    "requests",
    "numpy",
    "pandas",
    "django",
    "flask",
    "urllib3",
    "cryptography",
    "setuptools",
    "boto3",
    "pytest",
    "scipy",
    "matplotlib",
    "tensorflow",
    "torch",
    "pillow",
    "sqlalchemy",
    "fastapi",
    "pydantic",
    "selenium",
    "beautifulsoup4",
    "colorama",
    "paramiko",
    "jinja2",
    "pyyaml",
    "openai",
    "anthropic",
    "transformers",
    "scikit-learn",
    "python-dateutil",
    "aiohttp",
];

static NODE: &[&str] = &[
    "react",
    "lodash",
    "express",
    "axios",
    "chalk",
    "commander",
    "webpack",
    "typescript",
    "eslint",
    "prettier",
    "jquery",
    "moment",
    "dotenv",
    "mongoose",
    "nodemon",
    "next",
    "vite",
    "jest",
    "cross-env",
    "discord.js",
    "electron",
    "puppeteer",
    "rollup",
    "tailwindcss",
    "socket.io",
    "underscore",
    "bluebird",
    "request",
    "debug",
    "body-parser",
];

/// Real packages that happen to be close to others.
static ALSO_REAL: &[&str] = &[
    "requests", "request", "preact", "nest", "text", "rest", "vitest", "bite", "lite", "xios", "torchx",
    "moments",
];

fn lookalike(package: &str, manager: Manager, found: &mut Found<'_>) {
    let name = package.split(['=', '<', '>', '[', '~', '!', ';', ' ']).next().unwrap_or_default();
    let name = name
        .get(1..)
        .and_then(|rest| rest.find('@'))
        .and_then(|at| name.get(..=at))
        .unwrap_or(name)
        .to_ascii_lowercase();
    let popular = match manager {
        Manager::Python => PYTHON,
        Manager::Node => NODE,
        Manager::Other => return,
    };
    if name.len() < 4
        || popular.contains(&name.as_str())
        || (manager == Manager::Node && ALSO_REAL.contains(&name.as_str()))
    {
        return;
    }
    if let Some(known) = popular.iter().find(|known| known.len() >= 5 && is_one_change_apart(&name, known)) {
        found.report(&PACKAGE_LOOKALIKE, format!("`{name}` is one letter away from `{known}`"));
    }
}

static HOSTS: &[&str] = &[
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "githubusercontent.com",
    "google.com",
    "googleapis.com",
    "microsoft.com",
    "amazonaws.com",
    "docker.com",
    "docker.io",
    "rust-lang.org",
    "nodejs.org",
    "python.org",
    "golang.org",
    "debian.org",
    "ubuntu.com",
    "cloudflare.com",
    "anthropic.com",
    "openai.com",
    "huggingface.co",
];

/// What is odd about the host of an address.
fn odd_host(target: &str) -> Option<String> {
    let address = target.split_once("://").map_or(target, |(_, rest)| rest);
    let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    let host = host.trim_end_matches('.').to_lowercase();
    if !host.is_ascii() || host.split('.').any(|label| label.starts_with("xn--")) {
        return mixes_alphabets(&host).then(|| format!("the host `{host}` is not written in plain letters"));
    }
    let known =
        HOSTS.iter().find(|known| registered(&host).is_some_and(|name| is_one_change_apart(name, known)))?;
    Some(format!("the host `{host}` is one letter away from `{known}`"))
}

/// The last two labels.
fn registered(host: &str) -> Option<&str> {
    let last = host.rfind('.')?;
    let before = host.get(..last)?.rfind('.').map_or(0, |at| at + 1);
    host.get(before..)
}

/// Whether letters of several alphabets stand in one label, or the label is all look-alikes of Latin letters.
fn mixes_alphabets(host: &str) -> bool {
    host.split('.').any(|label| {
        let latin = label.chars().any(|character| character.is_ascii_alphabetic());
        let foreign = !label.is_ascii();
        let lookalikes = label
            .chars()
            .all(|character| character.is_ascii() || ('\u{370}'..='\u{52f}').contains(&character));
        label.starts_with("xn--") || (foreign && (latin || lookalikes))
    })
}
