//! Finds the places in a text where a secret may begin, without building anything first.
//!
//! A hook looks at a few kilobytes and has a millisecond, so there is no automaton to compile: three neighbouring bytes,
//! five bits of each, index a bitmap that the compiler has filled in. Five bits also make the test blind to case.

use std::ops::ControlFlow;

use super::shape::{SHAPES, Shape};

/// What may begin at a place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A token with a fixed prefix.
    Shape(&'static Shape),
    /// The middle of the first line of a private key.
    PrivateKey,
    /// A key file in base64.
    EncodedKey,
    /// The end of the scheme of a URL.
    Scheme,
    /// A Slack webhook.
    SlackWebhook,
    /// A JSON web token.
    Jwt,
    /// Part of a name that may say "secret".
    Name,
    /// The word before a bearer token.
    Bearer,
    /// The signature in a query.
    Signature,
    /// Digits and a colon: a bot token has eight or more of them.
    Digits,
    /// A Twilio key.
    Twilio,
    /// The middle of a client secret of Azure's directory.
    AzureSecret,
    /// The number that a Discord token begins with, in base64.
    Discord,
    /// A Discord webhook.
    DiscordWebhook,
    /// The signature of a URL for a stored object.
    Signed,
    /// The name of a header with cookies.
    Cookie,
    /// An option that is a password in some programs.
    Password,
    /// The same for one program.
    RedisPassword,
    /// An option with a user and a password, which ends after so many bytes.
    User(usize),
    /// A character of tokens that is written with a percent sign.
    Percent,
    /// The line before the private part of a PuTTY key.
    Putty,
}

/// A text that begins, or gives away, a secret.
#[derive(Clone, Copy, Debug)]
struct Anchor {
    literal: &'static str,
    /// Whether upper and lower case are the same.
    folds: bool,
    kind: Kind,
}

const fn exact(literal: &'static str, kind: Kind) -> Anchor {
    Anchor { literal, folds: false, kind }
}

const fn folded(literal: &'static str, kind: Kind) -> Anchor {
    Anchor { literal, folds: true, kind }
}

const OTHERS: &[Anchor] = &[
    exact("PRIVATE KEY", Kind::PrivateKey),
    exact("LS0tLS1CRUdJTi", Kind::EncodedKey),
    exact("://", Kind::Scheme),
    exact("hooks.slack.com/services/", Kind::SlackWebhook),
    exact("eyJ", Kind::Jwt),
    folded("key", Kind::Name),
    folded("token", Kind::Name),
    folded("secret", Kind::Name),
    folded("pass", Kind::Name),
    folded("pwd", Kind::Name),
    folded("credential", Kind::Name),
    folded("auth", Kind::Name),
    folded("bearer ", Kind::Bearer),
    exact("sig=", Kind::Signature),
    exact("7Q~", Kind::AzureSecret),
    exact("8Q~", Kind::AzureSecret),
    exact("/api/webhooks/", Kind::DiscordWebhook),
    exact("-Signature=", Kind::Signed),
    folded("cookie", Kind::Cookie),
    exact(" -p", Kind::Password),
    exact(" -a ", Kind::RedisPassword),
    exact(" -u ", Kind::User(4)),
    exact("--user ", Kind::User(7)),
    folded("%2d", Kind::Percent),
    folded("%2e", Kind::Percent),
    folded("%3a", Kind::Percent),
    folded("%3d", Kind::Percent),
    folded("%5f", Kind::Percent),
    exact("Private-Lines:", Kind::Putty),
];

const COUNT: usize = SHAPES.len() + OTHERS.len();

/// Where three bytes stand in the tables.
const fn index(bytes: [u8; 3]) -> usize {
    let [first, second, third] = bytes;
    ((first & 31) as usize) << 10 | ((second & 31) as usize) << 5 | (third & 31) as usize
}

/// The tables that the search needs.
struct Tables {
    /// One bit for every three bytes that begin an anchor.
    bits: [u64; 512],
    /// All anchors.
    anchors: [Anchor; COUNT],
    /// The first anchor with these three bytes, counted from one.
    first: [u8; 32768],
    /// The next anchor with the same three bytes, counted from one.
    next: [u8; COUNT],
}

static TABLES: Tables = tables();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, where a wrong index is a build error"
)]
const fn tables() -> Tables {
    let mut tables =
        Tables { bits: [0; 512], anchors: [OTHERS[0]; COUNT], first: [0; 32768], next: [0; COUNT] };
    let mut at = 0;
    while at < COUNT {
        let anchor = if at < SHAPES.len() {
            exact(SHAPES[at].prefix, Kind::Shape(&SHAPES[at]))
        } else {
            OTHERS[at - SHAPES.len()]
        };
        let literal = anchor.literal.as_bytes();
        let place = index([literal[0], literal[1], literal[2]]);
        tables.anchors[at] = anchor;
        tables.bits[place / 64] |= 1 << (place % 64);
        tables.next[at] = tables.first[place];
        tables.first[place] = at as u8 + 1;
        at += 1;
    }
    // Two digits and a colon, and `SK` with a hexadecimal digit, are no fixed texts.
    let mut digit = 0;
    while digit < 100 {
        let place = index([b'0' + digit / 10, b'0' + digit % 10, b':']);
        tables.bits[place / 64] |= 1 << (place % 64);
        digit += 1;
    }
    let mut digit = 0;
    while digit < 100 {
        let place = index(discord(digit / 10, digit % 10));
        tables.bits[place / 64] |= 1 << (place % 64);
        digit += 1;
    }
    let mut digit = 0;
    while digit < 16 {
        let place = index([b'S', b'K', b"0123456789abcdef"[digit]]);
        tables.bits[place / 64] |= 1 << (place % 64);
        digit += 1;
    }
    tables
}

/// What a number that begins with these digits begins with in base64.
const fn discord(first: u8, second: u8) -> [u8; 3] {
    [b'M' + first / 4, letter(first % 4 * 16 + 3), letter(second * 4)]
}

const fn letter(index: u8) -> u8 {
    if index < 26 { b'A' + index } else { b'a' + index - 26 }
}

/// Calls `found` with every place where a secret may begin, first place first, until it says that it has seen enough.
pub(super) fn each(bytes: &[u8], mut found: impl FnMut(usize, Kind) -> ControlFlow<()>) -> ControlFlow<()> {
    for (at, window) in bytes.windows(3).enumerate() {
        let &[first, second, third] = window else { continue };
        let place = index([first, second, third]);
        let word = TABLES.bits.get(place / 64).copied().unwrap_or_default();
        if word >> (place % 64) & 1 != 0 {
            check(bytes, at, [first, second, third], &mut found)?;
        }
    }
    ControlFlow::Continue(())
}

/// Compares in full what begins with three bytes that some anchor begins with.
#[cold]
fn check(
    bytes: &[u8],
    at: usize,
    begin: [u8; 3],
    found: &mut impl FnMut(usize, Kind) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if let [b'0'..=b'9', b'0'..=b'9', b':'] = begin {
        found(at, Kind::Digits)?;
    }
    if let [b'S', b'K', b'0'..=b'9' | b'a'..=b'f'] = begin {
        found(at, Kind::Twilio)?;
    }
    if let [b'M'..=b'O', b'D' | b'T' | b'j' | b'z', third] = begin
        && third.is_ascii_alphabetic()
    {
        found(at, Kind::Discord)?;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let mut candidate = TABLES.first.get(index(begin)).copied().unwrap_or_default();
    while let Some(position) = usize::from(candidate).checked_sub(1) {
        let Some(anchor) = TABLES.anchors.get(position) else { break };
        let matches = match (rest.get(..anchor.literal.len()), anchor.folds) {
            (Some(text), true) => text.eq_ignore_ascii_case(anchor.literal.as_bytes()),
            (Some(text), false) => text == anchor.literal.as_bytes(),
            (None, _) => false,
        };
        if matches {
            found(at, anchor.kind)?;
        }
        candidate = TABLES.next.get(position).copied().unwrap_or_default();
    }
    ControlFlow::Continue(())
}
