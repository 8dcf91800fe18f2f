//! The rare words at which matchers start, found in one pass.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter;
use std::sync::LazyLock;

use super::respelt::Spelling;
use super::{authority, foreign, languages, starts};
use crate::finding::Span;

/// What a matcher is asked when its anchor is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Override,
    Foreign,
    Expired,
    Lapsed,
    SystemPrompt,
    NewTask,
    Translate,
    Pretend,
    ActAs,
    YouAre,
    Mode,
    AnythingNow,
    FromNowOn,
    Tell,
    Silently,
    Send,
    Image,
    Request,
    SecretsFile,
    Base64,
    Environment,
    Marker,
    Tag,
    Turn,
    Role,
    Audience,
    Step,
    Authority,
    Consent,
    ForeignUser,
    ForeignSend,
    Comment,
    Style,
    Reference,
    Link,
    Unshown,
    Respelt(Spelling),
}

/// Anchors in ASCII, matched in any case. Each is rare in ordinary text, since every occurrence costs a look around.
const ANCHORS: &[(Kind, &[&str])] = &[
    (
        Kind::Override,
        &[
            "ignor",
            "disregard",
            "forget",
            "forgotten",
            "overrid",
            "bypass",
            "neglect",
            "dismiss",
            "unlearn",
            "disobey",
            "circumvent",
            "overlook",
            "supersede",
            "follow",
            "obey",
            "discard",
            "abandon",
            "set aside",
            "pay no attention",
            "drop all",
            "drop your",
            "cancel all",
        ],
    ),
    (
        Kind::Lapsed,
        &[
            "are void",
            "are null",
            "are cancel",
            "are revoked",
            "are lifted",
            "are disabled",
            "are suspended",
            "are hereby",
            "are obsolete",
        ],
    ),
    (Kind::Expired, &["no longer appl", "no longer valid", "no longer matter", "no longer count"]),
    (Kind::SystemPrompt, &["prompt"]),
    (
        Kind::NewTask,
        &[
            "instruction",
            "new task",
            "new role",
            "new rule",
            "new guideline",
            "new objective",
            "new goal",
            "new directive",
            "new mission",
            "new persona",
            "new identity",
        ],
    ),
    (Kind::Translate, &["translate", "decode and", "decrypt and", "deobfuscate"]),
    (Kind::Pretend, &["pretend", "imagine", "suppose", "assume"]),
    (
        Kind::ActAs,
        &[
            "act as",
            "act\nas",
            "act like",
            "behave as",
            "behave like",
            "respond as",
            "answer as",
            "operate as",
        ],
    ),
    (Kind::YouAre, &["are now", "are\nnow", "are no longer", "are\nno longer"]),
    (
        Kind::Mode,
        &["developer mode", "dan mode", "jailbreak mode", "unrestricted mode", "jailbroken mode", "god mode"],
    ),
    (Kind::AnythingNow, &["do anything now"]),
    (Kind::FromNowOn, &["from now on"]),
    (
        Kind::Tell,
        &[
            "tell",
            "inform",
            "reveal",
            "mention",
            "disclos",
            "notify",
            "alert",
            "warn",
            "hide ",
            "conceal",
            "keep ",
            "let the",
            "user must not",
            "user should not",
            "user does not need",
        ],
    ),
    (Kind::Silently, &["silently", "secretly", "covertly", "stealthily", "quietly"]),
    (
        Kind::Send,
        &[
            "send ",
            "post ",
            "upload",
            "exfiltrat",
            "email",
            "transmit",
            "forward ",
            "leak ",
            "submit",
            "append ",
            "encode ",
            "embed ",
            "include ",
        ],
    ),
    (Kind::Image, &["](http"]),
    (Kind::Request, &["curl ", "wget ", "nc -", "nc $", "ncat ", "netcat "]),
    (
        Kind::SecretsFile,
        &[
            "/.env",
            ".env",
            ".ssh/id_",
            ".aws/credentials",
            ".netrc",
            ".pgpass",
            ".docker/config.json",
            ".kube/config",
        ],
    ),
    (Kind::Base64, &["base64"]),
    (Kind::Environment, &["printenv", "env |", "env|"]),
    (
        Kind::Marker,
        &[
            "<|im_start|>",
            "<|im_end|>",
            "<|system|>",
            "<|assistant|>",
            "<|user|>",
            "<|start_header_id|>",
            "<|eot_id|>",
            "<|begin_of_text|>",
            "[inst]",
            "[/inst]",
            "<<sys>>",
            "<</sys>>",
            "<start_of_turn>",
            "<|channel|>",
            "<|start|>system",
        ],
    ),
    (
        Kind::Tag,
        &[
            "<system",
            "</system",
            "<developer_message",
            "</tool_result",
            "</tool_response",
            "</function_result",
            "</tool_output",
            "<tool_result",
            "<function_calls",
            "<tool_call",
            "<system_prompt",
            "<system-reminder",
            "</user_input",
            "</untrusted",
        ],
    ),
    (
        Kind::Turn,
        &[
            "### system:",
            "### instruction:",
            "## system:",
            "```system",
            "human:",
            "assistant:",
            "[system]",
            "[system reminder]",
            "[system message]",
            "[system note]",
            "[system notice]",
        ],
    ),
    (
        Kind::Audience,
        &[
            "ai agent",
            "ai assistant",
            "ai model",
            "ai reviewer",
            "ai coding",
            "ai system",
            "ai tool",
            "ai bot",
            "ai code",
            "ai language",
            "ais ",
            "language model",
            "llm ",
            "llms",
            "llm-",
            "llm:",
            "llm,",
            "the ai ",
            "an ai ",
            "agent reading",
            "agent is reading",
            "agents",
            "assistants",
            "assistant ",
            "assistant,",
            "claude",
            "copilot",
            "chatgpt",
            "coding agent",
            "coding assistant",
            "autonomous agent",
            "automated agent",
            "automated reviewer",
            "chatbot",
            "agents reading",
            "assistant reading",
        ],
    ),
    (
        Kind::Step,
        &[
            "before continu",
            "before proceed",
            "before answer",
            "before respond",
            "before you continue",
            "before you proceed",
            "before you answer",
            "before you respond",
            "before doing anything",
            "before you do anything",
            "before using any",
            "prior to answer",
            "prior to continu",
            "prior to proceed",
            "in order to continue",
            "to continue,",
            "to proceed,",
            "the agent must first",
            "you must first",
            "required first step",
            "as the next step",
            "your next step",
            "your next action",
            "as your first action",
            "your first action",
        ],
    ),
    (Kind::Consent, &["authoriz", "authoris", "approve", "consent", "permission", "grant"]),
    (Kind::Role, &["\"role\"", "'role'", "role:"]),
    (Kind::Comment, &["<!--"]),
    (
        Kind::Style,
        &[
            "display",
            "visibility",
            "font-size",
            "opacity",
            " hidden",
            "aria-hidden",
            "sr-only",
            "visually-hidden",
            "d-none",
            "width",
            "height",
            "left",
            "text-indent",
            "margin-left",
            "color",
            "clip-path",
            "clip",
            "transform",
        ],
    ),
    (Kind::Unshown, &["<template", "<noscript"]),
    (Kind::Reference, &["[//]:", "[comment]:"]),
    (Kind::Link, &["[http", ">http"]),
    (Kind::Respelt(Spelling::Turned), &["vtaber", "qvfertneq", "sbetrg", "vafgehpgvba"]),
    (
        Kind::Respelt(Spelling::Leet),
        &[
            "1gn0r",
            "1gnor",
            "ign0r",
            "!gnor",
            "!gn0r",
            "d1sreg",
            "disreg4rd",
            "disr3g",
            "d1sr3g",
            "f0rg",
            "forg3t",
            "1nstruc7",
            "1nstruct",
            "instruct10n",
            "byp4ss",
            "0verrid",
            "0v3rrid",
            "ov3rrid",
            "r3v3al",
            "r3veal",
        ],
    ),
    (Kind::Respelt(Spelling::Reversed), &["snoitcurtsni", "tpmorp metsys", "enilediug", "erongi"]),
    (
        Kind::Respelt(Spelling::Codes),
        &[
            "69 67 6e 6f 72 65",
            "49 67 6e 6f 72 65",
            "49 47 4e 4f 52 45",
            "64 69 73 72 65 67",
            "44 69 73 72 65 67",
            "66 6f 72 67 65 74",
            "46 6f 72 67 65 74",
            "0x69 0x67 0x6e",
            "0x69, 0x67, 0x6e",
            "0x69,0x67,0x6e",
            "0x49, 0x67, 0x6e",
            "105 103 110 111",
            "105, 103, 110, 111",
            "105,103,110,111",
            "73 103 110 111",
            "73, 103, 110, 111",
            "01101001 01100111 01101110",
            "01001001 01100111 01101110",
        ],
    ),
    (
        Kind::Respelt(Spelling::Spaced),
        &["i g n o r e", "d i s r e g a r d", "f o r g e t", "i-g-n-o-r-e", "i.g.n.o.r.e", "i_g_n_o_r_e"],
    ),
];

/// All anchors, and a filter for their first four bytes.
static INDEX: LazyLock<Index> = LazyLock::new(Index::new);

/// How many words of 32 bits the filter has.
const FILTER: usize = 1024;

/// Finds anchors. Every four bytes of the text are looked up in a filter that fits into the nearest cache; hardly any pass
/// it, and only then it is asked which anchor it is. An automaton would take longer to build than most texts to scan.
#[derive(Debug)]
struct Index {
    filter: [u32; FILTER],
    /// Ordered by the word of the filter and the first four bytes; the longer of two comes first.
    anchors: Vec<Anchor>,
    /// For each word of the filter, which of the anchors are the first and the last of those it stands for.
    places: Vec<(u16, u16)>,
}

#[derive(Debug)]
struct Anchor {
    gram: u32,
    /// The four bytes after those, as far as it has them: enough to tell most words that only start alike.
    next: u32,
    mask: u32,
    kind: Kind,
    word: Cow<'static, str>,
}

impl Anchor {
    fn new(kind: Kind, word: Cow<'static, str>) -> Option<Self> {
        let bytes = word.as_bytes();
        let gram = gram(bytes)?;
        let mask = u32::MAX.checked_shr(64_u32.saturating_sub(bytes.len().min(8) as u32 * 8)).unwrap_or(0);
        Some(Self { gram, next: next_gram(bytes) & mask, mask, kind, word })
    }
}

impl Index {
    fn new() -> Self {
        let mut anchors: Vec<Anchor> =
            patterns().filter_map(|(kind, word)| Anchor::new(kind, word)).collect();
        anchors.sort_by_key(|anchor| (place(anchor.gram).0, anchor.gram, Reverse(anchor.word.len())));
        let mut filter = [0; FILTER];
        let mut places = vec![(0, 0); FILTER];
        for (number, anchor) in (0_u16..).zip(&anchors) {
            let (slot, bit) = place(anchor.gram);
            if let Some((word, place)) = filter.get_mut(slot).zip(places.get_mut(slot)) {
                *place = if *word == 0 { (number, number + 1) } else { (place.0, number + 1) };
                *word |= bit;
            }
        }
        Self { filter, anchors, places }
    }

    fn may_start(&self, window: &[u8]) -> bool {
        gram(window).is_some_and(|gram| {
            let (slot, bit) = place(gram);
            self.filter.get(slot).is_some_and(|slot| slot & bit != 0)
        })
    }

    /// The longest anchor at `at`.
    fn anchor_at(&self, text: &[u8], at: usize) -> Option<(Kind, Span)> {
        let rest = text.get(at..)?;
        let gram = gram(rest)?;
        let (from, to) = self.places.get(place(gram).0)?;
        let next = next_gram(rest);
        let alike = self.anchors.get(usize::from(*from)..usize::from(*to))?.iter();
        alike
            .filter(|anchor| anchor.gram == gram && next & anchor.mask == anchor.next)
            .filter(|anchor| {
                let start = rest.get(..anchor.word.len());
                start.is_some_and(|start| start.eq_ignore_ascii_case(anchor.word.as_bytes()))
            })
            .map(|anchor| (anchor.kind, Span::new(at, at + anchor.word.len())))
            .next()
    }
}

/// The first four bytes as a number that is the same for both cases of a letter.
fn gram(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk::<4>().map(|start| u32::from_le_bytes(*start) | 0x2020_2020)
}

/// The same for the four bytes after; what is missing at the end of the text is nothing an anchor has.
fn next_gram(bytes: &[u8]) -> u32 {
    let rest = bytes.get(4..).unwrap_or_default();
    gram(rest)
        .unwrap_or_else(|| rest.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte | 0x20)))
}

/// The word and bit of the filter that stand for a number.
fn place(gram: u32) -> (usize, u32) {
    let hash = gram.wrapping_mul(0x9e37_79b1) >> 17;
    ((hash >> 5) as usize, 1 << (hash & 31))
}

fn patterns() -> impl Iterator<Item = (Kind, Cow<'static, str>)> {
    let ascii =
        ANCHORS.iter().flat_map(|(kind, words)| words.iter().map(|word| (*kind, Cow::Borrowed(*word))));
    // The text is folded, so what is looked for is folded too: half of a Cyrillic word looks Latin.
    let foreign = [
        (Kind::Foreign, languages::VERBS),
        (Kind::ForeignUser, foreign::PEOPLE),
        (Kind::ForeignSend, foreign::SENDING),
        (Kind::Authority, authority::PHRASES),
    ];
    let foreign = foreign.into_iter().flat_map(|(kind, words)| {
        foreign::spellings(words).into_iter().map(move |word| (kind, Cow::Owned(word)))
    });
    ascii.chain(foreign)
}

/// Every anchor in `text`, in order and apart from each other. What starts with a letter starts a word.
pub(super) fn find(text: &[u8]) -> impl Iterator<Item = (Kind, Span)> {
    let index = &*INDEX;
    let (mut at, mut chunk, mut places) = (0, 0, starts::starts(text, 0));
    iter::from_fn(move || {
        loop {
            while places == 0 {
                chunk += starts::CHUNK;
                if chunk >= text.len() {
                    return None;
                }
                places = starts::starts(text, chunk);
            }
            let place = chunk + places.trailing_zeros() as usize;
            places &= places - 1;
            if index.may_start(text.get(place..)?)
                && place >= at
                && let Some((kind, span)) = index.anchor_at(text, place)
            {
                at = span.end;
                return Some((kind, span));
            }
        }
    })
}

#[cfg(test)]
mod tests;
