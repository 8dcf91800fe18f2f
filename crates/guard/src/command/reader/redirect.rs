//! Redirections and here-documents.

use tree_sitter::Node;

use super::simple::push_word;
use super::{Reader, Source, Task, Tasks};
use crate::command::script::{Command, Flow, PlaceId, Redirect, Word};

impl Reader {
    pub(super) fn redirected<'t>(
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

    pub(super) fn redirected_body<'t>(
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

    pub(super) fn redirects<'t>(
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

    pub(super) fn redirect<'t>(
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

    pub(super) fn heredoc<'t>(
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
