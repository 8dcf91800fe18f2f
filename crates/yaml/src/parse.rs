//! Text to nodes, within limits.
//!
//! The parser's event stream is folded into a tree with an explicit stack, so nesting never becomes recursion. Aliases
//! are unfolded as they come, and each unfolding is paid for from the node budget: that is what stops an alias bomb.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle as Style, ScanError, Span, StructureStyle};

use crate::syntax_help::syntax_help;
use crate::{Diagnostic, Entry, FileId, Location, Node, Rule, Scalar, ScalarStyle, SourceMap, Value, rules};

/// What a document may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Size of the text in bytes.
    pub bytes: usize,
    /// Levels of lists and mappings inside each other, aliases unfolded.
    pub depth: usize,
    /// Number of nodes, aliases unfolded.
    pub nodes: usize,
}

impl Default for Limits {
    /// A megabyte, 32 levels, 20,000 nodes: far beyond any harness, far below what hurts.
    fn default() -> Self {
        Self { bytes: 1 << 20, depth: 32, nodes: 20_000 }
    }
}

/// What came of parsing.
#[derive(Debug)]
pub struct Parsed<'t> {
    /// The document; `None` when a problem ended parsing.
    pub root: Option<Node<'t>>,
    /// Everything that was wrong, in the order of the text.
    pub problems: Vec<Diagnostic>,
    /// The notations that some dialects of YAML do without.
    pub notation: Notation,
}

/// Where a document first uses a notation that a stricter format may refuse.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notation {
    /// The first `[…]` or `{…}`.
    pub flow: Option<Location>,
    /// The first value with an anchor (`&name`), or the first alias (`*name`).
    pub anchor: Option<Location>,
}

/// Parses a whole file of the map.
#[must_use]
pub fn parse(sources: &SourceMap, file: FileId, limits: Limits) -> Parsed<'_> {
    let length = sources.file(file).map_or(0, |source| source.text().len());
    parse_part(sources, file, 0..length, limits)
}

/// Parses a byte range of a file, as for front matter; positions are those of the whole file.
#[must_use]
pub fn parse_part(sources: &SourceMap, file: FileId, part: Range<usize>, limits: Limits) -> Parsed<'_> {
    let text = sources.file(file).and_then(|source| source.text().get(part.clone())).unwrap_or("");
    let mut tree = Tree::new(file, part.start, text, limits);
    let root = match tree.fold() {
        Ok(()) => Some(tree.root.take().unwrap_or_else(|| tree.null(0..0))),
        Err(Fatal(problem)) => {
            tree.problems.push(*problem);
            None
        }
    };
    Parsed { root, problems: tree.problems, notation: tree.notation }
}

/// A finished node that aliases may repeat, with what a repetition costs.
struct Anchored<'t> {
    node: Node<'t>,
    cost: Cost,
}

/// What a node adds to its parent: itself and all below it.
#[derive(Clone, Copy)]
struct Cost {
    nodes: usize,
    depth: usize,
}

/// A collection whose end has not been seen yet.
struct Open<'t> {
    value: Value<'t>,
    at: Location,
    anchor: usize,
    cost: Cost,
    pending_key: Option<PendingKey<'t>>,
    /// Keys seen so far, once there are too many to look through one by one.
    key_index: HashMap<Cow<'t, str>, Location>,
    has_merge: bool,
}

struct PendingKey<'t> {
    text: Cow<'t, str>,
    at: Location,
    style: ScalarStyle,
    /// A repeated key's value is read and dropped.
    repeated: bool,
}

struct Tree<'t> {
    file: FileId,
    base: usize,
    text: &'t str,
    limits: Limits,
    open: Vec<Open<'t>>,
    anchors: HashMap<usize, Anchored<'t>>,
    nodes: usize,
    documents: usize,
    root: Option<Node<'t>>,
    problems: Vec<Diagnostic>,
    notation: Notation,
}

/// A problem after which the rest of the text means nothing.
struct Fatal(Box<Diagnostic>);

type Step = Result<(), Fatal>;

/// Beyond this many keys a mapping is searched by index instead of one by one.
const INDEXED_FROM: usize = 16;

impl<'t> Tree<'t> {
    fn new(file: FileId, base: usize, text: &'t str, limits: Limits) -> Self {
        Tree {
            file,
            base,
            text,
            limits,
            open: Vec::new(),
            anchors: HashMap::new(),
            nodes: 0,
            documents: 0,
            root: None,
            problems: Vec::new(),
            notation: Notation::default(),
        }
    }

    fn fold(&mut self) -> Step {
        if self.text.len() > self.limits.bytes {
            let message =
                format!("the file has {} bytes; at most {} are read", self.text.len(), self.limits.bytes);
            return Err(self.fatal(&rules::TOO_LARGE, 0..0, message));
        }
        let options = granit_parser::options! {
            emit_comments: false,
            emit_unresolved_aliases: true,
            disallow_directives: true,
            flow_nesting_limit: self.limits.depth + 1,
            block_nesting_limit: self.limits.depth + 1,
        };
        for event in Parser::new_from_str_with_options(self.text, options) {
            match event {
                Ok((event, span)) => self.event(event, span)?,
                Err(error) => return Err(self.syntax(&error)),
            }
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser's event enum is non-exhaustive")]
    fn event(&mut self, event: Event<'t>, span: Span) -> Step {
        let range = span.byte_range().unwrap_or(0..0);
        self.note_notation(&event, range.clone());
        match event {
            Event::DocumentStart(..) => self.start_document(range),
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span);
                let style = if style == Style::Plain { ScalarStyle::Plain } else { ScalarStyle::Text };
                let node = Node { value: Value::Scalar(Scalar { text, style }), at: self.at(range) };
                self.finish(node, anchor, Cost { nodes: 1, depth: 0 }, 1)
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span);
                self.begin(Value::Sequence(Vec::new()), range, anchor)
            }
            Event::MappingStart(_, anchor, tag) => {
                self.refuse_tag(tag.is_some(), &span);
                self.begin(Value::Mapping(Vec::new()), range, anchor)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => self.alias(id, range),
            Event::UnresolvedAlias(name) => {
                let message = format!("no anchor `&{name}` stands before this alias");
                self.report(&rules::UNKNOWN_ANCHOR, range.clone(), message);
                let node = self.null(range);
                self.finish(node, 0, Cost { nodes: 1, depth: 0 }, 1)
            }
            _ => Ok(()),
        }
    }

    fn note_notation(&mut self, event: &Event<'t>, range: Range<usize>) {
        let at = self.at(range);
        let flow = StructureStyle::Flow;
        if matches!(event, Event::SequenceStart(style, ..) | Event::MappingStart(style, ..) if *style == flow)
        {
            self.notation.flow.get_or_insert(at);
        }
        if event.anchor_id().is_some() || event.is_alias() {
            self.notation.anchor.get_or_insert(at);
        }
    }

    fn start_document(&mut self, range: Range<usize>) -> Step {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        Err(self.fatal(&rules::MULTIPLE_DOCUMENTS, range, "a second document starts here"))
    }

    fn refuse_tag(&mut self, tagged: bool, span: &Span) {
        if tagged {
            let range = span.tag_span().as_ref().unwrap_or(span).byte_range().unwrap_or(0..0);
            let tag = self.text.get(range.clone()).unwrap_or("tag");
            let message = format!("the tag `{tag}` is not accepted");
            self.report(&rules::TAG, range, message);
        }
    }

    fn begin(&mut self, value: Value<'t>, range: Range<usize>, anchor: usize) -> Step {
        if self.open.len() >= self.limits.depth {
            return Err(self.too_deep(range));
        }
        let at = self.at(range);
        self.open.push(Open {
            value,
            at,
            anchor,
            cost: Cost { nodes: 1, depth: 1 },
            pending_key: None,
            key_index: HashMap::new(),
            has_merge: false,
        });
        Ok(())
    }

    fn close(&mut self) -> Step {
        let Some(mut open) = self.open.pop() else {
            return Ok(());
        };
        if open.has_merge {
            self.apply_merges(&mut open.value);
        }
        let node = Node { value: open.value, at: open.at };
        // The children were charged as they came; only the collection itself is new to the budget.
        self.finish(node, open.anchor, open.cost, 1)
    }

    fn alias(&mut self, id: usize, range: Range<usize>) -> Step {
        let Some(anchored) = self.anchors.get(&id) else {
            return Err(self.fatal(
                &rules::RECURSIVE_ALIAS,
                range,
                "this alias stands inside the value it names",
            ));
        };
        let cost = anchored.cost;
        if self.nodes + cost.nodes > self.limits.nodes {
            return Err(self.too_many(range));
        }
        if self.open.len() + cost.depth > self.limits.depth {
            return Err(self.too_deep(range));
        }
        let node = anchored.node.clone();
        self.finish(node, 0, cost, cost.nodes)
    }

    /// Hands a complete node to its parent and charges it to the budget; an anchored one is kept, which costs again.
    fn finish(&mut self, node: Node<'t>, anchor: usize, cost: Cost, charge: usize) -> Step {
        self.nodes += charge + if anchor == 0 { 0 } else { cost.nodes };
        if self.nodes > self.limits.nodes {
            let start = node.at.start as usize - self.base;
            return Err(self.too_many(start..start));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, Anchored { node: node.clone(), cost });
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        parent.cost.nodes += cost.nodes;
        parent.cost.depth = parent.cost.depth.max(cost.depth + 1);
        match &mut parent.value {
            Value::Sequence(items) => items.push(node),
            Value::Mapping(_) if parent.pending_key.is_none() => self.key(node),
            Value::Mapping(entries) => {
                if let Some(key) = parent.pending_key.take().filter(|key| !key.repeated) {
                    parent.has_merge |= key.text == "<<" && key.style == ScalarStyle::Plain;
                    entries.push(Entry { key: key.text, key_at: key.at, value: node });
                }
            }
            Value::Scalar(_) => {}
        }
        Ok(())
    }

    fn key(&mut self, node: Node<'t>) {
        let Some(parent) = self.open.last_mut() else {
            return;
        };
        let mut pending =
            PendingKey { text: Cow::Borrowed(""), at: node.at, style: ScalarStyle::Plain, repeated: true };
        if let Value::Scalar(scalar) = node.value {
            let first = first_use(parent, &scalar.text);
            pending =
                PendingKey { text: scalar.text, style: scalar.style, repeated: first.is_some(), ..pending };
            if let Some(first) = first {
                let message = format!("the key `{}` stands twice", pending.text);
                let problem = Diagnostic::new(&rules::DUPLICATE_KEY, node.at, message);
                self.problems.push(problem.with_related(first, "first written here"));
            } else {
                remember(parent, &pending);
            }
        } else {
            self.problems.push(Diagnostic::new(
                &rules::KEY_TYPE,
                node.at,
                "a list or mapping cannot be a key",
            ));
        }
        if let Some(parent) = self.open.last_mut() {
            parent.pending_key = Some(pending);
        }
    }

    /// Explicit keys win over merged ones, earlier merged mappings over later ones.
    fn apply_merges(&mut self, value: &mut Value<'t>) {
        let Value::Mapping(entries) = value else { return };
        let (merges, mut kept): (Vec<_>, Vec<_>) = entries.drain(..).partition(|entry| entry.key == "<<");
        let mut seen: HashSet<Cow<'t, str>> = kept.iter().map(|entry| entry.key.clone()).collect();
        for node in merges.into_iter().flat_map(|merge| merged_nodes(merge.value)) {
            let (at, kind) = (node.at, node.kind());
            match node.value {
                Value::Mapping(inherited) => {
                    kept.extend(inherited.into_iter().filter(|entry| seen.insert(entry.key.clone())));
                }
                Value::Scalar(_) | Value::Sequence(_) => {
                    self.problems.push(Diagnostic::new(
                        &rules::MERGE,
                        at,
                        format!("`<<` takes a mapping, not {kind}"),
                    ));
                }
            }
        }
        *entries = kept;
    }

    fn null(&self, range: Range<usize>) -> Node<'t> {
        let scalar = Scalar { text: Cow::Borrowed(""), style: ScalarStyle::Plain };
        Node { value: Value::Scalar(scalar), at: self.at(range) }
    }

    fn at(&self, range: Range<usize>) -> Location {
        Location::new(self.file, range.start + self.base..range.end + self.base)
    }

    fn report(&mut self, rule: &'static Rule, range: Range<usize>, message: String) {
        let at = self.at(range);
        self.problems.push(Diagnostic::new(rule, at, message));
    }

    fn fatal(&self, rule: &'static Rule, range: Range<usize>, message: impl Into<String>) -> Fatal {
        Fatal(Box::new(Diagnostic::new(rule, self.at(range), message)))
    }

    fn too_deep(&self, range: Range<usize>) -> Fatal {
        let message = format!("lists and mappings nest deeper than {} levels", self.limits.depth);
        self.fatal(&rules::TOO_DEEP, range, message)
    }

    fn too_many(&self, range: Range<usize>) -> Fatal {
        let message = format!("the document unfolds into more than {} values", self.limits.nodes);
        self.fatal(&rules::TOO_MANY_NODES, range, message)
    }

    fn syntax(&self, error: &ScanError) -> Fatal {
        let offset = error.marker().byte_offset().unwrap_or(self.text.len()).min(self.text.len());
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            return self.too_deep(offset..offset);
        }
        let problem = Diagnostic::new(&rules::SYNTAX, self.at(offset..offset), error.kind().to_string());
        Fatal(Box::new(problem.with_help_if(syntax_help(error.kind()).map(str::to_owned))))
    }
}

fn first_use(parent: &Open<'_>, key: &str) -> Option<Location> {
    match &parent.value {
        Value::Mapping(entries) if entries.len() < INDEXED_FROM => {
            entries.iter().find(|entry| entry.key == key).map(|entry| entry.key_at)
        }
        Value::Mapping(_) | Value::Scalar(_) | Value::Sequence(_) => parent.key_index.get(key).copied(),
    }
}

/// Keeps the index complete from the moment it is first needed.
fn remember<'t>(parent: &mut Open<'t>, key: &PendingKey<'t>) {
    let Value::Mapping(entries) = &parent.value else {
        return;
    };
    if entries.len() + 1 == INDEXED_FROM {
        parent.key_index.extend(entries.iter().map(|entry| (entry.key.clone(), entry.key_at)));
    }
    if entries.len() + 1 >= INDEXED_FROM {
        parent.key_index.insert(key.text.clone(), key.at);
    }
}

fn merged_nodes(value: Node<'_>) -> Vec<Node<'_>> {
    match value.value {
        Value::Sequence(items) => items,
        Value::Scalar(_) | Value::Mapping(_) => vec![value],
    }
}
