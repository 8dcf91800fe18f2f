//! Numbers in one spelling, and the bounds a schema puts on them and on array lengths.

use serde_json::{Map, Number, Value};

/// A number; integers that fit 64 bits are exact however they were written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Canonical {
    Whole(i128),
    Real(f64),
}

const SMALLEST: f64 = -9_223_372_036_854_775_808.0;
const BEYOND_LARGEST: f64 = 18_446_744_073_709_551_616.0;

impl Canonical {
    pub(super) fn of(number: &Number) -> Self {
        if let Some(whole) = number.as_i128() {
            return Self::Whole(whole);
        }
        let real = number.as_f64().unwrap_or(f64::NAN);
        if real.fract() == 0.0 && (SMALLEST..BEYOND_LARGEST).contains(&real) {
            return Self::Whole(truncated(real));
        }
        Self::Real(real)
    }

    pub(super) fn is_integral(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Real(real) => real.fract() == 0.0,
        }
    }

    /// The one spelling: a choice between `1`, `1.0` and `1e0` would be a channel.
    pub(super) fn spelled(self, number: &Number) -> Value {
        match self {
            Self::Whole(whole) => Number::from_i128(whole).map_or(Value::Null, Value::Number),
            Self::Real(_) => Value::Number(number.clone()),
        }
    }
}

fn truncated(real: f64) -> i128 {
    real as i128
}

fn approximate(whole: i128) -> f64 {
    whole as f64
}

/// The numbers a schema allows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Range {
    low: Option<Canonical>,
    high: Option<Canonical>,
    above: Option<Canonical>,
    below: Option<Canonical>,
}

impl Range {
    pub(super) fn of<'s>(get: impl Fn(&str) -> Option<&'s Value>) -> Self {
        let bound = |key: &str| match get(key) {
            Some(Value::Number(number)) => Some(Canonical::of(number)),
            _ => None,
        };
        Self {
            low: bound("minimum"),
            high: bound("maximum"),
            above: bound("exclusiveMinimum"),
            below: bound("exclusiveMaximum"),
        }
    }

    pub(super) fn admits(&self, number: Canonical) -> bool {
        match number {
            Canonical::Whole(whole) => {
                self.lowest().is_none_or(|low| low <= whole)
                    && self.highest().is_none_or(|high| whole <= high)
            }
            Canonical::Real(real) => self.admits_real(real),
        }
    }

    fn admits_real(&self, real: f64) -> bool {
        let holds = |bound: Option<Canonical>, test: fn(f64, f64) -> bool| {
            bound.is_none_or(|bound| match bound {
                Canonical::Whole(whole) => test(real, approximate(whole)),
                Canonical::Real(bound) => test(real, bound),
            })
        };
        holds(self.low, |number, bound| number >= bound)
            && holds(self.high, |number, bound| number <= bound)
            && holds(self.above, |number, bound| number > bound)
            && holds(self.below, |number, bound| number < bound)
    }

    /// The smallest integer allowed.
    pub(super) fn lowest(&self) -> Option<i128> {
        let inclusive = self.low.map(|bound| match bound {
            Canonical::Whole(whole) => whole,
            Canonical::Real(real) => truncated(real.ceil()),
        });
        let exclusive = self.above.map(|bound| match bound {
            Canonical::Whole(whole) => whole.saturating_add(1),
            Canonical::Real(real) => truncated(real.floor()).saturating_add(1),
        });
        inclusive.max(exclusive)
    }

    /// The largest integer allowed.
    pub(super) fn highest(&self) -> Option<i128> {
        let inclusive = self.high.map(|bound| match bound {
            Canonical::Whole(whole) => whole,
            Canonical::Real(real) => truncated(real.floor()),
        });
        let exclusive = self.below.map(|bound| match bound {
            Canonical::Whole(whole) => whole.saturating_sub(1),
            Canonical::Real(real) => truncated(real.ceil()).saturating_sub(1),
        });
        match (inclusive, exclusive) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        }
    }
}

/// How long an array may be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Length {
    pub(super) least: usize,
    pub(super) most: Option<usize>,
}

impl Length {
    pub(super) fn of<'s>(get: impl Fn(&str) -> Option<&'s Value>) -> Self {
        let bound = |key: &str| match get(key) {
            Some(Value::Number(number)) => match Canonical::of(number) {
                Canonical::Whole(whole) => usize::try_from(whole).ok(),
                Canonical::Real(_) => None,
            },
            _ => None,
        };
        Self { least: bound("minItems").unwrap_or(0), most: bound("maxItems") }
    }

    pub(super) fn admits(&self, length: usize) -> bool {
        self.least <= length && self.most.is_none_or(|most| length <= most)
    }
}

/// Equality of JSON values in which `1` and `1.0` are the same number.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => Canonical::of(one) == Canonical::of(other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => same_maps(one, other),
        _ => one == other,
    }
}

fn same_maps(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    one.len() == other.len()
        && one.iter().all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
}
