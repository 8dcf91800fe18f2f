//! Behaviour of the `fullsend` binary: real processes, real files, exact output.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a broken assumption fails the test"
)]

mod suite {
    mod agent_crashes;
    mod agent_docker;
    mod agent_manifest;
    mod agent_place;
    mod agent_reminders;
    mod agent_resume;
    mod agent_sidecars;
    mod cache;
    mod chat_crashes;
    mod chat_crowd;
    mod chat_example;
    mod chat_place;
    mod chat_process;
    mod chat_python;
    mod chat_sessions;
    mod chat_stdio;
    mod chat_store;
    mod chat_terminal;
    mod definitions;
    mod docker_engine;
    mod doctor;
    mod examples;
    mod exec_cli;
    mod fetch_skill;
    mod flow_canaries;
    mod flow_explain;
    mod flow_leaks;
    mod flow_protected;
    mod flow_sources;
    mod flow_victims;
    mod flow_web;
    mod forge_place;
    mod hook;
    mod hostile_model;
    mod hostile_model_commands;
    mod hostile_model_files;
    mod hostile_model_wire;
    mod hostile_run;
    mod init;
    mod lint;
    mod litellm;
    mod locking;
    mod loopback;
    mod malformed;
    mod network_messages;
    mod pinning;
    mod pseudo_terminal;
    mod remote;
    mod remote_bases;
    mod run_cancel;
    mod run_docker;
    mod run_fetching;
    mod run_guarded;
    mod run_mint;
    mod run_pipeline;
    mod run_place;
    mod run_refusals;
    mod run_remote;
    mod run_results;
    mod run_runtimes;
    mod run_status;
    mod run_strangers;
    mod run_traces;
    mod running;
    mod runs;
    mod same_findings;
    mod sandbox_docker;
    mod sandbox_exec;
    mod sandbox_policy;
    mod sandbox_tty;
    mod sandboxed_findings;
    mod scan_context;
    mod scan_findings;
    mod scan_output;
    mod scan_text;
    mod schema;
    mod self_hosted;
    mod show;
    mod skill_graphs;
    mod skills;
    mod start;
    mod subagents;
    mod users;
    mod verify_findings;
}
