//! Makes what the agent delivers harmless before anybody checks or uses it, and keeps it as it was checked.
//!
//! JSON is changed string by string and never as bytes: a character that becomes a quotation mark would end a string and begin
//! a key. The result must have the shape it had. What two readers could read differently is refused. Files that are no text are
//! searched and never changed. No file is exempt, whatever its directory is called.

mod frozen;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use fullsend_guard::files::{AMBIGUOUS_JSON, Content, Output, OutputFile, Root, outputs, replace};
use fullsend_guard::hook::{Action, NotStrict, Recorded, parse_strict};
use fullsend_guard::log::{LogError, Phase, Place};
use fullsend_guard::{Checks, Finding, FindingsLog, Outcome, Pipeline, Policy, ScannerId, visible};
use serde_json::Value;
use thiserror::Error;

pub use self::frozen::{Changed, Frozen, FrozenFile};

/// The largest file that is looked at, unless the caller says otherwise.
pub const LARGEST: u64 = 256 << 20;

/// How what is delivered is made harmless.
pub struct Sanitiser<'a> {
    /// What is looked for.
    pub checks: &'a Checks,
    /// What stops the run.
    pub policy: Policy,
    /// Where findings go before anything is changed.
    pub log: Option<&'a FindingsLog>,
    /// The largest file that is looked at.
    pub largest: u64,
    /// Whether the run is to end; asked before every file.
    pub is_over: &'a dyn Fn() -> bool,
}

impl fmt::Debug for Sanitiser<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Sanitiser").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Something that was found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Relative to the directory.
    pub path: PathBuf,
    /// What.
    pub finding: Finding,
    /// What was done about it.
    pub action: Action,
}

/// What was found, and what is left.
#[derive(Clone, Debug)]
#[must_use]
pub struct Sanitised {
    /// Everything that was found.
    pub found: Vec<Found>,
    /// Whether it may be used.
    pub outcome: Outcome,
    /// The files as they are now.
    pub frozen: Frozen,
}

impl Sanitised {
    /// Why it may not be used, in words for the agent; harmless to show.
    pub fn problems(&self) -> Vec<String> {
        let blocked = self.found.iter().filter(|found| found.action == Action::Block);
        blocked
            .map(|found| {
                let path = found.path.to_string_lossy();
                let rule = found.finding.rule;
                let name = format!("{}/{}", rule.scanner, rule.id);
                format!("output/{}: {} ({name}); {}", visible(&path), found.finding.detail(), rule.remedy)
            })
            .collect()
    }
}

/// Why nothing can be said about what is delivered.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SanitiseError {
    /// The file system.
    #[error("cannot make `{}` harmless", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The run is to end.
    #[error("the run ended before everything was made harmless")]
    Over,
    /// What cannot be put on record is not acted on.
    #[error("findings cannot be recorded, so nothing is passed on")]
    Log(#[from] LogError),
}

impl Sanitiser<'_> {
    /// Makes every file below `directory` harmless, in place.
    pub fn run(&self, directory: &Path) -> Result<Sanitised, SanitiseError> {
        let failed = |path: &Path, source| SanitiseError::Io { path: path.to_path_buf(), source };
        let root = Root::open(directory).map_err(|source| failed(directory, source))?;
        let walked = Root::open(directory).map_err(|source| failed(directory, source))?;
        let looks = Looks {
            texts: self.checks.clone().for_files().output(),
            bytes: self.checks.bytes(),
            checks: self.checks,
            policy: self.policy,
        };
        let mut found = Vec::new();
        for entry in outputs(walked, self.largest) {
            self.go_on()?;
            let (path, recorded, clean) = match entry {
                Output::Problem { path, finding } => (path, vec![looks.judged(finding, None)], None),
                Output::File(file) => looks.file(file),
            };
            self.record(&path, &recorded)?;
            if let Some(clean) = clean {
                replace(&root, &path, clean.as_bytes()).map_err(|source| failed(&path, source))?;
            }
            let of = |Recorded { finding, action }| Found { path: path.clone(), finding, action };
            found.extend(recorded.into_iter().map(of));
        }
        let frozen = Frozen::take(directory).map_err(|source| failed(directory, source))?;
        let blocked = found.iter().any(|found| found.action == Action::Block);
        let outcome = match (blocked, found.is_empty()) {
            (true, _) => Outcome::Blocked,
            (false, false) => Outcome::Warned,
            (false, true) => Outcome::Clean,
        };
        Ok(Sanitised { found, outcome, frozen })
    }

    /// Takes tokens of the run out of the files of a repository that differ from those of `original`. Other secrets are not
    /// looked for: a repository may hold what looks like one.
    pub fn repository(&self, directory: &Path, original: &Path) -> Result<Vec<Found>, SanitiseError> {
        let failed = |path: &Path, source| SanitiseError::Io { path: path.to_path_buf(), source };
        let root = Root::open(directory).map_err(|source| failed(directory, source))?;
        let walked = Root::open(directory).map_err(|source| failed(directory, source))?;
        let tokens = self.checks.request();
        let mut found = Vec::new();
        for entry in outputs(walked, self.largest) {
            self.go_on()?;
            let Output::File(OutputFile { path, content }) = entry else { continue };
            if path.starts_with(".git") || same(&original.join(&path), &content) {
                continue;
            }
            let (report, is_text) = match &content {
                Content::Text(text) => (tokens.run(text), true),
                Content::Bytes(bytes) => (tokens.run(&Content::searchable(bytes)), false),
            };
            if report.findings.is_empty() {
                continue;
            }
            let clean = report.sanitized.filter(|_| is_text);
            let of = |finding| Recorded { finding, action: Action::Redact };
            let recorded: Vec<Recorded> = report.findings.into_iter().map(of).collect();
            self.record(&path, &recorded)?;
            // What cannot be masked is emptied: a file that holds the token is worth nothing to anybody.
            let clean = clean.filter(|clean| tokens.run(clean).findings.is_empty()).unwrap_or_default();
            replace(&root, &path, clean.as_bytes()).map_err(|source| failed(&path, source))?;
            let of = |Recorded { finding, action }| Found { path: path.clone(), finding, action };
            found.extend(recorded.into_iter().map(of));
        }
        Ok(found)
    }

    /// Masks what is found in one file, which need not be there: a record that is kept and not delivered. Says how much was
    /// found.
    pub fn record_file(&self, directory: &Path, name: &Path) -> Result<usize, SanitiseError> {
        let failed = |source| SanitiseError::Io { path: directory.join(name), source };
        if !directory.join(name).is_file() {
            return Ok(0);
        }
        let root = Root::open(directory).map_err(failed)?;
        let looks = Looks {
            texts: self.checks.clone().for_files().output(),
            bytes: self.checks.bytes(),
            checks: self.checks,
            policy: self.policy,
        };
        let (path, recorded, clean) = match OutputFile::read(&root, name, self.largest) {
            Output::Problem { path, finding } => (path, vec![looks.judged(finding, None)], None),
            Output::File(file) => looks.file(file),
        };
        self.record(&path, &recorded)?;
        if let Some(clean) = clean {
            replace(&root, &path, clean.as_bytes()).map_err(failed)?;
        }
        Ok(recorded.len())
    }

    fn go_on(&self) -> Result<(), SanitiseError> {
        if (self.is_over)() { Err(SanitiseError::Over) } else { Ok(()) }
    }

    fn record(&self, path: &Path, recorded: &[Recorded]) -> Result<(), LogError> {
        let Some(log) = self.log.filter(|_| !recorded.is_empty()) else { return Ok(()) };
        let path = path.to_string_lossy();
        log.append_all(Place { phase: Phase::HostOutput, tool: None, path: Some(&path) }, recorded)
    }
}

/// Whether a file is what it was.
fn same(original: &Path, content: &Content) -> bool {
    let now = match content {
        Content::Text(text) => text.as_bytes(),
        Content::Bytes(bytes) => bytes,
    };
    let length = u64::try_from(now.len()).unwrap_or(u64::MAX);
    original.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() == length)
        && std::fs::read(original).is_ok_and(|before| before == now)
}

/// The pipelines, made once for all files.
#[derive(Debug)]
struct Looks<'a> {
    texts: Pipeline,
    bytes: Pipeline,
    checks: &'a Checks,
    policy: Policy,
}

impl Looks<'_> {
    fn file(&self, file: OutputFile) -> (PathBuf, Vec<Recorded>, Option<String>) {
        let OutputFile { path, content } = file;
        let (recorded, clean) = match content {
            Content::Text(text) => self.text(&path, &text),
            Content::Bytes(bytes) => (self.binary(&bytes), None),
        };
        (path, recorded, clean)
    }

    fn text(&self, path: &Path, text: &str) -> (Vec<Recorded>, Option<String>) {
        let report = self.texts.run(text);
        let clean = report.sanitized;
        if let Some(problem) = ambiguous(path, text, clean.as_deref()) {
            let finding = Finding::new(&AMBIGUOUS_JSON, None, problem);
            let mut recorded: Vec<Recorded> =
                report.findings.into_iter().map(|finding| self.judged(finding, None)).collect();
            recorded.push(Recorded { finding, action: Action::Block });
            // Nobody will use it, but it stays in the run directory.
            let masks = self.checks.masks(text);
            return (recorded, (!masks.is_empty()).then(|| masks.apply(text)));
        }
        // What was taken out of the text does no harm any more; only what is left can stop the run.
        let left = clean.as_deref().map(|clean| self.texts.run(clean).findings);
        let remains = |finding: &Finding| match &left {
            None => true,
            Some(left) => left.iter().any(|other| other.rule == finding.rule),
        };
        let judged = |finding: Finding| {
            let done = (!remains(&finding)).then(|| cleaned(&finding));
            self.judged(finding, done)
        };
        (report.findings.into_iter().map(judged).collect(), clean)
    }

    /// Nothing can be masked in such a file without breaking it, so a secret in it is judged like one that stays.
    fn binary(&self, bytes: &[u8]) -> Vec<Recorded> {
        let plain = self.bytes.run(&Content::searchable(bytes)).findings;
        let wide = Content::from_utf16_ascii(bytes).map(|text| self.bytes.run(&text).findings);
        let new = wide.unwrap_or_default();
        let new = new.into_iter().filter(|finding| plain.iter().all(|known| known.rule != finding.rule));
        let new: Vec<Finding> = new.collect();
        plain.into_iter().chain(new).map(|finding| self.judged(finding, None)).collect()
    }

    fn judged(&self, finding: Finding, done: Option<Action>) -> Recorded {
        let stops = self.policy.judge([&finding]) == Outcome::Blocked;
        let action = done.unwrap_or(if stops { Action::Block } else { Action::Warn });
        Recorded { finding, action }
    }
}

fn cleaned(finding: &Finding) -> Action {
    match finding.rule.scanner {
        ScannerId::UnicodeNormalizer => Action::Sanitize,
        ScannerId::ContextInjection
        | ScannerId::LlmGuard
        | ScannerId::SecretRedactor
        | ScannerId::SsrfValidator
        | ScannerId::CommandScanner
        | ScannerId::Tirith
        | ScannerId::Canary
        | ScannerId::ToolAllowlist
        | ScannerId::ContextSuppress
        | ScannerId::FileWalk
        | ScannerId::HookProtocol
        | ScannerId::FindingsLog => Action::Redact,
    }
}

/// What is wrong with a file that is, or becomes, JSON.
fn ambiguous(path: &Path, text: &str, clean: Option<&str>) -> Option<String> {
    let named = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let before = json(text);
    match before {
        Err(NotStrict::DuplicateKey | NotStrict::Depth | NotStrict::Values) if named => {
            return before.err().map(|problem| format!("the file {}", problem.as_str()));
        }
        Ok(_) | Err(_) => {}
    }
    let after = json(clean?);
    match (before, after) {
        (Ok(before), Ok(after)) if same_shape(&before, &after) => None,
        (Err(NotStrict::Syntax | NotStrict::Encoding), Err(NotStrict::Syntax | NotStrict::Encoding)) => None,
        (Err(_), Err(_)) if !named => None,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => {
            Some("without what hides in it, the file would say something else".to_owned())
        }
    }
}

fn json(text: &str) -> Result<Value, NotStrict> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    parse_strict(text.as_bytes())
}

/// Whether two values differ in strings only, and not in keys.
fn same_shape(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(_), Value::String(_)) => true,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same_shape(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|((key, one), (same, other))| key == same && same_shape(one, other))
        }
        (one, other) => one == other,
    }
}
