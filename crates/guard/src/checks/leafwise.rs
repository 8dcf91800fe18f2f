//! Has a scanner look at JSON string by string.

use crate::leaves::scan_json;
use crate::scanner::{Scan, Scanner, ScannerId};

/// `scanner`, which sees the strings of JSON texts as whoever parses them does.
///
/// An escape hides from a look at the bytes what the model will read; and a change to the bytes can end a string early.
pub(crate) fn leafwise(scanner: impl Scanner + 'static) -> Box<dyn Scanner> {
    Box::new(Leafwise(scanner))
}

#[derive(Debug)]
struct Leafwise<S>(S);

impl<S: Scanner> Scanner for Leafwise<S> {
    fn id(&self) -> ScannerId {
        self.0.id()
    }

    fn scan(&self, text: &str) -> Scan {
        let may_be_json = text.trim_start().starts_with(['{', '[', '"']);
        let structured = if may_be_json { scan_json(&self.0, text) } else { None };
        structured.unwrap_or_else(|| self.0.scan(text))
    }
}
