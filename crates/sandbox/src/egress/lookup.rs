//! The name server of a session, which answers by the policy alone: no query leaves the machine.

use super::dns::{self, Answer, Message, Query, Wanted};
use super::gate::Gate;
use super::journal::{Asked, locked};
use super::refusal::Refusal;
use super::target::{Host, MAX_QUOTE, quote};

/// Answers one query; `None` for what is no query.
pub(super) fn answer_name(gate: &Gate, query: &[u8]) -> Option<Vec<u8>> {
    let query = match dns::read(query) {
        Message::Query(query) => query,
        Message::Malformed(answer) => return Some(answer),
        Message::Noise => return None,
    };
    let asked = Asked {
        entrance: "dns".to_owned(),
        connection: gate.number(),
        host: quote(&query.name, MAX_QUOTE),
        ..Asked::default()
    };
    let answer = decide_name(gate, &query, &asked).unwrap_or_else(|refusal| {
        gate.journal.deny(&asked, &refusal);
        Answer::Refused
    });
    Some(dns::write(&query, answer))
}

fn decide_name(gate: &Gate, query: &Query, asked: &Asked) -> Result<Answer, Refusal> {
    let malformed = || Refusal::request("host-malformed", "the name is not that of a host");
    let Some(host @ Host::Name(_)) = Host::parse(&query.name) else {
        return Err(malformed());
    };
    gate.policy().judge_name(&host)?;
    if query.wanted == Wanted::Other {
        return Err(Refusal::request("dns-type", "only addresses can be looked up"));
    }
    gate.journal.allow(asked, None)?;
    match query.wanted {
        Wanted::V4 => Ok(Answer::Address(locked(&gate.names).address(&host.plain()))),
        Wanted::V6 | Wanted::Other => Ok(Answer::NoData),
    }
}
