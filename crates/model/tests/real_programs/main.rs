//! Codex and Claude Code themselves, driven as Marvin drives them, against a scripted model on this machine.
//!
//! The programs are found through `MARVIN_TEST_CLIENTS`, the directory into which `cargo xtask test` installs them. Each test
//! plays its scene in a network namespace that has a loopback and nothing else: switches in the environment alone do not
//! keep the programs from the network.

// Helpers of tests are tests to the lints only when they say so.
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod stage;

/// Tests of one program: each name is a scene that is played with it.
macro_rules! play {
    ($program:ident: $($scene:ident)*) => {
        $(#[test]
        fn $scene() {
            let name = concat!(module_path!(), "::", stringify!($scene));
            marvin_testing::namespace::play(name, || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(crate::scenes::$scene(crate::stage::Program::$program));
            });
        })*
    };
}

mod codex {
    play! { Codex:
        a_final_answer_and_what_the_program_was_told
        tool_calls_are_an_answer
        a_conversation_of_two_turns
        a_fence_around_the_answer_is_forgiven
        an_answer_that_is_not_json_is_refused
        a_list_is_refused
        a_busy_server
        a_broken_server
        a_server_that_talks_rubbish
        a_stream_that_breaks_ends_codex
        cancelling_leaves_nothing_behind
        the_deadline_leaves_nothing_behind
        the_programs_own_commands_know_that_they_are_delegated
        the_program_writes_where_it_is_allowed_to
        the_program_writes_nothing_unless_it_is_allowed_to
        every_setting_of_codex_is_accepted
        an_unknown_flag_value_comes_with_the_programs_own_words
        the_ripgrep_that_codex_brings_accepts_the_guard
        a_project_runs_nothing_through_the_program
    }
}

mod claude {
    play! { Claude:
        a_final_answer_and_what_the_program_was_told
        tokens_and_cost_are_those_that_the_vendor_says
        tool_calls_are_an_answer
        a_conversation_of_two_turns
        a_fence_around_the_answer_is_forgiven
        an_answer_that_is_not_json_is_refused
        a_list_is_refused
        a_busy_server
        a_broken_server
        a_server_that_talks_rubbish
        a_stream_that_breaks_is_asked_for_again_by_claude
        cancelling_leaves_nothing_behind
        the_deadline_leaves_nothing_behind
        the_programs_own_commands_know_that_they_are_delegated
        the_program_writes_where_it_is_allowed_to
        the_program_writes_nothing_unless_it_is_allowed_to
        every_setting_of_claude_is_accepted
        an_unknown_flag_value_comes_with_the_programs_own_words
        a_project_runs_nothing_through_the_program
    }
}
