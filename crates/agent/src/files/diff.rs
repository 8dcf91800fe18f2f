//! Differences of lines, for models and people.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag};

/// The most lines of a difference that are shown.
pub const DIFF_LINES: usize = 400;
/// Lines around a change.
const CONTEXT: usize = 3;
/// Longer lines are cut: one line of a minified file would fill the conversation.
const LONGEST_LINE: usize = 2_000;
/// After this long a coarser difference is good enough: texts of many equal lines would take minutes.
const LONGEST_SEARCH: Duration = Duration::from_millis(500);

/// What changed, in the unified format: three lines of context, every hunk with its counts, no mark for a missing
/// newline at the end. Empty where nothing changed; longer ones than [`DIFF_LINES`] are cut and say so.
pub fn unified_diff(path: &str, old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let (old, new) = (lines(old), lines(new));
    let changes = similar::capture_diff_slices_deadline(
        Algorithm::Myers,
        &old,
        &new,
        Instant::now().checked_add(LONGEST_SEARCH),
    );
    let mut out = Lines { text: String::new(), count: 0, left_out: 0 };
    out.push("--- ", path);
    out.push("+++ ", path);
    for hunk in similar::group_diff_ops(changes, CONTEXT) {
        push_hunk(&mut out, &hunk, &old, &new);
    }
    out.finish()
}

/// The lines with their newlines, so that a last line that gains or loses its newline counts as changed.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn push_hunk(out: &mut Lines, hunk: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let was = first.old_range().start..last.old_range().end;
    let is = first.new_range().start..last.new_range().end;
    // An empty side is named by the line before it, others by their first line.
    let start = |range: &std::ops::Range<usize>| range.start + usize::from(!range.is_empty());
    out.push("", &format!("@@ -{},{} +{},{} @@", start(&was), was.len(), start(&is), is.len()));
    for change in hunk {
        let (tag, was, is) = change.as_tag_tuple();
        if tag == DiffTag::Equal {
            old.get(was).into_iter().flatten().for_each(|line| out.push(" ", line));
            continue;
        }
        old.get(was).into_iter().flatten().for_each(|line| out.push("-", line));
        new.get(is).into_iter().flatten().for_each(|line| out.push("+", line));
    }
}

/// Lines up to the bound.
struct Lines {
    text: String,
    count: usize,
    left_out: usize,
}

impl Lines {
    fn push(&mut self, mark: &str, line: &str) {
        self.count += 1;
        // One line is kept back: it becomes the notice if there are more.
        if self.count > DIFF_LINES {
            self.left_out += 1;
            return;
        }
        let line = line.strip_suffix('\n').unwrap_or(line);
        self.text.push_str(mark);
        match line.get(..line.floor_char_boundary(LONGEST_LINE)) {
            Some(start) if start.len() < line.len() => {
                // Writing to a string cannot fail.
                let _ = write!(self.text, "{start}... ({} more bytes)", line.len() - start.len());
            }
            _ => self.text.push_str(line),
        }
        self.text.push('\n');
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            let end = self
                .text
                .strip_suffix('\n')
                .and_then(|text| text.rfind('\n'))
                .map_or(0, |newline| newline + 1);
            self.text.truncate(end);
            let left_out = self.left_out + 1;
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "... the difference is truncated: {left_out} more lines");
        }
        self.text
    }
}
