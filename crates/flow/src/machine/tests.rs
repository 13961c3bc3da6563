//! Rules of the machine that no driver meets by itself.

use super::simulation::{Simulation, is_echo};
use super::*;
use crate::spec::StepBuilder;
use std::path::PathBuf;

fn chain() -> Workflow {
    let first = StepBuilder::new("a", "Hand").input("n", 0);
    let second = StepBuilder::new("b", "Echo").input("n", 1).after("a");
    Workflow::builder("w").goal("g").step(first).step(second).build().unwrap()
}

#[test]
fn an_end_of_another_attempt_has_no_effect() {
    let mut simulation = Simulation::new(chain(), 1);
    simulation.feed(Input::Advance);
    let (step, _, mut end) = simulation.started[0].clone();
    end.attempt.attempt_id = 2;
    for input in [
        Input::Finished { step, end: Box::new(end.clone()) },
        Input::Merged { step, end: Box::new(end.clone()) },
        Input::Finished { step: 1, end: Box::new(end) },
        Input::Taught { step, lesson: LessonResult::Written { id: "l".into() } },
        Input::Prepared { step, preparation: Preparation::NoWorker },
        Input::Resolved { step: 1, problem: None },
        Input::Recalled { step, recollection: Recollection::NoWorker },
    ] {
        let before = simulation.machine.state().clone();
        assert_eq!(simulation.machine.on(input.clone()), [], "{input:?}");
        assert_eq!(simulation.machine.state(), &before, "{input:?}");
    }
}

#[test]
fn a_lesson_that_cannot_be_written_ends_the_step() {
    let step = StepBuilder::new("a", "Hand").input("n", 0).input("fails", 9);
    let step = step.rung(crate::retry::Strategy::new("Hand", "draft", 1));
    let step = step.rung(crate::retry::Strategy::new("Hand", "patch", 1));
    let mut simulation = Simulation::new(Workflow::builder("w").step(step).build().unwrap(), 1);
    simulation.feed(Input::Advance);
    let end = simulation.finish(0);
    let effects = simulation.machine.on(end);
    assert!(matches!(&*effects, [Effect::Teach { step: 0, .. }]), "{effects:?}");
    assert!(!simulation.machine.is_idle());
    let lesson = LessonResult::Failed { error: "the disk is full".into() };
    simulation.feed(Input::Taught { step: 0, lesson });
    let (_, status, data) = simulation.log.last().unwrap();
    assert_eq!((*status, data.code.as_deref()), (StepStatus::Failed, Some("no_lesson")));
    assert_eq!(data.reason.as_deref(), Some("cannot write the lesson of the failure: the disk is full"));
}

#[test]
fn nothing_begins_after_a_stop() {
    let mut simulation = Simulation::new(chain(), 1);
    simulation.feed_only(Input::Advance);
    simulation.feed(Input::Stop);
    let prepared = simulation.answers.pop_front().unwrap();
    assert_eq!(simulation.machine.on(prepared), []);
    assert_eq!(simulation.machine.on(Input::Advance), []);
    assert!(simulation.machine.is_idle() && simulation.machine.state().ready.contains(&0));
}

#[test]
fn a_state_of_another_version_or_workflow_is_refused() {
    let simulation = Simulation::new(chain(), 1);
    let (workflow, state) = (simulation.machine.workflow(), simulation.machine.state());
    let newer = MachineState { version: VERSION + 1, ..state.clone() };
    assert_eq!(
        Machine::load(workflow.clone(), newer, &is_echo).unwrap_err(),
        StateError::Version(VERSION + 1)
    );
    let shorter = MachineState { status: Vec::new(), ..state.clone() };
    let error = Machine::load(workflow.clone(), shorter, &is_echo).unwrap_err();
    assert_eq!(error, StateError::Steps { state: 0, workflow: 2 });
}

/// A replay in another process must give the same effects, so the rules see neither time nor files nor chance.
#[test]
fn the_rules_use_no_clock_and_no_input_or_output() {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/machine");
    let rules = ["mod.rs", "begin.rs", "input.rs", "judge.rs", "people.rs", "resume.rs", "state.rs"];
    for name in rules {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        for word in [
            "std::time",
            "Instant",
            "clock",
            "std::fs",
            "std::env",
            "std::net",
            "std::thread",
            "tokio",
            "HashMap",
            "rand",
        ] {
            assert!(!text.replace("without a clock", "").contains(word), "{name} uses {word}");
        }
    }
}
