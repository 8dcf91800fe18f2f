//! Behaviour of the crate through its public interface, on the real kernel, hostile programs and servers included.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a broken assumption fails the test, and the tables of attacks are meant to be read"
)]

mod suite {
    mod cgroups;
    mod explanations;
    mod policies;
    mod policy_laws;
}

mod egress {
    mod addresses;
    mod endpoints;
    mod life;
    mod real_names;
    mod requests;
    mod smuggling;
    mod support;
    mod throughput;
    mod transparent;
    mod tunnels;
}

mod support {
    pub(crate) mod backends;
    pub(crate) mod caller;
    pub(crate) mod context;
    pub(crate) mod host;
    pub(crate) mod instantiate;
    pub(crate) mod probe;
}

mod contract {
    pub(crate) mod commands;
    pub(crate) mod environment;
    pub(crate) mod limits;
    pub(crate) mod mounts;
    pub(crate) mod network;
    pub(crate) mod sessions;
    pub(crate) mod snapshots;
    pub(crate) mod streaming;
    pub(crate) mod usability;
}

mod escape {
    pub(crate) mod attacks;
    mod comparison;
    pub(crate) mod fixture;
    pub(crate) mod lifecycle;
    pub(crate) mod outcome;
    pub(crate) mod plain;
    pub(crate) mod report;
    pub(crate) mod suite;
}

/// What only this machine's own kernel does.
mod kernel {
    pub(crate) mod denials;
    pub(crate) mod hostile;
    pub(crate) mod launcher;
    pub(crate) mod layers;

    macro_rules! kernel_suite {
        ($caller:expr) => {
            crate::support::instantiate::backend_tests! { crate::support::backends::local, $caller;
                kernel::denials: [
                    refused_calls_are_named, hidden_and_read_only_paths_are_named_with_what_would_allow_them,
                    a_path_cannot_write_messages, what_works_is_not_called_refused, what_cannot_be_told_apart_is_told_of_nobody,
                ];
                kernel::hostile: [
                    a_command_cannot_outlive_the_one_that_looks_after_it, background_output_does_not_hold_up_the_end,
                    nested_directories_are_removed, a_snapshot_is_not_larger_than_its_files,
                    memory_that_could_be_shared_is_limited, terminals_are_shared_out,
                    a_program_in_memory_is_not_on_the_list, a_command_cannot_limit_later_ones,
                ];
                kernel::layers: [
                    changes_outlive_process_1, a_layer_is_shared_and_goes_with_its_last_session,
                ];
            }
        };
    }

    mod as_itself {
        kernel_suite!(crate::support::caller::Caller::Itself);
    }

    mod as_ordinary_user {
        kernel_suite!(crate::support::caller::Caller::Ordinary);

        mod alone {
            crate::support::instantiate::backend_tests! {
                crate::support::backends::local, crate::support::caller::Caller::Ordinary;
                kernel::launcher: [a_dead_launcher_is_started_again];
            }
        }
    }
}

// A backend is tested in full by one line here, and a function in `support/backends.rs` that starts it.
support::instantiate::backend_suites!(local, crate::support::backends::local);
