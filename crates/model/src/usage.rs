//! What an answer used and cost. Unknown is not zero.

use serde::{Deserialize, Serialize};

/// Tokens, as far as the gateway says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Tokens of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Those of them that the gateway still knew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Those of them that were thought and not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// All tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// What it cost in US dollars: as the gateway says, or else by the configured prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

/// Prices of a model, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Of a request.
    pub input: f64,
    /// Of what the gateway still knew; that of a request if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input: Option<f64>,
    /// Of an answer.
    pub output: f64,
}

impl Usage {
    /// The sum of several answers. What is known is added up; what an answer does not say is not taken for zero, so the
    /// sum of the costs is known only if every cost is.
    pub fn sum<'a>(usages: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        let mut costs = Some(0.0);
        let mut any = false;
        for usage in usages {
            any = true;
            for (total, part) in [
                (&mut sum.input_tokens, usage.input_tokens),
                (&mut sum.cached_input_tokens, usage.cached_input_tokens),
                (&mut sum.output_tokens, usage.output_tokens),
                (&mut sum.reasoning_tokens, usage.reasoning_tokens),
                (&mut sum.total_tokens, usage.total_tokens),
            ] {
                if let Some(part) = part {
                    *total = Some(total.unwrap_or_default().saturating_add(part));
                }
            }
            costs = costs.zip(usage.cost_usd).map(|(total, cost): (f64, f64)| total + cost);
        }
        sum.cost_usd = costs.filter(|_| any);
        sum
    }
}

impl Cost {
    /// What an answer cost, if the gateway said enough about what it used.
    pub fn of(&self, usage: &Usage) -> Option<f64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = match (self.cached_input, usage.cached_input_tokens) {
            (None, _) => 0,
            (Some(_), Some(cached)) if cached <= input => cached,
            // With two prices and no telling which applies, any number would be a guess.
            (Some(_), Some(_) | None) => return None,
        };
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let millions = |tokens: u64| tokens as f64 / 1_000_000.0;
        let cached_price = self.cached_input.unwrap_or(self.input);
        Some(
            millions(input - cached) * self.input
                + millions(cached) * cached_price
                + millions(output) * self.output,
        )
    }
}
