//! The rows that a line makes at a width.

use unicode_width::UnicodeWidthChar as _;

use super::{Breaks, Line, Span, Style, width};

/// A row of the screen: never wider than it was made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Row {
    spans: Vec<Span>,
}

impl Row {
    pub(in super::super) fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// How many columns it takes.
    pub(in super::super) fn width(&self) -> usize {
        self.spans.iter().map(|span| width(&span.text)).sum()
    }

    /// The same with another look on top.
    #[must_use]
    pub(in super::super) fn styled(mut self, style: Style) -> Self {
        for span in &mut self.spans {
            span.style = span.style.and(style);
        }
        self
    }

    fn push(&mut self, letter: char, style: Style) {
        match self.spans.last_mut() {
            Some(span) if span.style == style => span.text.push(letter),
            _ => self.spans.push(Span { text: letter.into(), style }),
        }
    }
}

/// Puts characters into rows.
#[derive(Debug)]
struct Filler {
    width: usize,
    hang: usize,
    done: Vec<Row>,
    row: Row,
    used: usize,
    /// The word that is being read, and its width: it stays together if it fits into a row.
    word: Vec<(char, Style)>,
    word_width: usize,
}

/// The rows that `line` makes.
pub(super) fn rows(line: &Line, columns: usize) -> Vec<Row> {
    // A wide character needs two columns; without them nothing can be shown at all.
    let columns = columns.max(2);
    let mut filler = Filler {
        width: columns,
        hang: line.hang.min(columns / 2).min(columns - 2),
        done: Vec::new(),
        row: Row::default(),
        used: 0,
        word: Vec::new(),
        word_width: 0,
    };
    let letters = line.spans.iter().flat_map(|span| span.text.chars().map(|letter| (letter, span.style)));
    match line.breaks {
        Breaks::Words => letters.for_each(|(letter, style)| filler.read(letter, style)),
        Breaks::Anywhere => letters.for_each(|(letter, style)| filler.place(letter, style)),
        Breaks::Nowhere => filler.fill(letters, line.width() > columns),
    }
    filler.end()
}

impl Filler {
    fn read(&mut self, letter: char, style: Style) {
        if letter != ' ' {
            self.word_width += letter.width().unwrap_or_default();
            self.word.push((letter, style));
            return;
        }
        self.end_word();
        let at_start_of_continuation = !self.done.is_empty() && self.used <= self.hang;
        if self.used < self.width && !at_start_of_continuation {
            self.place(' ', style);
        }
    }

    fn end_word(&mut self) {
        let fits_a_row = self.word_width <= self.width - self.hang;
        if self.used + self.word_width > self.width && fits_a_row {
            self.next_row();
        }
        self.word_width = 0;
        for (letter, style) in std::mem::take(&mut self.word) {
            self.place(letter, style);
        }
    }

    fn place(&mut self, letter: char, style: Style) {
        let columns = letter.width().unwrap_or_default();
        if self.used + columns > self.width {
            self.next_row();
        }
        self.row.push(letter, style);
        self.used += columns;
    }

    /// As much as fits, with a sign that something is missing.
    fn fill(&mut self, letters: impl Iterator<Item = (char, Style)>, is_too_long: bool) {
        let room = self.width - usize::from(is_too_long);
        for (letter, style) in letters {
            let columns = letter.width().unwrap_or_default();
            if self.used + columns > room {
                self.row.push('…', style);
                return;
            }
            self.place(letter, style);
        }
    }

    fn next_row(&mut self) {
        self.done.push(std::mem::take(&mut self.row));
        (0..self.hang).for_each(|_| self.row.push(' ', Style::PLAIN));
        self.used = self.hang;
    }

    fn end(mut self) -> Vec<Row> {
        self.end_word();
        self.done.push(self.row);
        self.done
    }
}
