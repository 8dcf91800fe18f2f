//! The scan on the host, before anything goes into the sandbox.

use std::path::{Path, PathBuf};

use fullsend_guard::files::{
    self, Content, ContextKind, ContextLimits, Entry, NOT_TEXT, Output, Root, TOO_LARGE, UNREADABLE,
};
use fullsend_guard::log::{LogError, Phase};
use fullsend_guard::{Check, Finding, FindingsLog, Pipeline, Scanner as _, UrlScanner};
use fullsend_harness::value::RepositoryConfig;

use super::{Record, Scanned};
use crate::context::is_withheld;
use crate::host_files::HostFileContent;
use crate::security::HostSecurity;

/// The largest file of a skill, in bytes.
const MAX_SKILL_FILE: u64 = 4 << 20;
/// The largest file of the agent's input, in bytes: logs and diffs are long.
const MAX_INPUT_FILE: u64 = 16 << 20;

/// Everything that the agent is going to read.
#[derive(Clone, Copy, Debug)]
pub struct ScanInput<'a> {
    /// The agent definition: where it is, and what it says.
    pub agent: (&'a Path, &'a str),
    /// Skills by directory, each with all of its files.
    pub skills: &'a [PathBuf],
    /// Plugins by directory.
    pub plugins: &'a [PathBuf],
    /// The agent's input, with all of its files.
    pub agent_input: Option<&'a Path>,
    /// Files of the host.
    pub host_files: &'a [HostFileContent],
    /// The organisation's instructions.
    pub instructions: Option<(&'a Path, &'a [u8])>,
    /// The target repository, of which only what agents read by themselves is looked at.
    pub repo: &'a Path,
    /// Settings of the repository that stay in the agent's copy. Others are looked at, and cannot block.
    pub allowed: &'a [RepositoryConfig],
}

/// Looks at everything in `input`. An error is that the findings could not be written down, and then nothing may go on.
pub fn scan_input(
    input: ScanInput<'_>,
    security: &HostSecurity,
    log: &FindingsLog,
) -> Result<Scanned, LogError> {
    if !security.enabled {
        return Ok(Scanned::nothing());
    }
    let mut scan = Scan::new(security, log);
    let (path, text) = input.agent;
    scan.text(&shown(path), text, ContextKind::Agent, true)?;
    for skill in input.skills {
        scan.tree(skill, &format!("skill {}", base_name(skill)), MAX_SKILL_FILE)?;
    }
    for plugin in input.plugins {
        scan.context(plugin, &format!("plugin {}", base_name(plugin)), &|_| true)?;
    }
    if let Some(directory) = input.agent_input {
        scan.urls = security.checks.has(Check::Urls);
        scan.tree(directory, "agent_input", MAX_INPUT_FILE)?;
        scan.urls = false;
    }
    for file in input.host_files {
        let place = format!("{} (for {})", file.src.display(), file.dest);
        scan.bytes(&place, &file.bytes)?;
    }
    if let Some((path, bytes)) = input.instructions {
        scan.instructions(&shown(path), bytes)?;
    }
    scan.context(input.repo, "", &|path| !is_withheld(path, input.allowed))?;
    Ok(scan.record.scanned)
}

/// Looks at all files of one skill, for skills that are fetched while the agent runs.
pub fn scan_skill(directory: &Path, security: &HostSecurity, log: &FindingsLog) -> Result<Scanned, LogError> {
    if !security.enabled {
        return Ok(Scanned::nothing());
    }
    let mut scan = Scan::new(security, log);
    scan.tree(directory, &format!("skill {}", base_name(directory)), MAX_SKILL_FILE)?;
    Ok(scan.record.scanned)
}

struct Scan<'a> {
    pipeline: Pipeline,
    /// Whether URLs are looked at too: those in what strangers wrote.
    urls: bool,
    record: Record<'a>,
}

impl<'a> Scan<'a> {
    fn new(security: &HostSecurity, log: &'a FindingsLog) -> Self {
        let pipeline = security.checks.clone().for_files().input();
        Self { pipeline, urls: false, record: Record::new(security.policy, Phase::HostInput, log) }
    }

    fn text(&mut self, place: &str, text: &str, kind: ContextKind, is_seen: bool) -> Result<(), LogError> {
        self.record.scanned.files += 1;
        let mut findings = self.pipeline.run(text).findings;
        if kind == ContextKind::RuntimeConfig {
            findings.extend(files::runtime_config(place, text));
        }
        if self.urls {
            findings.extend(UrlScanner.scan(text).findings);
        }
        let line = |finding: &Finding| {
            let before = text.get(..finding.span?.start)?;
            Some(before.bytes().filter(|byte| *byte == b'\n').count() + 1)
        };
        let findings = findings.into_iter().map(|finding| (line(&finding), finding)).collect();
        self.record.add(place, findings, is_seen)
    }

    fn problem(&mut self, place: &str, finding: Finding, is_seen: bool) -> Result<(), LogError> {
        self.record.add(place, vec![(None, finding)], is_seen)
    }

    /// What must be text.
    fn instructions(&mut self, place: &str, bytes: &[u8]) -> Result<(), LogError> {
        let limit = ContextLimits::default().file_size;
        if bytes.len() as u64 > limit {
            let finding = Finding::new(&TOO_LARGE, None, format!("larger than {limit} bytes"));
            return self.problem(place, finding, true);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(place, text, ContextKind::Instructions, true),
            Err(error) => self.problem(place, not_text(error.valid_up_to()), true),
        }
    }

    /// What may be an image or a program. Text in another encoding is neither, and could say anything.
    fn bytes(&mut self, place: &str, bytes: &[u8]) -> Result<(), LogError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => self.text(place, text, ContextKind::SkillFile, true),
            Err(_) if is_binary(bytes) => Ok(()),
            Err(error) => self.problem(place, not_text(error.valid_up_to()), true),
        }
    }

    /// Every file below a directory.
    fn tree(&mut self, directory: &Path, label: &str, largest: u64) -> Result<(), LogError> {
        let root = match Root::open(directory) {
            Ok(root) => root,
            Err(error) => {
                return self.problem(label, Finding::new(&UNREADABLE, None, error.to_string()), true);
            }
        };
        for output in files::outputs(root, largest) {
            match output {
                Output::Problem { path, finding } => self.problem(&below(label, &path), finding, true)?,
                Output::File(file) => {
                    let place = below(label, &file.path);
                    match file.content {
                        Content::Text(text) => {
                            self.text(&place, &text, ContextKind::of_file(&file.path), true)?;
                        }
                        Content::Bytes(bytes) => self.bytes(&place, &bytes)?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The files below a directory that agents read by themselves.
    fn context(
        &mut self,
        directory: &Path,
        label: &str,
        is_seen: &dyn Fn(&Path) -> bool,
    ) -> Result<(), LogError> {
        let root = match Root::open(directory) {
            Ok(root) => root,
            Err(error) => {
                let finding = Finding::new(&UNREADABLE, None, error.to_string());
                return self.problem(&shown(directory), finding, true);
            }
        };
        for entry in files::context(root, ContextLimits::default()) {
            match entry {
                Entry::Skipped { .. } => {}
                Entry::Problem { path, finding } => {
                    self.problem(&below(label, &path), finding, is_seen(&path))?;
                }
                Entry::File(file) => {
                    self.text(&below(label, &file.path), &file.text, file.kind, is_seen(&file.path))?;
                }
            }
        }
        Ok(())
    }
}

fn not_text(valid: usize) -> Finding {
    Finding::new(&NOT_TEXT, None, format!("not valid UTF-8 from byte {valid} on"))
}

/// Whether no program would take the bytes for text. UTF-16 is text, although it is full of zeros.
fn is_binary(bytes: &[u8]) -> bool {
    let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    !utf16 && bytes.contains(&0)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A path below something that has a name of its own.
fn below(label: &str, path: &Path) -> String {
    if label.is_empty() { shown(path) } else { format!("{label}: {}", path.display()) }
}
