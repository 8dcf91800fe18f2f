//! The text, the title and the links of a page, in one pass over its tokens.
//!
//! No tree is built: that takes time that grows with the depth of a page, which its author chooses.

use std::convert::Infallible;
use std::mem;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

/// The most links.
const MAX_LINKS: usize = 50;
/// The longest text of a link or title, in characters.
const MAX_LABEL: usize = 300;

/// Elements whose content nobody reads.
const UNREAD: [&[u8]; 5] = [b"script", b"style", b"noscript", b"template", b"svg"];
/// Elements at whose end a line ends.
const BLOCKS: [&[u8]; 20] = [
    b"p",
    b"div",
    b"section",
    b"article",
    b"header",
    b"footer",
    b"main",
    b"aside",
    b"nav",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"li",
    b"tr",
    b"table",
    b"blockquote",
    b"title",
];

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extract {
    /// Lines of text without empty ones.
    pub text: String,
    /// Whether there was more.
    pub truncated: bool,
    /// The first title.
    pub title: Option<String>,
    /// Links in the order of the page.
    pub links: Vec<Link>,
}

/// A link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// What it is called.
    pub text: String,
    /// Where it leads.
    pub href: String,
}

/// Reads a page: so many characters of text at most. `resolve` turns a reference into a URL that may be shown.
pub fn extract(page: &str, most: usize, resolve: impl Fn(&str) -> Option<String>) -> Extract {
    let mut reader = Reader {
        resolve,
        body: Flow::new(most),
        title: None,
        in_title: false,
        unread: None,
        tag: Tag::default(),
        link: None,
        links: Vec::new(),
    };
    let hear = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        reader.hear(event);
        None
    };
    let mut emitter = CallbackEmitter::new(hear);
    emitter.naively_switch_states(true);
    // Reading from memory does not fail.
    let _ = Tokenizer::new_with_emitter(page, emitter).finish();
    reader.finish()
}

/// Text with its white space collapsed as it comes, up to a limit.
#[derive(Debug)]
struct Flow {
    text: String,
    left: usize,
    truncated: bool,
    /// What separates the next word from the last one.
    pending: Option<char>,
}

impl Flow {
    fn new(most: usize) -> Self {
        Self { text: String::new(), left: most, truncated: false, pending: None }
    }

    fn space(&mut self) {
        self.pending.get_or_insert(' ');
    }

    fn line(&mut self) {
        self.pending = Some('\n');
    }

    fn add(&mut self, text: &str) {
        for character in text.chars() {
            if character.is_whitespace() {
                self.space();
            } else {
                self.push(character);
            }
        }
    }

    fn push(&mut self, character: char) {
        let separator = self.pending.take().filter(|_| !self.text.is_empty());
        let character = if character == '\0' { '\u{2400}' } else { character };
        for character in separator.into_iter().chain([character]) {
            match self.left.checked_sub(1) {
                Some(left) => {
                    self.left = left;
                    self.text.push(character);
                }
                None => self.truncated = true,
            }
        }
    }
}

/// A tag while it is read.
#[derive(Debug, Default)]
struct Tag {
    name: Vec<u8>,
    attribute_is_href: bool,
    href: Option<String>,
}

#[derive(Debug)]
struct Reader<R> {
    resolve: R,
    body: Flow,
    title: Option<Flow>,
    in_title: bool,
    /// The element that is not read, and how deep it is in others of its name.
    unread: Option<(Vec<u8>, usize)>,
    tag: Tag,
    link: Option<(String, Flow)>,
    links: Vec<Link>,
}

impl<R: Fn(&str) -> Option<String>> Reader<R> {
    fn hear(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Tag { name: name.to_vec(), ..Tag::default() };
            }
            CallbackEvent::AttributeName { name } => {
                // The first of two attributes counts, as in browsers.
                self.tag.attribute_is_href = name == b"href" && self.tag.href.is_none();
            }
            CallbackEvent::AttributeValue { value } => {
                if self.tag.attribute_is_href {
                    self.tag.href = Some(String::from_utf8_lossy(value).into_owned());
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => self.open(self_closing),
            CallbackEvent::EndTag { name } => self.close(name),
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.unread.is_some() {
            return;
        }
        self.body.add(text);
        if let Some(title) = self.title.as_mut().filter(|_| self.in_title) {
            title.add(text);
        }
        if let Some((_, label)) = &mut self.link {
            label.add(text);
        }
    }

    fn open(&mut self, self_closing: bool) {
        let Tag { name, href, .. } = mem::take(&mut self.tag);
        if let Some((unread, depth)) = &mut self.unread {
            if *unread == name {
                *depth += 1;
            }
            return;
        }
        if UNREAD.contains(&name.as_slice()) {
            // Only in drawings does a slash at the end mean anything.
            if !(self_closing && name == b"svg") {
                self.unread = Some((name, 0));
            }
            return;
        }
        match name.as_slice() {
            b"br" => self.body.line(),
            b"title" if self.title.is_none() => {
                self.title = Some(Flow::new(MAX_LABEL));
                self.in_title = true;
            }
            _ => self.gap(),
        }
        if name == b"a" {
            self.end_link();
            let url =
                href.filter(|_| self.links.len() < MAX_LINKS).and_then(|href| (self.resolve)(href.trim()));
            self.link = url.map(|url| (url, Flow::new(MAX_LABEL)));
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((unread, depth)) = &mut self.unread {
            if unread.as_slice() == name {
                match depth.checked_sub(1) {
                    Some(less) => *depth = less,
                    None => self.unread = None,
                }
            }
            return;
        }
        if BLOCKS.contains(&name) {
            self.body.line();
        } else {
            self.gap();
        }
        match name {
            b"a" => self.end_link(),
            b"title" => self.in_title = false,
            _ => {}
        }
    }

    fn gap(&mut self) {
        self.body.space();
        if let Some((_, label)) = &mut self.link {
            label.space();
        }
    }

    fn end_link(&mut self) {
        if let Some((href, label)) = self.link.take() {
            self.links.push(Link { text: label.text, href });
        }
    }

    fn finish(mut self) -> Extract {
        self.end_link();
        let body = self.body;
        Extract {
            text: body.text,
            truncated: body.truncated,
            title: self.title.map(|title| title.text).filter(|title| !title.is_empty()),
            links: self.links,
        }
    }
}

#[cfg(test)]
mod tests;
