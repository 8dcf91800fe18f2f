//! Fetches remote content without trusting it, keeps it by its digest, and writes down what was fetched.
//!
//! # Entry points
//!
//! * [`Fetcher::get`] and [`Fetcher::get_pinned`]: bytes over HTTPS, under [`FetchRules`]
//! * [`get::visit::Visitor`]: pages of the public web that nobody listed, under the same rules about addresses
//! * [`Cache`]: files and directories by digest, verified on every read; [`cache::UrlIndex`] remembers digests by URL
//! * [`Audit`]: one line per success and per refusal
//! * [`service::ServiceClient`]: one request to a service that the operator named
//! * [`tls::TlsClient`]: the same trust for a client that chooses its own hosts
//!
//! ```no_run
//! use fullsend_fetch::{Cache, FetchRules, Fetcher};
//! use fullsend_origin::{HostPattern, PinnedUrl};
//!
//! # async fn example(url: &PinnedUrl) -> Result<(), Box<dyn std::error::Error>> {
//! let fetcher = Fetcher::new(FetchRules::new(vec![HostPattern::parse("raw.githubusercontent.com")?]))?;
//! let cache = Cache::open(".fullsend".as_ref())?;
//! if cache.get_file(&url.digest())?.hit().is_none() {
//!     let fetched = fetcher.get_pinned(url).await?;
//!     cache.put_file(url.url(), &fetched.bytes)?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Invariants
//!
//! * A connection is only made to an address that was checked, on a port that was checked; for a host on the list,
//!   a public one when a page is visited, or one that the operator named as a service.
//! * Environment variables change nothing: no proxies, no certificate files, no names of other hosts.
//! * A credential is sent to the one host it belongs to, and is in no message or log.
//! * What the cache gives out as a hit was verified against the digest that was asked for, just now.
//! * Whatever dies at whatever moment, the cache holds whole entries and the log holds whole lines.
//!
//! # What it does not do
//!
//! It does not decide which URLs may be fetched: allow-lists are checked by the caller, in terms of
//! [`fullsend_origin`]. It follows no redirects but those of pages, unpacks no archives, knows no forge's API, prints nothing and installs
//! nothing global.

pub mod audit;
pub mod cache;
mod clock;
pub mod get;
mod json;
pub mod service;
pub mod tls;
mod unique;

pub use audit::Audit;
pub use cache::Cache;
pub use clock::{Clock, SystemClock};
pub use get::{Credential, FetchError, FetchRules, Fetched, Fetcher, Request};
