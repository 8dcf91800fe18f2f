//! The tests of this suite, as the caller and as an ordinary user.

macro_rules! outside_tests {
    ($caller:expr; $($group:ident: [$($name:ident),* $(,)?];)*) => {$(
        mod $group {
            $(
                #[test]
                fn $name() {
                    $crate::outside::world::run(
                        fullsend_testkit::test_name!(), $caller, $crate::outside::$group::$name,
                    );
                }
            )*
        }
    )*};
}

macro_rules! outside_suite {
    ($caller:expr) => {
        outside_tests! { $caller;
            allowed: [
                curl_gets_through_every_way, lists_name_ports_and_domains, git_clones, python_fetches, node_fetches,
                a_credential_is_added_outside,
            ];
            refused: [
                addresses_are_out_of_reach, other_ports_are_out_of_reach, datagrams_are_out_of_reach,
                questions_carry_nothing_out, names_that_lead_inside_are_refused,
                a_name_that_changes_its_address_is_refused, another_name_at_an_allowed_address_is_refused,
                names_that_only_look_allowed_are_refused, requests_with_two_meanings_are_refused,
                another_sessions_proxy_is_out_of_reach,
            ];
            live: [
                taking_the_network_away_cuts_open_connections,
                a_network_that_is_given_is_there_for_the_next_command, a_denial_names_the_remedy,
                decisions_carry_the_command,
            ];
        }
    };
}

mod as_itself {
    outside_suite!(crate::support::caller::Caller::Itself);
}

mod as_ordinary_user {
    outside_suite!(crate::support::caller::Caller::Ordinary);
}
