//! Turns references into verified files: what a forge has at a commit, whole and unchanged, or nothing.
//!
//! # Entry points
//!
//! * [`forge::Forges`]: the clients of all known forges
//! * [`forge::download_directory`]: a directory of a repository, every file verified
//!
//! # Invariants
//!
//! * All or nothing: a directory is complete and each file is the one that was listed, or there is an error.
//! * Everything goes through [`fullsend_fetch::Fetcher`], so its rules about hosts, addresses and sizes hold.
//! * Anonymous access is enough for what is public; a token goes to the API of its own forge and nowhere else.
//!
//! # What it does not do
//!
//! It runs no git, writes no files, prints nothing and reads no environment.

pub mod forge;
