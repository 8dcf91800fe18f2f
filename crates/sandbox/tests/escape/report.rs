//! The table of attacks and what came of them, one column for each sandbox.

use std::fmt::Write as _;

use super::attacks::ATTACKS;
use super::outcome::Outcome;

/// Number, attack, and a word for each column; below, how many got through.
pub(crate) fn table(columns: &[(&str, &[Outcome])]) -> String {
    let mut text = String::new();
    let mut row = |number: &str, name: &str, words: Vec<String>| {
        let cells: String = words.iter().map(|word| format!(" {word:<12}")).collect();
        writeln!(text, "{number:>4}  {name:<48}{}", cells.trim_end()).unwrap();
    };
    row("", "attack", columns.iter().map(|(name, _)| (*name).to_owned()).collect());
    for (at, attack) in ATTACKS.iter().enumerate() {
        let words = columns.iter().map(|(_, outcomes)| outcomes[at].word().to_owned());
        row(&attack.id.to_string(), attack.name, words.collect());
    }
    let through = |outcomes: &[Outcome]| {
        let count = outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Reached(_))).count();
        format!("{count}/{}", outcomes.len())
    };
    row("", "got through", columns.iter().map(|(_, outcomes)| through(outcomes)).collect());
    text
}
