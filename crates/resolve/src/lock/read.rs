//! Text to lock file, with every problem and its place.

use std::collections::BTreeMap;

use fullsend_origin::{RemoteUrl, Sha256Digest, TreePath};
use fullsend_yaml::{
    Diagnostic, Entry, FileId, FromNode, Limits, Node, Reader, ScalarStyle, SourceMap, Value, nearest, parse,
    rules as yaml_rules,
};
use jiff::Timestamp;

use super::value::Text;
use super::{LockFile, LockedDependency, LockedHarness, LockedPath, VERSION, rules};

/// What a lock file may cost: many thousand files of many skills, and entries nested as older files have them.
pub const LIMITS: Limits = Limits { bytes: 16 << 20, depth: 128, nodes: 1_000_000 };

/// How many levels of `transitive_deps` are read.
pub const MAX_NESTING: usize = 32;

/// What to do about an entry that cannot be used; the file is not meant to be edited.
pub(super) const RESTORE: &str =
    "restore the file from version control, or delete it and run `fullsend lock --all` to write it again";

const FILE_KEYS: &[&str] = &["version", "generated_at", "harnesses"];
const HARNESS_KEYS: &[&str] = &["source", "sha256", "composed_sha256", "resolved_at", "dependencies"];
const DEPENDENCY_KEYS: &[&str] =
    &["field", "platform", "url", "sha256", "type", "files", "fetched_at", "transitive_deps"];
const PATH_KEYS: &[&str] = &["path", "sha256"];

/// What came of reading.
#[derive(Debug)]
pub struct Read {
    /// The lock file; `None` when any problem is an error.
    pub lock: Option<LockFile>,
    /// Everything that was found, in the order of the text.
    pub problems: Vec<Diagnostic>,
}

/// Reads a file of the map as a lock file.
#[must_use]
pub fn read(sources: &SourceMap, file: FileId) -> Read {
    let parsed = parse(sources, file, LIMITS);
    let mut problems = parsed.problems;
    let lock = parsed.root.and_then(|root| LockFile::from_node(&root, &mut Reader::new(&mut problems)));
    problems.sort_by_key(|problem| problem.at.start);
    let usable = !problems.iter().any(Diagnostic::is_error);
    Read { lock: lock.filter(|_| usable), problems }
}

/// A mapping whose unknown keys are worth a warning and whose missing keys are errors, however they are misspelt.
struct Fields<'n, 't> {
    node: &'n Node<'t>,
    entries: &'n [Entry<'t>],
}

impl<'n, 't> Fields<'n, 't> {
    fn open(node: &'n Node<'t>, known: &[&str], reader: &mut Reader<'_>) -> Option<Self> {
        let entries = reader.mapping(node)?;
        for entry in entries.iter().filter(|entry| !known.contains(&&*entry.key)) {
            warn_unknown(entry, known, reader);
        }
        Some(Self { node, entries })
    }

    fn get(&self, key: &str) -> Option<&'n Entry<'t>> {
        self.entries.iter().find(|entry| entry.key == key && !entry.value.is_null())
    }

    fn optional<T: FromNode>(&self, key: &str, reader: &mut Reader<'_>) -> Option<T> {
        self.get(key).and_then(|entry| reader.field(entry))
    }

    fn required<T: FromNode>(&self, key: &str, reader: &mut Reader<'_>) -> Option<T> {
        match self.get(key).filter(|entry| !entry.value.is_empty_text()) {
            Some(entry) => reader.field(entry),
            None => {
                let at = self.entries.first().map_or(self.node.at, |entry| entry.key_at);
                let message = format!("{} has no `{key}`", reader.subject());
                reader.report(Diagnostic::new(&yaml_rules::MISSING_KEY, at, message).with_help(RESTORE));
                None
            }
        }
    }
}

fn warn_unknown(entry: &Entry<'_>, known: &[&str], reader: &mut Reader<'_>) {
    let message = format!("{} has the unknown key `{}`", reader.subject(), entry.key);
    let help = nearest(&entry.key, known.iter().copied()).map(|key| format!("did you mean `{key}`?"));
    reader.report(Diagnostic::new(&rules::UNKNOWN_KEY, entry.key_at, message).with_help_if(help));
}

impl FromNode for LockFile {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        // Whether keys are unknown can only be said of a version that is known.
        let version = reader.mapping(node)?.iter().find(|entry| entry.key == "version");
        if check_version(node, version, reader) == Version::Foreign {
            return None;
        }
        let fields = Fields::open(node, FILE_KEYS, reader)?;
        Some(LockFile {
            generated_at: fields.optional("generated_at", reader).map(|Text(time): Text<Timestamp>| time),
            harnesses: fields
                .optional("harnesses", reader)
                .map(|Harnesses(harnesses)| harnesses)
                .unwrap_or_default(),
        })
    }
}

/// Whether the rest of the file can be read.
#[derive(PartialEq, Eq)]
enum Version {
    /// The version is right, or so badly written that the rest is more likely to be than not.
    Readable,
    /// The file is of another version.
    Foreign,
}

fn check_version(root: &Node<'_>, entry: Option<&Entry<'_>>, reader: &mut Reader<'_>) -> Version {
    let scalar = entry.and_then(|entry| match &entry.value.value {
        Value::Scalar(scalar) => Some(scalar),
        Value::Sequence(_) | Value::Mapping(_) => None,
    });
    let at = entry.map_or(root.at, |entry| entry.value.at);
    let number = scalar.and_then(fullsend_yaml::Scalar::as_integer);
    let quoted = scalar.is_some_and(|scalar| scalar.style == ScalarStyle::Text && scalar.text == "1");
    let (message, help) = match number {
        Some(VERSION) => return Version::Readable,
        Some(other) => (
            format!("the lock file has version {other}; this fullsend understands version {VERSION}"),
            "use the fullsend that wrote the file, or delete it and run `fullsend lock --all`",
        ),
        None if quoted => (
            format!("`version` must be the number {VERSION}, the version that is understood, not text"),
            "remove the quotes: `version: 1`",
        ),
        None => (
            format!("the lock file does not state its version as a number; version {VERSION} is understood"),
            RESTORE,
        ),
    };
    reader.report(Diagnostic::new(&rules::VERSION, at, message).with_help(help));
    if number.is_some() { Version::Foreign } else { Version::Readable }
}

/// All harnesses. An entry without content is an error, unlike in maps that people write.
struct Harnesses(BTreeMap<String, LockedHarness>);

impl FromNode for Harnesses {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut harnesses = BTreeMap::new();
        for entry in reader.mapping(node)? {
            let harness = reader.at_key(&entry.key, |reader| LockedHarness::from_node(&entry.value, reader));
            harnesses.extend(harness.map(|harness| (entry.key.clone().into_owned(), harness)));
        }
        Some(Self(harnesses))
    }
}

impl FromNode for LockedHarness {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let fields = Fields::open(node, HARNESS_KEYS, reader)?;
        let source = fields.required("source", reader);
        let sha256 = fields.required("sha256", reader);
        let composed_sha256 = fields.optional("composed_sha256", reader);
        let resolved_at = fields.required("resolved_at", reader);
        let dependencies: Option<Dependencies> = fields.optional("dependencies", reader);
        Some(Self {
            source: source?,
            sha256: digest(sha256?),
            composed_sha256: composed_sha256.map(digest),
            resolved_at: time(resolved_at?),
            dependencies: dependencies.map(|Dependencies(list)| list).unwrap_or_default(),
        })
    }
}

fn digest(Text(digest): Text<Sha256Digest>) -> Sha256Digest {
    digest
}

fn time(Text(time): Text<Timestamp>) -> Timestamp {
    time
}

/// The entries of a harness with those nested below them, each before what it brought along.
struct Dependencies(Vec<LockedDependency>);

impl FromNode for Dependencies {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let mut list = Vec::new();
        flatten(node, 0, &mut list, reader);
        Some(Self(list))
    }
}

/// Reads a list of entries that stands below `level` lists of `transitive_deps`.
fn flatten(node: &Node<'_>, level: usize, list: &mut Vec<LockedDependency>, reader: &mut Reader<'_>) {
    let Value::Sequence(items) = &node.value else {
        return reader.wrong_type(node, "a list");
    };
    for (index, item) in items.iter().enumerate() {
        reader.at_index(index, |reader| {
            list.extend(LockedDependency::from_node(item, reader));
            if let Some(entry) = nested(item) {
                reader.at_key(&entry.key, |reader| descend(entry, level + 1, list, reader));
            }
        });
    }
}

fn nested<'n, 't>(node: &'n Node<'t>) -> Option<&'n Entry<'t>> {
    let Value::Mapping(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == "transitive_deps" && !entry.value.is_null())
}

fn descend(entry: &Entry<'_>, level: usize, list: &mut Vec<LockedDependency>, reader: &mut Reader<'_>) {
    if level <= MAX_NESTING {
        return flatten(&entry.value, level, list, reader);
    }
    let message =
        format!("these entries are nested deeper than {MAX_NESTING} levels and do not count as locked");
    reader.report(Diagnostic::new(&rules::NESTING, entry.key_at, message));
}

impl FromNode for LockedDependency {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let fields = Fields::open(node, DEPENDENCY_KEYS, reader)?;
        let field = fields.required("field", reader);
        let platform = fields.optional("platform", reader);
        let url = fields.required("url", reader).map(|Text(url): Text<RemoteUrl>| url);
        let sha256 = fields.required("sha256", reader);
        let kind = fields.optional("type", reader);
        let files = fields.optional("files", reader).unwrap_or_default();
        let fetched_at = fields.required("fetched_at", reader);
        Some(Self {
            field: field?,
            platform,
            url: url?,
            sha256: digest(sha256?),
            kind,
            files,
            fetched_at: time(fetched_at?),
        })
    }
}

impl FromNode for LockedPath {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let fields = Fields::open(node, PATH_KEYS, reader)?;
        let path = fields.required("path", reader).map(|Text(path): Text<TreePath>| path);
        let sha256 = fields.required("sha256", reader);
        Some(Self { path: path?, sha256: digest(sha256?) })
    }
}
