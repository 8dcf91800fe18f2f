//! The first pass: what has no place in any text, whatever stands around it.

use super::Beginning;
use super::class::{Banned, Class, Dependent, Disguised, Finder, Found};
use super::draft::Pass;
use super::rules::{
    ANNOTATION, ANSI_ESCAPE, BLANK_FILLER, CONTROL_CHAR, FULLWIDTH, NULL_BYTE, OSC_ESCAPE, SOFT_HYPHEN,
    STACKED_MARKS, TAG_CHAR, ZERO_WIDTH,
};
use super::run::{describe, run, run_of};
use super::script::{is_joining_letter, is_pictograph};
use super::settle::selects;
use super::smuggled::tagged_text;
use super::terminal::{Kind, sequence};
use crate::finding::Span;
use crate::rule::Rule;
use crate::severity::Severity;

const ZERO_WIDTH_NAMES: [&str; 2] = ["zero-width character", "zero-width characters"];

/// What is left for the passes that follow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rest {
    /// Characters that have a meaning in some company only.
    pub(super) dependent: bool,
    /// Characters that read as plainer ones.
    pub(super) disguised: bool,
}

/// Takes out terminal sequences, control characters, characters of no width, fillers, and surplus marks.
pub(super) fn strip(text: &str, beginning: Beginning, pass: &mut Pass<'_>) -> Rest {
    let mut rest = Rest::default();
    let mut company = Company::default();
    let mut finder = Finder::new(text);
    while let Some(found) = finder.next() {
        if found.at == 0 && found.character == '\u{feff}' && beginning == Beginning::File {
            continue;
        }
        match strip_at(text, found, pass) {
            Some(end) => {
                finder.resume(end);
                company.gone = end;
            }
            None => {
                rest.dependent |= matches!(found.class, Class::Dependent(_)) && !company.suits(text, found);
                rest.disguised |= matches!(found.class, Class::Disguised(_));
            }
        }
    }
    rest
}

/// What stands in front of an invisible character, as far as this pass knows what becomes of it.
#[derive(Debug, Default)]
pub(super) struct Company {
    /// Where what was taken out last ends.
    gone: usize,
    /// Where the last selector ends that is certain to stay.
    selected: usize,
}

impl Company {
    /// Whether the second pass is certain to leave `found` where it is, because of the characters right before and behind
    /// it, which stay as well. In text full of emoji, or in Persian, that saves the second pass.
    pub(super) fn suits(&mut self, text: &str, found: Found) -> bool {
        let end = found.at + found.character.len_utf8();
        let before = text.get(..found.at).and_then(|lead| lead.chars().next_back());
        let Some(before) = before.filter(|before| found.at - before.len_utf8() >= self.gone) else {
            return false;
        };
        let behind = text.get(end..).and_then(|rest| rest.chars().next());
        match found.character {
            '\u{200c}' => is_joining_letter(before) && behind.is_some_and(is_joining_letter),
            '\u{200d}' => {
                let picture = is_pictograph(before) || before == '\u{fe0f}' && self.selected == found.at;
                picture && behind.is_some_and(is_pictograph)
            }
            '\u{fe0e}' | '\u{fe0f}' => {
                let alone = behind.map(Class::of) != Some(Class::Dependent(Dependent::Selector));
                let suits =
                    alone && Class::of(before) == Class::Plain && selects(before, found.character, behind);
                self.selected = if suits { end } else { self.selected };
                suits
            }
            _ => false,
        }
    }
}

/// Takes out what stands at `found`, and says where it ends; none where it stays for now.
fn strip_at(text: &str, found: Found, pass: &mut Pass<'_>) -> Option<usize> {
    match found.class {
        Class::Banned(Banned::ZeroWidth) | Class::Dependent(Dependent::Joiner) => {
            zero_width(text, found.at, pass)
        }
        Class::Banned(Banned::Escape) => Some(escape(text, found, pass).end),
        Class::Banned(banned) => Some(strip_banned(text, found, banned, pass).end),
        Class::Mark => {
            let span = run_of(text, found.at, Class::Mark);
            Some(removed(text, span, &STACKED_MARKS, ["surplus mark", "surplus marks"], pass).end)
        }
        Class::Plain | Class::Dependent(_) | Class::Disguised(_) => None,
    }
}

fn strip_banned(text: &str, found: Found, banned: Banned, pass: &mut Pass<'_>) -> Span {
    let span = run_of(text, found.at, found.class);
    match banned {
        Banned::Null => removed(text, span, &NULL_BYTE, ["null character", "null characters"], pass),
        Banned::Control | Banned::Escape => controls(text, span, pass),
        Banned::ZeroWidth => removed(text, span, &ZERO_WIDTH, ZERO_WIDTH_NAMES, pass),
        Banned::SoftHyphen => removed(text, span, &SOFT_HYPHEN, ["soft hyphen", "soft hyphens"], pass),
        Banned::Filler => fillers(text, span, pass),
        Banned::Annotation => {
            removed(text, span, &ANNOTATION, ["annotation character", "annotation characters"], pass)
        }
    }
}

fn removed(text: &str, span: Span, rule: &'static Rule, names: [&str; 2], pass: &mut Pass<'_>) -> Span {
    let [one, many] = names;
    pass.report(rule, span, || describe(span.of(text).unwrap_or_default(), one, many));
    pass.remove(span);
    span
}

/// A terminal sequence; where it is not complete, the escape character alone, because what follows is then text.
fn escape(text: &str, found: Found, pass: &mut Pass<'_>) -> Span {
    let Some(sequence) = sequence(text, found.at) else {
        let span = Span::new(found.at, found.at + found.character.len_utf8());
        return removed(text, span, &CONTROL_CHAR, ["control character", "control characters"], pass);
    };
    let span = Span::new(found.at, sequence.end);
    let (rule, name) = match sequence.kind {
        Kind::Control => (&ANSI_ESCAPE, "terminal sequence"),
        Kind::String => (&OSC_ESCAPE, "terminal command string"),
    };
    let length = || span.of(text).unwrap_or_default().chars().count();
    pass.report(rule, span, || format!("{name} of {} characters", length()));
    report_disguise(text, span, pass);
    pass.remove(span);
    span
}

/// Reports what was used to hide a terminal sequence, or hidden in one. It goes with the sequence.
fn report_disguise(text: &str, span: Span, pass: &mut Pass<'_>) {
    let inside = span.of(text).unwrap_or_default();
    let mut finder = Finder::new(inside);
    while let Some(found) = finder.next() {
        let run = run_of(inside, found.at, found.class);
        let hidden = run.of(inside).unwrap_or_default();
        let place = Span::new(span.start + run.start, span.start + run.end);
        match found.class {
            Class::Dependent(Dependent::Tag) => pass.report(&TAG_CHAR, place, || tags(hidden)),
            Class::Disguised(Disguised::Fullwidth) => {
                pass.report(&FULLWIDTH, place, || {
                    describe(hidden, "full-width character", "full-width characters")
                });
            }
            Class::Banned(Banned::ZeroWidth) | Class::Dependent(Dependent::Joiner) => {
                let [one, many] = ZERO_WIDTH_NAMES;
                pass.report(&ZERO_WIDTH, place, || describe(hidden, one, many));
            }
            Class::Plain | Class::Mark | Class::Banned(_) | Class::Dependent(_) | Class::Disguised(_) => {}
        }
        finder.resume(run.end);
    }
}

/// How a run of tag characters is told.
pub(super) fn tags(run: &str) -> String {
    let described = describe(run, "tag character", "tag characters");
    match tagged_text(run) {
        blank if blank.trim().is_empty() => described,
        hidden => format!("{described} that spell \"{hidden}\""),
    }
}

/// Control characters. Some of them separate words in print, and must not join them by their absence.
fn controls(text: &str, span: Span, pass: &mut Pass<'_>) -> Span {
    let run = span.of(text).unwrap_or_default();
    if !run.contains(['\u{b}', '\u{c}', '\u{85}']) {
        return removed(text, span, &CONTROL_CHAR, ["control character", "control characters"], pass);
    }
    // Old source files have form feeds between their parts.
    let feeds = run.chars().all(|character| matches!(character, '\u{b}' | '\u{c}'));
    let severity = if feeds { Severity::Low } else { CONTROL_CHAR.severity };
    pass.report_as(&CONTROL_CHAR, severity, span, || {
        describe(run, "control character", "control characters")
    });
    pass.replace(span, " ");
    span
}

/// Characters of no width. A single joiner may have a meaning, which the next pass sees; several in a row have none.
fn zero_width(text: &str, at: usize, pass: &mut Pass<'_>) -> Option<usize> {
    const JOINER: Class = Class::Dependent(Dependent::Joiner);
    let belongs = |character| [JOINER, Class::Banned(Banned::ZeroWidth)].contains(&Class::of(character));
    let span = run(text, at, belongs);
    let mut characters = span.of(text)?.chars();
    if characters.next().map(Class::of) == Some(JOINER) && characters.next().is_none() {
        return None;
    }
    Some(removed(text, span, &ZERO_WIDTH, ZERO_WIDTH_NAMES, pass).end)
}

/// Letters drawn as nothing. Those with a width separate words, and leave a space.
fn fillers(text: &str, span: Span, pass: &mut Pass<'_>) -> Span {
    let run = span.of(text).unwrap_or_default();
    pass.report(&BLANK_FILLER, span, || describe(run, "blank letter", "blank letters"));
    match run.contains(['\u{3164}', '\u{ffa0}']) {
        true => pass.replace(span, " "),
        false => pass.remove(span),
    }
    span
}
