//! What a chat looks like on a screen of some size: what was said above, a line about how things stand, what is being typed
//! below.

use super::super::text::{Breaks, Colour, Line, Row, Span, Style, width};
use super::super::transcript::Item;
use super::{Chat, Scroll, line};

/// All rows of a screen, and where the cursor is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Frame {
    pub(in super::super) rows: Vec<Row>,
    /// Column and row.
    pub(in super::super) cursor: (u16, u16),
}

impl Chat {
    /// Draws everything for a screen of `columns` and `height`.
    pub(in super::super) fn frame(&mut self, columns: u16, height: u16) -> Frame {
        // The last column stays empty: some terminals go on to the next row when something is written there.
        let columns = usize::from(columns).saturating_sub(1);
        let height = usize::from(height);
        let (input, (cursor_row, cursor_column)) = self.input(columns);
        // What is typed gets a third of the screen, and the rows around the cursor are those that are seen.
        let room = (height / 3).max(1).min(input.len());
        let first = (cursor_row + 1).saturating_sub(room);
        let above = height.saturating_sub(room + 1);
        let total = self.transcript.lay_out(columns);
        let end = total.saturating_sub(above);
        let top = match self.scroll {
            Scroll::End => end,
            Scroll::From(row) => row.min(end),
        };
        self.drawn = (total, above);
        let mut rows = self.transcript.rows(top, above, self.selected);
        rows.resize(above, Row::default());
        rows.extend(self.bar(top, end - top, columns));
        rows.extend(input.into_iter().skip(first).take(room));
        rows.truncate(height);
        let cursor_row = (above + 1 + cursor_row - first).min(height.saturating_sub(1));
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Frame { rows, cursor: (place(cursor_column.min(columns)), place(cursor_row)) }
    }

    fn input(&self, columns: usize) -> (Vec<Row>, (usize, usize)) {
        let asked = |text: &str, typed: &str| {
            let line = Line::new(text, Style::coloured(Colour::Yellow).bold()).with(typed, Style::PLAIN);
            let line = line.breaking(Breaks::Nowhere);
            let column = line.width();
            (line.rows(columns), (0, column))
        };
        if self.is_leaving {
            return asked("? Leave the chat? y/n ", "");
        }
        if let Some(question) = self.question() {
            let tool = &question.tool.tool_id;
            let mut letters = tool.chars();
            let mut name: String = letters.by_ref().take(20).collect();
            if letters.next().is_some() {
                name.push('…');
            }
            return asked(&format!("? Allow {name} as shown above? y/n, then Enter: "), &self.answer);
        }
        self.editor.rows(&Span::new("> ", Style::BOLD), columns)
    }

    /// Whether what a person is asked about begins above what is seen.
    fn asks_out_of_sight(&self, top: usize) -> bool {
        let asked = self.question().and_then(|question| {
            let id = &question.approval_id;
            self.transcript
                .last(|item| matches!(item, Item::Question { request, .. } if request.approval_id == *id))
        });
        asked.is_some_and(|index| self.transcript.start_of(index) < top)
    }

    /// The line about how things stand, when rows before `top` and the last `below` are out of sight.
    fn bar(&self, top: usize, below: usize, columns: usize) -> Vec<Row> {
        let how = match (&self.hint, &self.running) {
            (Some(hint), _) => hint.clone(),
            (None, _) if self.asks_out_of_sight(top) => {
                "PageUp shows all that you are asked about".to_owned()
            }
            (None, _) if self.question().is_some() => "waiting for your answer".to_owned(),
            (None, Some(running)) if running.is_elsewhere => "under way in another process".to_owned(),
            (None, Some(running)) if running.is_canceling => "cancelling…".to_owned(),
            (None, Some(_)) => "working… Ctrl-C cancels".to_owned(),
            (None, None) if self.starting.is_some() => "starting…".to_owned(),
            (None, None) => "ready".to_owned(),
        };
        let mut parts = vec![how];
        if below > 0 {
            parts.push(format!("↓ {below} more rows"));
        }
        if let Some(session) = &self.session {
            parts.push(session.session_id.chars().take(8).collect());
            parts.extend(session.model.clone());
        }
        if self.used.total_tokens > 0 {
            parts.push(line::used(&self.used));
        }
        let text = format!("── {} ", parts.join(" · "));
        let fill = "─".repeat(columns.saturating_sub(width(&text)));
        Line::new(&text, Style::DIM).with(&fill, Style::DIM).breaking(Breaks::Nowhere).rows(columns)
    }
}
