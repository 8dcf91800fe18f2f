//! Triggers: CEL expressions over `event` that must yield a boolean.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, operators,
};
use cel::{IdedExpr, Program};

/// Longer expressions are refused unread; the parser's cost grows faster than their length.
const MAX_BYTES: usize = 4096;

/// The parser recurses, up to a depth of its own; this much stack holds the deepest expression of [`MAX_BYTES`].
const PARSER_STACK: usize = 64 << 20;

/// Checks a trigger.
///
/// # Errors
/// What is wrong with it, as the end of a sentence that starts with the key.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.len() > MAX_BYTES {
        return Err(format!("has {} bytes; at most {MAX_BYTES} are read", text.len()));
    }
    let parser = std::thread::Builder::new().stack_size(PARSER_STACK);
    std::thread::scope(|scope| {
        let parsing = parser.spawn_scoped(scope, || parse(text)).map_err(|error| error.to_string());
        parsing.and_then(|thread| thread.join().map_err(|_| "it makes the parser fail".to_owned()))
    })
    .unwrap_or_else(|reason| Err(format!("could not be checked: {reason}")))
}

fn parse(text: &str) -> Result<(), String> {
    let program = Program::compile(text).map_err(|errors| {
        let first = errors.errors.first().map_or("it cannot be parsed", |error| error.msg.as_str());
        format!("is not a CEL expression: {first}")
    })?;
    if let Some(unknown) = unknown_variable(program.expression(), &["event"]) {
        return Err(format!("uses `{unknown}`; the only variable is `event`"));
    }
    match result(program.expression()) {
        Answer::Boolean | Answer::Unknown => Ok(()),
        Answer::Other(kind) => Err(format!("yields {kind}, not a boolean")),
    }
}

/// The first variable that is neither `known` nor bound by a macro such as `exists`.
fn unknown_variable<'e>(expression: &'e IdedExpr, known: &[&str]) -> Option<&'e str> {
    match &expression.expr {
        Expr::Ident(name) => (!known.contains(&name.as_str())).then_some(name),
        Expr::Call(call) => unknown_in(call.target.as_deref().into_iter().chain(&call.args), known),
        Expr::List(list) => unknown_in(&list.elements, known),
        Expr::Map(map) => unknown_in(map.entries.iter().flat_map(entry_parts), known),
        Expr::Struct(structure) => unknown_in(structure.entries.iter().flat_map(entry_parts), known),
        Expr::Select(select) => unknown_variable(&select.operand, known),
        Expr::Comprehension(comprehension) => unknown_in_macro(comprehension, known),
        Expr::Literal(_) | Expr::Unspecified => None,
    }
}

fn unknown_in<'e>(parts: impl IntoIterator<Item = &'e IdedExpr>, known: &[&str]) -> Option<&'e str> {
    parts.into_iter().find_map(|part| unknown_variable(part, known))
}

fn entry_parts(entry: &IdedEntryExpr) -> impl Iterator<Item = &IdedExpr> {
    let (key, value) = match &entry.expr {
        EntryExpr::StructField(field) => (None, &field.value),
        EntryExpr::MapEntry(entry) => (Some(&entry.key), &entry.value),
    };
    key.into_iter().chain([value])
}

fn unknown_in_macro<'e>(comprehension: &'e ComprehensionExpr, known: &[&str]) -> Option<&'e str> {
    let ComprehensionExpr {
        iter_range,
        iter_var,
        iter_var2,
        accu_var,
        accu_init,
        loop_cond,
        loop_step,
        result,
    } = comprehension;
    let bound = [iter_var, accu_var].into_iter().chain(iter_var2).map(String::as_str);
    let inner: Vec<&str> = known.iter().copied().chain(bound).collect();
    let outside = [iter_range, accu_init].into_iter().find_map(|part| unknown_variable(part, known));
    outside.or_else(|| {
        [loop_cond, loop_step, result].into_iter().find_map(|part| unknown_variable(part, &inner))
    })
}

/// What an expression yields, as far as its form tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Boolean,
    Other(&'static str),
    /// It depends on the event.
    Unknown,
}

fn result(expression: &IdedExpr) -> Answer {
    match &expression.expr {
        Expr::Literal(literal) => literal_answer(literal),
        Expr::Call(call) => call_answer(call),
        Expr::List(_) => Answer::Other("a list"),
        Expr::Map(_) | Expr::Struct(_) => Answer::Other("a map"),
        Expr::Select(select) if select.test => Answer::Boolean,
        Expr::Select(_) | Expr::Ident(_) | Expr::Comprehension(_) | Expr::Unspecified => Answer::Unknown,
    }
}

fn literal_answer(literal: &LiteralValue) -> Answer {
    match literal {
        LiteralValue::Boolean(_) => Answer::Boolean,
        LiteralValue::String(_) => Answer::Other("text"),
        LiteralValue::Null => Answer::Other("null"),
        LiteralValue::Bytes(_) => Answer::Other("bytes"),
        LiteralValue::Int(_) | LiteralValue::UInt(_) | LiteralValue::Double(_) => Answer::Other("a number"),
    }
}

fn call_answer(call: &CallExpr) -> Answer {
    match call.func_name.as_str() {
        operators::CONDITIONAL => {
            let branches = call.args.iter().skip(1).map(result);
            branches
                .fold(Answer::Boolean, |worst, answer| if worst == Answer::Boolean { answer } else { worst })
        }
        operators::ADD
        | operators::SUBSTRACT
        | operators::MULTIPLY
        | operators::DIVIDE
        | operators::MODULO
        | operators::NEGATE
        | "size"
        | "int"
        | "uint"
        | "double" => Answer::Other("a number or text"),
        "string" => Answer::Other("text"),
        operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT => Answer::Unknown,
        operators::LOGICAL_AND
        | operators::LOGICAL_OR
        | operators::LOGICAL_NOT
        | operators::EQUALS
        | operators::NOT_EQUALS
        | operators::GREATER
        | operators::GREATER_EQUALS
        | operators::LESS
        | operators::LESS_EQUALS
        | operators::IN => Answer::Boolean,
        _ => Answer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn boolean_expressions_pass() {
        for text in [
            "true",
            "event.action == 'opened'",
            "event.type == \"issue\" && event.label in ['bug', 'fix']",
            "!event.draft",
            "has(event.pull_request)",
            "event.enabled",
            "event.labels.exists(l, l == 'x')",
            "event.title.startsWith('feat')",
            "event.a ? true : event.b == 1",
        ] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_a_boolean_is_refused() {
        for (text, expected) in [
            ("1 + 1", "yields a number or text"),
            ("'text'", "yields text"),
            ("[1]", "yields a list"),
            ("event.a ? 1 : 2", "yields a number"),
            ("size(event.labels)", "yields a number"),
            ("evnt.action == 'x'", "uses `evnt`"),
            ("event.labels.exists(l, k == 'x')", "uses `k`"),
            ("event.labels.exists(l, l == 'x') && l == 1", "uses `l`"),
            ("event.a in [1, {'k': who}]", "uses `who`"),
            ("event.action ==", "is not a CEL expression"),
            ("event.action = 'x'", "is not a CEL expression"),
            ("(", "is not a CEL expression"),
        ] {
            let problem = check(text).unwrap_err();
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }

    #[test]
    fn hostile_nesting_ends_in_an_answer() {
        let (forms, operators) =
            (["(", "[", "!", "-", "event[", "{1:", "f("], ["||event", "+event", ".x", "?event:event"]);
        for open in forms {
            let close = match open {
                "(" | "f(" => ")",
                "[" | "event[" => "]",
                "{1:" => "}",
                _ => "",
            };
            let depth = 4000 / (open.len() + close.len());
            let closed = format!("{}event{}", open.repeat(depth), close.repeat(depth));
            assert_eq!(check(&closed).is_err(), !close.is_empty(), "{open}");
            assert!(check(&open.repeat(depth)).is_err(), "{open}");
        }
        for operator in operators {
            let chain = format!("event{}", operator.repeat(4000 / operator.len()));
            let _either_answer = check(&chain);
        }
        assert!(check(&"(".repeat(5000)).is_err_and(|problem| problem.contains("at most 4096")));
    }
}
