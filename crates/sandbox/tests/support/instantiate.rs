//! Which tests every backend has.

/// The tests `$name` in the module `$group` of `$family`, as tests of a backend.
macro_rules! backend_tests {
    ($start:path, $caller:expr; $($family:ident :: $group:ident: [$($name:ident),* $(,)?];)*) => {$(
        mod $group {
            $(
                #[test]
                fn $name() {
                    $crate::support::context::run(
                        fullsend_testkit::test_name!(), $caller, $start, $crate::$family::$group::$name,
                    );
                }
            )*
        }
    )*};
}

/// All tests of one backend, by one caller.
macro_rules! contract_suite {
    ($start:path, $caller:expr) => {
        $crate::support::instantiate::backend_tests! { $start, $caller;
            contract::commands: [
                exit_codes_are_the_commands, a_signal_is_told_from_an_exit_code, no_shell_reads_the_arguments,
                long_arguments_arrive, programs_are_found_by_name_and_by_path, what_cannot_be_started_is_an_error,
                a_command_starts_where_it_is_told, output_is_kept_whatever_it_says, output_is_byte_exact,
                both_streams_can_be_full_at_once, standard_input_is_at_its_end_unless_given,
                standard_input_may_be_large_and_anything, input_that_nobody_reads_is_no_error,
                input_is_in_no_command_line, usage_is_told, a_plain_command_was_refused_nothing,
            ];
            contract::environment: [
                nothing_of_the_hosts_environment_is_there, variables_are_added_and_not_kept,
                a_variable_that_is_none_is_refused, memory_and_outputs_are_named_and_real,
                the_usual_places_are_writable, there_is_no_terminal_unless_asked_for,
                the_first_process_shows_nothing_of_the_host, no_other_processes_are_seen,
                private_files_stay_private, an_unknown_call_is_not_there,
            ];
            contract::limits: [
                the_time_limit_ends_a_command_and_keeps_its_output, the_time_limit_is_not_in_whole_seconds,
                an_exit_code_of_124_is_no_time_limit, the_session_has_a_time_limit_that_a_request_can_change,
                the_time_limit_ends_everything_that_was_started,
                the_end_of_a_command_ends_everything_that_it_started,
                a_command_can_kill_everything_but_the_session, memory_is_limited, files_in_memory_count_as_memory,
                processes_are_limited, a_fork_bomb_ends_with_its_time, processors_are_limited, files_are_limited,
                scratch_space_is_limited, a_flood_of_output_is_cut_and_counted, a_flood_of_output_does_not_stop_the_clock,
                output_is_limited_by_default,
                no_core_files_are_written,
            ];
            contract::mounts: [
                a_writable_mount_is_the_directory_itself, a_read_only_mount_can_be_read_and_run,
                a_read_only_mount_holds_below_a_writable_one, a_single_file_can_be_mounted,
                a_mount_without_a_source_belongs_to_the_session, memory_is_read_only_and_outputs_are_not,
                memory_can_be_given_and_made_writable, an_overlay_leaves_its_source_alone,
                a_source_that_is_missing_is_refused_and_not_made, sources_that_undo_the_sandbox_are_refused,
                bad_targets_are_refused, a_mount_can_be_added_later, a_source_is_the_one_that_was_given,
                only_listed_programs_run,
            ];
            contract::network: [
                there_is_no_network_by_default, nobody_outside_reaches_a_listener_inside,
                sessions_do_not_reach_each_other, the_whole_network_is_there_or_refused,
                hosts_that_are_none_are_refused,
            ];
            contract::sessions: [
                a_session_tells_what_it_is, a_session_without_a_name_gets_one, a_name_is_given_once,
                an_unknown_session_is_not_found, a_terminated_session_is_gone, terminating_ends_a_command_under_way,
                what_is_not_supported_is_refused, background_processes_stay_only_when_asked_for,
                a_thread_that_ends_takes_no_command_with_it, commands_in_one_session_run_side_by_side,
                a_time_limit_ends_only_its_own_command, many_sessions_do_not_mix, sessions_leave_no_descriptors,
                a_killed_caller_takes_its_sessions_with_it,
            ];
            contract::snapshots: [
                a_session_goes_back_to_its_snapshot, the_last_snapshot_counts,
                without_a_snapshot_files_stay_as_they_are, forks_go_their_own_ways,
                an_overlay_is_part_of_the_snapshot, a_session_that_writes_to_the_host_has_no_snapshot,
                odd_files_survive, a_snapshot_ends_background_processes,
                a_snapshot_that_is_not_there_cannot_be_forked,
                a_suspended_session_does_nothing_until_the_next_command, resume_wakes_a_suspended_session,
                an_idle_session_is_suspended,
            ];
            contract::streaming: [
                output_comes_while_the_command_runs, the_order_within_a_stream_is_kept,
                a_wait_that_is_given_up_loses_nothing, a_dropped_command_ends_with_its_children,
                an_exec_that_is_given_up_ends, signals_reach_the_command, a_terminal_is_one,
                a_terminal_changes_its_size, a_terminal_interrupts, nothing_is_put_into_a_terminal,
                a_terminal_has_a_time_limit_too,
            ];
            contract::usability: [
                shells_and_pipes, modes_owners_and_links, python_with_processes, compilers_and_make, git_commits,
                node_with_workers, what_programs_read_about_the_machine,
            ];
            escape::lifecycle: [
                mounts_are_not_replaced_by_links, no_race_leads_outside, no_race_leads_outside_at_attach,
                nothing_dangerous_is_left_in_the_workspace, planted_programs_change_no_identity,
                a_full_scratch_space_is_not_the_hosts, odd_files_do_not_block_the_host,
            ];
        }
    };
}

/// Everything for one backend: the contract as the caller and as an ordinary user, and the attacks.
macro_rules! backend_suites {
    ($name:ident, $start:path) => {
        mod $name {
            #[test]
            fn nothing_gets_through() {
                $crate::escape::suite::nothing_gets_through(fullsend_testkit::test_name!(), $start);
            }

            $crate::support::instantiate::contract_suite!($start, $crate::support::caller::Caller::Itself);

            mod as_ordinary_user {
                $crate::support::instantiate::contract_suite!(
                    $start,
                    $crate::support::caller::Caller::Ordinary
                );
            }
        }
    };
}

pub(crate) use {backend_suites, backend_tests, contract_suite};
