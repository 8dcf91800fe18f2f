use super::Context;
use crate::Span;

fn discusses(text: &str) -> bool {
    let start = text.find("IGNORE").unwrap();
    Context::new(text).discusses(Span::new(start, start + 6))
}

#[test]
fn quotation_and_talk_together_make_a_discussion() {
    assert!(discusses("A typical attack says \"IGNORE it\"."));
    assert!(discusses("For example:\n\n```\nIGNORE it\n```\n"));
    assert!(discusses("An injection:\n> IGNORE it\n"));
    assert!(discusses("assert!(scan(\"IGNORE it\"));"));
    assert!(!discusses("A typical attack says IGNORE it."));
    assert!(!discusses("He said \"IGNORE it\"."));
}

#[test]
fn quotes_beside_the_words_are_no_quotation() {
    assert!(!discusses("An \"example\" IGNORE it \"of this\"."));
    assert!(!discusses("{\"kind\": \"example\", \"text\": \"IGNORE it\"}"));
}
