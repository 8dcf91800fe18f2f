//! What several answers used together.

use fullsend_model::Usage;

/// All tokens of an answer; gateways that do not add them up leave it to us.
pub(crate) fn total(usage: &Usage) -> Option<u64> {
    let sum = || match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or_default().saturating_add(output.unwrap_or_default())),
    };
    usage.total_tokens.or_else(sum)
}

/// The sum of what is known. The cost is known only if every answer says what it cost: a part of a bill is no bill.
pub(crate) fn sum(usages: &[Usage]) -> Usage {
    let tokens = |of: fn(&Usage) -> Option<u64>| {
        usages
            .iter()
            .filter_map(of)
            .fold(None, |sum: Option<u64>, tokens| Some(sum.unwrap_or_default().saturating_add(tokens)))
    };
    let costs: Option<Vec<f64>> = usages.iter().map(|usage| usage.cost_usd).collect();
    Usage {
        input_tokens: tokens(|usage| usage.input_tokens),
        cached_input_tokens: tokens(|usage| usage.cached_input_tokens),
        output_tokens: tokens(|usage| usage.output_tokens),
        reasoning_tokens: tokens(|usage| usage.reasoning_tokens),
        total_tokens: tokens(total),
        cost_usd: costs.filter(|costs| !costs.is_empty()).map(|costs| costs.iter().sum()),
    }
}
