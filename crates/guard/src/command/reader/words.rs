//! One word out of its parts.

use tree_sitter::Node;

use super::{MOST_SUBSTITUTED, Reader, Source, Task, Tasks};
use crate::command::script::{PlaceId, PlaceKind, Word};
use crate::command::{expansion, quoting};

/// What is left to append, last first.
enum Piece<'t> {
    /// A part of the word, and whether it stands between double quotes.
    Part(Node<'t>, bool),
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
        let mut build = Build {
            word: Word::new(source.span(node)),
            complete: true,
            skips_arguments: !is_all_arguments(source.of(node)),
            skips_unknown: is_partly_plain_name(node, source),
        };
        let mut pieces = vec![Piece::Part(node, false)];
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Between(from, to) => {
                    quoting::double_quoted(
                        source.text.get(from..to).unwrap_or_default(),
                        &mut build.word.text,
                    );
                }
                Piece::Part(part, quoted) => {
                    let at = At { place, quoted };
                    self.part(part, at, source, later, &mut build, &mut pieces);
                }
            }
            build.advance();
        }
        build.word
    }

    fn part<'t>(
        &mut self,
        part: Node<'t>,
        at: At,
        source: Source<'_>,
        later: &mut Tasks<'t>,
        build: &mut Build,
        pieces: &mut Vec<Piece<'t>>,
    ) {
        let At { place, quoted } = at;
        let raw = source.of(part);
        match part.kind() {
            "raw_string" => build.word.text.push_str(inside(raw, "'", "'")),
            "ansi_c_string" => quoting::ansi_c(inside(raw, "$'", "'"), &mut build.word.text),
            "string" | "heredoc_body" => push_with_gaps(part, pieces),
            "translated_string" | "concatenation" | "command_name" | "array" => {
                push_parts(part, pieces, quoted, part.kind() == "array");
            }
            "simple_expansion" => {
                let name = raw.trim_start_matches('$');
                // `$1h` is the first argument and an `h`.
                let digit = name.bytes().next().filter(u8::is_ascii_digit).map_or(name.len(), |_| 1);
                let (name, rest) = name.split_at_checked(digit).unwrap_or((name, ""));
                self.variable(name, None, at, build);
                build.advance();
                build.word.text.push_str(rest);
            }
            "expansion" => self.expansion(part, source, at, later, build),
            "command_substitution" if printed_words(part, source).is_some() => {
                later.push(Task::Visit(part, place));
                build.value(&printed_words(part, source).unwrap_or_default(), &self.separators(), quoted);
            }
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
        at: At,
        later: &mut Tasks<'t>,
        build: &mut Build,
    ) {
        let mut cursor = node.walk();
        later.extend(node.named_children(&mut cursor).map(|child| Task::Visit(child, at.place)));
        let is_name = |kind: &str| matches!(kind, "variable_name" | "subscript" | "special_variable_name");
        let name =
            node.children(&mut cursor).find(|child| is_name(child.kind())).map(|child| source.of(child));
        let name = name.unwrap_or("__");
        let inside = inside(source.of(node), "${", "}");
        let Some(operation) = inside.strip_prefix(name) else {
            let pointed =
                inside.strip_prefix('!').filter(|rest| *rest == name).and_then(|_| self.held(name, at.place));
            match pointed.map(|(word, _)| word.text.clone()) {
                Some(other) => self.variable(&other, None, at, build),
                None => self.unclear(name, build),
            }
            return;
        };
        let default = [":-", "-", ":=", "="].iter().find_map(|operator| operation.strip_prefix(operator));
        if operation.is_empty() || default.is_some() {
            self.variable(name, default, at, build);
            return;
        }
        let held = self.held(name, at.place).filter(|(value, _)| value.is_complete());
        let certain = held.is_none_or(|(_, certain)| certain);
        match expansion::changed(name, held.map(|(value, _)| value.text.as_str()), operation) {
            Some(text) if self.substituted + text.len() <= MOST_SUBSTITUTED => {
                self.substituted += text.len();
                if !certain {
                    build.stop();
                }
                build.value(&text, &self.separators(), at.quoted);
            }
            Some(_) | None => self.unclear(name, build),
        }
    }

    /// The value is somehow made from the variable.
    fn unclear(&mut self, name: &str, build: &mut Build) {
        self.taint(name, build);
        build.unknown(name);
    }

    /// What a variable, or an element of an array, was last set to, and whether that is certain at `place`.
    fn held(&self, name: &str, place: Option<PlaceId>) -> Option<(&Word, bool)> {
        if let Some((array, index)) = name.strip_suffix(']').and_then(|name| name.split_once('[')) {
            let item = self.variables.get(array)?.items.get(index.parse::<usize>().ok()?)?;
            return Some((item, false));
        }
        let variable = self.variables.get(name)?;
        Some((&variable.value, !variable.doubtful && self.is_seen(variable.place, place)))
    }

    /// Whether what was set at `place` is certain to be seen at `from`.
    fn is_seen(&self, place: Option<PlaceId>, from: Option<PlaceId>) -> bool {
        let mut next = from;
        while next != place {
            let Some(inner) = next.and_then(|next| self.script.places.get(next)) else { return false };
            next = inner.parent;
        }
        true
    }

    /// The characters at which unquoted values become several words.
    fn separators(&self) -> String {
        let changed = self.variables.get("IFS").map(|variable| variable.value.known_prefix());
        changed.unwrap_or(" \t\n").to_owned()
    }

    /// Puts the value of a variable into the word, as far as it is known.
    fn variable(&mut self, name: &str, default: Option<&str>, at: At, build: &mut Build) {
        let quoted = at.quoted;
        self.taint(name, build);
        if name == "IFS" && !quoted && !self.variables.contains_key(name) {
            build.value(" ", " ", quoted);
            return;
        }
        if matches!(name, "@" | "*") && build.skips_arguments {
            build.stop();
            return;
        }
        let held = self.held(name, at.place).map(|(word, certain)| (word.clone(), certain));
        if let Some((held, certain)) = held
            && self.substituted + held.text.len() <= MOST_SUBSTITUTED
        {
            self.substituted += held.text.len();
            if !certain {
                build.stop();
                build.word.unknown.push(name.to_owned());
            }
            build.value(held.known_prefix(), &self.separators(), quoted);
            if !held.is_complete() {
                build.stop();
                build.word.text.push_str(held.text.get(held.literal..).unwrap_or_default());
                build.word.unknown.extend(held.unknown.iter().take(4).cloned());
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
    /// Whether `$@` is left out: inside of other text it is there to hide a name.
    skips_arguments: bool,
    /// Whether unknown variables are left out, so that `c${x}url` is `curl`.
    skips_unknown: bool,
}

/// Where a part of a word stands.
#[derive(Clone, Copy)]
struct At {
    place: Option<PlaceId>,
    quoted: bool,
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

    /// Appends a known value, which breaks at blanks when it is not quoted.
    fn value(&mut self, value: &str, separators: &str, quoted: bool) {
        for character in value.chars() {
            if !quoted && separators.contains(character) {
                self.word.breaks.push(self.word.text.len());
            }
            self.word.text.push(character);
        }
    }

    fn unknown(&mut self, name: &str) {
        self.stop();
        if self.skips_unknown && name != "__" {
            return;
        }
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
fn push_parts<'t>(node: Node<'t>, pieces: &mut Vec<Piece<'t>>, quoted: bool, skip_tokens: bool) {
    let mut cursor = node.walk();
    let first = pieces.len();
    let children = node.children(&mut cursor).filter(|child| child.is_named() || !skip_tokens);
    pieces.extend(children.map(|child| Piece::Part(child, quoted)));
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
        pieces.push(Piece::Part(child, true));
        at = child.end_byte();
    }
    pieces.push(Piece::Between(at, end.max(at)));
    if let Some(added) = pieces.get_mut(first..) {
        added.reverse();
    }
}

/// Whether a word is all the arguments of a script and nothing else.
fn is_all_arguments(word: &str) -> bool {
    matches!(word.trim_matches('"'), "$@" | "$*" | "${@}" | "${*}")
}

/// Whether the name of a program has plain text around variables. Paths keep their variables, so that they can be compared.
fn is_partly_plain_name(node: Node<'_>, source: Source<'_>) -> bool {
    let joined = || node.child(0).is_some_and(|child| matches!(child.kind(), "concatenation" | "string"));
    node.kind() == "command_name"
        && joined()
        && !source.of(node).contains('/')
        && !source.of(node).trim_matches('"').starts_with('$')
}

/// What a substitution such as `$(echo text)` prints.
fn printed_words(substitution: Node<'_>, source: Source<'_>) -> Option<String> {
    let command = substitution.named_child(0).filter(|command| command.kind() == "command")?;
    if substitution.named_child_count() != 1 {
        return None;
    }
    let mut cursor = command.walk();
    let mut words = Vec::new();
    for word in command.named_children(&mut cursor) {
        let raw = source.of(word);
        match word.kind() {
            "command_name" | "word" | "number" if !raw.contains(['\\', '%', '$', '{']) => words.push(raw),
            "raw_string" if !raw.contains(['\\', '%']) => words.push(inside(raw, "'", "'")),
            "string" if !raw.contains(['\\', '%', '$', '`']) => words.push(inside(raw, "\"", "\"")),
            _ => return None,
        }
    }
    let (program, words) = words.split_first()?;
    let words = words.strip_prefix(&["-n"]).unwrap_or(words);
    (matches!(*program, "echo" | "printf") && !words.is_empty()).then(|| words.join(" "))
}
