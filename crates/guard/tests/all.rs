//! Tests of the guard crate through its public interface.

mod suite {
    mod secret;
}
