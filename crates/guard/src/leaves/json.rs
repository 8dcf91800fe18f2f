//! A strict walk over JSON that remembers where its strings are.

use std::borrow::Cow;

use crate::finding::Span;

/// The deepest nesting that is walked; what is deeper is looked at as plain text.
const DEEPEST: usize = 1024;

/// The longest key that is handed out as a name. It is read again for every string of a list under it.
const LONGEST_NAME: usize = 256;

/// The text is not JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not JSON at byte {at}")]
pub struct NotJson {
    /// The first byte that does not fit.
    pub at: usize,
}

/// What a string is in its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role<'t> {
    /// The name of a member. It belongs to the shape of the document.
    Key,
    /// A value, or an element of a list under the key.
    Value {
        /// The nearest key above it; none also when it is too long for a name.
        key: Option<&'t str>,
    },
}

/// One string of a document.
#[derive(Debug)]
pub struct Leaf<'t> {
    text: Cow<'t, str>,
    role: Role<'t>,
    /// Where the text begins in the source, after the quote.
    start: usize,
    /// Where, after each escape, the text goes on: in the decoded text and in the source.
    resumes: Vec<(usize, usize)>,
}

impl Leaf<'_> {
    /// The string without its escapes. Half of a surrogate pair is shown as a replacement character.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it is in its document.
    pub fn role(&self) -> Role<'_> {
        self.role
    }

    /// Where a span of the text is in the source.
    pub fn to_source(&self, span: Span) -> Span {
        Span::new(self.offset(span.start), self.offset(span.end))
    }

    fn offset(&self, decoded: usize) -> usize {
        let before = self.resumes.partition_point(|resume| resume.0 <= decoded);
        match before.checked_sub(1).and_then(|last| self.resumes.get(last)) {
            None => self.start + decoded,
            Some((resumed, source)) => source + (decoded - resumed),
        }
    }
}

/// Calls `found` with every string of a JSON document, or of several in a row, in their order.
///
/// # Errors
///
/// When `text` is not JSON, strings before the place where that showed have been handed out already.
pub fn visit_json(text: &str, mut found: impl FnMut(&Leaf<'_>)) -> Result<(), NotJson> {
    let mut walk = Walk { text, at: 0, open: Vec::new() };
    walk.skip_blanks();
    if walk.peek().is_none() {
        return Err(NotJson { at: walk.at });
    }
    while walk.peek().is_some() {
        // A number or a word on its own is valid JSON, and far more often the beginning of some other text.
        if !matches!(walk.peek(), Some(b'{' | b'[' | b'"')) {
            return Err(walk.problem());
        }
        walk.document(&mut found)?;
        walk.skip_blanks();
    }
    Ok(())
}

/// An object or a list that is not closed yet.
struct Open {
    is_object: bool,
    /// Where the key of the present member, or of the list itself, is in the source, and whether it has escapes.
    key: Option<(Span, bool)>,
}

struct Walk<'t> {
    text: &'t str,
    at: usize,
    open: Vec<Open>,
}

impl<'t> Walk<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn problem(&self) -> NotJson {
        NotJson { at: self.at }
    }

    fn skip_blanks(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
    }

    fn take(&mut self, byte: u8) -> bool {
        let taken = self.peek() == Some(byte);
        self.at += usize::from(taken);
        taken
    }

    /// One value with all that is in it.
    fn document(&mut self, found: &mut impl FnMut(&Leaf<'_>)) -> Result<(), NotJson> {
        loop {
            // At a value.
            self.skip_blanks();
            if self.value(found)? {
                continue;
            }
            // After a value: close what ends here, up to the next comma.
            loop {
                self.skip_blanks();
                let Some(open) = self.open.last() else { return Ok(()) };
                let is_object = open.is_object;
                if self.take(b',') {
                    if is_object {
                        self.key(found)?;
                    }
                    break;
                }
                if !self.take(if is_object { b'}' } else { b']' }) {
                    return Err(self.problem());
                }
                self.open.pop();
            }
        }
    }

    /// Reads a value; true when it is an object or a list that has something in it, which comes next.
    fn value(&mut self, found: &mut impl FnMut(&Leaf<'_>)) -> Result<bool, NotJson> {
        match self.peek() {
            Some(b'"') => self.string_value(found).map(|()| false),
            Some(b'{') => self.enter(true, found),
            Some(b'[') => self.enter(false, found),
            Some(b'-' | b'0'..=b'9') => {
                let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
                let number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                self.at += rest.iter().take_while(number).count();
                Ok(false)
            }
            Some(_) | None => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let word = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word));
                self.at += word.ok_or(self.problem())?.len();
                Ok(false)
            }
        }
    }

    fn enter(&mut self, is_object: bool, found: &mut impl FnMut(&Leaf<'_>)) -> Result<bool, NotJson> {
        if self.open.len() == DEEPEST {
            return Err(self.problem());
        }
        self.at += 1;
        self.skip_blanks();
        if self.take(if is_object { b'}' } else { b']' }) {
            return Ok(false);
        }
        let key = self.open.last().and_then(|open| open.key);
        self.open.push(Open { is_object, key });
        if is_object {
            self.key(found)?;
        }
        Ok(true)
    }

    fn key(&mut self, found: &mut impl FnMut(&Leaf<'_>)) -> Result<(), NotJson> {
        self.skip_blanks();
        let (span, escapes) = self.string()?;
        found(&self.leaf(span, escapes, Role::Key));
        if let Some(open) = self.open.last_mut() {
            open.key = Some((span, escapes));
        }
        self.skip_blanks();
        if self.take(b':') { Ok(()) } else { Err(self.problem()) }
    }

    fn string_value(&mut self, found: &mut impl FnMut(&Leaf<'_>)) -> Result<(), NotJson> {
        let (span, escapes) = self.string()?;
        let key = self.open.last().and_then(|open| open.key).filter(|(span, _)| span.len() <= LONGEST_NAME);
        let name =
            key.map(|(span, escapes)| if escapes { decode(self.text, span).0 } else { raw(self.text, span) });
        found(&self.leaf(span, escapes, Role::Value { key: name.as_deref() }));
        Ok(())
    }

    /// Passes over a string; says where its text is, and whether it has escapes.
    fn string(&mut self) -> Result<(Span, bool), NotJson> {
        if !self.take(b'"') {
            return Err(self.problem());
        }
        let (start, mut escapes) = (self.at, false);
        loop {
            let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
            self.at += rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..0x20)).count();
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok((Span::new(start, self.at - 1), escapes));
                }
                Some(b'\\') => {
                    escapes = true;
                    let rest = self.text.as_bytes().get(self.at + 1..).unwrap_or_default();
                    self.at += match rest {
                        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                        [b'u', a, b, c, d, ..]
                            if [a, b, c, d].iter().all(|digit| digit.is_ascii_hexdigit()) =>
                        {
                            6
                        }
                        _ => return Err(self.problem()),
                    };
                }
                Some(_) | None => return Err(self.problem()),
            }
        }
    }

    fn leaf<'l>(&self, span: Span, escapes: bool, role: Role<'l>) -> Leaf<'l>
    where
        't: 'l,
    {
        let (text, resumes) =
            if escapes { decode(self.text, span) } else { (raw(self.text, span), Vec::new()) };
        Leaf { text, role, start: span.start, resumes }
    }
}

fn raw(text: &str, span: Span) -> Cow<'_, str> {
    Cow::Borrowed(span.of(text).unwrap_or_default())
}

/// Replaces the escapes of a string that [`Walk::string`] has passed over, and says where the text goes on after each.
fn decode(text: &str, span: Span) -> (Cow<'_, str>, Vec<(usize, usize)>) {
    let source = span.of(text).unwrap_or_default();
    let (mut decoded, mut resumes) = (String::with_capacity(source.len()), Vec::new());
    let mut rest = source;
    while let Some((plain, escape)) = rest.split_once('\\') {
        decoded.push_str(plain);
        let (character, length) = unescape(escape);
        decoded.push(character);
        rest = escape.get(length..).unwrap_or_default();
        resumes.push((decoded.len(), span.end - rest.len()));
    }
    decoded.push_str(rest);
    (Cow::Owned(decoded), resumes)
}

/// The character that the escape after a backslash stands for, and how long the escape is.
fn unescape(escape: &str) -> (char, usize) {
    match escape.bytes().next() {
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(b'u') => {
            let unit =
                |at: usize| escape.get(at..at + 4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let high = unit(1).unwrap_or_default();
            let low = escape.get(5..7).filter(|mark| *mark == "\\u").and_then(|_| unit(7));
            match (high, low) {
                (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) => {
                    let character = char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                    (character.unwrap_or(char::REPLACEMENT_CHARACTER), 11)
                }
                (unit, _) => (char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 5),
            }
        }
        Some(byte) => (char::from(byte), 1),
        None => (char::REPLACEMENT_CHARACTER, 0),
    }
}
