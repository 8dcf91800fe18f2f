//! What a run may use, and what it has used.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// What a run has used. Clones share all but the turns, so that whoever has one sees what others use, and can charge it.
#[derive(Clone, Debug)]
pub struct Budget {
    limits: Limits,
    turns: u32,
    spent: Arc<Mutex<Spent>>,
    since: Instant,
    before: Duration,
    /// Of the run that started this one, and pays for it.
    above: Option<Box<Self>>,
}

#[derive(Clone, Copy, Debug)]
struct Spent {
    usage: Usage,
    output_bytes: u64,
    /// How long somebody was waited for who is no part of the run.
    waited: Duration,
}

impl Budget {
    /// A budget of which this much is used already: by the part of a resumed run that is on record.
    pub fn new(limits: Limits, turns: u32, usage: Usage, output_bytes: u64, before: Duration) -> Self {
        let spent = Arc::new(Mutex::new(Spent { usage, output_bytes, waited: Duration::ZERO }));
        Self { limits, turns, spent, since: Instant::now(), before, above: None }
    }

    /// A budget of a run that this one starts: so many turns, and of all else what is left here. What it uses is used here as
    /// well, at once, so that several of them together have no more than one.
    #[must_use]
    pub fn child(&self, turns: u32) -> Self {
        let time = self.time_left();
        let spent = self.account();
        let usage = spent.usage;
        let limits = Limits {
            turns,
            tokens: self.limits.tokens.saturating_sub(usage.total_tokens.unwrap_or_default()),
            cost_usd: (self.limits.cost_usd - usage.cost_usd.unwrap_or_default()).max(0.0),
            time,
            output_bytes: self.limits.output_bytes.saturating_sub(spent.output_bytes),
            ..self.limits
        };
        drop(spent);
        let above = Some(Box::new(self.clone()));
        Self { above, ..Self::new(limits, 0, Usage::default(), 0, Duration::ZERO) }
    }

    fn account(&self) -> MutexGuard<'_, Spent> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How often the model was asked.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// What was used, by children as well, as far as it is known.
    pub fn usage(&self) -> Usage {
        self.account().usage
    }

    /// How many bytes have entered the conversation, and those of children.
    pub fn output_bytes(&self) -> u64 {
        self.account().output_bytes
    }

    /// What is left of the time.
    pub fn time_left(&self) -> Duration {
        let waited = self.account().waited;
        (self.limits.time + waited).saturating_sub(self.before + self.since.elapsed())
    }

    /// So long a person was waited for, which is not the run's time.
    pub fn waited(&self, how_long: Duration) {
        self.account().waited += how_long;
        if let Some(above) = &self.above {
            above.waited(how_long);
        }
    }

    /// How long the run was active.
    pub fn active(&self) -> Duration {
        self.before + self.since.elapsed()
    }

    /// The limit that does not let another turn begin.
    pub fn exhausted(&self) -> Option<Exhausted> {
        let turns = (self.turns >= self.limits.turns).then_some(Exhausted::Turns);
        turns.or_else(|| self.used_up()).or_else(|| self.above.as_ref().and_then(|above| above.used_up()))
    }

    /// The limit that was reached, the turns left aside.
    fn used_up(&self) -> Option<Exhausted> {
        let Spent { usage, output_bytes, .. } = *self.account();
        let tokens = usage.total_tokens.unwrap_or_default();
        let cost = usage.cost_usd.unwrap_or_default();
        [
            (tokens >= self.limits.tokens, Exhausted::Tokens),
            (cost >= self.limits.cost_usd, Exhausted::Cost),
            (self.time_left().is_zero(), Exhausted::Time),
            (output_bytes >= self.limits.output_bytes, Exhausted::Output),
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
    pub fn charge(&self, usage: &Usage) {
        let add = |sum: Option<u64>, more: Option<u64>| match (sum, more) {
            (Some(sum), Some(more)) => Some(sum.saturating_add(more)),
            (some, None) | (None, some) => some,
        };
        let total = crate::store::usage::total(usage);
        let mut spent = self.account();
        let sum = &mut spent.usage;
        sum.input_tokens = add(sum.input_tokens, usage.input_tokens);
        sum.cached_input_tokens = add(sum.cached_input_tokens, usage.cached_input_tokens);
        sum.output_tokens = add(sum.output_tokens, usage.output_tokens);
        sum.reasoning_tokens = add(sum.reasoning_tokens, usage.reasoning_tokens);
        sum.total_tokens = add(sum.total_tokens, total);
        sum.cost_usd = match (sum.cost_usd, usage.cost_usd) {
            (Some(sum), Some(more)) => Some(sum + more),
            (some, None) | (None, some) => some,
        };
        drop(spent);
        if let Some(above) = &self.above {
            above.charge(usage);
        }
    }

    /// The limit that does not let another call of the same turn be made.
    pub fn spent(&self) -> Option<Exhausted> {
        let output = self.output_bytes() >= self.limits.output_bytes;
        let time = self.time_left().is_zero().then_some(Exhausted::Time);
        let above = || self.above.as_ref().and_then(|above| above.spent());
        output.then_some(Exhausted::Output).or(time).or_else(above)
    }

    /// So much entered the conversation.
    pub fn shown(&self, bytes: u64) {
        let mut spent = self.account();
        spent.output_bytes = spent.output_bytes.saturating_add(bytes);
        drop(spent);
        if let Some(above) = &self.above {
            above.shown(bytes);
        }
    }
}
