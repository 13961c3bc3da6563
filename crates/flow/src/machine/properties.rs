//! Properties of the machine for any workflow and any interleaving.

use super::simulation::{Shape, Simulation, is_echo, shape, workflow};
use super::{Input, Machine, MachineState};
use crate::record::StepStatus;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// What the record keeps of a state.
fn recorded(state: &MachineState) -> MachineState {
    // Steps that wait for the workspace are ready steps in the record; attempts in progress are asked about again.
    let ready: BTreeSet<u32> = state.ready.union(&state.queued).copied().collect();
    MachineState {
        ready,
        queued: BTreeSet::new(),
        running: Default::default(),
        writer: None,
        unmerged: BTreeSet::new(),
        stopping: false,
        unverified: false,
        finished: 0,
        ..state.clone()
    }
}

fn check(simulation: &Simulation, slots: usize) -> Result<(), TestCaseError> {
    let machine = &simulation.machine;
    let state = machine.state();
    if state.preparing.is_none() && state.resolving.is_empty() && state.untaught.is_empty() {
        let restored =
            Machine::restore(machine.workflow().clone(), &state.run_id, simulation.folded(), slots, &is_echo);
        prop_assert_eq!(recorded(restored.state()), recorded(state));
    }
    let writers = simulation
        .started
        .iter()
        .filter(|(step, is_merge, _)| {
            let step = &machine.workflow().steps[*step as usize];
            *is_merge || (super::simulation::has(step, "writes") && !step.extra().worktree)
        })
        .count();
    prop_assert!(writers <= 1, "{writers} write");
    for (index, step) in machine.workflow().steps.iter().enumerate() {
        let begun = state.status[index] != StepStatus::New;
        let is_over = |dep: &u32| state.status[*dep as usize].is_complete();
        prop_assert!(
            !begun || state.status[index] == StepStatus::Skipped || step.depends_on.iter().all(is_over)
        );
    }
    prop_assert!(simulation.begun.values().all(|times| *times == 1), "{:?}", simulation.begun);
    Ok(())
}

/// Drives a workflow as these numbers say, then to its end.
fn drive(shapes: &[Shape], slots: usize, choices: &[u8]) -> Result<Simulation, TestCaseError> {
    let mut simulation = Simulation::new(workflow(shapes), slots);
    for choice in choices {
        let at = usize::from(*choice) / 8;
        match choice % 8 {
            0 | 1 => simulation.feed(Input::Advance),
            2 => simulation.feed_only(Input::Advance),
            3 | 4 if !simulation.started.is_empty() => {
                let end = simulation.finish(at % simulation.started.len());
                // It may be delivered twice.
                simulation.feed(end.clone());
                let before = simulation.machine.state().clone();
                simulation.feed(end);
                prop_assert_eq!(&before, simulation.machine.state());
            }
            5 if !simulation.answers.is_empty() => {
                let answer = simulation.answers.remove(at % simulation.answers.len()).unwrap();
                simulation.feed_only(answer);
            }
            6 => {
                if let Some(answer) = simulation.answer() {
                    simulation.feed(answer);
                }
            }
            7 if at % 4 == 0 => simulation.crash(),
            7 => {
                // Another process continues with the whole state.
                let text = serde_json::to_string(simulation.machine.state()).unwrap();
                let state: MachineState = serde_json::from_str(&text).unwrap();
                prop_assert_eq!(&state, simulation.machine.state());
                let workflow = simulation.machine.workflow().clone();
                simulation.machine = Machine::load(workflow, state, &is_echo).unwrap();
            }
            _ => {}
        }
        check(&simulation, slots)?;
    }
    simulation.run_to_end();
    check(&simulation, slots)?;
    Ok(simulation)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_interleaving_leads_to_the_same_end(
        shapes in proptest::collection::vec(shape(), 1..12),
        slots in 1_usize..5,
        choices in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let simulation = drive(&shapes, slots, &choices)?;
        let state = simulation.machine.state();
        prop_assert!(simulation.machine.is_idle() && state.parked == 0);
        // What has not begun waits for a step that failed.
        for (index, step) in simulation.machine.workflow().steps.iter().enumerate() {
            let waits = state.status[index] == StepStatus::New;
            prop_assert!(!waits || step.depends_on.iter().any(|dep| !state.status[*dep as usize].is_complete()));
        }
        // Which steps an early end finds depends on the order.
        if !shapes.iter().any(|shape| shape.terminates) {
            let plain = drive(&shapes, 1, &[])?;
            prop_assert_eq!(&plain.machine.state().status, &state.status);
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_effects(
        shapes in proptest::collection::vec(shape(), 1..12),
        slots in 1_usize..5,
        choices in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let [one, other] = [(); 2].map(|()| drive(&shapes, slots, &choices));
        let (one, other) = (one?, other?);
        prop_assert_eq!(one.log, other.log);
        prop_assert_eq!(one.machine.state(), other.machine.state());
    }
}
