//! The vocabulary for where things come from: paths, pinned URLs, allow-lists, forges, addresses and digests.
//!
//! Every other crate decides with these types whether something may be fetched, from where, and whether what arrived
//! is what was meant. The rules are pure functions of their input.
//!
//! # Entry points
//!
//! * [`Reference::parse`]: a local path or a pinned `https` URL, as harness files write them
//! * [`RemoteUrl`]: a URL that everyone reads the same way; [`HttpsUrl`] is the plain reader below it;
//!   [`ApiUrl`] is composed rather than read
//! * [`EffectiveAllowList::permits`]: may this URL be fetched
//! * [`HostPattern`]: hosts in network policies
//! * [`classify`] and [`is_metadata`]: may this address be connected to
//! * [`ForgeUrl`]: a directory or file in a repository
//! * [`Sha256Digest`], [`TreeDigest`]: is this the content that was pinned
//!
//! ```
//! use fullsend_origin::{AllowList, EffectiveAllowList, Reference};
//!
//! let pin = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
//! let lists = EffectiveAllowList::new(
//!     AllowList::parse(["https://example.com/org/skills/"])?,
//!     AllowList::parse(["https://example.com/org/"])?,
//! );
//! let Reference::Remote(pinned) = Reference::parse(&format!("https://example.com/org/skills/a.md#sha256={pin}"))?
//! else {
//!     unreachable!("an https URL is never a local path");
//! };
//! assert!(lists.permits(pinned.url().as_https()).is_allowed());
//!
//! let error = Reference::parse("https://example.com/org/skills/../a.md").unwrap_err();
//! assert_eq!(error.code(), "url-dot-segment");
//! assert_eq!(error.help().as_deref(), Some("write `https://example.com/org/a.md`"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//!
//! * Nothing is repaired. A text has one meaning or is an error, and the error offers the corrected spelling.
//! * A text that looks like a URL of any scheme is never a local path.
//! * Every value prints exactly the text it was read from.
//! * The first reading decides: a value of one of these types has passed all its checks and needs no further ones.
//! * Error codes are stable; `help()` says what to do.
//!
//! # What it does not do
//!
//! No files, no network, no name resolution, no serialisation formats. It does not decide which hosts or addresses a
//! configuration opens, only what they are.

pub mod address;
pub mod allow;
pub mod digest;
pub mod forge;
pub mod host;
mod percent;
pub mod pin;
pub mod reference;
pub mod tree;
pub mod url;

pub use address::{AddressClass, classify, embedded_ipv4, is_metadata};
pub use allow::{
    AllowEntry, AllowEntryError, AllowList, AllowListError, DenyReason, EffectiveAllowList, Verdict,
};
pub use digest::{DigestError, Sha256Digest, Sha256Hasher};
pub use forge::{ForgeHostError, ForgeHosts, ForgeKind, ForgeUrl, ForgeUrlError, PathKind, RawGitHubUrl};
pub use host::{HostPattern, HostPatternError};
pub use pin::{PinError, PinnedUrl, PinnedUrlError, split_integrity};
pub use reference::{LocalPath, Reference, ReferenceError};
pub use tree::{TreeDigest, TreeDigestBuilder, TreeError, TreePath};
pub use url::{
    ApiUrl, Hazard, HttpsUrl, RemoteUrl, UrlError, UrlPart, has_scheme, is_https_url, normalize_path,
};
