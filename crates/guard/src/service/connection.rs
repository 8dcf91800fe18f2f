//! One connection, from the question to the answer.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use super::denial::Denied;
use super::tool::tool_name;
use super::wire::{self, Misuse, Question, Reply, Timed};
use super::{Shared, lock};
use crate::finding::Finding;
use crate::hook::{Action, Recorded};
use crate::log::{DECISION_FAILED, Place};

/// Numbers connections.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Reads the question, decides, records, and answers; in this order.
pub(super) fn serve(shared: &Shared, stream: &UnixStream) {
    let question = match read(shared, stream) {
        Ok(question) => question,
        // What a stop cut short is nobody's fault.
        Err(Misuse::CutShort | Misuse::Slow) if shared.is_stopping() => return,
        Err(misuse) => return shared.ledger.misuse(&format!("{} {misuse}", peer(stream))),
    };
    let bytes = decide(shared, &question)
        .and_then(|reply| wire::answer(&reply).ok_or(Denied::TooLong))
        .or_else(|denied| {
            shared.denied.fetch_add(1, Ordering::SeqCst);
            wire::answer(&denied.reply(question.phase)).ok_or(denied)
        })
        .unwrap_or_default();
    let written = Timed::new(stream, shared.limits.patience).write_all(&bytes);
    let counter = if written.is_ok() { &shared.answered } else { &shared.unheard };
    counter.fetch_add(1, Ordering::SeqCst);
    let _closed_either_way = stream.shutdown(Shutdown::Both);
}

/// Reads the question, in reach of a stop.
fn read(shared: &Shared, stream: &UnixStream) -> Result<Question, Misuse> {
    let number = NEXT.fetch_add(1, Ordering::SeqCst);
    // Without a copy a stop waits until this connection has asked or its time is over.
    if let Ok(copy) = stream.try_clone() {
        lock(&shared.silent).insert(number, copy);
    }
    // A stop that came before the lines above did not see this connection.
    let question = match shared.is_stopping() {
        true => Err(Misuse::CutShort),
        false => {
            wire::read_question(&mut Timed::new(stream, shared.limits.patience), shared.limits.input_bytes)
        }
    };
    lock(&shared.silent).remove(&number);
    question
}

/// Decides, and records what was found. What cannot be recorded does not pass.
fn decide(shared: &Shared, question: &Question) -> Result<Reply, Denied> {
    if shared.ledger.is_flooded() {
        return Err(Denied::Flooded);
    }
    let Question { phase, input } = question;
    let turn = shared.turns.wait();
    let decision = catch_unwind(AssertUnwindSafe(|| (shared.decide)(*phase, input)));
    let Ok(decision) = decision else {
        let finding = Finding::new(&DECISION_FAILED, None, "the check ended in a fault of the program");
        record(shared, question, &[Recorded { finding, action: Action::Block }])?;
        return Err(Denied::Fault);
    };
    drop(turn);
    record(shared, question, &decision.recorded)?;
    Ok(decision.into())
}

fn record(shared: &Shared, question: &Question, recorded: &[Recorded]) -> Result<(), Denied> {
    if recorded.is_empty() {
        return Ok(());
    }
    let tool = tool_name(&question.input);
    let place = Place { phase: question.phase.into(), tool: tool.as_deref(), path: None };
    shared.ledger.record(place, recorded)
}

/// Who is at the other end, as far as the system knows. It has no number for a process in a container beside the one that
/// we are in; then there is none here either.
fn peer(stream: &UnixStream) -> String {
    match rustix::net::sockopt::socket_peercred(stream) {
        Ok(credentials) => format!("process {}", credentials.pid.as_raw_nonzero()),
        Err(_) => "a process".to_owned(),
    }
}
