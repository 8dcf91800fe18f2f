//! From the syntax tree to the list of commands. Nothing here recurses over the tree: hostile scripts nest without end.

use std::collections::HashMap;

use tree_sitter::Node;

use super::script::{Command, Place, PlaceId, PlaceKind, Script, Word};
use super::{tree, wrapper};
use crate::finding::Span;

mod redirect;
mod simple;
mod words;

use simple::{Value, push_word};

/// How many commands a script may have. Relations between commands are looked at pair by pair.
const MOST_COMMANDS: usize = 1_000;

/// How many functions a script may have whose calls are followed.
const MOST_FUNCTIONS: usize = 32;

/// How deep commands may be inside each other.
const DEEPEST: usize = 48;

/// How deep scripts may be inside each other as text, as in `sh -c "sh -c …"`.
const DEEPEST_NESTED: usize = 3;

/// How much text known variables may add. `a=$b$b; b=$a$a; …` doubles with every line.
const MOST_SUBSTITUTED: usize = 64 * 1024;

/// Why part of a script is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    /// Longer, deeper or with more commands than is looked at.
    TooLong,
    /// No shell that the reader knows.
    NotUnderstood,
}

/// Reads scripts into one list of commands.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) script: Script,
    pub(super) gaps: Vec<(Gap, Span)>,
    variables: HashMap<String, Variable>,
    substituted: usize,
    nested: usize,
}

/// What a variable is known to hold.
#[derive(Debug)]
struct Variable {
    value: Word,
    /// The elements of an array.
    items: Vec<Word>,
    /// Whether it may as well hold something else.
    doubtful: bool,
    /// Where it was set: what is not inside of that place may see another value.
    place: Option<PlaceId>,
}

/// One text that is read, and where it lies in what was handed in.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    text: &'a str,
    /// The word that the text came from; none for the text that was handed in.
    within: Option<Span>,
}

impl Source<'_> {
    fn span(&self, node: Node<'_>) -> Span {
        self.within.unwrap_or_else(|| tree::span(node))
    }
}

impl<'a> Source<'a> {
    fn of(&self, node: Node<'_>) -> &'a str {
        tree::span(node).of(self.text).unwrap_or_default()
    }
}

/// What is left to do, last first.
enum Task<'t> {
    Visit(Node<'t>, Option<PlaceId>),
    Enter(PlaceId),
    Leave(PlaceId),
}

type Tasks<'t> = Vec<Task<'t>>;

impl Reader {
    /// Adds the commands of `text`, which lies in `within`, inside of `place`.
    pub(super) fn read(&mut self, text: &str, within: Option<Span>, place: Option<PlaceId>) {
        let whole = within.unwrap_or(Span::new(0, text.len()));
        // No shell reads beyond this or through it, and the parser takes it for the end of the text again and again.
        if let Some(at) = text.find('\0') {
            self.gaps.push((Gap::NotUnderstood, within.unwrap_or(Span::new(at, at + 1))));
            return;
        }
        let tree = match tree::parse(text) {
            Ok(tree) => tree,
            Err(tree::Refusal::TooLong | tree::Refusal::TooMuchWork) => {
                self.gaps.push((Gap::TooLong, whole));
                return;
            }
        };
        if let Some(unknown) = tree::first_unknown(&tree, text) {
            self.gaps.push((Gap::NotUnderstood, within.unwrap_or(unknown)));
        }
        let source = Source { text, within };
        let mut tasks = vec![Task::Visit(tree.root_node(), place)];
        while let Some(task) = tasks.pop() {
            if self.script.commands.len() >= MOST_COMMANDS {
                self.gaps.push((Gap::TooLong, whole));
                self.close(&tasks);
                return;
            }
            match task {
                Task::Visit(node, place) => self.visit(node, place, source, &mut tasks),
                Task::Enter(place) => self.mark(place, |place, at| place.first = at),
                Task::Leave(place) => self.mark(place, |place, at| place.end = at),
            }
        }
    }

    /// Reads the text of a word as a script of its own.
    fn read_nested(&mut self, word: &Word, place: Option<PlaceId>) {
        if self.nested >= DEEPEST_NESTED {
            self.gaps.push((Gap::TooLong, word.span));
            return;
        }
        let Some(nested) = self.place(PlaceKind::Nested, place, word.span) else { return };
        self.nested += 1;
        self.mark(nested, |place, at| place.first = at);
        self.read(&word.text, Some(word.span), Some(nested));
        self.mark(nested, |place, at| place.end = at);
        self.nested -= 1;
    }

    /// Reads the output of commands that only print, where an interpreter takes it as its script.
    pub(super) fn read_piped(&mut self, word: &Word, place: Option<PlaceId>) {
        self.read_nested(word, place);
    }

    fn mark(&mut self, place: PlaceId, set: impl FnOnce(&mut Place, usize)) {
        let at = self.script.commands.len();
        if let Some(place) = self.script.places.get_mut(place) {
            set(place, at);
        }
    }

    /// Ends all places that are still open.
    fn close(&mut self, tasks: &[Task<'_>]) {
        for task in tasks {
            if let Task::Leave(place) = task {
                self.mark(*place, |place, at| place.end = at);
            }
        }
    }

    /// A new place; none when it would be too deep.
    fn place(&mut self, kind: PlaceKind, parent: Option<PlaceId>, span: Span) -> Option<PlaceId> {
        let depth =
            parent.and_then(|parent| self.script.places.get(parent)).map_or(0, |parent| parent.depth + 1);
        if depth > DEEPEST {
            if self.gaps.len() < MOST_COMMANDS {
                self.gaps.push((Gap::TooLong, span));
            }
            return None;
        }
        let at = self.script.commands.len();
        self.script.places.push(Place { kind, parent, first: at, end: at, depth });
        Some(self.script.places.len() - 1)
    }

    fn visit<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        match node.kind() {
            "command" => self.command(node, None, place, source, tasks),
            "redirected_statement" => self.redirected(node, place, source, tasks),
            "declaration_command" | "unset_command" => self.declaration(node, place, source, tasks),
            "pipeline" => self.pipeline(node, place, source, tasks),
            "variable_assignment" => {
                let mut command = Command { place, span: source.span(node), ..Command::default() };
                self.assignment(node, place, source, tasks, &mut command, true);
                self.script.commands.push(command);
            }
            "file_redirect" | "herestring_redirect" => {
                // `$(< file)`: a redirection with no command at all.
                let mut command = Command { place, span: source.span(node), ..Command::default() };
                self.redirect(node, place, source, tasks, &mut command);
                self.script.commands.push(command);
            }
            "command_substitution" => {
                self.enclosed(node, PlaceKind::Substitution, place, source, tasks);
            }
            "process_substitution" => {
                self.enclosed(node, PlaceKind::Process, place, source, tasks);
            }
            "function_definition" => {
                let name = node.child_by_field_name("name").map(|name| source.of(name)).unwrap_or_default();
                let body = self.enclosed(node, PlaceKind::Function(name.to_owned()), place, source, tasks);
                if self.script.functions.len() < MOST_FUNCTIONS {
                    self.script.functions.extend(body);
                }
            }
            "list" | "if_statement" | "while_statement" | "for_statement" | "case_statement" | "subshell" => {
                self.branch(node, place, source, tasks);
            }
            _ => push_children(node, place, tasks),
        }
    }

    /// Everything in the node is inside of a new place.
    fn enclosed<'t>(
        &mut self,
        node: Node<'t>,
        kind: PlaceKind,
        parent: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) -> Option<PlaceId> {
        let place = self.place(kind, parent, source.span(node))?;
        tasks.push(Task::Leave(place));
        push_children(node, Some(place), tasks);
        tasks.push(Task::Enter(place));
        Some(place)
    }

    /// What only may run. The first command of a list always does, and long lists nest to the left.
    fn branch<'t>(
        &mut self,
        node: Node<'t>,
        parent: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        if node.kind() != "list" {
            match node.child_by_field_name("variable").filter(|_| node.kind() == "for_statement") {
                Some(variable) => self.each(node, source.of(variable), parent, source, tasks),
                None => {
                    self.enclosed(node, PlaceKind::Branch, parent, source, tasks);
                }
            }
            return;
        }
        let mut cursor = node.walk();
        let mut sides = node.named_children(&mut cursor);
        let (first, rest): (_, Vec<_>) = (sides.next(), sides.collect());
        for side in rest.into_iter().rev() {
            if let Some(place) = self.place(PlaceKind::Branch, parent, source.span(side)) {
                tasks.push(Task::Leave(place));
                tasks.push(Task::Visit(side, Some(place)));
                tasks.push(Task::Enter(place));
            }
        }
        tasks.extend(first.map(|first| Task::Visit(first, parent)));
    }

    /// `for variable in values`: the variable holds each of the values, and what commands print for them.
    fn each<'t>(
        &mut self,
        node: Node<'t>,
        variable: &str,
        parent: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let Some(place) = self.place(PlaceKind::Branch, parent, source.span(node)) else { return };
        let mut cursor = node.walk();
        let (mut values, mut later, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for (at, child) in node.named_children(&mut cursor).enumerate() {
            match node.field_name_for_named_child(u32::try_from(at).unwrap_or(u32::MAX)) {
                Some("value") => push_word(self.word(child, Some(place), source, &mut later), &mut values),
                Some("variable") => {}
                Some(_) | None => rest.push(Task::Visit(child, Some(place))),
            }
        }
        let several = values.len() != 1;
        if let Some(value) = wrapper::joined(&values) {
            self.learn(variable, Value { value, items: Vec::new() }, Some(place), several);
        } else {
            self.forget(variable);
        }
        tasks.push(Task::Leave(place));
        tasks.extend(rest.into_iter().rev());
        tasks.extend(later);
        tasks.push(Task::Enter(place));
    }

    fn pipeline<'t>(
        &mut self,
        node: Node<'t>,
        parent: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let mut cursor = node.walk();
        let stages: Vec<_> =
            node.named_children(&mut cursor).filter(|stage| stage.kind() != "comment").collect();
        self.stages(&stages, parent, source, tasks);
    }

    /// A pipeline of these statements.
    fn stages<'t>(
        &mut self,
        stages: &[Node<'t>],
        parent: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) -> Vec<PlaceId> {
        let pipeline = self.script.pipelines.len();
        let places: Vec<PlaceId> = stages
            .iter()
            .enumerate()
            .filter_map(|(at, stage)| self.place(PlaceKind::Stage(pipeline, at), parent, source.span(*stage)))
            .collect();
        self.script.pipelines.push(places.clone());
        for (stage, place) in stages.iter().zip(&places).rev() {
            tasks.push(Task::Leave(*place));
            tasks.push(Task::Visit(*stage, Some(*place)));
            tasks.push(Task::Enter(*place));
        }
        places
    }
}

fn push_children<'t>(node: Node<'t>, place: Option<PlaceId>, tasks: &mut Tasks<'t>) {
    let mut cursor = node.walk();
    let first = tasks.len();
    tasks.extend(node.named_children(&mut cursor).map(|child| Task::Visit(child, place)));
    if let Some(added) = tasks.get_mut(first..) {
        added.reverse();
    }
}
