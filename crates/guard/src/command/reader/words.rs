//! One word out of its parts.

use tree_sitter::Node;

use super::{MOST_SUBSTITUTED, Reader, Source, Task, Tasks};
use crate::command::quoting;
use crate::command::script::{PlaceId, PlaceKind, Word};

/// What is left to append, last first.
enum Piece<'t> {
    /// A part of the word.
    Part(Node<'t>),
    /// Text between double quotes, or in a here-document, that is no node of its own.
    Between(usize, usize),
}

/// How many substitutions a word remembers.
const MOST_INNER: usize = 64;

impl Reader {
    /// The word that `node` makes. Commands inside it are left to `later`.
    pub(super) fn word<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
    ) -> Word {
        let mut build = Build { word: Word::new(source.span(node)), complete: true };
        let mut pieces = vec![Piece::Part(node)];
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Between(from, to) => {
                    quoting::double_quoted(
                        source.text.get(from..to).unwrap_or_default(),
                        &mut build.word.text,
                    );
                }
                Piece::Part(part) => self.part(part, place, source, later, &mut build, &mut pieces),
            }
            build.advance();
        }
        build.word
    }

    fn part<'t>(
        &mut self,
        part: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
        build: &mut Build,
        pieces: &mut Vec<Piece<'t>>,
    ) {
        let raw = source.of(part);
        match part.kind() {
            "raw_string" => build.word.text.push_str(inside(raw, "'", "'")),
            "ansi_c_string" => quoting::ansi_c(inside(raw, "$'", "'"), &mut build.word.text),
            "string" | "heredoc_body" => push_with_gaps(part, pieces),
            "translated_string" | "concatenation" | "command_name" | "array" => {
                push_parts(part, pieces, part.kind() == "array");
            }
            "simple_expansion" => {
                let name = raw.trim_start_matches('$');
                self.variable(name, None, build);
            }
            "expansion" => self.expansion(part, source, place, later, build),
            "command_substitution" | "process_substitution" => {
                let kind =
                    if raw.starts_with(['<', '>']) { PlaceKind::Process } else { PlaceKind::Substitution };
                let inner = self.enclosed_later(part, kind, place, source, later);
                if build.word.inner.len() < MOST_INNER {
                    build.word.inner.extend(inner);
                }
                build.unknown("__");
            }
            "arithmetic_expansion" | "brace_expression" => {
                later.push(Task::Visit(part, place));
                build.unknown("__");
            }
            _ => {
                build.word.braces |= raw.contains('{');
                quoting::unquoted(raw, &mut build.word.text);
            }
        }
    }

    /// Commands inside a word run in a place of their own.
    fn enclosed_later<'t>(
        &mut self,
        node: Node<'t>,
        kind: PlaceKind,
        parent: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
    ) -> Option<PlaceId> {
        let mut tasks = Vec::new();
        let place = self.enclosed(node, kind, parent, source, &mut tasks);
        later.extend(tasks);
        place
    }

    /// `${name…}`
    fn expansion<'t>(
        &mut self,
        node: Node<'t>,
        source: Source<'_>,
        place: Option<PlaceId>,
        later: &mut Tasks<'t>,
        build: &mut Build,
    ) {
        let mut cursor = node.walk();
        let mut name = None;
        let mut operator = None;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_name" | "subscript" | "special_variable_name" if name.is_none() => {
                    name = Some(source.of(child));
                }
                "${" | "}" => {}
                other if !child.is_named() && operator.is_none() => operator = Some(other),
                _ => {}
            }
        }
        later.extend(node.named_children(&mut cursor).map(|child| Task::Visit(child, place)));
        let name = name.unwrap_or("__");
        let default =
            operator.filter(|operator| matches!(*operator, ":-" | "-" | ":=" | "=")).and_then(|operator| {
                inside(source.of(node), "${", "}").strip_prefix(name)?.strip_prefix(operator)
            });
        match (operator, default) {
            (None, _) | (_, Some(_)) => self.variable(name, default, build),
            (Some(_), None) => {
                self.taint(name, build);
                build.unknown(name);
            }
        }
    }

    /// Puts the value of a variable into the word, as far as it is known.
    fn variable(&mut self, name: &str, default: Option<&str>, build: &mut Build) {
        self.taint(name, build);
        let known = self.variables.get(name).filter(|variable| !variable.doubtful);
        if let Some(known) = known
            && self.substituted + known.value.text.len() <= MOST_SUBSTITUTED
        {
            self.substituted += known.value.text.len();
            build.word.text.push_str(known.value.known_prefix());
            if !known.value.is_complete() {
                build.stop();
                build.word.text.push_str(known.value.text.get(known.value.literal..).unwrap_or_default());
                build.word.unknown.extend(known.value.unknown.iter().take(4).cloned());
            }
            return;
        }
        match default {
            Some(default) => {
                build.stop();
                build.word.text.push_str(default);
                build.word.unknown.push(name.to_owned());
            }
            None => build.unknown(name),
        }
    }

    /// The word holds what the commands produced whose output the variable holds.
    fn taint(&self, name: &str, build: &mut Build) {
        if let Some(variable) = self.variables.get(name)
            && build.word.inner.len() < MOST_INNER
        {
            build.word.inner.extend(variable.value.inner.iter().take(8));
        }
    }
}

/// A word while it is put together.
struct Build {
    word: Word,
    complete: bool,
}

impl Build {
    /// What was appended since is known.
    fn advance(&mut self) {
        if self.complete {
            self.word.literal = self.word.text.len();
        }
    }

    /// What follows is not known.
    fn stop(&mut self) {
        self.advance();
        self.complete = false;
    }

    fn unknown(&mut self, name: &str) {
        self.stop();
        self.word.text.push('$');
        self.word.text.push_str(name);
        if name != "__" {
            self.word.unknown.push(name.to_owned());
        }
    }
}

/// `text` without the quotes around it.
fn inside<'a>(text: &'a str, open: &str, close: &str) -> &'a str {
    let text = text.strip_prefix(open).unwrap_or(text);
    text.strip_suffix(close).unwrap_or(text)
}

/// The children of a node, in order.
fn push_parts<'t>(node: Node<'t>, pieces: &mut Vec<Piece<'t>>, skip_tokens: bool) {
    let mut cursor = node.walk();
    let first = pieces.len();
    let children = node.children(&mut cursor).filter(|child| child.is_named() || !skip_tokens);
    pieces.extend(children.map(Piece::Part));
    if let Some(added) = pieces.get_mut(first..) {
        added.reverse();
    }
}

/// The expansions in a text between double quotes or in a here-document, and the text between them. Blanks after an
/// expansion belong to no node.
fn push_with_gaps<'t>(node: Node<'t>, pieces: &mut Vec<Piece<'t>>) {
    let quote = usize::from(node.kind() == "string");
    let mut at = node.start_byte() + quote;
    let end = node.end_byte().saturating_sub(quote);
    let first = pieces.len();
    let mut cursor = node.walk();
    for child in node.named_children(&mut cursor) {
        if matches!(child.kind(), "string_content" | "heredoc_content") {
            continue;
        }
        pieces.push(Piece::Between(at, child.start_byte()));
        pieces.push(Piece::Part(child));
        at = child.end_byte();
    }
    pieces.push(Piece::Between(at, end.max(at)));
    if let Some(added) = pieces.get_mut(first..) {
        added.reverse();
    }
}
