//! Pipeline phases, and a batch of self-improve sessions, with Codex and Claude Code as models, against a scripted model on this
//! machine: a document, its review, tests, code.
//!
//! As in the tests of `marvin-model`, the programs are found through `MARVIN_TEST_CLIENTS`, and every scene is played in a
//! network namespace with only a loopback. Tests run by `unittest`, which every Python has.

#[cfg(test)]
mod stage;

macro_rules! play {
    ($program:ident: $($scene:ident)*) => {
        $(#[test]
        fn $scene() {
            let name = concat!(module_path!(), "::", stringify!($scene));
            // The model server of the stage is a task of this runtime.
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let scene = async { crate::stage::$scene(crate::stage::Program::$program) };
            marvin_testing::namespace::play(name, || runtime.block_on(scene));
        })*
    };
}

mod claude {
    play! { Claude: a_document_and_its_review tests_and_code }
}

mod codex {
    play! { Codex: a_document_and_its_review tests_and_code }
}

mod mixed {
    play! { Claude: a_mixed_batch }
}
