//! The rare words at which matchers start, found in one pass.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::languages;
use crate::finding::Span;
use crate::fold::Folded;

/// Texts from this length on are worth the table that takes longer to build and is faster to follow.
const LONG: usize = 128 * 1024;

/// What a matcher is asked when its anchor is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Override,
    Foreign,
    Expired,
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
    Comment,
    Style,
    Reference,
    Link,
    Rot13,
    Spaced,
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
    (Kind::Tell, &["tell", "inform", "reveal", "mention", "disclos", "notify", "alert", "warn"]),
    (Kind::Silently, &["silently", "secretly", "covertly", "stealthily", "quietly"]),
    (
        Kind::Send,
        &["send ", "post ", "upload", "exfiltrat", "email", "transmit", "forward ", "leak ", "submit"],
    ),
    (Kind::Image, &["!["]),
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
    (Kind::Turn, &["### system:", "### instruction:", "## system:", "```system", "human:", "assistant:"]),
    (Kind::Comment, &["<!--"]),
    (Kind::Style, &["display", "visibility", "font-size", "opacity", " hidden"]),
    (Kind::Reference, &["[//]:", "[comment]:"]),
    (Kind::Link, &["](http", "href="]),
    (Kind::Rot13, &["vtaber", "qvfertneq", "sbetrg", "vafgehpgvba"]),
    (
        Kind::Spaced,
        &["i g n o r e", "d i s r e g a r d", "f o r g e t", "i-g-n-o-r-e", "i.g.n.o.r.e", "i_g_n_o_r_e"],
    ),
];

/// The two forms of the automaton. Both are built when first needed: the small one in a fraction of a millisecond.
static SMALL: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| build(AhoCorasickKind::ContiguousNFA));
static LARGE: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| build(AhoCorasickKind::DFA));
static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| patterns().map(|(kind, _)| kind).collect());

fn patterns() -> impl Iterator<Item = (Kind, String)> {
    let ascii = ANCHORS.iter().flat_map(|(kind, words)| words.iter().map(|word| (*kind, (*word).to_owned())));
    // The text is folded, so what is looked for is folded too: half of a Cyrillic word looks Latin.
    let foreign = languages::VERBS.iter().map(|verb| (Kind::Foreign, Folded::new(verb).text().to_owned()));
    ascii.chain(foreign)
}

fn build(kind: AhoCorasickKind) -> Option<AhoCorasick> {
    AhoCorasick::builder()
        .kind(Some(kind))
        .match_kind(MatchKind::LeftmostLongest)
        .ascii_case_insensitive(true)
        .prefilter(false)
        .build(patterns().map(|(_, word)| word))
        .ok()
}

/// Every anchor in `text`, in order.
pub(super) fn find(text: &str) -> impl Iterator<Item = (Kind, Span)> {
    let automaton = if text.len() < LONG { &SMALL } else { &LARGE };
    automaton.iter().flat_map(move |found| found.find_iter(text)).filter_map(|found| {
        Some((*KINDS.get(found.pattern().as_usize())?, Span::new(found.start(), found.end())))
    })
}
