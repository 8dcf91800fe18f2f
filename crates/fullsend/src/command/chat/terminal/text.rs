//! Text that a terminal can be given: lines of styled pieces, and the rows that they make at a width.
//!
//! What a model, a tool or a file says reaches the screen only as a [`Span`], and a span is made in one place, which
//! writes out what a terminal would act on or a person could not see.

mod wrap;

use fullsend_guard::visible;
use unicode_width::UnicodeWidthChar as _;

pub(super) use self::wrap::Row;

/// How many columns a tab takes.
const TAB: &str = "    ";
/// How many marks may be put on one character: more of them are drawn over the rows around it.
const MOST_MARKS: usize = 4;

/// A colour of the terminal's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) colour: Option<Colour>,
    pub(super) bold: bool,
    pub(super) dim: bool,
    pub(super) italic: bool,
    pub(super) underline: bool,
    pub(super) reverse: bool,
}

impl Style {
    pub(super) const PLAIN: Self =
        Self { colour: None, bold: false, dim: false, italic: false, underline: false, reverse: false };
    pub(super) const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    pub(super) const DIM: Self = Self { dim: true, ..Self::PLAIN };

    pub(super) const fn coloured(colour: Colour) -> Self {
        Self { colour: Some(colour), ..Self::PLAIN }
    }

    pub(super) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Both looks; the colour of the other one counts if it has one.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            colour: other.colour.or(self.colour),
            bold: self.bold || other.bold,
            dim: self.dim || other.dim,
            italic: self.italic || other.italic,
            underline: self.underline || other.underline,
            reverse: self.reverse || other.reverse,
        }
    }
}

/// A piece of text with one look, harmless to write to a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    text: String,
    style: Style,
}

impl Span {
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self { text: clean(text), style }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn style(&self) -> Style {
        self.style
    }
}

/// Where a line may be broken that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Breaks {
    /// Between words.
    #[default]
    Words,
    /// Anywhere: blanks matter, as in code.
    Anywhere,
    /// Nowhere: what does not fit is left out.
    Nowhere,
}

/// A line before it is known how wide the terminal is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    spans: Vec<Span>,
    /// Columns before the rows after the first.
    pub(super) hang: usize,
    pub(super) breaks: Breaks,
}

impl Line {
    pub(super) fn new(text: &str, style: Style) -> Self {
        Self { spans: vec![Span::new(text, style)], ..Self::default() }
    }

    #[must_use]
    pub(super) fn hanging(self, hang: usize) -> Self {
        Self { hang, ..self }
    }

    #[must_use]
    pub(super) fn breaking(self, breaks: Breaks) -> Self {
        Self { breaks, ..self }
    }

    pub(super) fn push(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.spans.push(Span::new(text, style));
        }
    }

    #[must_use]
    pub(super) fn with(mut self, text: &str, style: Style) -> Self {
        self.push(text, style);
        self
    }

    pub(super) fn append(&mut self, other: Self) {
        self.spans.extend(other.spans);
    }

    /// How many columns it takes in one row.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The same, farther to the right.
    #[must_use]
    pub(super) fn indented(mut self, columns: usize) -> Self {
        self.spans.insert(0, Span::new(&" ".repeat(columns), Style::PLAIN));
        Self { hang: self.hang + columns, ..self }
    }

    /// The rows that it makes.
    pub(super) fn rows(&self, width: usize) -> Vec<Row> {
        wrap::rows(self, width)
    }

    /// Its text, for a terminal that shows nothing else.
    pub(super) fn plain(&self) -> String {
        self.spans.iter().map(Span::text).collect()
    }
}

/// Lines of text that have one look.
pub(super) fn lines(text: &str, style: Style) -> impl Iterator<Item = Line> {
    text.lines().map(move |line| Line::new(line, style))
}

/// How many columns text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or_default()).sum()
}

/// Text without what a terminal acts on or a person cannot see: it is written out. Each character is looked at by itself,
/// so pieces put together are as harmless as each of them.
pub(super) fn clean(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let mut kept = String::with_capacity(text.len());
    let (mut last, mut marks) = (' ', 0);
    for letter in text.chars() {
        marks = if letter.width() == Some(0) && !letter.is_control() { marks + 1 } else { 0 };
        match letter {
            '\t' => kept.push_str(TAB),
            '\n' => kept.push(' '),
            // They make one picture of several; which of them a terminal can draw is not known.
            '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' if is_picture(last) => continue,
            _ if marks > MOST_MARKS => continue,
            _ => kept.push(letter),
        }
        last = letter;
    }
    visible(&kept).into_owned()
}

/// Whether a character is a picture or a symbol rather than part of a word.
fn is_picture(letter: char) -> bool {
    matches!(letter, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

#[cfg(test)]
mod tests;
