//! Tests of the crate through its public interface, in one binary.

mod suite {
    mod command;
}
