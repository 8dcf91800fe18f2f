//! What answers used and cost.

use fullsend_model::{Cost, Usage};
use fullsend_testkit::gateway::{GatewayReply, ScriptedGateway};
use serde_json::{Value, json};

use super::support::{answer_to, complete, quick};

fn reply(usage: &Value) -> GatewayReply {
    GatewayReply::events(&[
        json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}], "usage": null}),
        json!({"choices": [], "usage": usage}),
    ])
}

#[test]
fn what_servers_say_is_understood_and_what_they_do_not_say_stays_unknown() {
    let cases = [
        (json!(null), Usage::default()),
        (json!({}), Usage::default()),
        (json!("many"), Usage::default()),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 4, "total_tokens": 14, "cost": 0.25,
                   "prompt_tokens_details": {"cached_tokens": 6}, "completion_tokens_details": {"reasoning_tokens": 0}}),
            Usage {
                input_tokens: Some(10),
                cached_input_tokens: Some(6),
                output_tokens: Some(4),
                reasoning_tokens: Some(0),
                total_tokens: Some(14),
                cost_usd: Some(0.25),
            },
        ),
        (
            json!({"prompt_tokens": 10.0, "completion_tokens": "4", "total_tokens": -1, "cost_usd": 0.5, "prompt_tokens_details": null}),
            Usage { input_tokens: Some(10), output_tokens: Some(4), cost_usd: Some(0.5), ..Usage::default() },
        ),
    ];
    for (usage, expected) in cases {
        assert_eq!(answer_to(reply(&usage)).unwrap().usage, expected, "{usage}");
    }
}

#[test]
fn prices_apply_where_the_gateway_says_nothing() {
    let price = Cost { input: 2.0, cached_input: Some(0.5), output: 10.0 };
    let details = json!({"cached_tokens": 500_000});
    let cases = [
        (
            json!({"prompt_tokens": 1_000_000, "completion_tokens": 100_000, "prompt_tokens_details": details}),
            Some(2.25),
        ),
        (json!({"prompt_tokens": 1_000_000, "completion_tokens": 100_000}), None),
        (json!({"prompt_tokens": 1, "completion_tokens": 1, "prompt_tokens_details": details}), None),
        (json!({"completion_tokens": 1}), None),
        (json!({"prompt_tokens": 1, "completion_tokens": 1, "cost": 7.0}), Some(7.0)),
    ];
    for (usage, expected) in cases {
        let server = ScriptedGateway::sequence(vec![reply(&usage)]);
        let mut config = quick(&server.url());
        config.prices.insert("m-1".to_owned(), price);
        assert_eq!(complete(config).0.unwrap().usage.cost_usd, expected, "{usage}");
    }
}

#[test]
fn sums_do_not_take_unknown_for_zero() {
    let known = Usage { input_tokens: Some(3), cost_usd: Some(0.5), ..Usage::default() };
    let half = Usage { input_tokens: Some(4), output_tokens: Some(1), ..Usage::default() };
    let sum = Usage::sum([&known, &known]);
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.cost_usd), (Some(6), None, Some(1.0)));
    let sum = Usage::sum([&known, &half]);
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.cost_usd), (Some(7), Some(1), None));
    assert_eq!(Usage::sum([]), Usage::default());
    let most = Usage { input_tokens: Some(u64::MAX), ..Usage::default() };
    assert_eq!(Usage::sum([&most, &half]).input_tokens, Some(u64::MAX));
}
