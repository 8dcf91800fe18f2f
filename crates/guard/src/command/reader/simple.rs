//! Simple commands, declarations and assignments.

use tree_sitter::Node;

use super::{Gap, MOST_SUBSTITUTED, Reader, Source, Task, Tasks, Variable};
use crate::command::script::{Command, PlaceId, Word};
use crate::command::{quoting, wrapper};

/// How many elements of an array are remembered.
const MOST_ELEMENTS: usize = 256;

impl Reader {
    /// One simple command; `outer` holds further redirections.
    pub(super) fn command<'t>(
        &mut self,
        node: Node<'t>,
        outer: Option<Node<'t>>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let mut command = Command { place, span: source.span(outer.unwrap_or(node)), ..Command::default() };
        let mut later = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    self.assignment(child, place, source, &mut later, &mut command, false)
                }
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, place, source, &mut later, &mut command);
                }
                "subshell" => later.push(Task::Visit(child, place)),
                "comment" => {}
                _ => match self.array(source.of(child)) {
                    Some(items) => command.words.extend(items),
                    None => push_word(self.word(child, place, source, &mut later), &mut command.words),
                },
            }
        }
        if let Some(outer) = outer {
            self.redirects(outer, place, source, &mut later, &mut command);
        }
        tasks.extend(later);
        self.finish(command);
    }

    /// Takes wrappers off and reads scripts that the command takes as text.
    pub(super) fn finish(&mut self, command: Command) {
        for (command, scripts) in wrapper::unwrap(command) {
            let place = command.place;
            let pieces = wrapper::hands_over_pieces(command.name());
            self.set_by(&command);
            self.script.commands.push(command);
            for script in &scripts {
                let gaps = self.gaps.len();
                self.read_nested(script, place);
                // What is put together when it runs need not be whole here.
                if pieces || !script.is_complete() {
                    let mut at = 0;
                    self.gaps.retain(|(gap, _)| {
                        at += 1;
                        at <= gaps || *gap != Gap::NotUnderstood
                    });
                }
            }
        }
    }

    /// `set -- words` and `read name <<< text` set variables too.
    fn set_by(&mut self, command: &Command) {
        let place = command.place;
        if command.name() == "set" && command.words.get(1).is_some_and(|word| word.text == "--") {
            let items = command.words.get(2..).unwrap_or_default().to_vec();
            let value = Word::literal("", command.span);
            self.learn("@", Value { value, items }, place, true);
        }
        if let ("read", Some(input), Some(name)) = (command.name(), &command.input, command.operands().last())
        {
            self.learn(&name.text, Value { value: input.clone(), items: Vec::new() }, place, true);
        }
    }

    pub(super) fn declaration<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let mut command = Command { place, span: source.span(node), ..Command::default() };
        let mut later = Vec::new();
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    self.assignment(child, place, source, &mut later, &mut command, true)
                }
                _ => {
                    let word = self.word(child, place, source, &mut later);
                    if command.name() == "unset" {
                        self.forget(&word.text);
                    }
                    command.words.push(word);
                }
            }
        }
        tasks.extend(later);
        self.script.commands.push(command);
    }

    /// `lasting` when later commands see the variable.
    pub(super) fn assignment<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
        command: &mut Command,
        lasting: bool,
    ) {
        let name =
            node.child_by_field_name("name").map(|name| source.of(name)).unwrap_or_default().to_owned();
        let appends = {
            let mut cursor = node.walk();
            node.children(&mut cursor).any(|child| child.kind() == "+=")
        };
        let mut items = Vec::new();
        let value = match node.child_by_field_name("value") {
            Some(array) if array.kind() == "array" => {
                items = self.elements(array, place, source, tasks);
                wrapper::joined(&items).unwrap_or_else(|| Word::literal("", source.span(node)))
            }
            Some(value) => self.word(value, place, source, tasks),
            None => Word::literal("", source.span(node)),
        };
        let value = match self.variables.get(&name).filter(|known| appends && known.items.is_empty()) {
            Some(known) if self.substituted + known.value.text.len() <= MOST_SUBSTITUTED => {
                self.substituted += known.value.text.len();
                appended(&known.value, &value)
            }
            Some(_) | None => value,
        };
        if lasting {
            if appends && let Some(known) = self.variables.get(&name) {
                items.splice(0..0, known.items.iter().take(MOST_ELEMENTS).cloned());
            }
            let unclear = appends && !items.is_empty();
            self.learn(&name, Value { value: value.clone(), items }, place, unclear);
        }
        command.assignments.push((name, value));
    }

    /// The elements of `( … )`.
    fn elements<'t>(
        &mut self,
        array: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) -> Vec<Word> {
        let mut cursor = array.walk();
        let mut items = Vec::new();
        for element in array.named_children(&mut cursor).take(MOST_ELEMENTS) {
            push_word(self.word(element, place, source, tasks), &mut items);
        }
        items
    }

    /// Remembers what a variable holds. `unclear` when it may hold something else at the same place.
    pub(super) fn learn(&mut self, name: &str, value: Value, place: Option<PlaceId>, unclear: bool) {
        let Value { value, items } = value;
        if let Some(known) = self.variables.get(name)
            && !unclear
            && !known.doubtful
            && known.value.text == value.text
            && known.items.len() == items.len()
        {
            return;
        }
        self.variables.insert(name.to_owned(), Variable { value, items, doubtful: unclear, place });
    }

    /// The elements that `"${name[@]}"` stands for.
    fn array(&mut self, word: &str) -> Option<Vec<Word>> {
        let plain = word.trim_matches('"');
        let inside = plain.strip_prefix("${").and_then(|inside| inside.strip_suffix('}'));
        let name = match inside {
            Some(inside) => inside.strip_suffix("[@]").or_else(|| inside.strip_suffix("[*]"))?,
            None => plain.strip_prefix('$').filter(|name| matches!(*name, "@" | "*"))?,
        };
        let items =
            self.variables.get(name).map(|variable| &variable.items).filter(|items| !items.is_empty())?;
        let length: usize = items.iter().map(|item| item.text.len()).sum();
        self.substituted += length;
        (self.substituted <= MOST_SUBSTITUTED).then(|| items.clone())
    }

    /// What the variable holds is no longer known.
    pub(super) fn forget(&mut self, name: &str) {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.doubtful = true;
        }
    }
}

/// The value after `name+=more`.
fn appended(known: &Word, more: &Word) -> Word {
    let mut whole = known.clone();
    if whole.is_complete() {
        whole.literal += more.literal;
    }
    whole.text.push_str(&more.text);
    whole.inner.extend(&more.inner);
    whole.unknown.extend(more.unknown.iter().cloned());
    whole.breaks.clear();
    whole
}

/// What a variable is set to.
pub(super) struct Value {
    pub(super) value: Word,
    /// The elements of an array.
    pub(super) items: Vec<Word>,
}

/// Adds a word, or the words that its brace lists and the blanks in unquoted values make.
pub(super) fn push_word(word: Word, words: &mut Vec<Word>) {
    if word.breaks.is_empty() {
        push_unbroken(word, words);
        return;
    }
    let mut from = 0;
    for end in word.breaks.iter().copied().chain([word.text.len()]) {
        if from < end {
            push_unbroken(Word { braces: word.braces, ..word.part(from, end) }, words);
        }
        let separator = word.text.get(end..).and_then(|rest| rest.chars().next());
        from = end + separator.map_or(0, char::len_utf8);
    }
}

fn push_unbroken(word: Word, words: &mut Vec<Word>) {
    match word.braces.then(|| quoting::braces(&word.text)).flatten() {
        Some(made) if word.is_complete() => {
            words.extend(made.into_iter().map(|text| Word::literal(text, word.span)));
        }
        Some(_) | None => words.push(word),
    }
}
