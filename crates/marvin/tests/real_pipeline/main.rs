//! Phases of the pipeline with Codex and Claude Code themselves as models, against a scripted model on this machine: a document, its
//! review, tests, code.
//!
//! As the tests of `marvin-model` do it: the programs are found through `MARVIN_TEST_CLIENTS`, and every scene is played in a
//! network namespace that has a loopback and nothing else. Tests run by `unittest`, which every Python has.

#[cfg(test)]
mod stage;

macro_rules! play {
    ($program:ident: $($scene:ident)*) => {
        $(#[test]
        fn $scene() {
            let name = concat!(module_path!(), "::", stringify!($scene));
            marvin_testing::namespace::play(name, || crate::stage::$scene(crate::stage::Program::$program));
        })*
    };
}

mod claude {
    play! { Claude: a_document_and_its_review tests_and_code }
}

mod codex {
    play! { Codex: a_document_and_its_review tests_and_code }
}
