//! A script as the list of commands it would run.

use crate::finding::Span;

/// Commands, and how they are connected.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// In the order of the text; what is inside another follows it.
    pub(super) commands: Vec<Command>,
    /// What commands are inside of.
    pub(super) places: Vec<Place>,
    /// The stages of each pipeline.
    pub(super) pipelines: Vec<Vec<PlaceId>>,
    /// The bodies of functions; only so many, as each call is looked up among them.
    pub(super) functions: Vec<PlaceId>,
}

/// An index into [`Script::places`].
pub(super) type PlaceId = usize;

/// Something that commands are inside of.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) kind: PlaceKind,
    pub(super) parent: Option<PlaceId>,
    /// The commands inside, directly or not.
    pub(super) first: usize,
    pub(super) end: usize,
    /// How many places surround it.
    pub(super) depth: usize,
}

/// What kind of place it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// One stage of a pipeline, by the index of the pipeline and of the stage.
    Stage(usize, usize),
    /// `$( … )` or backquotes.
    Substitution,
    /// `<( … )` or `>( … )`.
    Process,
    /// The body of a function.
    Function(String),
    /// What may or may not run: a branch, a loop, the right side of `&&`.
    Branch,
    /// Text that a command such as `sh -c` takes as a script.
    Nested,
}

/// One simple command: a program and its arguments, wrappers such as `sudo` taken off.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    /// Variables set for it, or by it.
    pub(super) assignments: Vec<(String, Word)>,
    pub(super) redirects: Vec<Redirect>,
    /// A here-document or here-string.
    pub(super) input: Option<Word>,
    /// What it is inside of, innermost.
    pub(super) place: Option<PlaceId>,
    pub(super) span: Span,
    /// The wrappers that were taken off, by name.
    pub(super) wrappers: Vec<&'static str>,
}

/// A file that a command reads or writes by redirection.
#[derive(Debug)]
pub(super) struct Redirect {
    pub(super) flow: Flow,
    pub(super) target: Word,
}

/// Which way a redirection goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// `<`
    In,
    /// `>`
    Out,
    /// `>>`
    Append,
    /// `<>`
    Both,
}

/// One word of a command after quotes, escapes and known variables.
///
/// What is not known before the script runs stands in the text as `$NAME`, or as `$__` for the output of a command.
#[derive(Clone, Debug)]
pub(super) struct Word {
    pub(super) text: String,
    /// How many bytes of the text come before the first unknown part; all of them when there is none.
    pub(super) literal: usize,
    pub(super) span: Span,
    /// The substitutions whose output is part of it.
    pub(super) inner: Vec<PlaceId>,
    /// Names of variables in it whose values are not known.
    pub(super) unknown: Vec<String>,
    /// Whether an unquoted brace list such as `{a,b}` may make several words of it.
    pub(super) braces: bool,
    /// Where blanks of an unquoted value make several words of it, as offsets into the text.
    pub(super) breaks: Vec<usize>,
}

impl Word {
    pub(super) fn new(span: Span) -> Self {
        Self {
            text: String::new(),
            literal: 0,
            span,
            inner: Vec::new(),
            unknown: Vec::new(),
            braces: false,
            breaks: Vec::new(),
        }
    }

    pub(super) fn literal(text: impl Into<String>, span: Span) -> Self {
        let text = text.into();
        Self { literal: text.len(), text, ..Self::new(span) }
    }

    /// Whether all of it is known.
    pub(super) fn is_complete(&self) -> bool {
        self.literal == self.text.len()
    }

    /// The part before anything unknown.
    pub(super) fn known_prefix(&self) -> &str {
        self.text.get(..self.literal).unwrap_or_default()
    }

    /// The end of the word, from byte `start` of its text.
    pub(super) fn tail(&self, start: usize) -> Self {
        self.part(start, self.text.len())
    }

    /// The bytes from `start` to `end` of its text as a word.
    pub(super) fn part(&self, start: usize, end: usize) -> Self {
        let text = self.text.get(start..end).unwrap_or_default().to_owned();
        let literal = self.literal.saturating_sub(start).min(text.len());
        let (inner, unknown) = match literal < text.len() {
            true => (self.inner.clone(), self.unknown.clone()),
            false => Default::default(),
        };
        Self { literal, text, inner, unknown, ..Self::new(self.span) }
    }
}

impl Command {
    /// The name of the program without its directory; empty when there is none.
    pub(super) fn name(&self) -> &str {
        self.words.first().map(|word| base_name(&word.text)).unwrap_or_default()
    }

    /// What follows the name.
    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments that are no options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &Word> {
        let mut only_operands = false;
        self.arguments().iter().filter(move |word| {
            if only_operands || !word.text.starts_with('-') || word.text == "-" {
                return true;
            }
            only_operands = word.text == "--";
            false
        })
    }

    /// Whether one of the arguments is exactly one of `options`.
    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.arguments().iter().any(|word| options.contains(&word.text.as_str()))
    }

    /// Whether a short option is given, alone or in a cluster such as `-rf`.
    pub(super) fn has_flag(&self, flag: char) -> bool {
        self.arguments()
            .iter()
            .take_while(|word| word.text != "--")
            .any(|word| short_cluster(&word.text).is_some_and(|cluster| cluster.contains(flag)))
    }

    /// The value of an option, given as `--option value`, `--option=value`, or `-ovalue` for short ones.
    pub(super) fn value(&self, options: &[&str]) -> Option<Word> {
        self.values(options).into_iter().next()
    }

    /// The values of all uses of an option.
    pub(super) fn values(&self, options: &[&str]) -> Vec<Word> {
        let mut found = Vec::new();
        let mut arguments = self.arguments().iter();
        while let Some(word) = arguments.next() {
            for option in options {
                if word.text == *option {
                    found.extend(arguments.next().cloned());
                    break;
                }
                let Some(rest) = word.text.strip_prefix(option) else { continue };
                let attached = if option.starts_with("--") { rest.strip_prefix('=') } else { Some(rest) };
                if let Some(value) = attached {
                    found.push(word.tail(word.text.len() - value.len()));
                    break;
                }
            }
        }
        found
    }
}

/// The letters of a cluster of short options.
pub(super) fn short_cluster(text: &str) -> Option<&str> {
    text.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'))
}

/// A path without its directories.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Script {
    /// The commands inside a place.
    pub(super) fn inside(&self, place: PlaceId) -> &[Command] {
        self.places.get(place).and_then(|place| self.commands.get(place.first..place.end)).unwrap_or_default()
    }

    /// The commands whose output is part of a word.
    pub(super) fn producing<'a>(&'a self, word: &'a Word) -> impl Iterator<Item = &'a Command> {
        word.inner.iter().flat_map(|place| self.inside(*place))
    }

    /// The commands in the body of a function.
    pub(super) fn function(&self, name: &str) -> &[Command] {
        let at = self.functions.iter().find(|place| {
            self.places
                .get(**place)
                .is_some_and(|place| matches!(&place.kind, PlaceKind::Function(own) if own == name))
        });
        at.map(|place| self.inside(*place)).unwrap_or_default()
    }

    /// The places around a command, innermost first.
    pub(super) fn around(&self, command: &Command) -> impl Iterator<Item = &Place> {
        let mut next = command.place;
        std::iter::from_fn(move || {
            let place = self.places.get(next?)?;
            next = place.parent;
            Some(place)
        })
    }

    /// The commands in earlier stages of the pipelines that a command is part of, nearest stage first.
    pub(super) fn upstream<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = &'a Command> {
        self.around(command).take_while(|place| feeds_through(&place.kind)).flat_map(|place| {
            let stages = match place.kind {
                PlaceKind::Stage(pipeline, stage) => {
                    self.pipelines.get(pipeline).and_then(|stages| stages.get(..stage)).unwrap_or_default()
                }
                PlaceKind::Substitution
                | PlaceKind::Process
                | PlaceKind::Function(_)
                | PlaceKind::Branch
                | PlaceKind::Nested => &[],
            };
            stages.iter().rev().flat_map(|stage| self.inside(*stage))
        })
    }

    /// The commands in later stages of the innermost pipeline that a command is part of.
    pub(super) fn downstream<'a>(&'a self, command: &'a Command) -> impl Iterator<Item = &'a Command> {
        self.around(command).take_while(|place| feeds_through(&place.kind)).flat_map(|place| {
            let stages = match place.kind {
                PlaceKind::Stage(pipeline, stage) => self
                    .pipelines
                    .get(pipeline)
                    .and_then(|stages| stages.get(stage + 1..))
                    .unwrap_or_default(),
                PlaceKind::Substitution
                | PlaceKind::Process
                | PlaceKind::Function(_)
                | PlaceKind::Branch
                | PlaceKind::Nested => &[],
            };
            stages.iter().flat_map(|stage| self.inside(*stage))
        })
    }
}

/// Whether what is inside such a place has the input and output of what is outside.
fn feeds_through(kind: &PlaceKind) -> bool {
    match kind {
        PlaceKind::Stage(..) | PlaceKind::Branch | PlaceKind::Nested => true,
        PlaceKind::Substitution | PlaceKind::Process | PlaceKind::Function(_) => false,
    }
}
