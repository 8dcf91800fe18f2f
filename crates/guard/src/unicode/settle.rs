//! The second pass: invisible characters that have a meaning in some company, and none in other.
//!
//! Whether one stays depends on what stays in front of it, on the visible character behind it, and on its paragraph. None
//! of these changes by what is taken out here or later, so a text that went through needs nothing taken out again.

use super::class::{Class, Dependent, Finder, Found};
use super::draft::Pass;
use super::paragraph::Paragraph;
use super::rules::{BIDI_OVERRIDE, BLANK_FILLER, TAG_CHAR, VARIATION_SELECTOR, ZERO_WIDTH};
use super::run::{describe, run_of};
use super::script::{
    has_emoji_style, has_standard_variant, is_han, is_indic, is_joining, is_joining_letter, is_mongolian,
    is_pictograph, is_unspaced,
};
use super::smuggled::{selected_text, tagged_text};
use super::strip::tags;
use crate::finding::Span;
use crate::severity::Severity;

/// Takes out joiners, direction characters, tags and selectors where they mean nothing.
pub(super) fn settle(text: &str, pass: &mut Pass<'_>) {
    let mut settling = Settling {
        text,
        pass,
        paragraph: Paragraph::default(),
        gap: Span::new(usize::MAX, usize::MAX),
        strays: None,
        stray_tags: None,
    };
    let mut finder = Finder::new(text);
    while let Some(found) = finder.next() {
        let Class::Dependent(dependent) = found.class else { continue };
        match dependent {
            Dependent::Joiner => settling.joiner(found),
            Dependent::VowelSeparator => settling.vowel_separator(found),
            Dependent::BidiMark => finder.resume(settling.direction_marks(found)),
            Dependent::BidiPair => finder.resume(settling.direction_pairs(found)),
            Dependent::Tag => finder.resume(settling.tags(found)),
            Dependent::Selector => finder.resume(settling.selectors(found)),
            Dependent::BrailleBlank => finder.resume(settling.braille(found)),
        }
    }
    settling.spread_selectors();
    settling.spread_tags();
}

struct Settling<'t, 'p, 'd> {
    text: &'t str,
    pass: &'p mut Pass<'d>,
    paragraph: Paragraph,
    /// What was taken out last, without a break.
    gap: Span,
    /// Selectors that stood alone or in short runs, and from where to where.
    strays: Option<(String, Span)>,
    /// The same for tags.
    stray_tags: Option<(String, Span)>,
}

impl<'t> Settling<'t, '_, '_> {
    /// The character that stays in front of `at`.
    fn before(&self, at: usize) -> Option<char> {
        let end = if self.gap.end == at { self.gap.start } else { at };
        self.text.get(..end)?.chars().next_back()
    }

    /// The character at `at`.
    fn behind(&self, at: usize) -> Option<char> {
        self.text.get(at..)?.chars().next()
    }

    fn part(&self, span: Span) -> &'t str {
        span.of(self.text).unwrap_or_default()
    }

    fn paragraph(&mut self, at: usize) -> &Paragraph {
        if !self.paragraph.contains(at) {
            self.paragraph = Paragraph::around(self.text, at);
        }
        &self.paragraph
    }

    fn remove(&mut self, span: Span) {
        match self.gap.end == span.start {
            true => self.gap.end = span.end,
            false => self.gap = span,
        }
        self.pass.remove(span);
    }

    fn remove_zero_width(&mut self, span: Span) {
        let part = self.part(span);
        self.pass
            .report(&ZERO_WIDTH, span, || describe(part, "zero-width character", "zero-width characters"));
        self.remove(span);
    }

    fn joiner(&mut self, found: Found) {
        let end = found.at + found.character.len_utf8();
        let (before, behind) = (self.before(found.at), self.behind(end));
        let is = |character: Option<char>, kind: fn(char) -> bool| character.is_some_and(kind);
        let stays = match found.character {
            '\u{200b}' => is(before, is_unspaced) && is(behind, is_unspaced),
            '\u{200c}' => is(before, is_indic) || is(before, is_joining) && is(behind, is_joining_letter),
            // A selector that stayed has a pictograph in front of it.
            _ => {
                is(before, is_indic)
                    || is(before, is_joining)
                    || is(behind, is_pictograph)
                        && is(before, |last| last == '\u{fe0f}' || is_pictograph(last))
            }
        };
        let span = Span::new(found.at, end);
        if !stays && found.character == '\u{200c}' && is(before, is_joining) {
            // Writers of Persian often leave one at the end of a word, where it changes nothing.
            let part = self.part(span);
            self.pass.report_as(&ZERO_WIDTH, Severity::Low, span, || {
                describe(part, "zero-width character", "zero-width characters")
            });
            self.remove(span);
        } else if !stays {
            self.remove_zero_width(span);
        }
    }

    fn vowel_separator(&mut self, found: Found) {
        let end = found.at + found.character.len_utf8();
        let stays =
            self.before(found.at).is_some_and(is_mongolian) && self.behind(end).is_some_and(is_mongolian);
        if !stays {
            self.remove_zero_width(Span::new(found.at, end));
        }
    }

    /// Direction marks: right-to-left text may need one at a place. Rows of them carry data.
    fn direction_marks(&mut self, found: Found) -> usize {
        let run = run_of(self.text, found.at, found.class);
        let repeats = self.before(found.at).map(Class::of) == Some(found.class);
        let gone = match self.paragraph(found.at).right_to_left && !repeats {
            true => Span::new(found.at + found.character.len_utf8(), run.end),
            false => run,
        };
        if !gone.is_empty() {
            let part = self.part(gone);
            self.pass.report(&ZERO_WIDTH, gone, || describe(part, "direction mark", "direction marks"));
            self.remove(gone);
        }
        run.end
    }

    /// Characters that open and close directions: those stay that are balanced in right-to-left text.
    fn direction_pairs(&mut self, found: Found) -> usize {
        let run = run_of(self.text, found.at, found.class);
        let mut at = run.start;
        let mut gone = Span::new(at, at);
        for character in self.part(run).chars() {
            let end = at + character.len_utf8();
            if self.paragraph(at).pairs(at) {
                self.remove_pairs(gone);
                gone.start = end;
            }
            gone.end = end;
            at = end;
        }
        self.remove_pairs(gone);
        run.end
    }

    fn remove_pairs(&mut self, span: Span) {
        if !span.is_empty() {
            let part = self.part(span);
            self.pass.report(&BIDI_OVERRIDE, span, || {
                describe(part, "direction character", "direction characters")
            });
            self.remove(span);
        }
    }

    /// Tag characters: those of a flag stay.
    fn tags(&mut self, found: Found) -> usize {
        let span = run_of(self.text, found.at, found.class);
        let run = self.part(span);
        if self.before(found.at) == Some('\u{1f3f4}') && is_subdivision(run) {
            return span.end;
        }
        let mut spelt = tagged_text(run).chars().count();
        if spelt <= 1 {
            let (strays, hull) = self.stray_tags.get_or_insert((String::new(), span));
            strays.push_str(run);
            hull.end = span.end;
            spelt = 1;
        }
        // One letter says nothing; tests of other programs hold such characters one by one.
        let severity = if spelt == 1 { Severity::High } else { TAG_CHAR.severity };
        self.pass.report_as(&TAG_CHAR, severity, span, || tags(run));
        self.remove(span);
        span.end
    }

    /// Tags spread over a text, one behind each letter, can spell a message just as well as a run.
    fn spread_tags(&mut self) {
        let Some((strays, hull)) = self.stray_tags.take() else { return };
        if tagged_text(&strays).chars().count() > 1 {
            self.pass.report(&TAG_CHAR, hull, || tags(&strays));
        }
    }

    /// Selectors: a single one stays behind what it selects a form of. Emoji often come with one too many, and keep the
    /// first.
    fn selectors(&mut self, found: Found) -> usize {
        let run = run_of(self.text, found.at, found.class);
        let first = found.at + found.character.len_utf8();
        let style = matches!(found.character, '\u{fe0e}' | '\u{fe0f}');
        let fits =
            self.before(found.at).is_some_and(|base| selects(base, found.character, self.behind(first)));
        let gone = match fits && (style || run.end == first) {
            true => Span::new(first, run.end),
            false => run,
        };
        if !gone.is_empty() {
            let part = self.part(gone);
            let (severity, hidden) = selected_text(part);
            if hidden.is_none() {
                let (strays, hull) = self.strays.get_or_insert((String::new(), gone));
                strays.push_str(part);
                hull.end = gone.end;
            }
            self.pass.report_as(&VARIATION_SELECTOR, severity, gone, || selectors(part, hidden.as_deref()));
            self.remove(gone);
        }
        run.end
    }

    /// Selectors spread over a text, one or a few behind each letter, can carry a message just as well as a run.
    fn spread_selectors(&mut self) {
        let Some((strays, hull)) = self.strays.take() else { return };
        if let (severity, Some(hidden)) = selected_text(&strays) {
            self.pass.report_as(&VARIATION_SELECTOR, severity, hull, || selectors(&strays, Some(&hidden)));
        }
    }

    /// Blank braille cells: between others they are the spaces of braille.
    fn braille(&mut self, found: Found) -> usize {
        let span = run_of(self.text, found.at, found.class);
        if !self.paragraph(found.at).braille {
            let part = self.part(span);
            self.pass
                .report(&BLANK_FILLER, span, || describe(part, "blank braille cell", "blank braille cells"));
            self.pass.replace(span, " ");
        }
        span.end
    }
}

/// How selectors are told, with the text they carry.
fn selectors(run: &str, hidden: Option<&str>) -> String {
    let described = describe(run, "variation selector", "variation selectors");
    match hidden {
        Some(hidden) => format!("{described} that spell \"{hidden}\""),
        None => described,
    }
}

/// The only flags of parts of countries that are drawn: England, Scotland and Wales. What else stands behind a black
/// flag is not seen, and carries a message.
fn is_subdivision(run: &str) -> bool {
    let tag = |tag: char| char::from_u32(u32::from(tag).wrapping_sub(0xe0000));
    ["gbeng\u{7f}", "gbsct\u{7f}", "gbwls\u{7f}"]
        .iter()
        .any(|flag| run.chars().map(tag).eq(flag.chars().map(Some)))
}

/// Whether `selector` selects a form of `base`.
pub(super) fn selects(base: char, selector: char, next: Option<char>) -> bool {
    match selector {
        '\u{fe0e}' | '\u{fe0f}' => match base {
            '0'..='9' | '#' | '*' => next == Some('\u{20e3}'),
            symbol => has_emoji_style(symbol),
        },
        '\u{fe00}'..='\u{fe02}' => has_standard_variant(base),
        '\u{180b}'..='\u{180f}' => is_mongolian(base),
        '\u{e0100}'..='\u{e01ef}' => is_han(base),
        _ => false,
    }
}
