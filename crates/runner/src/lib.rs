//! The run pipeline: a harness to a validated, scanned, auditable result.
//!
//! # Entry points
//!
//! * [`run`]: a [`Request`] to how it [`Finished`]
//! * [`STEPS`]: the whole pipeline as a list; [`Event`] is everything that happens, from which progress, trace and report
//!   are made
//! * [`assemble`], [`context`], [`env_file`], [`environment`], [`host_files`], [`readonly_repo`]: what the agent gets
//! * [`check_output`]: whether a file is the result that was asked for
//! * [`event_log`]: everything that happened, on disk
//! * [`extract`]: what the agent left, out of the sandbox's files
//! * [`FetchService`]: skills that a running agent may have
//! * [`grants`], [`policy_file`]: what the sandbox permits
//! * [`outward`]: services that a run asks and tells
//! * [`pre_script`]: what a pre-script says about the run
//! * [`report`]: how a run stands, at every moment
//! * [`run_dir`]: the directory of a run; [`runs`] reads those of the past
//! * [`sanitise`]: what is delivered, made harmless and kept as it was checked
//! * [`scan`], [`security`]: what is looked for in what the agent reads
//! * [`script`]: scripts of the harness, on the host
//! * [`trace`]: spans for whoever collects them
//! * [`transcript`]: what a runtime's own record says about its end
//! * [`validate`]: whether the result is what was asked for, and which attempt counts

pub mod api_servers;
pub mod assemble;
mod beneath;
pub mod check_output;
pub mod context;
mod durable;
pub mod env_file;
pub mod environment;
mod event;
pub mod event_log;
pub mod extract;
mod fetch_service;
pub mod grants;
mod held;
mod home;
mod hook_events;
pub mod host_files;
pub mod outward;
mod pipeline;
mod plan;
pub mod policy_file;
pub mod pre_script;
pub mod readonly_repo;
mod records;
pub mod report;
mod request;
mod reserve;
pub mod run_dir;
pub mod runs;
pub mod sanitise;
pub mod scan;
pub mod script;
pub mod security;
mod steps;
mod stop;
mod strays;
mod teller;
pub mod trace;
pub mod transcript;
pub mod validate;

pub use environment::Environment;
pub use event::{AccessKind, Event, Outcome, STEPS, Sink, Step};
pub use fetch_service::{
    ClientFault, FETCH_TOKEN, FETCH_URL, FetchRefusal, FetchService, FetchedSkill, RuntimeFetcher,
    RuntimeFetcherConfig, Told, request_skill,
};
pub use pipeline::{Finished, run};
pub use request::{BackendOrder, Backends, Connecting, Options, Request};
pub use stop::Stop;
