//! What a run may use, and what it has used.

use std::time::{Duration, Instant};

use fullsend_model::Usage;
use serde::{Deserialize, Serialize};

/// What a run may use. Everything has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// How many times the model is asked.
    pub turns: u32,
    /// Tokens of requests and answers together, as far as the gateway counts them.
    pub tokens: u64,
    /// US dollars, as far as prices are known.
    pub cost_usd: f64,
    /// From start to end, time in which the run was not active left out.
    pub time: Duration,
    /// Bytes of answers and of tool results that enter the conversation, which is held in memory.
    pub output_bytes: u64,
    /// Calls that one answer may ask for; the rest are not made.
    pub calls_per_turn: usize,
    /// How often the model is told what is wrong with its result.
    pub repairs: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 8,
            tokens: 10_000_000,
            cost_usd: 20.0,
            time: Duration::from_secs(3600),
            output_bytes: 32 << 20,
            calls_per_turn: 64,
            repairs: 3,
        }
    }
}

/// Which limit was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// The model was asked as often as allowed.
    Turns,
    /// Too many tokens.
    Tokens,
    /// Too much money.
    Cost,
    /// Too much time.
    Time,
    /// Too many bytes of answers and results.
    Output,
}

impl Exhausted {
    /// In words, with the limit.
    pub fn describe(self, limits: &Limits) -> String {
        match self {
            Self::Turns => format!("the model was asked {} times (--max-model-turns)", limits.turns),
            Self::Tokens => format!("{} tokens were used (--max-tokens)", limits.tokens),
            Self::Cost => format!("{:.2} US dollars were spent (--max-cost-usd)", limits.cost_usd),
            Self::Time => format!("{} seconds have passed (--max-seconds)", limits.time.as_secs()),
            Self::Output => {
                format!("the conversation has grown by {} bytes (--max-output-bytes)", limits.output_bytes)
            }
        }
    }
}

/// What a run has used.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    turns: u32,
    usage: Usage,
    output_bytes: u64,
    since: Instant,
    before: Duration,
}

impl Budget {
    /// A budget of which this much is used already: by the part of a resumed run that is on record.
    pub fn new(limits: Limits, turns: u32, usage: Usage, output_bytes: u64, before: Duration) -> Self {
        Self { limits, turns, usage, output_bytes, since: Instant::now(), before }
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How often the model was asked.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// What was used, as far as it is known.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// What is left of the time.
    pub fn time_left(&self) -> Duration {
        self.limits.time.saturating_sub(self.before + self.since.elapsed())
    }

    /// How long the run was active.
    pub fn active(&self) -> Duration {
        self.before + self.since.elapsed()
    }

    /// The limit that does not let another turn begin.
    pub fn exhausted(&self) -> Option<Exhausted> {
        let tokens = self.usage.total_tokens.unwrap_or_default();
        let cost = self.usage.cost_usd.unwrap_or_default();
        [
            (self.turns >= self.limits.turns, Exhausted::Turns),
            (tokens >= self.limits.tokens, Exhausted::Tokens),
            (cost >= self.limits.cost_usd, Exhausted::Cost),
            (self.time_left().is_zero(), Exhausted::Time),
            (self.output_bytes >= self.limits.output_bytes, Exhausted::Output),
        ]
        .into_iter()
        .find_map(|(reached, which)| reached.then_some(which))
    }

    /// A turn begins.
    pub fn begin_turn(&mut self) -> u32 {
        self.turns += 1;
        self.turns
    }

    /// An answer was paid for.
    pub fn charge(&mut self, usage: &Usage) {
        let add = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (some, None) | (None, some) => some,
        };
        let total = crate::store::usage::total(usage);
        self.usage.input_tokens = add(self.usage.input_tokens, usage.input_tokens);
        self.usage.cached_input_tokens = add(self.usage.cached_input_tokens, usage.cached_input_tokens);
        self.usage.output_tokens = add(self.usage.output_tokens, usage.output_tokens);
        self.usage.reasoning_tokens = add(self.usage.reasoning_tokens, usage.reasoning_tokens);
        self.usage.total_tokens = add(self.usage.total_tokens, total);
        self.usage.cost_usd = match (self.usage.cost_usd, usage.cost_usd) {
            (Some(sum), Some(more)) => Some(sum + more),
            (some, None) | (None, some) => some,
        };
    }

    /// The limit that does not let another call of the same turn be made.
    pub fn spent(&self) -> Option<Exhausted> {
        let output = self.output_bytes >= self.limits.output_bytes;
        let time = self.time_left().is_zero().then_some(Exhausted::Time);
        output.then_some(Exhausted::Output).or(time)
    }

    /// So much entered the conversation.
    pub fn shown(&mut self, bytes: u64) {
        self.output_bytes = self.output_bytes.saturating_add(bytes);
    }
}
