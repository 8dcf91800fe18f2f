//! Nodes to values: a reader that reports every problem and carries on.

use std::borrow::Cow;

use indexmap::IndexMap;

use crate::{Diagnostic, Entry, Located, Location, Node, Rule, Scalar, ScalarStyle, Value, nearest, rules};

/// A type that can be read from a node.
pub trait FromNode: Sized {
    /// Whether empty text as the value of a record's key means that the key is absent.
    const EMPTY_IS_ABSENT: bool = false;

    /// Reads the node; on a problem reports it to the reader and returns `None`.
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self>;

    /// The value that an explicit null stands for in a map; `None` drops the entry.
    fn from_null(_at: Location) -> Option<Self> {
        None
    }
}

/// A type that is written as one scalar of text.
///
/// Numbers and booleans are taken by their source text (`1.50` is `"1.50"`), because files in use rely on it.
pub trait FromText: Sized {
    /// Whether an explicit null in a map means empty text rather than "absent".
    const NULL_IS_EMPTY: bool = false;

    /// Whether empty text as the value of a record's key means that the key is absent.
    const EMPTY_IS_ABSENT: bool = false;

    /// Makes the value.
    ///
    /// # Errors
    /// What is wrong with the text and what to do about it.
    fn from_text(text: &str) -> Result<Self, TextProblem>;
}

/// Why a text is not acceptable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextProblem {
    /// The rule that was broken.
    pub rule: &'static Rule,
    /// What is wrong, as the end of a sentence that starts with the key: "must …".
    pub message: String,
    /// What to do, if more is known than the rule's remedy.
    pub help: Option<String>,
}

impl TextProblem {
    /// A value that the key does not accept.
    #[must_use]
    pub fn invalid(message: impl Into<String>, help: Option<String>) -> Self {
        Self { rule: &rules::INVALID_VALUE, message: message.into(), help }
    }

    /// A value that is not one of a fixed set, with the nearest of them as help.
    #[must_use]
    pub fn not_one_of(text: &str, accepted: &[&str]) -> Self {
        let list = accepted.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
        let help = match nearest(text, accepted.iter().copied()) {
            Some(word) => format!("did you mean `{word}`?"),
            None => format!("choose one of {list}"),
        };
        Self::invalid(format!("must be one of {list}, not `{text}`"), Some(help))
    }
}

/// Collects problems while nodes are read, and knows which key is being read.
#[derive(Debug)]
pub struct Reader<'d> {
    diagnostics: &'d mut Vec<Diagnostic>,
    path: String,
}

impl<'d> Reader<'d> {
    /// A reader that reports to `diagnostics`.
    pub fn new(diagnostics: &'d mut Vec<Diagnostic>) -> Self {
        Self { diagnostics, path: String::new() }
    }

    /// Reports a problem.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// The key being read, like `skills[2]` or `env.runner`, quoted for a message.
    #[must_use]
    pub fn subject(&self) -> String {
        if self.path.is_empty() { "the document".to_owned() } else { format!("`{}`", self.path) }
    }

    /// Reports that a node has the wrong type.
    pub fn wrong_type(&mut self, node: &Node<'_>, expected: &str) {
        let message = format!("{} must be {expected}, not {}", self.subject(), node.kind());
        self.report(
            Diagnostic::new(&rules::WRONG_TYPE, node.at, message).with_help(format!("write {expected}")),
        );
    }

    /// The entries of a mapping node, or a report.
    pub fn mapping<'n, 't>(&mut self, node: &'n Node<'t>) -> Option<&'n [Entry<'t>]> {
        match &node.value {
            Value::Mapping(entries) => Some(entries),
            Value::Scalar(scalar) if scalar.is_null() => Some(&[]),
            Value::Scalar(_) | Value::Sequence(_) => {
                self.wrong_type(node, "a mapping (`key: value` lines)");
                None
            }
        }
    }

    /// The scalar of a node, or a report.
    pub fn scalar<'n, 't>(&mut self, node: &'n Node<'t>, expected: &str) -> Option<&'n Scalar<'t>> {
        match &node.value {
            Value::Scalar(scalar) => Some(scalar),
            Value::Sequence(_) | Value::Mapping(_) => {
                self.wrong_type(node, expected);
                None
            }
        }
    }

    /// Reads the value of a record's key; an explicit null is the same as an absent key.
    pub fn field<T: FromNode>(&mut self, entry: &Entry<'_>) -> Option<T> {
        if entry.value.is_null() || T::EMPTY_IS_ABSENT && entry.value.is_empty_text() {
            return None;
        }
        self.at_key(&entry.key, |reader| T::from_node(&entry.value, reader))
    }

    /// Runs `read` with `key` appended to the path.
    pub fn at_key<T>(&mut self, key: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        let result = read(self);
        self.path.truncate(length);
        result
    }

    /// Runs `read` with a list index appended to the path.
    pub fn at_index<T>(&mut self, index: usize, read: impl FnOnce(&mut Self) -> T) -> T {
        use std::fmt::Write;
        let length = self.path.len();
        let _infallible = write!(self.path, "[{index}]");
        let result = read(self);
        self.path.truncate(length);
        result
    }

    /// How many problems have been reported so far, to tell whether reading something added any.
    #[must_use]
    pub fn reported(&self) -> usize {
        self.diagnostics.len()
    }

    /// Reports a mapping that lacks a key. Null and empty text count as absent; one that is there with an unreadable value
    /// has been reported already, and so has one that is misspelt.
    pub fn required(&mut self, node: &Node<'_>, key: &str, known: &[&str]) {
        let entries = self.mapping(node).unwrap_or_default();
        let given =
            |entry: &Entry<'_>| entry.key == key && !entry.value.is_null() && !entry.value.is_empty_text();
        let meant = |entry: &Entry<'_>| {
            !known.contains(&&*entry.key) && nearest(&entry.key, known.iter().copied()) == Some(key)
        };
        if entries.iter().any(|entry| given(entry) || meant(entry)) {
            return;
        }
        let message = format!("{} has no `{key}`", self.subject());
        let at = entries.first().map_or(node.at, |entry| entry.key_at);
        self.report(Diagnostic::new(&rules::MISSING_KEY, at, message).with_help(format!("add `{key}: …`")));
    }

    /// Reports a key that is not among the known ones, naming the nearest.
    pub fn unknown_key(&mut self, entry: &Entry<'_>, known: &[&str]) {
        let place = if self.path.is_empty() { String::new() } else { format!(" in `{}`", self.path) };
        let message = format!("unknown key `{}`{place}", entry.key);
        let help = match nearest(&entry.key, known.iter().copied()) {
            Some(key) => format!("did you mean `{key}`?"),
            None => format!("remove it; known keys are {}", known.join(", ")),
        };
        self.report(Diagnostic::new(&rules::UNKNOWN_KEY, entry.key_at, message).with_help(help));
    }
}

impl<T: FromText> FromNode for T {
    const EMPTY_IS_ABSENT: bool = T::EMPTY_IS_ABSENT;

    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let scalar = reader.scalar(node, "text")?;
        let text = if scalar.is_null() { "" } else { &scalar.text };
        match T::from_text(text) {
            Ok(value) => Some(value),
            Err(problem) => {
                let message = format!("{} {}", reader.subject(), problem.message);
                reader.report(Diagnostic::new(problem.rule, node.at, message).with_help_if(problem.help));
                None
            }
        }
    }

    fn from_null(_at: Location) -> Option<Self> {
        if T::NULL_IS_EMPTY { T::from_text("").ok() } else { None }
    }
}

impl FromText for String {
    const NULL_IS_EMPTY: bool = true;

    fn from_text(text: &str) -> Result<Self, TextProblem> {
        Ok(text.to_owned())
    }
}

impl FromNode for bool {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        read_plain(node, reader, "`true` or `false`", |scalar| scalar.as_bool())
    }
}

impl FromNode for i64 {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        read_plain(node, reader, "a whole number", |scalar| scalar.as_integer())
    }
}

impl FromNode for f64 {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        read_plain(node, reader, "a number", |scalar| scalar.as_float())
    }
}

fn read_plain<T>(
    node: &Node<'_>,
    reader: &mut Reader<'_>,
    expected: &str,
    convert: impl Fn(&Scalar<'_>) -> Option<T>,
) -> Option<T> {
    let scalar = reader.scalar(node, expected)?;
    let value = convert(scalar);
    if value.is_none() {
        let unquoted = Scalar { text: Cow::Borrowed(&scalar.text), style: ScalarStyle::Plain };
        let help = match convert(&unquoted) {
            Some(_) => format!("remove the quotes: `{}`", scalar.text),
            None => format!("write {expected}"),
        };
        let kind = if scalar.style == ScalarStyle::Text { "the text " } else { "" };
        let message = format!("{} must be {expected}, not {kind}`{}`", reader.subject(), scalar.text);
        reader.report(Diagnostic::new(&rules::WRONG_TYPE, node.at, message).with_help(help));
    }
    value
}

impl<T: FromNode> FromNode for Located<T> {
    const EMPTY_IS_ABSENT: bool = T::EMPTY_IS_ABSENT;

    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        T::from_node(node, reader).map(|value| Located { value, at: node.at })
    }

    fn from_null(at: Location) -> Option<Self> {
        T::from_null(at).map(|value| Located { value, at })
    }
}

/// An optional map value: an explicit null is kept as `None` instead of being dropped.
impl<T: FromNode> FromNode for Option<T> {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        T::from_node(node, reader).map(Some)
    }

    fn from_null(_at: Location) -> Option<Self> {
        Some(None)
    }
}

fn report_no_list(node: &Node<'_>, reader: &mut Reader<'_>) {
    let message = format!("{} must be a list, not {}", reader.subject(), node.kind());
    let help = match &node.value {
        Value::Scalar(scalar) if scalar.text.len() < 80 => {
            format!("write `[{}]`, or `- {0}` on a line of its own", scalar.text)
        }
        Value::Scalar(_) | Value::Sequence(_) | Value::Mapping(_) => {
            "write each item on a line of its own, behind `- `".to_owned()
        }
    };
    reader.report(Diagnostic::new(&rules::WRONG_TYPE, node.at, message).with_help(help));
}

/// Null elements are dropped: an entry that was commented out to `- ` must not become an empty name.
impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let Value::Sequence(items) = &node.value else {
            report_no_list(node, reader);
            return None;
        };
        let mut values = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate().filter(|(_, item)| !item.is_null()) {
            values.extend(reader.at_index(index, |reader| T::from_node(item, reader)));
        }
        Some(values)
    }
}

impl<T: FromNode> FromNode for IndexMap<String, T> {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let entries = reader.mapping(node)?;
        let mut values = IndexMap::with_capacity(entries.len());
        for entry in entries {
            let value = if entry.value.is_null() {
                T::from_null(entry.value.at)
            } else {
                reader.at_key(&entry.key, |reader| T::from_node(&entry.value, reader))
            };
            values.extend(value.map(|value| (entry.key.clone().into_owned(), value)));
        }
        Some(values)
    }
}
