//! Runs with faults at random moments: every recorded effect happens once, nothing is lost, and what must not be repeated asks.
//!
//! `cargo xtask fleet-faults N` makes N faults; the tests make a few. Fault number and kind depend on the seed alone, moments
//! also on the machine.

use crate::fixture::{Fleet, FleetWorker, lines, wait_until};
use crate::network::Network;
use crate::s3::Service;
use crate::support::{Marvin, ProgramOutput, World, commands_run, json_file};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Faults in an ordinary test run.
const FAULTS: u64 = 10;
const WORKERS: usize = 3;
/// Seconds without a sign of life after which an attempt counts as lost.
const HEARTBEAT_S: &str = "1";
/// A fault that is shorter than the heartbeat, and one that is longer, in milliseconds.
const SHORT_MS: (u64, u64) = (100, 700);
const LONG_MS: (u64, u64) = (1_500, 3_500);
const QUEUE: &str = "q";
/// Prints what no other execution prints.
const NONCE: &str = "date +%s%N | tr -d '\\n'";
/// The library of libfaketime for programs with threads, as Debian installs it.
const FAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// The SplitMix64 sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn time(&mut self, (from, to): (u64, u64)) -> Duration {
        Duration::from_millis(from + self.below(to - from))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    WorkerKilled,
    AllWorkersKilled,
    WorkerFrozenShort,
    WorkerFrozenLong,
    ServerKilled,
    StoreAway,
    LinkCutShort,
    LinkCutLong,
    ClockAhead,
    ClockBehind,
    ThreeDeliveries,
}

/// Faults by how often they are made.
const FAULT_WEIGHTS: [(Fault, u64); 10] = [
    (Fault::WorkerKilled, 6),
    (Fault::AllWorkersKilled, 1),
    (Fault::WorkerFrozenShort, 2),
    (Fault::WorkerFrozenLong, 3),
    (Fault::ServerKilled, 2),
    (Fault::StoreAway, 3),
    (Fault::LinkCutShort, 2),
    (Fault::LinkCutLong, 3),
    (Fault::ClockAhead, 1),
    (Fault::ClockBehind, 1),
];

/// What machines share.
enum Shared {
    Directory,
    S3(Service),
}

/// A server, a store and workers over which many runs are made.
struct Site {
    fleet: Fleet,
    world: World,
    shared: Shared,
    workers: Vec<FleetWorker>,
    counts: BTreeMap<Fault, u64>,
    /// Executions of steps beyond one each, and questions to people.
    repeated: u64,
    questions: u64,
    runs: u64,
}

impl Site {
    fn new(fleet: Fleet, shared: Shared) -> Self {
        let (world, counts) = (World::new(), BTreeMap::new());
        let mut site =
            Site { fleet, world, shared, workers: Vec::new(), counts, repeated: 0, questions: 0, runs: 0 };
        site.workers = (0..WORKERS).map(|number| site.start_worker(number, None)).collect();
        site
    }

    /// Gives a program the store of this site.
    fn with_store(&self, program: Marvin) -> Marvin {
        let Shared::S3(service) = &self.shared else { return program };
        let variables = service.environment();
        let program = program.env("MARVIN_FLEET_STORE", "s3://bucket/runs");
        variables.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    fn start_worker(&self, number: usize, clock: Option<&str>) -> FleetWorker {
        self.start_worker_with(number, "3", clock)
    }

    fn start_worker_with(&self, number: usize, slots: &str, clock: Option<&str>) -> FleetWorker {
        // With a state directory of its own, as another machine has: on one machine, deliveries of an attempt take turns.
        let home = self.world.root().join(format!("home{number}"));
        fs::create_dir_all(&home).unwrap();
        let mut program = self.world.marvin(["worker", "--slots", slots]).env("HOME", home);
        if let Some(shift) = clock {
            program = program.env("LD_PRELOAD", FAKETIME).env("FAKETIME", shift);
            program = program.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("FAKETIME_DONT_RESET", "1");
        }
        let program = self.fleet.worker_settings(program, QUEUE, number);
        self.fleet.start_worker(&self.world, self.with_store(program))
    }

    fn restart_worker(&mut self, number: usize, clock: Option<&str>) {
        self.workers[number].kill();
        self.workers[number] = self.start_worker(number, clock);
    }

    fn restart_workers(&mut self) {
        for worker in &mut self.workers {
            worker.kill();
        }
        self.workers = (0..WORKERS).map(|number| self.start_worker(number, None)).collect();
    }

    fn marvin(&self, words: &[&str]) -> Marvin {
        self.with_store(self.fleet.settings(self.world.marvin(words), QUEUE))
    }

    /// Whether this site can have the fault.
    fn can_have(&self, fault: Fault) -> bool {
        match fault {
            Fault::LinkCutShort | Fault::LinkCutLong => self.fleet.network().is_some(),
            Fault::ClockAhead | Fault::ClockBehind => Path::new(FAKETIME).exists(),
            _ => true,
        }
    }

    fn choose(&self, random: &mut Random) -> Fault {
        let possible: Vec<_> = FAULT_WEIGHTS.iter().filter(|(fault, _)| self.can_have(*fault)).collect();
        let mut left = random.below(possible.iter().map(|(_, weight)| weight).sum());
        let found = possible.iter().find(|(_, weight)| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        });
        found.expect("the weights have a sum").0
    }

    /// Makes a fault and repairs what it broke.
    fn make(&mut self, fault: Fault, random: &mut Random) {
        let number = usize::try_from(random.below(WORKERS as u64)).unwrap();
        match fault {
            Fault::WorkerKilled => self.restart_worker(number, None),
            Fault::AllWorkersKilled => self.restart_workers(),
            Fault::WorkerFrozenShort => self.freeze(number, random.time(SHORT_MS)),
            Fault::WorkerFrozenLong => self.freeze(number, random.time(LONG_MS)),
            Fault::ServerKilled => {
                self.fleet.kill_server();
                std::thread::sleep(random.time(SHORT_MS));
                self.fleet.start_server();
            }
            Fault::StoreAway => self.take_store_away(random.time((200, 2_000))),
            Fault::LinkCutShort => self.cut_link(number, random.time(SHORT_MS)),
            Fault::LinkCutLong => self.cut_link(number, random.time(LONG_MS)),
            Fault::ClockAhead => self.restart_worker(number, Some("+1h")),
            Fault::ClockBehind => self.restart_worker(number, Some("-1h")),
            Fault::ThreeDeliveries => self.deliver_three_times(),
        }
        *self.counts.entry(fault).or_default() += 1;
    }

    fn freeze(&self, number: usize, time: Duration) {
        self.workers[number].signal(Signal::STOP);
        std::thread::sleep(time);
        self.workers[number].signal(Signal::CONT);
    }

    fn cut_link(&self, number: usize, time: Duration) {
        let network = self.fleet.network().expect("a site with a network");
        network.set_link(number, false);
        std::thread::sleep(time);
        network.set_link(number, true);
    }

    fn take_store_away(&self, time: Duration) {
        match &self.shared {
            Shared::Directory => {
                let (here, away) = (self.fleet.store(), self.fleet.store().with_extension("away"));
                fs::rename(&here, &away).unwrap();
                std::thread::sleep(time);
                // A write that began before may have made the directory again, without the identity of a store.
                if here.exists() {
                    assert!(!here.join("store.id").exists(), "no process opened a store meanwhile");
                    fs::remove_dir_all(&here).unwrap();
                }
                fs::rename(&away, &here).unwrap();
            }
            Shared::S3(service) => {
                let signal = |signal| kill_process(Pid::from_child(service.process()), signal).unwrap();
                signal(Signal::STOP);
                std::thread::sleep(time);
                signal(Signal::CONT);
            }
        }
    }

    /// Three deliveries of one attempt that work at the same time, in three workers, and end together.
    fn deliver_three_times(&mut self) {
        for worker in &mut self.workers {
            worker.kill();
        }
        let name = format!("three{}", self.runs);
        self.runs += 1;
        let line = format!("echo x >> {name}.log; while ! test -e {name}.go; do sleep 0.02; done; {NONCE}");
        let seen = format!("echo \"$MARVIN_INPUT_last\" >> {name}.seen");
        let workflow = json!({"workflow_id": name, "goal": "g", "steps": [
            {"id": "slow", "worker": "Command", "writes": false, "repeatable": true, "inputs": {"command": line}},
            {"id": "after", "worker": "Command", "depends_on": ["slow"], "writes": false, "repeatable": true,
             "inputs": {"command": seen, "last": {"from": "slow.outputs.stdout"}}},
        ]});
        let file = self.world.write(&format!("{name}.json"), &workflow.to_string());
        let mut running =
            self.marvin(&["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"]).start();
        let log = self.world.project().join(format!("{name}.log"));
        for number in 0..WORKERS {
            // The others are frozen, and their children work on. With one slot they have no open request that takes a delivery.
            self.workers[number] = self.start_worker_with(number, "1", None);
            wait_until("the step is delivered", || {
                assert!(running.is_running(), "the client ended");
                lines(&log) > number
            });
            if number + 1 < WORKERS {
                self.workers[number].signal(Signal::STOP);
            }
        }
        self.world.write(&format!("{name}.go"), "");
        for worker in &self.workers {
            worker.signal(Signal::CONT);
        }
        let ended = running.end().exits(0).json();
        let state =
            json_file(&PathBuf::from(ended["run_path"].as_str().unwrap()).join("workflow_state.json"));
        let output = state["state"]["steps"]["slow"]["outputs"]["stdout"].as_str().unwrap().to_string();
        let seen = self.world.read(&format!("{name}.seen"));
        assert!(seen.lines().all(|line| line == output), "{seen} is not {output}: {state}");
        self.repeated += lines(&log) as u64 - 1;
        self.restart_workers();
    }
}

/// A workflow whose steps leave traces in the workspace.
struct Case {
    name: String,
    steps: Vec<Value>,
    /// Steps with a keyed effect, and steps that must not be repeated.
    keyed: Vec<String>,
    once: Vec<String>,
}

impl Case {
    fn new(name: String, random: &mut Random) -> Self {
        let mut case = Case { name, steps: Vec::new(), keyed: Vec::new(), once: Vec::new() };
        let (is_chain, size) = (random.below(2) == 0, 5 + random.below(5));
        for number in 0..size {
            let before = number.checked_sub(1).filter(|_| is_chain).map(|number| format!("s{number}"));
            case.add(&format!("s{number}"), before.into_iter().collect(), random);
        }
        if !is_chain {
            let all = case.steps.iter().map(|step| step["id"].as_str().unwrap().to_string()).collect();
            case.add("join", all, random);
        }
        case
    }

    fn add(&mut self, id: &str, before: Vec<String>, random: &mut Random) {
        let (name, pause) = (&self.name, format!("0.{}", random.below(6)));
        if random.below(4) == 0 {
            let line = format!("echo \"{id} $MARVIN_STEP_KEY\" >> {name}.once; sleep {pause}; echo done");
            self.steps.push(json!({"id": id, "worker": "Command", "writes": false, "depends_on": before,
                "inputs": {"command": line}}));
            self.once.push(id.to_string());
            return;
        }
        let mut line = format!("echo \"{id} $MARVIN_STEP_KEY\" >> {name}.executions; ");
        let last = before.iter().find(|before| self.keyed.contains(before));
        let mut inputs = json!({});
        if let Some(last) = last {
            line.push_str(&format!("echo \"$MARVIN_INPUT_last\" >> {name}.seen.{last}; "));
            inputs["last"] = json!({"from": format!("{last}.outputs.stdout")});
        }
        line.push_str(&format!("sleep {pause}; mkdir -p \"{name}.effects/{id}.$MARVIN_STEP_KEY\"; {NONCE}"));
        inputs["command"] = line.into();
        self.steps.push(json!({"id": id, "worker": "Command", "writes": false, "repeatable": true,
            "depends_on": before, "inputs": inputs}));
        self.keyed.push(id.to_string());
    }

    fn workflow(&self) -> String {
        json!({"workflow_id": self.name, "goal": "g", "steps": self.steps}).to_string()
    }
}

impl Site {
    /// Makes a run with at most this many faults; returns how many were made while it ran.
    fn run(&mut self, random: &mut Random, most: u64) -> u64 {
        let case = Case::new(format!("r{}", self.runs), random);
        self.runs += 1;
        let file = self.world.write(&format!("{}.json", case.name), &case.workflow());
        let words = ["run-workflow", file.to_str().unwrap(), "--engine", "temporal", "--json"];
        let mut running = self.marvin(&words).start();
        let mut made = Vec::new();
        for _ in 0..most.min(1 + random.below(4)) {
            std::thread::sleep(random.time((0, 1_200)));
            if !running.is_running() {
                break;
            }
            let mut fault = self.choose(random);
            // A client that begins a run needs server and store, and says so.
            if matches!(fault, Fault::StoreAway | Fault::ServerKilled) && !self.has_begun(&case) {
                fault = Fault::WorkerKilled;
            }
            self.make(fault, random);
            made.push(fault);
        }
        println!("{}: {} steps, {made:?}", case.name, case.steps.len());
        self.finish(&case, running.end());
        made.len() as u64
    }

    /// Whether a step of the run was executed.
    fn has_begun(&self, case: &Case) -> bool {
        let file = |kind: &str| self.world.project().join(format!("{}.{kind}", case.name));
        file("executions").exists() || file("once").exists()
    }

    /// Decides what people are asked, until the run is over, and checks it.
    fn finish(&mut self, case: &Case, mut ended: ProgramOutput) {
        let mut rounds = 0;
        while ended.code == Some(4) {
            rounds += 1;
            assert!(rounds < 20, "{}", ended.whole());
            ended = self.settle(case, &ended);
        }
        let path = PathBuf::from(ended.exits(0).json()["run_path"].as_str().unwrap());
        let state = json_file(&path.join("workflow_state.json"));
        self.check(case, &state["state"]["steps"]);
    }

    /// Settles steps that must not be repeated, as a person would who looks at their effects.
    fn settle(&mut self, case: &Case, ended: &ProgramOutput) -> ProgramOutput {
        let result = ended.json();
        let path = result["run_path"].as_str().unwrap();
        // So that no attempt is still under way whose effect is looked for.
        self.restart_workers();
        std::thread::sleep(Duration::from_millis(500));
        for waiting in result["waiting"].as_array().unwrap() {
            assert_eq!(waiting["kind"], "unknown", "{result}");
            let step = waiting["step_id"].as_str().unwrap();
            assert!(case.once.iter().any(|once| once == step), "{step} may be repeated: {result}");
            let outcome = if self.executions(case, "once", step) > 0 { "done" } else { "again" };
            let words = ["workflow", "settle", "--run-path", path, "--step", step, "--as", outcome];
            let program = self.world.person(words);
            self.with_store(self.fleet.settings(program, QUEUE)).run().exits(0);
            self.questions += 1;
        }
        self.marvin(&["resume-run", "--run-path", path, "--json"]).run()
    }

    /// The lines of a step in a file of the run.
    fn executions(&self, case: &Case, file: &str, step: &str) -> usize {
        let path = self.world.project().join(format!("{}.{file}", case.name));
        let text = fs::read_to_string(path).unwrap_or_default();
        text.lines().filter(|line| line.split(' ').next() == Some(step)).count()
    }

    fn check(&mut self, case: &Case, steps: &Value) {
        let text = || format!("{steps}\n{}", self.workers[0].log());
        for step in &case.steps {
            let id = step["id"].as_str().unwrap();
            assert_eq!(steps[id]["status"], "SUCCEEDED", "{id}: {}", text());
        }
        for id in &case.once {
            assert_eq!(self.executions(case, "once", id), 1, "{id} is done once: {}", text());
        }
        let effects = self.world.project().join(format!("{}.effects", case.name));
        let effects: BTreeSet<String> = fs::read_dir(effects)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(effects.len(), case.keyed.len(), "one effect for each key: {effects:?}");
        let mut repeated = 0;
        for id in &case.keyed {
            let output = steps[id]["outputs"]["stdout"].as_str().unwrap();
            let key = effects.iter().find_map(|name| name.strip_prefix(&format!("{id}.")));
            let key = key.unwrap_or_else(|| panic!("{id} has no effect: {effects:?}"));
            if let Shared::Directory = self.shared {
                let end = json_file(&self.fleet.store().join("ends").join(key));
                assert_eq!(end["reply"]["outputs"]["stdout"], output, "{id}: the first end counts");
            }
            let seen = self.world.project().join(format!("{}.seen.{id}", case.name));
            let seen = fs::read_to_string(seen).unwrap_or_default();
            assert!(seen.lines().all(|line| line == output), "{id} was seen as {seen}, and is {output}");
            repeated += self.executions(case, "executions", id) as u64 - 1;
        }
        self.repeated += repeated;
    }

    /// Makes runs until so many faults were made.
    fn storm(&mut self, faults: u64, seed: u64) {
        let mut made = 0;
        while made < faults {
            let mut random = Random(seed.wrapping_add(self.runs.wrapping_mul(1_000_003)));
            if self.runs % 8 == 1 {
                self.make(Fault::ThreeDeliveries, &mut random);
                made += 1;
                continue;
            }
            made += self.run(&mut random, faults - made);
        }
    }

    fn report(&self, name: &str) {
        let faults: u64 = self.counts.values().sum();
        println!(
            "{name}: {} runs, {faults} faults {:?}; {} executions repeated, {} questions; every effect once",
            self.runs, self.counts, self.repeated, self.questions
        );
    }
}

#[test]
fn runs_with_random_faults_have_every_effect_once() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let faults = number("MARVIN_TEST_FLEET_FAULTS").unwrap_or(FAULTS);
    let seed = number("MARVIN_TEST_FLEET_SEED").unwrap_or(1);
    let Some(fleet) = Fleet::start_in(Network::new(WORKERS), HEARTBEAT_S, &[]) else { return };
    if !commands_run(&World::new()) {
        return;
    }
    let in_bucket = faults / 5;
    let mut site = Site::new(fleet, Shared::Directory);
    site.storm(faults - in_bucket, seed);
    site.report("store in a directory");
    drop(site);
    let Some(service) = Service::moto() else { return };
    let Some(fleet) = Fleet::start_in(None, HEARTBEAT_S, &[]) else { return };
    let mut site = Site::new(fleet, Shared::S3(service));
    site.storm(in_bucket, seed);
    site.report("store in a bucket");
}
