//! A table, whose columns can be laid out only when all of it is known.

use super::super::text::{Line, Style};

/// Columns are made equally wide up to here; a wider cell stands out.
const WIDEST: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
    has_head: bool,
}

impl Table {
    pub(super) fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Line) {
        self.rows.iter_mut().rev().take(1).for_each(|row| row.push(cell.clone()));
    }

    pub(super) fn end_head(&mut self) {
        self.has_head = true;
    }

    /// A line for each row, and one below the head.
    pub(super) fn lines(self) -> Vec<Line> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut widths = vec![0; columns];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.width().min(WIDEST).max(*width);
            }
        }
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let rule = Line::new(&rule.join("─┼─"), Style::DIM);
        let head_rows = usize::from(self.has_head);
        let mut lines: Vec<Line> = self.rows.into_iter().map(|row| laid_out(row, &widths)).collect();
        if self.has_head && !lines.is_empty() {
            lines.insert(head_rows, rule);
        }
        lines
    }
}

fn laid_out(row: Vec<Line>, widths: &[usize]) -> Line {
    let mut line = Line::default();
    for (index, (cell, width)) in row.into_iter().zip(widths).enumerate() {
        if index > 0 {
            line.push(" │ ", Style::DIM);
        }
        let padding = width.saturating_sub(cell.width());
        line.append(cell);
        line.push(&" ".repeat(padding), Style::PLAIN);
    }
    line
}
