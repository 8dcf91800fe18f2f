//! Blocks that a person does not see.

use memchr::memmem;

use super::anchors::Kind;
use super::found::Match;
use super::rules::{HIDDEN_DIV, HIDDEN_HTML_COMMENT, HIDDEN_TEXT};
use super::source::Source;
use super::words::line_around;
use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

/// How much of an element's content is taken to be hidden when its end is not found.
const LONGEST_CONTENT: usize = 4096;
/// How far the start and the end of a tag are looked for.
const LONGEST_TAG: usize = 512;

/// A part of the text that is not shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub(super) rule: &'static Rule,
    /// With its markup.
    pub(super) span: Span,
    pub(super) content: Span,
    pub(super) hiding: Hiding,
}

/// How sure it is that a block is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hiding {
    Sure,
    /// Honest pages use the same means, for readers of the screen or before a script runs.
    Likely,
}

impl Block {
    /// What it is called in a finding.
    pub(super) fn name(&self) -> &'static str {
        if self.rule == &HIDDEN_HTML_COMMENT {
            "in an HTML comment"
        } else if self.rule == &HIDDEN_DIV {
            "in a hidden element"
        } else {
            "in text that is not shown"
        }
    }

    /// What is to be said of it although nothing in it speaks to a model.
    pub(super) fn quiet(&self, text: &str) -> Option<Match> {
        let content = self.content.of(text)?;
        let found = |severity| Some(Match::new(self.rule, self.span).with_severity(severity));
        if self.hiding == Hiding::Likely {
            return None;
        }
        if self.rule == &HIDDEN_DIV {
            let shown = content.split('<').map(|part| part.rsplit('>').next().unwrap_or_default());
            let words = shown
                .flat_map(str::split_whitespace)
                .any(|word| word.bytes().any(|byte| byte.is_ascii_alphabetic()));
            return found(if words { Severity::High } else { Severity::Low })
                .map(|found| found.with_detail("an element that is not shown"));
        }
        let head =
            content.get(..content.floor_char_boundary(LONGEST_TAG)).unwrap_or_default().to_ascii_lowercase();
        let odd = ["secret", "inject", "bypass", "hidden instruction"].iter().any(|word| head.contains(word));
        if self.rule == &HIDDEN_HTML_COMMENT && odd {
            return found(Severity::Low)
                .map(|found| found.with_detail("an HTML comment that speaks of secrets or bypassing"));
        }
        None
    }
}

/// The hidden blocks of a text as they are come upon, in order and apart from each other.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    found: Vec<Block>,
    covered: usize,
    unclosed: bool,
}

impl Blocks {
    /// Takes note of what an anchor at `at` begins; false when it has nothing to do with hiding.
    pub(super) fn begin(&mut self, kind: Kind, source: &Source<'_>, at: Span) -> bool {
        if !matches!(kind, Kind::Comment | Kind::Style | Kind::Unshown | Kind::Reference) {
            return false;
        }
        if at.start < self.covered {
            return true;
        }
        if kind == Kind::Comment {
            self.comment(source.bytes(), at);
        } else if kind == Kind::Style {
            self.style(source, at);
        } else if kind == Kind::Unshown {
            self.unshown(source, at);
        } else {
            self.reference(source.whole(), at);
        }
        true
    }

    /// A comment starts at `at`. It ends with the first `-->`; without one, and at the start of a line, with the text.
    fn comment(&mut self, text: &[u8], at: Span) {
        let end = match self.unclosed {
            true => None,
            false => memmem::find(text.get(at.end..).unwrap_or_default(), b"-->"),
        };
        self.unclosed = end.is_none();
        let (content, span) = match end {
            Some(length) => (at.end + length, at.end + length + 3),
            None if starts_block(text, at.start) => (text.len(), text.len()),
            None => return,
        };
        self.add(&HIDDEN_HTML_COMMENT, Span::new(at.start, span), Span::new(at.end, content), Hiding::Sure);
    }

    /// A property that may hide an element is named at `at`.
    fn style(&mut self, source: &Source<'_>, at: Span) {
        let part = source.around(at);
        let Some(hiding) = hides(part.text, part.inside(at)) else { return };
        let text = source.whole();
        if let Some((tag, name)) = tag_around(text, at.start) {
            self.element(text, tag, name, hiding);
        }
    }

    /// An element whose content is not shown as such starts at `at`.
    fn unshown(&mut self, source: &Source<'_>, at: Span) {
        let next = source.bytes().get(at.end);
        if !next.is_some_and(|byte| matches!(byte, b'>' | b' ' | b'\n')) {
            return;
        }
        let text = source.whole();
        if let Some((tag, name)) = tag_around(text, at.end) {
            self.element(text, tag, name, Hiding::Likely);
        }
    }

    fn element(&mut self, text: &str, tag: Span, name: &str, hiding: Hiding) {
        // Code between backquotes is shown.
        if tag.start.checked_sub(1).and_then(|before| text.as_bytes().get(before)) == Some(&b'`') {
            return;
        }
        let limit = text.ceil_char_boundary(text.len().min(tag.end + LONGEST_CONTENT));
        let rest = text.get(tag.end..limit).unwrap_or_default();
        let end = closing(rest, name).unwrap_or(rest.len());
        let length = if is_void(name) { 0 } else { end };
        let content = Span::new(tag.end, tag.end + length);
        self.add(&HIDDEN_DIV, Span::new(tag.start, content.end), content, hiding);
    }

    /// A markdown reference that is only there to hold a comment starts at `at`.
    fn reference(&mut self, text: &str, at: Span) {
        let line = line_around(text, at, LONGEST_CONTENT);
        self.add(&HIDDEN_TEXT, Span::new(at.start, line.end), Span::new(at.end, line.end), Hiding::Sure);
    }

    fn add(&mut self, rule: &'static Rule, span: Span, content: Span, hiding: Hiding) {
        self.covered = span.end;
        self.found.push(Block { rule, span, content, hiding });
    }

    /// The block that holds `place`, and its number.
    pub(super) fn around(&self, place: usize) -> Option<(usize, &Block)> {
        let after = self.found.partition_point(|block| block.content.start <= place);
        let at = after.checked_sub(1)?;
        let block = self.found.get(at)?;
        (place < block.content.end).then_some((at, block))
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Block> {
        self.found.iter()
    }
}

/// Whether markdown takes what starts at `at` for a block of its own, or a browser for what follows a tag.
fn starts_block(text: &[u8], at: usize) -> bool {
    let before = text.get(at.saturating_sub(64)..at).unwrap_or_default();
    let mark = before.iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
    mark.is_none_or(|byte| matches!(byte, b'\n' | b'>'))
}

/// Whether the property at `at` has a value that hides.
fn hides(text: &str, at: Span) -> Option<Hiding> {
    let rest = text.get(at.end..text.ceil_char_boundary(text.len().min(at.end + 24))).unwrap_or_default();
    let named = at.of(text).unwrap_or_default();
    // In prose and code these are mere words; nothing more is asked of what has no value.
    let whole = [" hidden", "aria-hidden", "sr-only", "visually-hidden", "d-none"];
    let valued = rest.trim_start().starts_with([':', '=']);
    if !valued && !whole.iter().any(|word| word.eq_ignore_ascii_case(named)) {
        return None;
    }
    let property = named.to_ascii_lowercase();
    match property.as_str() {
        " hidden" => return rest.starts_with(['>', ' ', '=', '/']).then_some(Hiding::Sure),
        "aria-hidden" => {
            return rest.trim_start_matches(['=', '"', '\'']).starts_with("true").then_some(Hiding::Likely);
        }
        "sr-only" | "visually-hidden" | "d-none" => return Some(Hiding::Likely),
        _ => {}
    }
    let value = rest.trim_start().strip_prefix([':', '='])?;
    let value = value.trim_start_matches([' ', '"', '\'']).to_ascii_lowercase();
    let zero = |text: &str| text.starts_with('0') && !text.starts_with("0.") || text.starts_with("0.0");
    let sure = match property.as_str() {
        "display" => value.starts_with("none"),
        "visibility" => value.starts_with("hidden"),
        "font-size" => zero(&value) || value.starts_with("1px"),
        "opacity" => zero(&value),
        _ => false,
    };
    let far = |value: &str| {
        let digits =
            value.strip_prefix('-').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        digits >= 3
    };
    let likely = match property.as_str() {
        "width" | "height" => zero(&value),
        "left" | "top" | "text-indent" | "right" | "margin-left" => far(&value),
        "color" => is_background(&value),
        "clip" | "clip-path" => {
            ["rect(0", "rect(1px", "inset(50%", "inset(100%"].iter().any(|cut| value.starts_with(cut))
        }
        "transform" => value.starts_with("scale(0"),
        _ => false,
    };
    match (sure, likely) {
        (true, _) => Some(Hiding::Sure),
        (false, true) => Some(Hiding::Likely),
        (false, false) => None,
    }
}

/// Whether text in a colour is not seen on the page of most sites.
fn is_background(colour: &str) -> bool {
    [
        "white",
        "#fff",
        "#fefefe",
        "#fdfdfd",
        "#fafafa",
        "rgb(255",
        "rgba(255,255,255",
        "transparent",
        "snow",
        "ivory",
    ]
    .iter()
    .any(|shade| colour.starts_with(shade))
}

/// The tag whose attributes hold `at`, and the name of its element.
fn tag_around(text: &str, at: usize) -> Option<(Span, &str)> {
    let bytes = text.as_bytes();
    let from = at.saturating_sub(LONGEST_TAG);
    let start = from
        + memchr::memrchr2(b'<', b'>', bytes.get(from..at)?)
            .filter(|place| bytes.get(from + place) == Some(&b'<'))?;
    let end = at + memchr::memchr(b'>', bytes.get(at..text.len().min(at + LONGEST_TAG))?)? + 1;
    let name = text.get(start + 1..at)?;
    let name = name.get(..name.bytes().take_while(u8::is_ascii_alphanumeric).count())?;
    (!name.is_empty()).then_some((Span::new(start, end), name))
}

/// Where the closing tag of `name` starts.
fn closing(content: &str, name: &str) -> Option<usize> {
    memmem::find_iter(content.as_bytes(), b"</").find(|at| {
        let tag = content.as_bytes().get(at + 2..at + 2 + name.len());
        tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name.as_bytes()))
    })
}

fn is_void(name: &str) -> bool {
    ["img", "input", "br", "hr", "meta", "link", "svg", "path", "col"]
        .iter()
        .any(|void| void.eq_ignore_ascii_case(name))
}

/// Attributes whose text is hardly ever shown, up to where it starts.
const ATTRIBUTES: &[&str] = &[
    "alt=",
    "title=",
    "aria-label=",
    "aria-description=",
    "content=",
    "value=",
    "placeholder=",
    "summary=",
    "data-",
];

/// Whether `place` lies in an attribute, a title or an alternative text that is hardly ever shown.
pub(super) fn in_attribute(text: &str, place: usize) -> bool {
    let line = line_around(text, Span::new(place, place), 300);
    let before = text.get(line.start..place).unwrap_or_default();
    let tag = before.rfind('<').and_then(|at| before.get(at..)).filter(|tag| !tag.contains('>'));
    let attribute = tag.is_some_and(|tag| {
        let quote = tag.rfind("=\"").max(tag.rfind("='")).and_then(|at| tag.split_at_checked(at + 1));
        quote.is_some_and(|(lead, value)| {
            let mark = value.chars().next().unwrap_or('"');
            let name = lead.rsplit(|character: char| character.is_whitespace()).next().unwrap_or_default();
            !value.get(1..).unwrap_or_default().contains(mark)
                && ATTRIBUTES.iter().any(|known| name.to_ascii_lowercase().starts_with(known))
        })
    });
    let image = before.rfind("![").and_then(|at| before.get(at..)).is_some_and(|label| !label.contains(']'));
    let title = before.rfind("](").and_then(|at| before.get(at + 2..)).is_some_and(|target| {
        // `[text](address "title")`
        !target.contains(')') && [" \"", " '", " ("].iter().any(|quote| target.contains(quote))
    });
    attribute || image || title
}
