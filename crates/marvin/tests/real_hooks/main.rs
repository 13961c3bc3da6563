//! Claude Code and Codex themselves, with the hooks that `marvin init` writes, against a scripted model on this machine.
//!
//! As in the tests of `marvin-model`, the programs are found through `MARVIN_TEST_CLIENTS`, and every scene is played in a
//! network namespace with only a loopback.

#[cfg(test)]
mod magic;
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
            // The model server of the stage is a task of this runtime.
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let scene = async { crate::scenes::$scene(crate::stage::Program::$program) };
            marvin_testing::namespace::play(name, || runtime.block_on(scene));
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
        ten_turns_of_magic_are_played
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
