//! Finds credentials in text and masks them.
//!
//! Structure comes first: tokens whose makers gave them a prefix, a checksum or an inner form; keys in their armour;
//! passwords in URLs. Then values under names that say secret, judged by how random they look, with a long list of what
//! only stands for a secret. Structured text is looked at string by string, so that it stays valid.
//!
//! A mask shows the provider's prefix and at most the last four characters; of other secrets nothing stays. What has
//! been masked is not found again.

mod anchor;
mod apart;
mod assign;
mod check;
mod cookie;
mod encoded;
mod field;
mod hit;
mod name;
mod option;
mod pem;
pub mod rules;
mod run;
mod shape;
mod token;
mod url;
mod value;

use std::ops::ControlFlow;

use assign::Assignments;
use cookie::Cookies;
use encoded::Percents;
use hit::{Hit, Hits};
use run::Runs;
use value::Written;

pub use rules::ALL as RULES;

use self::anchor::Kind;
use crate::leaves::{self, Leaf, Role};
use crate::scanner::{Scan, Scanner, ScannerId};

/// Finds credentials and masks them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecretScanner;

impl SecretScanner {
    /// The one set of patterns there is.
    pub const fn new() -> Self {
        Self
    }

    /// Looks at a string that stands under `name` in a document that was parsed elsewhere.
    pub fn scan_field(&self, name: &str, value: &str) -> Scan {
        hit::settled(value, |value| {
            let mut hits = Hits::default();
            scan_value(Some(name), value, |hit| hits.push(hit));
            hits
        })
    }
}

impl Scanner for SecretScanner {
    fn id(&self) -> ScannerId {
        ScannerId::SecretRedactor
    }

    fn scan(&self, text: &str) -> Scan {
        hit::settled(text, look)
    }
}

/// Looks at a text once, in the way that suits it.
fn look(text: &str) -> Hits {
    let looks_structured = text.trim_start().starts_with(['{', '[', '"']);
    // An escape may hide the beginning of a token, so only a text without any can be passed by.
    if looks_structured
        && (text.contains('\\') || has_anchor(text))
        && let Some(hits) = look_at_json(text)
    {
        return hits;
    }
    let mut hits = Hits::default();
    scan_all(text, |hit| hits.push(hit));
    hits
}

fn has_anchor(text: &str) -> bool {
    anchor::each(text.as_bytes(), |_, _| ControlFlow::Break(())).is_break()
}

/// Looks at the strings of a JSON document; none when it is not one.
fn look_at_json(text: &str) -> Option<Hits> {
    let (mut hits, mut named) = (Hits::default(), String::new());
    leaves::visit_json(text, |leaf: &Leaf<'_>| {
        let to_source = |hit: Hit| Hit { span: leaf.to_source(hit.span), ..hit };
        match leaf.role() {
            // A masked key would change the shape of the document.
            Role::Key => {
                scan_all(leaf.text(), |hit| hits.push_fixed(to_source(hit)));
                if !leaf.text().eq_ignore_ascii_case("value") {
                    remember(&mut named, leaf.text());
                }
            }
            Role::Value { key } => {
                // `{"name": "DB_PASSWORD", "value": "…"}` and `{"db_password": {"value": "…"}}`.
                let is = |names: &[&str]| {
                    key.is_some_and(|key| names.iter().any(|name| key.eq_ignore_ascii_case(name)))
                };
                let name = if is(&["value"]) && !named.is_empty() { Some(named.as_str()) } else { key };
                scan_value(name, leaf.text(), |hit| hits.push(to_source(hit)));
                remember(&mut named, if is(&["name", "key"]) { leaf.text() } else { "" });
            }
        }
    })
    .ok()?;
    Some(hits)
}

/// The longest text that is taken for the name of the value after it.
const LONGEST_NAME: usize = 128;

fn remember(named: &mut String, name: &str) {
    named.clear();
    named.push_str(if name.len() <= LONGEST_NAME { name } else { "" });
}

/// Looks at a string and, if it stands under a name, at what the name says about it.
fn scan_value(name: Option<&str>, value: &str, mut found: impl FnMut(Hit)) {
    if let Some(hit) = name.and_then(|name| field::find(name, value, Written::Quoted, &rules::JSON_FIELD)) {
        found(hit);
    }
    if name.is_some_and(cookie::is_name) {
        cookie::each(value, &mut found);
    }
    scan_all(value, found);
}

/// Looks at running text, and through what is encoded in it.
fn scan_all(text: &str, mut found: impl FnMut(Hit)) {
    let mut percents = Percents::default();
    scan_text(text, |text, at, found| percents.each(text, at, plain_hits, found), &mut found);
    let worst = |decoded: &str| look_once(decoded).iter().map(|hit| hit.severity).max();
    encoded::each_blob(text, worst, found);
}

/// The secrets in what was decoded, which is not decoded again.
fn plain_hits(text: &str) -> Vec<Hit> {
    let mut hits = Vec::new();
    scan_text(text, |_, _, _| {}, &mut |hit| hits.push(hit));
    hits
}

/// The same, also where it is a document.
fn look_once(text: &str) -> Vec<Hit> {
    let mut hits = plain_hits(text);
    if text.starts_with(['{', '[']) {
        let mut found = |hit| hits.push(hit);
        let _no_document_is_text = leaves::visit_json(text, |leaf: &Leaf<'_>| {
            if let Role::Value { key: Some(name) } = leaf.role()
                && let Some(hit) = field::find(name, leaf.text(), Written::Quoted, &rules::JSON_FIELD)
            {
                found(hit);
            }
        });
    }
    hits
}

/// Looks at running text. `percent` is called with the places of percent signs.
fn scan_text<F: FnMut(Hit)>(text: &str, mut percent: impl FnMut(&str, usize, &mut F), found: &mut F) {
    let (mut runs, mut assignments, mut covered) = (Runs::default(), Assignments::default(), 0);
    let (keys, mut cookies) = (pem::Keys::new(text), Cookies::default());
    let _all_seen = anchor::each(text.as_bytes(), |at, kind| {
        let hit = match kind {
            // One token may hold the prefix of another; it is one secret.
            Kind::Shape(_) if at < covered => None,
            Kind::Shape(shape) => shape::find(shape, text, at, &mut runs),
            Kind::PrivateKey => keys.find(at),
            Kind::Putty => pem::find_putty(text, at),
            Kind::EncodedKey => pem::find_encoded(text, at, &mut runs),
            Kind::Scheme => url::find_password(text, at),
            Kind::SlackWebhook => url::find_webhook(text, at),
            Kind::Jwt => token::find_jwt(text, at, &mut runs),
            Kind::Name => assignments.find(text, at, &mut runs),
            Kind::Bearer => token::find_bearer(text, at, &mut runs),
            Kind::Signature => url::find_signature(text, at, &mut runs),
            Kind::Digits => token::find_bot(text, at, &mut runs),
            Kind::Twilio => token::find_twilio(text, at, &mut runs),
            Kind::AzureSecret => token::find_azure(text, at),
            Kind::Discord => token::find_discord(text, at, &mut runs),
            Kind::DiscordWebhook => url::find_discord_webhook(text, at, &mut runs),
            Kind::Signed => url::find_signed(text, at, &mut runs),
            Kind::Password => option::find_password(text, at, &mut runs),
            Kind::RedisPassword => option::find_auth(text, at, &mut runs),
            Kind::User(length) => option::find_user(text, at + length, &mut runs),
            Kind::Cookie => {
                cookies.each(text, at, &mut *found);
                None
            }
            Kind::Percent => {
                percent(text, at, found);
                None
            }
        };
        let Some(hit) = hit else { return ControlFlow::Continue(()) };
        if matches!(kind, Kind::Shape(_)) {
            covered = hit.span.end;
        }
        if hit.rule == &rules::AWS_ACCESS_KEY
            && let Some(secret) = token::find_paired_secret(text, hit.span.end, &mut runs)
        {
            found(secret);
        }
        found(hit);
        ControlFlow::Continue(())
    });
}

#[cfg(test)]
mod tests;
