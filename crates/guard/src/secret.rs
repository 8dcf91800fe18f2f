//! Finds credentials in text and masks them.
//!
//! Structure comes first: tokens whose makers gave them a prefix, a checksum or an inner form; keys in their armour;
//! passwords in URLs. Then values under names that say secret, judged by how random they look, with a long list of what
//! only stands for a secret. Structured text is looked at string by string, so that it stays valid.
//!
//! A mask shows the provider's prefix and at most the last four characters; of other secrets nothing stays. What has
//! been masked is not found again.

mod anchor;
mod assign;
mod check;
mod field;
mod hit;
mod name;
mod pem;
pub mod rules;
mod run;
mod shape;
mod token;
mod url;
mod value;

use std::ops::ControlFlow;

use assign::Assignments;
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
    scan_text(text, |hit| hits.push(hit));
    hits
}

fn has_anchor(text: &str) -> bool {
    anchor::each(text.as_bytes(), |_, _| ControlFlow::Break(())).is_break()
}

/// Looks at the strings of a JSON document; none when it is not one.
fn look_at_json(text: &str) -> Option<Hits> {
    let mut hits = Hits::default();
    leaves::visit_json(text, |leaf: &Leaf<'_>| {
        let to_source = |hit: Hit| Hit { span: leaf.to_source(hit.span), ..hit };
        match leaf.role() {
            // A masked key would change the shape of the document.
            Role::Key => scan_text(leaf.text(), |hit| hits.push_fixed(to_source(hit))),
            Role::Value { key } => scan_value(key, leaf.text(), |hit| hits.push(to_source(hit))),
        }
    })
    .ok()?;
    Some(hits)
}

/// Looks at a string and, if it stands under a name, at what the name says about it.
fn scan_value(name: Option<&str>, value: &str, mut found: impl FnMut(Hit)) {
    if let Some(hit) = name.and_then(|name| field::find(name, value, Written::Quoted, &rules::JSON_FIELD)) {
        found(hit);
    }
    scan_text(value, found);
}

/// Looks at running text.
fn scan_text(text: &str, mut found: impl FnMut(Hit)) {
    let (mut runs, mut assignments, mut covered) = (Runs::default(), Assignments::default(), 0);
    let _all_seen = anchor::each(text.as_bytes(), |at, kind| {
        let hit = match kind {
            // One token may hold the prefix of another; it is one secret.
            Kind::Shape(_) if at < covered => None,
            Kind::Shape(shape) => shape::find(shape, text, at, &mut runs),
            Kind::PrivateKey => pem::find(text, at),
            Kind::EncodedKey => pem::find_encoded(text, at, &mut runs),
            Kind::Scheme => url::find_password(text, at),
            Kind::SlackWebhook => url::find_webhook(text, at),
            Kind::Jwt => token::find_jwt(text, at, &mut runs),
            Kind::Name => assignments.find(text, at, &mut runs),
            Kind::Bearer => token::find_bearer(text, at, &mut runs),
            Kind::Signature => url::find_signature(text, at, &mut runs),
            Kind::Digits => token::find_bot(text, at, &mut runs),
            Kind::Twilio => token::find_twilio(text, at, &mut runs),
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
