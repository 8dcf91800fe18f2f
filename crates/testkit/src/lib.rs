//! For tests only: a hostile HTTPS server, a forge on top of it, certificates, and a private network where real names
//! lead to them.
//!
//! # Entry points
//!
//! * [`TestCa`]: a certificate authority that lives as long as the test
//! * [`Server`] and [`Reply`]: an HTTPS server that misbehaves as scripted and remembers every request
//! * [`TestForge`] and [`TestRepo`]: repositories in memory, behind the APIs of GitHub and GitLab
//! * [`gateway::ScriptedGateway`]: a model gateway that answers, and fails, as scripted
//! * [`programs`]: how to speak to command-line agents of other makers
//! * [`victims`]: runs that somebody attacks, their benign twins, and what became of them
//! * [`in_namespace`] with [`test_name!`]: runs the rest of a test where chosen host names and public addresses are
//!   ours and nothing else can be reached
//! * [`dns`]: a name server whose answers change from one question to the next
//! * [`reexec`]: runs the same test again in other processes, in other roles
//! * [`declare_skip`]: says aloud that a test could not run here
//!
//! # Invariants
//!
//! * No traffic leaves the machine: servers listen on loopback, or on addresses of a network namespace of their own.
//! * Nothing process-wide is changed: environments and umasks belong to child processes.
//! * A test that cannot run says so; it never just passes.
//!
//! # What it does not do
//!
//! It is not a correct HTTP server, and it is never part of a release.
#![expect(clippy::expect_used, clippy::panic, reason = "a broken test set-up fails the test at once")]

mod ca;
pub mod dns;
mod forge;
pub mod gateway;
pub mod gzip;
mod namespaces;
pub mod programs;
pub mod reexec;
mod server;
mod skip;
pub mod victims;

pub use ca::{Leaf, TestCa, Validity};
pub use forge::{ALL_HOSTS, Paging, TestFile, TestForge, TestRepo};
pub use namespaces::{Host, in_namespace};
pub use server::{Recorded, Reply, Respond, Server};
pub use skip::declare_skip;
