//! From the syntax tree to the list of commands. Nothing here recurses over the tree: hostile scripts nest without end.

use std::collections::HashMap;

use tree_sitter::Node;

use super::script::{Command, Flow, Place, PlaceId, PlaceKind, Redirect, Script, Word};
use super::{quoting, tree, wrapper};
use crate::finding::Span;

mod words;

/// How many commands a script may have. Relations between commands are looked at pair by pair.
const MOST_COMMANDS: usize = 1_000;

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
    /// Whether it may as well hold something else.
    doubtful: bool,
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
                self.enclosed(node, PlaceKind::Function(name.to_owned()), place, source, tasks);
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
            if node.kind() == "for_statement"
                && let Some(variable) = node.child_by_field_name("variable")
            {
                self.forget(source.of(variable));
            }
            self.enclosed(node, PlaceKind::Branch, parent, source, tasks);
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

    fn redirected<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let Some(piped) = piped_from_heredoc(node) else {
            self.redirected_body(node, place, source, tasks);
            return;
        };
        // `cat <<X | sh`: the grammar hangs the rest of the pipeline below the redirection.
        let places = self.stages(&[node, piped], place, source, tasks);
        let first = tasks.pop().and_then(|_enter| tasks.pop());
        if let (Some(Task::Visit(..)), Some(stage)) = (first, places.first()) {
            self.mark(*stage, |place, at| place.first = at);
            self.redirected_body(node, Some(*stage), source, tasks);
        }
    }

    fn redirected_body<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        tasks: &mut Tasks<'t>,
    ) {
        let body = node.child_by_field_name("body");
        match body.filter(|body| body.kind() == "command") {
            Some(command) => self.command(command, Some(node), place, source, tasks),
            None => {
                let mut command = Command { place, span: source.span(node), ..Command::default() };
                let mut later = Vec::new();
                self.redirects(node, place, source, &mut later, &mut command);
                command.words.clear();
                self.script.commands.push(command);
                tasks.extend(later);
                tasks.extend(body.map(|body| Task::Visit(body, place)));
            }
        }
    }

    /// One simple command; `outer` holds further redirections.
    fn command<'t>(
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
                _ => {
                    let word = self.word(child, place, source, &mut later);
                    push_word(word, &mut command.words);
                }
            }
        }
        if let Some(outer) = outer {
            self.redirects(outer, place, source, &mut later, &mut command);
        }
        tasks.extend(later);
        self.finish(command);
    }

    /// Takes wrappers off and reads scripts that the command takes as text.
    fn finish(&mut self, command: Command) {
        for (command, scripts) in wrapper::unwrap(command) {
            let place = command.place;
            self.script.commands.push(command);
            for script in &scripts {
                self.read_nested(script, place);
            }
        }
    }

    fn declaration<'t>(
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
    fn assignment<'t>(
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
        let value = match node.child_by_field_name("value") {
            Some(value) => self.word(value, place, source, tasks),
            None => Word::literal("", source.span(node)),
        };
        if lasting {
            let plain = node.child_by_field_name("value").is_none_or(|value| value.kind() != "array");
            self.learn(&name, &value, place, appends || !plain);
        }
        command.assignments.push((name, value));
    }

    fn learn(&mut self, name: &str, value: &Word, place: Option<PlaceId>, unclear: bool) {
        let known = self.variables.get(name);
        let differs = known.is_none_or(|known| known.doubtful || known.value.text != value.text);
        let doubtful = unclear || (differs && place.is_some());
        self.variables.insert(name.to_owned(), Variable { value: value.clone(), doubtful });
    }

    /// What the variable holds is no longer known.
    fn forget(&mut self, name: &str) {
        if let Some(variable) = self.variables.get_mut(name) {
            variable.doubtful = true;
        }
    }

    fn redirects<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
        command: &mut Command,
    ) {
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, place, source, later, command)
                }
                "heredoc_redirect" => self.heredoc(child, place, source, later, command),
                _ => {}
            }
        }
    }

    fn redirect<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
        command: &mut Command,
    ) {
        let mut flow = None;
        let mut destinations = 0;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "ERROR" => flow = Some(Flow::Both),
                _ if flow == Some(Flow::Both) && !child.is_named() => {}
                "<" | "<&" => flow = Some(Flow::In),
                ">>" | "&>>" => flow = Some(Flow::Append),
                ">" | ">|" | ">&" | "&>" => flow = Some(Flow::Out),
                "<<<" => flow = None,
                "file_descriptor" | "<&-" | ">&-" => {}
                _ => {
                    destinations += 1;
                    let word = self.word(child, place, source, later);
                    match (destinations, flow) {
                        (1, Some(flow)) => command.redirects.push(Redirect { flow, target: word }),
                        (1, None) => command.input = Some(word),
                        // The grammar takes arguments after a redirection for further targets of it.
                        _ => push_word(word, &mut command.words),
                    }
                }
            }
        }
    }

    fn heredoc<'t>(
        &mut self,
        node: Node<'t>,
        place: Option<PlaceId>,
        source: Source<'_>,
        later: &mut Tasks<'t>,
        command: &mut Command,
    ) {
        let mut quoted = false;
        let mut cursor = node.walk();
        for child in node.children(&mut cursor) {
            match child.kind() {
                "heredoc_start" => quoted = source.of(child).contains(['\'', '"', '\\']),
                "heredoc_body" => {
                    command.input = Some(match quoted {
                        true => Word::literal(source.of(child), source.span(child)),
                        false => self.word(child, place, source, later),
                    });
                }
                "file_redirect" | "herestring_redirect" => {
                    self.redirect(child, place, source, later, command)
                }
                "heredoc_end" | "file_descriptor" | "comment" | "pipeline" => {}
                _ if cursor_field(node, child) == Some("argument") => {
                    let word = self.word(child, place, source, later);
                    push_word(word, &mut command.words);
                }
                _ if child.is_named() => later.push(Task::Visit(child, place)),
                _ => {}
            }
        }
    }
}

/// The statement that a here-document is piped into.
fn piped_from_heredoc(node: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = node.walk();
    let heredoc = node.children(&mut cursor).find(|child| child.kind() == "heredoc_redirect")?;
    let mut cursor = heredoc.walk();
    let pipeline = heredoc.children(&mut cursor).find(|child| child.kind() == "pipeline")?;
    pipeline.named_child(0)
}

/// The name of the field that `child` is in.
fn cursor_field(node: Node<'_>, child: Node<'_>) -> Option<&'static str> {
    let mut cursor = node.walk();
    let arguments = node.children_by_field_name("argument", &mut cursor);
    arguments.into_iter().any(|argument| argument.id() == child.id()).then_some("argument")
}

fn push_children<'t>(node: Node<'t>, place: Option<PlaceId>, tasks: &mut Tasks<'t>) {
    let mut cursor = node.walk();
    let first = tasks.len();
    tasks.extend(node.named_children(&mut cursor).map(|child| Task::Visit(child, place)));
    if let Some(added) = tasks.get_mut(first..) {
        added.reverse();
    }
}

/// Adds a word, or the words that its brace lists make.
fn push_word(word: Word, words: &mut Vec<Word>) {
    match word.braces.then(|| quoting::braces(&word.text)).flatten() {
        Some(made) if word.is_complete() => {
            words.extend(made.into_iter().map(|text| Word::literal(text, word.span)));
        }
        Some(_) | None => words.push(word),
    }
}
