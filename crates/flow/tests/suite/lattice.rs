//! The laws that everything above relies on.

use fullsend_flow::{Atom, Bound, Clause, Confidentiality, Integrity, Label, LabelTable, Missed};
use proptest::prelude::*;

fn atoms() -> impl Strategy<Value = Vec<Atom>> {
    proptest::sample::subsequence(vec!["alice", "bob", "web"], 0..=3)
        .prop_map(|names| names.into_iter().map(Atom::named).collect())
}

fn labels() -> impl Strategy<Value = Label> {
    let clauses = proptest::collection::vec(atoms().prop_map(Clause::any_of), 0..4);
    let integrity = prop_oneof![
        Just(Integrity::All),
        atoms().prop_map(|atoms| Integrity::Only(atoms.into_iter().collect()))
    ];
    (clauses, integrity).prop_map(|(clauses, integrity)| Label {
        confidentiality: Confidentiality::all_of(clauses),
        integrity,
    })
}

proptest! {
    #[test]
    fn join_is_the_least_upper_bound(a in labels(), b in labels(), c in labels()) {
        let joined = a.join(&b);
        prop_assert_eq!(&joined, &b.join(&a));
        prop_assert_eq!(a.join(&b).join(&c), a.join(&b.join(&c)));
        prop_assert_eq!(&a.join(&a), &a);
        prop_assert_eq!(&a.join(&Label::bottom()), &a);
        prop_assert!(a.flows_to(&joined) && b.flows_to(&joined));
        prop_assert_eq!(joined.flows_to(&c), a.flows_to(&c) && b.flows_to(&c));
    }

    #[test]
    fn order_is_reflexive_and_transitive(a in labels(), b in labels(), c in labels()) {
        prop_assert!(a.flows_to(&a));
        prop_assert!(Label::bottom().flows_to(&a));
        prop_assert!(!(a.flows_to(&b) && b.flows_to(&c)) || a.flows_to(&c));
    }

    #[test]
    fn no_clause_is_lost_by_joining(a in labels(), b in labels()) {
        let joined = a.join(&b);
        let kept: Vec<_> = joined.confidentiality.clauses().collect();
        for clause in a.confidentiality.clauses().chain(b.confidentiality.clauses()) {
            prop_assert!(kept.contains(&clause));
        }
    }

    #[test]
    fn labels_survive_writing_and_reading(a in labels()) {
        let written = serde_json::to_string(&a).unwrap();
        prop_assert_eq!(serde_json::from_str::<Label>(&written).unwrap(), a);
    }

    #[test]
    fn a_table_joins_like_labels(all in proptest::collection::vec(labels(), 1..8)) {
        let mut table = LabelTable::default();
        let mut context = fullsend_flow::LabelId::BOTTOM;
        let mut expected = Label::bottom();
        for label in &all {
            let (number, _) = table.number(label);
            context = table.join(context, number).unwrap();
            expected = expected.join(label);
        }
        prop_assert_eq!(table.get(context).unwrap(), &expected);
    }
}

#[test]
fn a_secret_may_not_become_public_and_a_web_page_commands_nothing() {
    let secret = Label {
        confidentiality: Confidentiality::only(Atom::named("operator")),
        integrity: Integrity::of(Atom::named("commanded")),
    };
    let public = Label { confidentiality: Confidentiality::public(), integrity: Integrity::none() };
    assert!(!secret.flows_to(&public));
    let commanded = Label {
        confidentiality: Confidentiality::only(Atom::named("operator")),
        integrity: Integrity::of(Atom::named("commanded")),
    };
    assert!(secret.flows_to(&commanded));
    assert!(!secret.join(&Label::untrusted()).flows_to(&commanded));
}

#[test]
fn atoms_are_the_same_whatever_the_order_of_their_keys() {
    let read = |text: &str| Atom::from_value(&serde_json::from_str(text).unwrap());
    assert_eq!(read(r#"{"type":"User","id":{"b":1,"a":2}}"#), read(r#"{"id":{"a":2,"b":1},"type":"User"}"#));
    assert_ne!(read(r#"["a","b"]"#), read(r#"["b","a"]"#));
    assert_eq!(Atom::named("alice").to_string(), "alice");
}

/// Who may see something: clauses of alternatives, like `A|B C`.
fn readers(text: &str) -> Confidentiality {
    let clause = |clause: &str| Clause::any_of(clause.split('|').map(Atom::named));
    Confidentiality::all_of(text.split_whitespace().map(clause))
}

fn seen_by(text: &str) -> Label {
    Label { confidentiality: readers(text), integrity: Integrity::none() }
}

#[test]
fn clauses_are_neither_merged_nor_absorbed_nor_widened() {
    for (left, right, joined) in [
        ("A|B", "C", "A|B C"),
        ("A|B", "B|C", "A|B B|C"),
        ("A", "A|B", "A A|B"),
        ("A|A", "A", "A"),
        ("B|A", "A|B", "A|B"),
        ("", "A", "A"),
    ] {
        assert_eq!(seen_by(left).join(&seen_by(right)), seen_by(joined), "{left} with {right}");
    }
}

#[test]
fn a_bound_admits_what_all_whom_it_names_may_see() {
    let everybody = Bound { readers: None, integrity: Integrity::none() };
    assert_eq!(everybody.missed_by(&seen_by("A B")), None);
    for (label, bound, admitted) in [
        ("", "", true),
        ("A", "", false),
        ("A", "A", true),
        ("A B", "A|B", false),
        ("A", "A|B", false),
        ("A|B|C", "A|B", true),
        ("A|C", "A|B", false),
        ("A|B", "A", true),
        ("A B", "A B C", true),
    ] {
        let bound = Bound { readers: Some(readers(bound)), integrity: Integrity::none() };
        let missed = bound.missed_by(&seen_by(label));
        assert_eq!(missed, (!admitted).then_some(Missed::Readers), "{label} to {bound:?}");
    }
    let nobody =
        Label { confidentiality: Confidentiality::all_of([Clause::default()]), integrity: Integrity::none() };
    let named = Bound { readers: Some(readers("A B A|B")), integrity: Integrity::none() };
    assert_eq!(named.missed_by(&nobody), Some(Missed::Readers), "whoever is named");
}

#[test]
fn two_bounds_admit_what_each_admits() {
    let bound = |text: &str| Bound { readers: Some(readers(text)), integrity: Integrity::none() };
    for (label, admitted) in [("B", true), ("A", false), ("C", false), ("A|C", true), ("", true)] {
        let passes = |ceiling: &str| bound(ceiling).missed_by(&seen_by(label)).is_none();
        assert_eq!(passes("A B") && passes("B C"), admitted, "{label}");
    }
}
