//! The tests of this suite, as the caller and as an ordinary user.

macro_rules! fault_tests {
    ($caller:expr; $($group:ident in $room:ident: [$($name:ident),* $(,)?];)*) => {$(
        mod $group {
            $(
                #[test]
                fn $name() {
                    $crate::faults::watch::run(
                        fullsend_testkit::test_name!(), $caller, $crate::faults::watch::Room::$room,
                        $crate::faults::$group::$name,
                    );
                }
            )*
        }
    )*};
}

macro_rules! fault_suite {
    ($caller:expr) => {
        fault_tests! { $caller;
            kills in Plenty: [
                at_any_instant, while_a_session_is_suspended, while_a_command_has_a_terminal, while_64_sessions_run,
                or_just_drops_everything, or_sweeps_while_others_work,
            ];
            restart in Plenty: [after_a_proper_end, after_a_kill];
            disk in Little: [has_no_space, has_no_room_for_another_file, is_full_when_the_next_process_comes];
            bombs in Plenty: [of_processes, of_memory, of_output, that_nobody_reads];
            growth in Plenty: [in_a_thousand_commands, in_a_hundred_sessions];
        }
    };
}

mod as_itself {
    fault_suite!(crate::support::caller::Caller::Itself);
}

mod as_ordinary_user {
    fault_suite!(crate::support::caller::Caller::Ordinary);
}
