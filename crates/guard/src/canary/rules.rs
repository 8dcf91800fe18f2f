//! The rules of the canary scanner.

use crate::rule::rules;

rules! {
    scanner Canary;
    list ALL;

    /// The planted token.
    CANARY_LEAK = Critical "canary_leak", "The planted token, or a part of it, outside the place it was planted in.", "treat the run as compromised: see what was read before this text was made, and drop what it delivers";
}
