//! What a person is typing: text with a cursor in it.

use unicode_width::UnicodeWidthChar as _;

use super::text::{Breaks, Line, Row, Span, Style, clean, width};

/// How much may be typed or pasted; a request has room for more.
const MOST_BYTES: usize = 1 << 20;

/// Text with a cursor in it, which stands between two characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Editor {
    before: String,
    after: String,
}

/// Where a cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
}

impl Editor {
    pub(super) fn text(&self) -> String {
        format!("{}{}", self.before, self.after)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.after.is_empty()
    }

    /// Replaces everything; the cursor is at the end.
    pub(super) fn set(&mut self, text: String) {
        self.before = text;
        self.after.clear();
    }

    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.set(String::new());
        text
    }

    /// Adds text at the cursor; false if there is no room for it, and then nothing is added.
    pub(super) fn insert(&mut self, text: &str) -> bool {
        let fits = self.before.len() + self.after.len() + text.len() <= MOST_BYTES;
        if fits {
            self.before.push_str(text);
        }
        fits
    }

    /// Takes away the backslash before the cursor, with which a person says that the text goes on.
    pub(super) fn take_continuation(&mut self) -> bool {
        let goes_on = self.after.is_empty() && self.before.ends_with('\\');
        if goes_on {
            self.before.pop();
        }
        goes_on
    }

    pub(super) fn go(&mut self, to: Move) {
        let at = self.place(to);
        let text = self.text();
        if let Some((before, after)) = text.split_at_checked(at) {
            (self.before, self.after) = (before.to_owned(), after.to_owned());
        }
    }

    /// Removes what is between the cursor and where it would go.
    pub(super) fn remove(&mut self, to: Move) {
        let at = self.place(to);
        match at.checked_sub(self.before.len()) {
            Some(ahead) => self.after = self.after.split_off(ahead.min(self.after.len())),
            None => self.before.truncate(at),
        }
    }

    /// Moves the cursor to the line above, or below; false if there is none.
    pub(super) fn up(&mut self) -> bool {
        let Some((above, line)) = self.before.rsplit_once('\n') else { return false };
        let column = line.chars().count();
        let start = above.rfind('\n').map_or(0, |at| at + 1);
        self.go_to_column(start, column);
        true
    }

    pub(super) fn down(&mut self) -> bool {
        let Some(end) = self.after.find('\n') else { return false };
        let column = self.before.rsplit('\n').next().unwrap_or_default().chars().count();
        self.go_to_column(self.before.len() + end + 1, column);
        true
    }

    fn go_to_column(&mut self, start: usize, column: usize) {
        let text = self.text();
        let line = text.get(start..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let at = start + line.chars().take(column).map(char::len_utf8).sum::<usize>();
        if let Some((before, after)) = text.split_at_checked(at) {
            (self.before, self.after) = (before.to_owned(), after.to_owned());
        }
    }

    /// Where in the text a movement ends.
    fn place(&self, to: Move) -> usize {
        let here = self.before.len();
        let is_mark = |letter: &char| letter.width() == Some(0) && *letter != '\n';
        match to {
            Move::Left => {
                let mut letters = self.before.char_indices().rev();
                letters.find(|(_, letter)| !is_mark(letter)).map_or(0, |(at, _)| at)
            }
            Move::Right => {
                let mut letters = self.after.char_indices().skip(1);
                let next = letters.find(|(_, letter)| !is_mark(letter));
                here + next.map_or(self.after.len(), |(at, _)| at)
            }
            Move::WordLeft => {
                let words = self.before.trim_end();
                words
                    .char_indices()
                    .rev()
                    .find(|(_, letter)| letter.is_whitespace())
                    .map_or(0, |(at, letter)| at + letter.len_utf8())
            }
            Move::WordRight => {
                let blanks = self.after.len() - self.after.trim_start().len();
                let word = self.after.trim_start();
                here + blanks + word.find(char::is_whitespace).unwrap_or(word.len())
            }
            Move::LineStart => self.before.rfind('\n').map_or(0, |at| at + 1),
            Move::LineEnd => here + self.after.find('\n').unwrap_or(self.after.len()),
        }
    }

    /// The rows of the text after a prompt, and where in them the cursor is: row and column.
    pub(super) fn rows(&self, prompt: &Span, columns: usize) -> (Vec<Row>, (usize, usize)) {
        let margin = width(prompt.text());
        let row_of = |text: &str, is_first: bool| {
            let mut line = match is_first {
                true => Line::new(prompt.text(), prompt.style()),
                false => Line::new(&" ".repeat(margin), Style::PLAIN),
            };
            line.push(text, Style::PLAIN);
            line.hanging(margin).breaking(Breaks::Anywhere).rows(columns)
        };
        let (mut rows, mut cursor) = (Vec::new(), (0, margin));
        let lines_before = self.before.matches('\n').count();
        for (index, line) in self.text().split('\n').enumerate() {
            if index == lines_before {
                let typed = self.before.rsplit('\n').next().unwrap_or_default();
                // Where the next character would stand is where the cursor is.
                let until = row_of(&format!("{}x", clean(typed)), index == 0);
                let last = until.last().map_or(0, Row::width).saturating_sub(1);
                cursor = (rows.len() + until.len().saturating_sub(1), last);
            }
            rows.extend(row_of(line, index == 0));
        }
        // At the end of a full row it stands in the row that would come next.
        while rows.len() <= cursor.0 {
            rows.push(Row::default());
        }
        (rows, cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::text::{Span, Style};
    use super::{Editor, Move};

    fn at(before: &str, after: &str) -> Editor {
        Editor { before: before.to_owned(), after: after.to_owned() }
    }

    #[test]
    fn the_cursor_moves_by_characters_words_and_lines() {
        for (editor, to, expected) in [
            (at("ab", "c"), Move::Left, at("a", "bc")),
            (at("e\u{301}", ""), Move::Left, at("", "e\u{301}")),
            (at("", "e\u{301}x"), Move::Right, at("e\u{301}", "x")),
            (at("", ""), Move::Left, at("", "")),
            (at("", ""), Move::Right, at("", "")),
            (at("one two ", "x"), Move::WordLeft, at("one ", "two x")),
            (at("o", "ne  two"), Move::WordRight, at("one", "  two")),
            (at("one", "  two x"), Move::WordRight, at("one  two", " x")),
            (at("a\nb", "c\nd"), Move::LineStart, at("a\n", "bc\nd")),
            (at("a\nb", "c\nd"), Move::LineEnd, at("a\nbc", "\nd")),
        ] {
            let mut moved = editor.clone();
            moved.go(to);
            assert_eq!(moved, expected, "{editor:?} {to:?}");
        }
    }

    #[test]
    fn what_is_moved_over_can_be_removed() {
        for (editor, to, expected) in [
            (at("ab", "c"), Move::Left, at("a", "c")),
            (at("ab", "cd"), Move::Right, at("ab", "d")),
            (at("one two", " x"), Move::WordLeft, at("one ", " x")),
            (at("a\nbc", "d\ne"), Move::LineStart, at("a\n", "d\ne")),
            (at("a", "bc\nd"), Move::LineEnd, at("a", "\nd")),
        ] {
            let mut changed = editor.clone();
            changed.remove(to);
            assert_eq!(changed, expected, "{editor:?} {to:?}");
        }
    }

    #[test]
    fn lines_above_and_below_are_reached_at_the_same_column() {
        let mut editor = at("first\nse", "cond\nx");
        assert!(editor.up());
        assert_eq!(editor, at("fi", "rst\nsecond\nx"));
        assert!(!editor.up());
        assert!(editor.down() && editor.down());
        assert_eq!(editor, at("first\nsecond\nx", ""));
        assert!(!editor.down());
    }

    #[test]
    fn the_cursor_is_shown_where_the_next_character_goes() {
        let prompt = Span::new("> ", Style::PLAIN);
        for (editor, columns, rows, cursor) in [
            (at("", ""), 10, 1, (0, 2)),
            (at("ab", "c"), 10, 1, (0, 4)),
            (at("漢", ""), 10, 1, (0, 4)),
            (at("12345678", ""), 10, 2, (1, 2)),
            (at("a\nb", "\nc"), 10, 3, (1, 3)),
            (at("\u{1b}", ""), 20, 1, (0, 8)),
        ] {
            let (shown, at) = editor.rows(&prompt, columns);
            assert_eq!((shown.len(), at), (rows, cursor), "{editor:?}");
        }
    }

    #[test]
    fn there_is_an_end_to_what_is_taken() {
        let mut editor = Editor::default();
        assert!(editor.insert(&"x".repeat(1 << 20)));
        assert!(!editor.insert("y"));
        assert_eq!(editor.take().len(), 1 << 20);
    }
}
