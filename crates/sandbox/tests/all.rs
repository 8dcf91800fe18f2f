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

mod docker {
    mod commands;
    mod files;
    mod fixture;
    mod lifecycle;
    mod network;
}

mod egress {
    mod addresses;
    mod endpoints;
    mod life;
    mod real_names;
    mod requests;
    mod smuggling;
    mod support;
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

mod outside {
    pub(crate) mod allowed;
    mod instantiate;
    pub(crate) mod live;
    pub(crate) mod refused;
    pub(crate) mod servers;
    pub(crate) mod world;
}

mod faults {
    pub(crate) mod bombs;
    pub(crate) mod disk;
    pub(crate) mod growth;
    mod instantiate;
    pub(crate) mod kills;
    pub(crate) mod restart;
    pub(crate) mod victims;
    pub(crate) mod watch;
}

// A backend is tested in full by one line here, and a function in `support/backends.rs` that starts it.
support::instantiate::backend_suites!(local, crate::support::backends::local);

// Containers take half a second each, so the contract is gone through once; the attacks are made by both callers.
mod docker_runc {
    #[test]
    fn nothing_gets_through() {
        let name = fullsend_testkit::test_name!();
        crate::escape::suite::nothing_gets_through(name, crate::support::backends::docker);
    }

    crate::support::instantiate::contract_suite!(
        crate::support::backends::docker,
        crate::support::caller::Caller::Itself
    );
}

// Of the contract what a kernel of its own may change. That of runsc does not reap for others than process 1, so commands
// do not run side by side, and the host does not see its processes, which many tests look for.
mod docker_runsc {
    crate::support::instantiate::backend_tests! {
        crate::support::backends::docker_runsc, crate::support::caller::Caller::Itself;
        contract::commands: [
            exit_codes_are_the_commands, a_signal_is_told_from_an_exit_code, long_arguments_arrive,
            what_cannot_be_started_is_an_error, output_is_byte_exact, both_streams_can_be_full_at_once,
            standard_input_may_be_large_and_anything, input_that_nobody_reads_is_no_error,
        ];
        contract::environment: [
            memory_and_outputs_are_named_and_real, the_usual_places_are_writable,
            there_is_no_terminal_unless_asked_for, an_unknown_call_is_not_there,
        ];
        contract::network: [there_is_no_network_by_default, sessions_do_not_reach_each_other];
        contract::snapshots: [
            a_session_goes_back_to_its_snapshot, forks_go_their_own_ways, an_overlay_is_part_of_the_snapshot,
            resume_wakes_a_suspended_session,
        ];
        contract::streaming: [
            output_comes_while_the_command_runs, signals_reach_the_command, a_terminal_changes_its_size,
        ];
    }
}
