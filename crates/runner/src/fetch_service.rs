//! Skills while the agent runs: a small HTTP service on the host that fetches, verifies, scans and delivers them.
//!
//! Nothing is there unless the harness says `allow_runtime_fetch: true`. What an agent may get is what the harness could
//! have named: pinned directories on forges that both allow-lists permit. The service listens on this machine only; a
//! sandbox without any network reaches it as an endpoint that lets `POST /fetch` through and nothing else.
//!
//! # Layout
//!
//! * `fetcher`: one request, from a text to a delivered skill; also for runtimes that ask without HTTP
//! * `admission`: what may be asked for
//! * `quota`: how many
//! * `inspect`: the scan
//! * `delivery`: into the sandbox, atomically
//! * `server`, `message`: HTTP
//! * `client`: the other end, `fullsend fetch-skill`

mod admission;
mod client;
mod delivery;
mod fetcher;
mod inspect;
mod keyed;
mod message;
mod quota;
mod record;
mod refusal;
mod server;
mod token;

pub use client::{ClientFault, request_skill};
pub use fetcher::{FetchedSkill, RuntimeFetcher, RuntimeFetcherConfig};
pub use record::Told;
pub use refusal::FetchRefusal;
pub use server::{FETCH_TOKEN, FETCH_URL, FetchService};
