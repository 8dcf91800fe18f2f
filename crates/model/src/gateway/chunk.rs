//! The JSON of answers, as loosely as servers write it.
//!
//! Fields are kept as slices of the text until someone asks for them. A server that sends a number where text belongs is
//! understood as far as possible, and one that sends a million empty lists makes nothing grow.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer as _};
use serde_json::value::RawValue;

use crate::usage::Usage;

/// A field that may hold anything; null counts as absent.
type Field<'a> = Option<&'a RawValue>;

/// One event of a stream, or a whole answer.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow, default)]
    pub(super) choices: Field<'a>,
    #[serde(borrow, default)]
    pub(super) usage: Field<'a>,
    #[serde(borrow, default)]
    pub(super) error: Field<'a>,
}

/// One of the answers to a request.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, default)]
    pub(super) index: Field<'a>,
    #[serde(borrow, default)]
    pub(super) delta: Field<'a>,
    #[serde(borrow, default)]
    pub(super) message: Field<'a>,
    #[serde(borrow, default)]
    pub(super) finish_reason: Field<'a>,
}

/// A piece of a message, or all of it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow, default)]
    pub(super) content: Field<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning_content: Field<'a>,
    #[serde(borrow, default)]
    pub(super) reasoning: Field<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Field<'a>,
    #[serde(borrow, default)]
    pub(super) tool_calls: Field<'a>,
    #[serde(borrow, default)]
    pub(super) function_call: Field<'a>,
}

/// A piece of a call, or all of it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(borrow, default)]
    pub(super) index: Field<'a>,
    #[serde(borrow, default)]
    pub(super) id: Field<'a>,
    #[serde(borrow, default)]
    pub(super) function: Field<'a>,
}

/// What is called, and with what.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionDelta<'a> {
    #[serde(borrow, default)]
    pub(super) name: Field<'a>,
    #[serde(borrow, default)]
    pub(super) arguments: Field<'a>,
}

/// A part of a message that is a list of parts.
#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Field<'a>,
}

/// What went wrong, in the middle of an answer or instead of one.
#[derive(Debug, Default, Deserialize)]
struct Complaint<'a> {
    #[serde(borrow, default)]
    message: Field<'a>,
    #[serde(borrow, default)]
    code: Field<'a>,
    #[serde(borrow, default)]
    status: Field<'a>,
    #[serde(borrow, default, rename = "type")]
    kind: Field<'a>,
}

/// The value of a field that is text.
pub(super) fn text<'a>(field: Field<'a>) -> Option<Cow<'a, str>> {
    let raw = field?.get();
    // Without escapes the text is the slice between the quotes.
    if !raw.contains('\\') {
        return raw.strip_prefix('"')?.strip_suffix('"').map(Cow::Borrowed);
    }
    let mut reader = serde_json::Deserializer::from_str(raw);
    reader.deserialize_bytes(Lossy).ok().map(Cow::Owned)
}

/// Reads text with half characters in it, as servers send that cut an answer between two escapes.
struct Lossy;

impl Visitor<'_> for Lossy {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<String, E> {
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// The value of a field that is a number.
pub(super) fn number(field: Field<'_>) -> Option<u64> {
    let raw = field?.get().trim_matches('"');
    raw.parse().ok().or_else(|| {
        let number: f64 = raw.parse().ok()?;
        let whole = (0.0..9e15).contains(&number);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just above")]
        whole.then_some(number as u64)
    })
}

/// The value of a field that is an object of this kind.
pub(super) fn object<'a, T: Deserialize<'a> + Default>(field: Field<'a>) -> T {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

/// Hands the text of a message to `each`: text itself, or the text parts of a list.
pub(super) fn content(field: Field<'_>, each: &mut impl FnMut(&str)) {
    let Some(raw) = field else { return };
    if let Some(whole) = text(Some(raw)) {
        return each(&whole);
    }
    elements(Some(raw), &mut |part: Part<'_>| {
        if let Some(text) = text(part.text) {
            each(&text);
        }
        true
    });
}

/// Hands the elements of a list to `each` until it has enough. What is no list has none.
pub(super) fn elements<'a, T: Deserialize<'a>>(field: Field<'a>, each: &mut dyn FnMut(T) -> bool) {
    let Some(raw) = field else { return };
    let mut reader = serde_json::Deserializer::from_str(raw.get());
    // A list of something else ends where it stops to make sense.
    let _as_far_as_it_goes = reader.deserialize_seq(Each { each, of: PhantomData });
}

/// Visits a list without keeping it.
struct Each<'e, T> {
    each: &'e mut dyn FnMut(T) -> bool,
    of: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Each<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            if !(self.each)(element) {
                break;
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }
}

/// An error that came where an answer should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    /// What the server says.
    pub(super) message: String,
    /// The status it would have had.
    pub(super) status: u16,
}

/// Reads an error: an object with a message, or plain text.
pub(super) fn server_error(field: Field<'_>) -> Option<ServerError> {
    let raw = field?;
    let complaint: Complaint<'_> = object(Some(raw));
    let message = text(Some(raw)).or_else(|| text(complaint.message));
    let message = message.map_or_else(|| raw.get().to_owned(), Cow::into_owned);
    let kind = text(complaint.kind).or_else(|| text(complaint.code)).unwrap_or_default();
    let given = number(complaint.code).or_else(|| number(complaint.status));
    let status = given.and_then(|code| u16::try_from(code).ok()).filter(|code| (400..600).contains(code));
    Some(ServerError { message, status: status.unwrap_or_else(|| status_of(&kind)) })
}

/// The status that goes with the kind of an error. What nobody can be blamed for may pass by itself.
fn status_of(kind: &str) -> u16 {
    const KINDS: &[(&str, u16)] = &[
        ("rate_limit", 429),
        ("overloaded", 503),
        ("unavailable", 503),
        ("authentication", 401),
        ("permission", 403),
        ("not_found", 404),
        ("invalid", 400),
        ("context_length", 400),
        ("exceed_context", 400),
        ("BadRequest", 400),
    ];
    KINDS.iter().find(|(word, _)| kind.contains(word)).map_or(500, |(_, status)| *status)
}

/// Tokens and costs, by the names that servers use.
#[derive(Debug, Default, Deserialize)]
struct WireUsage<'a> {
    #[serde(borrow, default)]
    prompt_tokens: Field<'a>,
    #[serde(borrow, default)]
    input_tokens: Field<'a>,
    #[serde(borrow, default)]
    completion_tokens: Field<'a>,
    #[serde(borrow, default)]
    output_tokens: Field<'a>,
    #[serde(borrow, default)]
    total_tokens: Field<'a>,
    #[serde(borrow, default)]
    prompt_tokens_details: Field<'a>,
    #[serde(borrow, default)]
    input_tokens_details: Field<'a>,
    #[serde(borrow, default)]
    completion_tokens_details: Field<'a>,
    #[serde(borrow, default)]
    output_tokens_details: Field<'a>,
    #[serde(borrow, default)]
    cost_usd: Field<'a>,
    #[serde(borrow, default)]
    cost: Field<'a>,
}

/// The parts of a number of tokens.
#[derive(Debug, Default, Deserialize)]
struct Details<'a> {
    #[serde(borrow, default)]
    cached_tokens: Field<'a>,
    #[serde(borrow, default)]
    reasoning_tokens: Field<'a>,
}

/// Reads what an answer used.
pub(super) fn usage(field: Field<'_>) -> Usage {
    let wire: WireUsage<'_> = object(field);
    let input: Details<'_> = object(wire.prompt_tokens_details.or(wire.input_tokens_details));
    let output: Details<'_> = object(wire.completion_tokens_details.or(wire.output_tokens_details));
    let dollars = |field: Field<'_>| {
        let dollars: f64 = field?.get().trim_matches('"').parse().ok()?;
        (dollars.is_finite() && dollars >= 0.0).then_some(dollars)
    };
    Usage {
        input_tokens: number(wire.prompt_tokens).or_else(|| number(wire.input_tokens)),
        cached_input_tokens: number(input.cached_tokens),
        output_tokens: number(wire.completion_tokens).or_else(|| number(wire.output_tokens)),
        reasoning_tokens: number(output.reasoning_tokens),
        total_tokens: number(wire.total_tokens),
        cost_usd: dollars(wire.cost_usd).or_else(|| dollars(wire.cost)),
    }
}
