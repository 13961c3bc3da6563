//! Claude Code and Codex themselves, with the hooks that `marvin init` writes, against a scripted model on this machine.
//!
//! As the tests of `marvin-model` do it: the programs are found through `MARVIN_TEST_CLIENTS`, and every scene is played in a
//! network namespace that has a loopback and nothing else.

#[cfg(test)]
mod questions;
#[cfg(test)]
mod scenes;
#[cfg(test)]
mod stage;

macro_rules! play {
    ($program:ident: $($scene:ident)*) => {
        $(#[test]
        fn $scene() {
            let name = concat!(module_path!(), "::", stringify!($scene));
            marvin_testing::namespace::play(name, || crate::scenes::$scene(crate::stage::Program::$program));
        })*
    };
}

mod claude {
    play! { Claude:
        a1_nothing_runs_that_would_have_been_asked_about
        commands_are_judged_and_the_model_is_told
        a_correction_changes_what_the_next_edit_is_told
        compaction_tells_again
        a_command_of_a_sub_agent_is_judged
        a_daemon_that_is_killed_changes_nothing
        done_is_proved
        tools_are_listed_and_called
    }
}

mod codex {
    play! { Codex:
        a1_nothing_runs_that_would_have_been_asked_about
        commands_are_judged_and_the_model_is_told
        a_correction_changes_what_the_next_edit_is_told
        a_daemon_that_is_killed_changes_nothing
        done_is_proved
        tools_are_listed_and_called
    }
}
