//! The same test again, in another process.
//!
//! Behaviour that depends on the whole process (umask, environment, being killed) is tested in children: the test
//! starts its own binary again, asking for exactly itself, with a role in the environment. A test reads
//!
//! ```text
//! #[test]
//! fn many_writers() {
//!     if let Some(role) = reexec::role() {
//!         return write_entries(&role);
//!     }
//!     let child = reexec::command(test_name!(), "first").spawn();
//!     …
//! }
//! ```

use std::process::Command;

/// Carries the role of a child.
const ROLE: &str = "FULLSEND_TESTKIT_ROLE";

/// The full name of the test function that this stands in, as the test runner spells it.
#[macro_export]
macro_rules! test_name {
    () => {{
        fn here() {}
        $crate::reexec::name_of(std::any::type_name_of_val(&here))
    }};
}

/// Turns the name of a function inside a test into the name of the test.
#[doc(hidden)]
pub fn name_of(inner: &'static str) -> &'static str {
    let outer = inner.strip_suffix("::here").unwrap_or(inner);
    let outer = outer.trim_end_matches("::{{closure}}");
    outer.split_once("::").map_or(outer, |(_, path)| path)
}

/// The role of this process, if it is a child of a test.
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A command that runs the test `name` of this binary again in the role `role`.
pub fn command(name: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("the path of the test binary"));
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// The same under a umask, given in octal digits.
pub fn command_with_umask(umask: &str, name: &str, role: &str) -> Command {
    let inner = command(name, role);
    let mut outer = Command::new("sh");
    outer.args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")]);
    outer.arg(inner.get_program()).args(inner.get_args()).env(ROLE, role);
    outer
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_name_is_the_one_the_runner_uses() {
        assert_eq!(test_name!(), "reexec::tests::the_name_is_the_one_the_runner_uses");
        let closure = || test_name!();
        assert_eq!(closure(), "reexec::tests::the_name_is_the_one_the_runner_uses");
    }

    #[test]
    fn a_child_knows_its_role_and_umask() {
        if let Some(role) = super::role() {
            assert_eq!(role, "child");
            return;
        }
        let output = super::command_with_umask("077", test_name!(), "child").output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
    }
}
