//! The order of harness names: as people count, `a9` before `a10`.
//!
//! The order is part of the format. A file that is written in another one differs from the committed one in every line.

use std::cmp::Ordering;

/// A piece of a name; pieces of different kinds sort in this order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Piece<'n> {
    /// The name ends.
    End,
    /// Punctuation and everything else.
    Mark(char),
    /// A run of digits: by value, which without leading zeros is by length and then by digits, then by leading zeros.
    Number { length: usize, digits: &'n str, written: usize },
    /// A letter.
    Letter(char),
}

/// Compares two names; only equal names are equal.
pub(super) fn natural(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left, right);
    loop {
        let (left_piece, left_rest) = split(left);
        let (right_piece, right_rest) = split(right);
        let ended = left_piece == Piece::End;
        match left_piece.cmp(&right_piece) {
            Ordering::Equal if !ended => (left, right) = (left_rest, right_rest),
            order @ (Ordering::Less | Ordering::Equal | Ordering::Greater) => return order,
        }
    }
}

/// The first piece of a name, and the rest.
fn split(name: &str) -> (Piece<'_>, &str) {
    let digits = name.bytes().take_while(u8::is_ascii_digit).count();
    if let Some((number, rest)) = name.split_at_checked(digits).filter(|_| digits > 0) {
        let significant = number.trim_start_matches('0');
        let piece = Piece::Number { length: significant.len(), digits: significant, written: digits };
        return (piece, rest);
    }
    let mut characters = name.chars();
    let piece = match characters.next() {
        None => Piece::End,
        Some(letter) if letter.is_alphabetic() => Piece::Letter(letter),
        Some(mark) => Piece::Mark(mark),
    };
    (piece, characters.as_str())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_sort_as_people_count() {
        let sorted = [
            "",
            "-",
            "~",
            "0",
            "1",
            "1a",
            "01",
            "2",
            "10",
            "A",
            "a",
            "a-b",
            "a_b",
            "a0",
            "a1",
            "a1-",
            "a1b",
            "a01",
            "a2",
            "a9",
            "a10",
            "a10b",
            "a99999999999999999999",
            "a100000000000000000000",
            "ab",
            "b",
        ];
        let mut names = sorted;
        names.reverse();
        names.sort_by(|left, right| natural(left, right));
        assert_eq!(names, sorted);
    }

    proptest! {
        #[test]
        fn the_order_is_total(names in prop::collection::vec("[a-b0-2_-]{0,5}", 3)) {
            let [a, b, c] = [&*names[0], &*names[1], &*names[2]];
            prop_assert_eq!(natural(a, b), natural(b, a).reverse());
            prop_assert_eq!(natural(a, b) == Ordering::Equal, a == b);
            if natural(a, b).is_le() && natural(b, c).is_le() {
                prop_assert!(natural(a, c).is_le());
            }
        }
    }
}
