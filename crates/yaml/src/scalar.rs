//! What a plain scalar means to a reader that wants null, a boolean or a number.
//!
//! The spellings are those that existing harness files rely on: YAML 1.1 booleans (`yes`, `off`) and integers written
//! as `0x10`, `010` (octal), `1_000`, `5.0` or `1e1`. Quoted text is never anything but text.

use crate::{Scalar, ScalarStyle};

impl Scalar<'_> {
    /// The value as JSON: null, a boolean, a number, or text.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        if self.is_null() {
            return serde_json::Value::Null;
        }
        let number = || self.as_integer().map(Into::into).or_else(|| self.as_float().map(Into::into));
        let plain = self.as_bool().map(Into::into).or_else(number);
        plain.unwrap_or_else(|| self.text.clone().into_owned().into())
    }

    /// Whether the scalar means null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.style == ScalarStyle::Plain && matches!(&*self.text, "" | "~" | "null" | "Null" | "NULL")
    }

    /// The boolean it spells, if any.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if self.style == ScalarStyle::Text {
            return None;
        }
        match &*self.text {
            "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
            "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
            _ => None,
        }
    }

    /// The whole number it spells, if any.
    #[must_use]
    pub fn as_integer(&self) -> Option<i64> {
        if self.style == ScalarStyle::Text {
            return None;
        }
        let (negative, digits) = split_sign(&self.text);
        let magnitude = magnitude(digits)?;
        if negative { magnitude.checked_neg() } else { Some(magnitude) }
    }

    /// The finite number it spells, if any.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        if let Some(whole) = self.as_integer().and_then(|whole| i32::try_from(whole).ok()) {
            return Some(f64::from(whole));
        }
        if self.style == ScalarStyle::Text || !looks_decimal(&self.text) {
            return None;
        }
        self.text.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// What a person would call this scalar, for messages.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match () {
            () if self.style == ScalarStyle::Text => "quoted text",
            () if self.is_null() => "nothing",
            () if self.as_bool().is_some() => "a boolean",
            () if self.as_float().is_some() => "a number",
            () => "text",
        }
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn magnitude(digits: &str) -> Option<i64> {
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let plain: String = digits.chars().filter(|digit| *digit != '_').collect();
    let radix = |prefix: &str, radix: u32| plain.strip_prefix(prefix).and_then(|rest| unsigned(rest, radix));
    if plain.len() > 1 && plain.starts_with('0') && !plain.contains(['.', 'e', 'E'])
        || plain.starts_with("0x")
    {
        return radix("0x", 16)
            .or_else(|| radix("0o", 8))
            .or_else(|| radix("0b", 2))
            .or_else(|| radix("0", 8));
    }
    unsigned(&plain, 10).or_else(|| whole_decimal(&plain))
}

/// `from_str_radix` alone would accept a second sign.
fn unsigned(digits: &str, radix: u32) -> Option<i64> {
    if digits.starts_with(['+', '-']) { None } else { i64::from_str_radix(digits, radix).ok() }
}

/// `5.0` and `1e1` are whole numbers; beyond 2^53 the decimal form is no longer exact and is refused.
fn whole_decimal(text: &str) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let number: f64 = if looks_decimal(text) {
        text.parse().ok()?
    } else {
        return None;
    };
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53, checked in the condition")]
    let whole = (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64);
    whole
}

/// Keeps `inf`, `nan` and friends, which Rust would parse, from counting as numbers.
fn looks_decimal(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'))
}
