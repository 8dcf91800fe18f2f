//! What a model writes, as lines: Markdown, with addresses of links written out, because a person should see where one leads.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use self::table::Table;
use super::text::{Breaks, Colour, Line, Style};

/// How many columns lists and quotes may move text to the right. Text nested deeper stays where it is.
const DEEPEST: usize = 24;
const CODE: Style = Style::coloured(Colour::Cyan);
const ADDRESS: Style = Style { underline: true, ..Style::DIM };

/// The lines of a text that may not be complete yet.
pub(super) fn lines(text: &str) -> Vec<Line> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    writer.end_line();
    writer.lines
}

/// What stands at the start of lines inside of a list or a quote.
#[derive(Debug, Default)]
struct Margin {
    /// At the first line, once.
    marker: Option<String>,
    /// At all others.
    rest: String,
}

/// A link that is being read.
#[derive(Debug)]
struct Link {
    address: String,
    text: String,
}

#[derive(Debug, Default)]
struct Writer {
    lines: Vec<Line>,
    line: Option<Line>,
    styles: Vec<Style>,
    margins: Vec<Margin>,
    /// The numbers of the lists that are open; none for those with bullets.
    lists: Vec<Option<u64>>,
    links: Vec<Link>,
    /// Whether a block has ended since the last line.
    apart: bool,
    /// The text of the code block that is open.
    code: Option<String>,
    table: Option<Table>,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.push(&format!("`{code}`"), CODE),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(&text);
            }
            Event::SoftBreak => self.push(" ", Style::PLAIN),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.begin_block();
                self.push("────────", Style::DIM);
                self.end_block();
            }
            Event::TaskListMarker(done) => self.push(if done { "[x] " } else { "[ ] " }, Style::PLAIN),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { .. } => {
                self.begin_block();
                self.styles.push(Style::coloured(Colour::Blue).bold());
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.indent(None, "│ ");
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.push(&language, Style::DIM);
                    self.end_line();
                }
                self.code = Some(String::new());
            }
            Tag::List(first) => {
                // A list inside of an item follows its text at once.
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.end_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead | Tag::TableRow => self.table.iter_mut().for_each(Table::start_row),
            Tag::TableCell => self.line = Some(Line::default()),
            Tag::Emphasis => self.styles.push(Style { italic: true, ..Style::PLAIN }),
            Tag::Strong => self.styles.push(Style::BOLD),
            Tag::Strikethrough => self.push("~~", Style::DIM),
            Tag::Link { dest_url, .. } => {
                self.styles.push(Style { underline: true, ..Style::PLAIN });
                self.links.push(Link { address: dest_url.into_string(), text: String::new() });
            }
            Tag::Image { dest_url, .. } => {
                self.push("[image: ", Style::DIM);
                self.styles.push(Style::PLAIN);
                self.links.push(Link { address: dest_url.into_string(), text: String::new() });
            }
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.margins.pop();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.margins.pop();
                self.apart = false;
            }
            TagEnd::Table => {
                let rows = self.table.take().map(Table::lines).unwrap_or_default();
                rows.into_iter().for_each(|row| self.whole_line(row));
                self.end_block();
            }
            TagEnd::TableHead => self.table.iter_mut().for_each(Table::end_head),
            TagEnd::TableRow => {}
            TagEnd::TableCell => {
                let cell = self.line.take().unwrap_or_default();
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Emphasis | TagEnd::Strong => {
                self.styles.pop();
            }
            TagEnd::Strikethrough => self.push("~~", Style::DIM),
            TagEnd::Link => self.end_link(""),
            TagEnd::Image => self.end_link("]"),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    fn start_item(&mut self) {
        self.end_line();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(super::text::width(&marker));
        self.indent(Some(marker), &rest);
    }

    fn end_link(&mut self, bracket: &str) {
        self.styles.pop();
        self.push(bracket, Style::DIM);
        if let Some(link) = self.links.pop()
            && link.text != link.address
        {
            self.push(&format!(" ({})", link.address), ADDRESS);
        }
    }

    fn end_code(&mut self) {
        for line in self.code.take().unwrap_or_default().lines() {
            let mut shown = Line::default().breaking(Breaks::Anywhere);
            shown.push("│ ", Style::DIM);
            shown.hang = 2;
            shown.push(line, CODE);
            self.whole_line(shown);
        }
        self.end_block();
    }

    fn text(&mut self, text: &str) {
        if let Some(code) = &mut self.code {
            code.push_str(text);
            return;
        }
        for link in &mut self.links {
            link.text.push_str(text);
        }
        let mut parts = text.split('\n').peekable();
        while let Some(part) = parts.next() {
            self.push(part, Style::PLAIN);
            if parts.peek().is_some() && self.table.is_none() {
                self.end_line();
            }
        }
    }

    fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let style = self.styles.iter().fold(Style::PLAIN, |all, style| all.and(*style)).and(style);
        let mut line = self.line.take().unwrap_or_else(|| self.fresh_line());
        line.push(text, style);
        self.line = Some(line);
    }

    /// A line with what stands in its margin.
    fn fresh_line(&mut self) -> Line {
        if std::mem::take(&mut self.apart) && !self.lines.is_empty() {
            self.lines.push(Line::default());
        }
        let mut line = Line::default();
        for margin in &mut self.margins {
            line.push(&margin.marker.take().unwrap_or_else(|| margin.rest.clone()), Style::DIM);
        }
        let hang = line.width();
        line.hanging(hang)
    }

    fn whole_line(&mut self, line: Line) {
        let mut whole = self.fresh_line().breaking(line.breaks);
        whole.hang += line.hang;
        whole.append(line);
        self.lines.push(whole);
    }

    fn indent(&mut self, marker: Option<String>, rest: &str) {
        let used: usize = self.margins.iter().map(|margin| margin.rest.chars().count()).sum();
        let margin = match used < DEEPEST {
            true => Margin { marker, rest: rest.to_owned() },
            false => Margin::default(),
        };
        self.margins.push(margin);
    }

    fn begin_block(&mut self) {
        self.end_line();
    }

    fn end_block(&mut self) {
        self.end_line();
        self.apart = true;
    }

    fn end_line(&mut self) {
        if let Some(line) = self.line.take() {
            self.lines.push(line);
        }
    }
}

#[cfg(test)]
mod tests;
