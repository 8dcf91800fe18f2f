//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! Entry points: [`STEPS`] is the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace
//! and report are made; [`FetchService`] gives a running agent skills that its harness permits.

mod event;
mod fetch_service;

pub use event::{Event, Outcome, STEPS, Sink, Step};
pub use fetch_service::{
    ClientFault, FETCH_TOKEN, FETCH_URL, FetchRefusal, FetchService, FetchedSkill, RuntimeFetcher,
    RuntimeFetcherConfig, request_skill,
};
