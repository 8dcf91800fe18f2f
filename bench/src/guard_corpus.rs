//! What the scanners say about ordinary text: documentation, manual pages and source code of the installed system.
//!
//! None of it was written to attack an agent, so nearly every finding is a false alarm. Findings per megabyte say how
//! noisy a rule is; what is critical, and would stop work, is listed in full for someone to look at.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fullsend_guard::{
    Finding, InjectionScanner, Scanner, SecretScanner, Severity, UnicodeScanner, UrlScanner,
};

use crate::Setting;

/// Larger files are data more often than text.
const LARGEST_FILE: u64 = 1 << 20;
/// How much is scanned of all places together; each may use its share.
const MOST_BYTES: usize = 400 << 20;
/// Longest list of critical findings for one rule.
const MOST_LISTED: usize = 50;

/// Scans what is installed and prints findings per megabyte.
pub(crate) fn run(_setting: &Setting) -> Result<()> {
    let scanners = scanners();
    let places = places();
    ensure!(!places.is_empty(), "none of the places with text exists");
    let share = MOST_BYTES / places.len();
    let mut tally = Tally::default();
    for place in &places {
        let before = tally.bytes;
        visit(place, &mut |file| {
            if tally.bytes - before < share
                && let Some(text) = read_text(file)
            {
                tally.scan(&scanners, file, &text);
            }
        });
        println!("{:>8.1} MB in {}", megabytes(tally.bytes - before), place.display());
    }
    tally.print();
    Ok(())
}

/// Every scanner that looks at text alone.
fn scanners() -> Vec<Box<dyn Scanner>> {
    vec![
        Box::new(UnicodeScanner::for_files()),
        Box::new(InjectionScanner),
        Box::new(SecretScanner::new()),
        Box::new(UrlScanner),
    ]
}

/// Where text is, as far as it exists here.
fn places() -> Vec<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cargo")));
    let mut places = vec!["/usr/share/doc".into(), "/usr/share/man".into(), "/usr/include".into()];
    places.extend(cargo.map(|cargo| cargo.join("registry/src")));
    let libraries = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let python = libraries.filter(|entry| entry.file_name().to_string_lossy().starts_with("python3"));
    let mut python: Vec<PathBuf> = python.map(|entry| entry.path()).collect();
    python.sort();
    places.extend(python);
    places.retain(|place| place.is_dir());
    places
}

/// Calls `each` for every regular file below `directory`, in the order of their names. Links are not followed.
fn visit(directory: &Path, each: &mut dyn FnMut(&Path)) {
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(kind) = fs::symlink_metadata(&path).map(|metadata| metadata.file_type()) else { continue };
        if kind.is_file() {
            each(&path);
        } else if kind.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            entries.sort_by(|one, other| other.cmp(one));
            open.extend(entries);
        }
    }
}

/// The text of a file, unpacked; none when it is too large or no text.
fn read_text(file: &Path) -> Option<String> {
    let packed = file.extension().is_some_and(|extension| extension == "gz");
    let bytes = if packed { unpack(file).ok()? } else { read(file).ok()? };
    let text = String::from_utf8(bytes).ok()?;
    let is_text = text.len() <= usize::try_from(LARGEST_FILE).ok()? && !text.contains('\0');
    is_text.then_some(text)
}

/// At most one byte more than what counts as text, so that what is too large shows.
fn read(file: &Path) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unpack(file: &Path) -> Result<Vec<u8>> {
    let mut gzip = Command::new("gzip");
    gzip.arg("--decompress")
        .arg("--stdout")
        .stdin(File::open(file)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = gzip.spawn().context("gzip")?;
    let mut bytes = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    }
    child.wait()?;
    Ok(bytes)
}

/// What was found so far.
#[derive(Debug, Default)]
struct Tally {
    bytes: usize,
    files: usize,
    spent: Duration,
    rules: BTreeMap<(Severity, &'static str, &'static str), Row>,
}

/// Findings under one rule with one severity.
#[derive(Debug, Default)]
struct Row {
    count: usize,
    files: usize,
    listed: Vec<String>,
}

impl Tally {
    fn scan(&mut self, scanners: &[Box<dyn Scanner>], file: &Path, text: &str) {
        self.bytes += text.len();
        self.files += 1;
        let mut seen = Vec::new();
        for scanner in scanners {
            let start = Instant::now();
            let scan = scanner.scan(text);
            self.spent += start.elapsed();
            for finding in &scan.findings {
                let key = (finding.severity, finding.rule.scanner.as_str(), finding.rule.id);
                let row = self.rules.entry(key).or_default();
                row.count += 1;
                if !seen.contains(&key) {
                    row.files += 1;
                    seen.push(key);
                }
                if finding.severity == Severity::Critical && row.listed.len() < MOST_LISTED {
                    row.listed.push(describe(file, text, finding));
                }
            }
        }
    }

    fn print(&self) {
        let megabytes_scanned = megabytes(self.bytes);
        let speed = megabytes_scanned / self.spent.as_secs_f64().max(f64::MIN_POSITIVE);
        println!("{megabytes_scanned:.1} MB in {} files, {speed:.0} MB/s", self.files);
        println!("{:<9} {:<44} {:>8} {:>8} {:>9}", "severity", "rule", "findings", "files", "per MB");
        for ((severity, scanner, rule), row) in self.rules.iter().rev() {
            let name = format!("{scanner}/{rule}");
            let density = count(row.count) / megabytes_scanned;
            println!("{severity:<9} {name:<44} {:>8} {:>8} {density:>9.3}", row.count, row.files);
        }
        for line in self.rules.values().flat_map(|row| &row.listed) {
            println!("{line}");
        }
    }
}

/// `path:line: rule: detail`.
fn describe(file: &Path, text: &str, finding: &Finding) -> String {
    let start = finding.span.map_or(0, |span| span.start);
    let before = text.as_bytes().get(..start).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    format!("{}:{line}: {}: {}", file.display(), finding.rule.id, finding.detail())
}

fn megabytes(bytes: usize) -> f64 {
    count(bytes) / 1e6
}

/// Counts here are far below the point where this would lose anything.
fn count(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}
