//! A text and what is encoded in it, layer by layer.

use super::anchors::{self, Kind};
use super::context::Context;
use super::danger::Danger;
use super::found::Match;
use super::hidden::{Blocks, in_attribute};
use super::payload::Payload;
use super::rules::{
    CHAT_TEMPLATE, ENV_EXFIL_PRINTENV, FAKE_MESSAGE, HIDDEN_DIV, HIDDEN_HTML_COMMENT, HIDDEN_TEXT,
    MISLEADING_LINK, TOO_MANY_PAYLOADS,
};
use super::source::Source;
use super::{
    addressed, authority, commands, encoded, escapes, exfiltration, foreign, languages, links, overrides,
    persona, respelt, secrecy, takeover, templates,
};
use crate::finding::Span;
use crate::fold::Folded;
use crate::severity::Severity;

/// How many encodings around a text are taken off.
const DEEPEST: usize = 3;
/// The longest part of the text that a finding repeats, in bytes.
const EXCERPT: usize = 120;

/// How far after the start of a message that was never sent its words are taken to belong to it.
const MESSAGE: usize = 600;

/// What is found in `text`, in its order, with spans in it.
pub(super) fn read(text: &str) -> Vec<Match> {
    let folded = Folded::new(text);
    // What is decoded may be decoded again; all of it together is no more than a few times the text.
    let mut budget =
        Budget { bytes: folded.bytes().len().saturating_mul(4).saturating_add(4096), refused: None };
    let mut matches = read_layer(&folded, 0, &mut budget);
    if let Some(refused) = budget.refused {
        let span = folded.to_original(refused);
        matches.push(Match::new(&TOO_MANY_PAYLOADS, span).with_detail("encoded text that was not decoded"));
    }
    matches
}

/// How much may still be decoded.
struct Budget {
    bytes: usize,
    /// Where, in the outermost text, something was left as it is.
    refused: Option<Span>,
}

fn read_layer(folded: &Folded<'_>, depth: usize, budget: &mut Budget) -> Vec<Match> {
    let source = Source::new(folded);
    let mut layer = Layer::default();
    let mut last_payload = 0;
    let mut danger = (0, Danger::default());
    for (kind, at) in anchors::find(source.bytes()) {
        let part = source.around(at);
        let inside = part.inside(at);
        if let Kind::Respelt(spelling) = kind {
            if at.start >= last_payload {
                let from = last_payload.saturating_sub(part.start);
                let payload = respelt::read(part.text, spelling, inside, from).map(|read| read.within(&part));
                last_payload = payload.as_ref().map_or(at.end, |payload| payload.span.end);
                layer.payloads.extend(payload);
            }
        } else if !layer.blocks.begin(kind, &source, at) {
            // What is known of one part is not true of the next.
            if danger.0 != part.start {
                danger = (part.start, Danger::default());
            }
            let found = matched(part.text, kind, inside, &danger.1);
            layer.matches.extend(found.map(|found| Match { span: part.outside(found.span), ..found }));
        }
    }
    layer.matches.sort_by_key(|found| found.span);
    layer.matches.dedup_by_key(|found| (found.span, found.rule.id));
    let plain: Vec<Match> = layer.matches.clone();
    if !layer.is_empty() {
        layer.place(source.whole());
        layer.join_messages();
    }
    layer.decode(&source, depth, budget, &plain);
    layer.matches.sort_by_key(|found| found.span);
    for found in &mut layer.matches {
        found.span = folded.to_original(found.span);
    }
    layer.matches
}

/// What the matcher for an anchor finds.
fn matched(text: &str, kind: Kind, at: Span, danger: &Danger) -> Option<Match> {
    match kind {
        Kind::Foreign => languages::find(text, at),
        Kind::Image => exfiltration::image(text, at.start),
        Kind::SecretsFile => commands::secrets_file(text, at),
        Kind::Marker => templates::marker(text, at),
        Kind::Tag => templates::tag(text, at),
        Kind::Turn => templates::turn(text, at)
            .or_else(|| addressed::audience(text, Span::new(at.start, at.end.saturating_sub(1)), danger)),
        Kind::Link if text.as_bytes().get(at.start) == Some(&b'[') => links::markdown(text, at),
        Kind::Link => links::html(text, at),
        Kind::Override => overrides::find(text, at.start).or_else(|| languages::shared(text, at.start)),
        Kind::Lapsed => overrides::lapsed(text, at.start),
        Kind::Expired => overrides::expired(text, at.start),
        Kind::SystemPrompt => takeover::system_prompt(text, at.start),
        Kind::NewTask => {
            let space = at.of(text).and_then(|anchor| anchor.find(' '));
            takeover::new_task(text, at.start + space.map_or(0, |space| space + 1))
        }
        Kind::Translate => takeover::translate(text, at.start),
        Kind::Pretend => persona::pretend(text, at.start),
        Kind::ActAs => persona::act_as(text, at.start),
        Kind::YouAre => persona::you_are(text, at.start),
        Kind::Mode => persona::mode(text, at.start),
        Kind::AnythingNow => persona::anything_now(text, at.start, at.end),
        Kind::FromNowOn => persona::from_now_on(text, at.start),
        Kind::Tell => secrecy::tell(text, at.start),
        Kind::Silently => secrecy::silently(text, at.start),
        Kind::Send => exfiltration::send(text, at.start),
        Kind::Request => commands::request(text, at.start),
        Kind::Base64 => commands::base64(text, at.start),
        Kind::Environment => commands::environment(text, at),
        Kind::Role => templates::role(text, at),
        Kind::Audience => addressed::audience(text, at, danger),
        Kind::Step => addressed::step(text, at, danger),
        Kind::Authority => authority::phrase(text, at),
        Kind::Consent => authority::consent(text, at, danger),
        Kind::ForeignUser => foreign::tell(text, at),
        Kind::ForeignSend => foreign::send(text, at),
        Kind::Comment | Kind::Style | Kind::Unshown | Kind::Reference | Kind::Respelt(_) => None,
    }
}

/// What is found in one text before and after it is known where it stands.
#[derive(Debug, Default)]
struct Layer {
    matches: Vec<Match>,
    blocks: Blocks,
    payloads: Vec<Payload>,
}

impl Layer {
    /// Whether nothing stands in the open, and nothing is hidden.
    fn is_empty(&self) -> bool {
        self.matches.is_empty() && self.blocks.iter().next().is_none()
    }

    /// Judges every match by where it stands: hidden, quoted, or in the open.
    fn place(&mut self, text: &str) {
        let mut context = None;
        let mut speaking: Vec<(usize, String)> = Vec::new();
        for found in &mut self.matches {
            let words = found.detail.take().unwrap_or_else(|| excerpt(text, found.span));
            let block = self.blocks.around(found.span.start);
            if let Some((number, block)) = block {
                raise(found);
                found.detail = Some(format!("{}: {words}", block.name()));
                if instructs(found) && speaking.last().is_none_or(|(last, _)| *last != number) {
                    speaking.push((number, words));
                }
            } else if instructs(found) && in_attribute(text, found.span.start) {
                raise(found);
                found.detail = Some(format!("in text that is hardly ever shown: {words}"));
            } else if found.severity > Severity::Low
                && context.get_or_insert_with(|| Context::new(text)).discusses(found.span)
            {
                found.severity =
                    if found.severity == Severity::Critical { Severity::Medium } else { Severity::Low };
                found.detail = Some(format!("quoted: {words}"));
            } else {
                found.detail = Some(words);
            }
        }
        self.add_blocks(text, &speaking);
    }

    /// Makes the start of a message that was never sent as bad as can be when what follows asks for something.
    fn join_messages(&mut self) {
        let asking: Vec<usize> = self
            .matches
            .iter()
            .filter(|found| instructs(found) && found.severity >= Severity::High)
            .map(|found| found.span.start)
            .collect();
        for found in &mut self.matches {
            let opens = (found.rule == &CHAT_TEMPLATE || found.rule == &FAKE_MESSAGE)
                && found.severity > Severity::Low;
            let next = asking.partition_point(|at| *at < found.span.start);
            if opens && asking.get(next).is_some_and(|at| *at < found.span.end + MESSAGE) {
                found.severity = Severity::Critical;
            }
        }
    }

    /// Adds the blocks themselves: those that speak to a model, and those that are odd in any case.
    fn add_blocks(&mut self, text: &str, speaking: &[(usize, String)]) {
        for (number, block) in self.blocks.iter().enumerate() {
            match speaking.binary_search_by_key(&number, |(speaks, _)| *speaks) {
                Ok(at) => {
                    let words = speaking.get(at).map(|(_, words)| words.clone()).unwrap_or_default();
                    let found = Match::new(block.rule, block.span).with_severity(Severity::Critical);
                    self.matches.push(found.with_detail(words));
                }
                Err(_) => self.matches.extend(block.quiet(text)),
            }
        }
    }

    /// Looks into what is encoded. `plain` is what was found without decoding.
    fn decode(&mut self, source: &Source<'_>, depth: usize, budget: &mut Budget, plain: &[Match]) {
        let mut found = Vec::new();
        let mut look = |payload: Payload| {
            if depth >= DEEPEST || payload.text.len() > budget.bytes {
                budget.refused.get_or_insert(payload.span);
                return;
            }
            budget.bytes -= payload.text.len();
            let before = budget.refused;
            for inner in read_layer(&Folded::new(&payload.text), depth + 1, budget) {
                found.extend(from_payload(inner, &payload));
            }
            // What was refused within is told by where its outermost encoding stands.
            budget.refused = before.or(budget.refused.map(|_| payload.span));
        };
        encoded::decode_runs(source.bytes(), &mut look);
        if depth < DEEPEST {
            std::mem::take(&mut self.payloads).into_iter().for_each(&mut look);
            escapes::decode_escapes(source, &mut look);
            escapes::decode_mail(source, &mut look);
            respelt::compose(source, &mut look);
        }
        // Next to an escape the same words may stand in the open; they are reported once.
        found.retain(|found: &Match| {
            let from = plain.partition_point(|plain| plain.span.start + 400 < found.span.start);
            let near = plain.get(from..).unwrap_or_default();
            let same = |plain: &Match| plain.span.overlaps(found.span) && plain.rule == found.rule;
            !near.iter().take_while(|plain| plain.span.start < found.span.end).any(same)
        });
        self.matches.extend(found);
    }
}

/// What a match in a decoded text is in the text around it: nobody encodes an instruction in order to discuss it.
fn from_payload(mut inner: Match, payload: &Payload) -> Option<Match> {
    if inner.severity <= Severity::Low {
        return None;
    }
    raise(&mut inner);
    inner.span = payload.span;
    inner.detail = Some(format!("{}: {}", payload.via, inner.detail.unwrap_or_default()));
    Some(inner)
}

/// Makes a match that was hidden as bad as can be, if it asks for something.
fn raise(found: &mut Match) {
    if instructs(found) {
        found.severity = Severity::Critical;
    }
}

/// Whether a match asks the model for something, and is more than a word that may mean so.
fn instructs(found: &Match) -> bool {
    let structure = [
        &HIDDEN_DIV,
        &HIDDEN_HTML_COMMENT,
        &HIDDEN_TEXT,
        &MISLEADING_LINK,
        &ENV_EXFIL_PRINTENV,
        &FAKE_MESSAGE,
        &CHAT_TEMPLATE,
    ];
    found.severity >= Severity::Medium && !structure.contains(&found.rule)
}

/// The matched words in one line.
fn excerpt(text: &str, span: Span) -> String {
    let part = span.of(text).unwrap_or_default();
    let cut = part.get(..part.floor_char_boundary(EXCERPT)).unwrap_or_default();
    let mut words = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    if cut.len() < part.len() {
        words.push('…');
    }
    words
}
