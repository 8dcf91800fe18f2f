//! Numbers within bounds.

use std::time::Duration;

use fullsend_yaml::{Diagnostic, FromNode, Node, Reader, rules};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

/// A whole number from `MIN` to `MAX`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Bounded<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> Bounded<MIN, MAX> {
    /// The number.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

impl<const MIN: i64, const MAX: i64> FromNode for Bounded<MIN, MAX> {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let number = i64::from_node(node, reader)?;
        let range = if MAX == i64::MAX { format!("{MIN} or more") } else { format!("from {MIN} to {MAX}") };
        within(number, (MIN..=MAX).contains(&number), &range, node, reader).map(Self)
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Bounded<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("WholeNumber{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if MAX == i64::MAX {
            return json_schema!({ "type": "integer", "minimum": MIN });
        }
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

/// Seconds to wait for a sandbox: 0 for the runner's own choice, else 30 to 600.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SandboxSeconds(i64);

impl SandboxSeconds {
    /// The number of seconds.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

impl FromNode for SandboxSeconds {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let number = i64::from_node(node, reader)?;
        let accepted = number == 0 || (30..=600).contains(&number);
        within(number, accepted, "0 or from 30 to 600", node, reader).map(Self)
    }
}

impl JsonSchema for SandboxSeconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SandboxSeconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": 0 }, { "type": "integer", "minimum": 30, "maximum": 600 }] })
    }
}

/// A length of time in seconds, fractions included, above 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Seconds(f64);

impl Seconds {
    /// Some thirty years: more than anybody means, and few enough for every clock.
    const MOST: f64 = 1e9;

    /// The time.
    #[must_use]
    pub fn get(self) -> Duration {
        Duration::from_secs_f64(self.0)
    }
}

impl FromNode for Seconds {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let number = f64::from_node(node, reader)?;
        let accepted = number > 0.0 && number <= Self::MOST;
        within(number, accepted, "above 0 and at most 1000000000", node, reader).map(Self)
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0, "maximum": Self::MOST })
    }
}

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Fraction(f64);

impl Fraction {
    /// The number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl FromNode for Fraction {
    fn from_node(node: &Node<'_>, reader: &mut Reader<'_>) -> Option<Self> {
        let number = f64::from_node(node, reader)?;
        within(number, (0.0..=1.0).contains(&number), "from 0 to 1", node, reader).map(Self)
    }
}

impl JsonSchema for Fraction {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Fraction".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

fn within<T: std::fmt::Display>(
    number: T,
    accepted: bool,
    range: &str,
    node: &Node<'_>,
    reader: &mut Reader<'_>,
) -> Option<T> {
    if accepted {
        return Some(number);
    }
    let message = format!("{} must be {range}, not {number}", reader.subject());
    let help = format!("write a number {range}").replace("number 0 or", "number: 0 or");
    reader.report(Diagnostic::new(&rules::INVALID_VALUE, node.at, message).with_help(help));
    None
}
