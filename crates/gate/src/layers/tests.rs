use super::*;
use marvin_base::environment::Environment;
use serde_json::{Value, json};
use std::fs;

/// A home and a project with rule files.
struct House {
    root: tempfile::TempDir,
    layout: Layout,
}

impl House {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("home/project");
        fs::create_dir_all(project.join(".marvin/security")).unwrap();
        let environment = Environment::from_iter([("HOME", root.path().join("home").to_str().unwrap())]);
        fs::create_dir_all(root.path().join("home/.config/marvin/security")).unwrap();
        House { layout: Layout::new(&environment, Some(&project)), root }
    }

    fn layers(&self) -> Layers {
        Layers::new(&self.layout)
    }

    fn person(&self, list: List, rules: &Value) {
        put(&self.layout.user_security().join(list.file()), rules);
    }

    fn project(&self, list: List, rules: &Value) {
        put(&super::project_file(&self.layout, list), rules);
    }

    fn judge(&self, layers: &Layers, line: &str) -> Ruling {
        let (directory, home) = self.places();
        layers.judge(
            line,
            Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } },
        )
    }

    fn places(&self) -> (String, String) {
        let home = self.root.path().join("home");
        (home.join("project").display().to_string(), home.display().to_string())
    }

    fn decision(&self, layers: &Layers, line: &str) -> (Decision, Layer) {
        let ruling = self.judge(layers, line);
        (ruling.verdict.decision, ruling.layer)
    }

    fn learnable(&self, line: &str) -> Result<Vec<learn::Candidate>, learn::LearnError> {
        let (directory, home) = self.places();
        let place = Place { directory: &directory, grounds: Grounds { workspace: &directory, home: &home } };
        self.layers().learnable(line, place)
    }
}

fn put(path: &Path, rules: &Value) {
    fs::write(path, json!({ "rules": rules }).to_string()).unwrap();
}

fn rule(id: &str, kind: &str, pattern: &str) -> Value {
    json!({"id": id, "type": kind, "pattern": pattern, "reason": "because"})
}

#[test]
fn a_rule_may_name_the_directories_it_is_for() {
    let house = House::new();
    let mut rules =
        [rule("a", "prefix", "frobnicate"), rule("b", "prefix", "xyzzy"), rule("c", "prefix", "plugh")];
    rules[1]["folder"] = json!("anywhere");
    rules[2]["folder"] = json!("elsewhere");
    house.person(List::Allowlist, &json!(rules));
    let allowed = |line: &str| house.decision(&house.layers(), line).1 == Layer::Allowlist;
    assert!(allowed("frobnicate") && !allowed("cd /opt && frobnicate"));
    assert!(allowed("xyzzy") && allowed("cd /opt && xyzzy"));
    assert!(!allowed("plugh") && allowed("cd /opt && plugh"));
}

/// Something that the judge asks about, whatever its facts say of other programs.
const ASKED: &str = "frobnicate --all";

#[test]
fn the_layers_come_in_order() {
    let house = House::new();
    assert_eq!(house.decision(&house.layers(), ASKED), (Decision::Ask, Layer::Judge));
    assert_eq!(house.decision(&house.layers(), "ls"), (Decision::Allow, Layer::Judge));
    let wide = json!([
        rule("all", "regex", "(frobnicate|rm|ls|git|dd|mkfs).*"),
        rule("everything", "prefix", "frobnicate"),
    ]);
    house.person(List::Allowlist, &wide);
    let layers = house.layers();
    assert_eq!(house.decision(&layers, ASKED), (Decision::Allow, Layer::Allowlist));
    assert_eq!(house.judge(&layers, ASKED).verdict.rule, "allowlist.all");
    // Nothing lifts what the judge denies.
    for line in ["rm -rf /", "rm -rf ~", "dd if=/dev/zero of=/dev/sda", "frobnicate; rm -rf /"] {
        assert_eq!(house.decision(&layers, line).0, Decision::Deny, "{line}");
    }
    // What refuses beats what allows.
    house.person(List::Denylist, &json!([rule("never", "contains", "--all")]));
    assert_eq!(house.decision(&layers, ASKED), (Decision::Deny, Layer::Denylist));
    assert_eq!(house.decision(&layers, "frobnicate --some"), (Decision::Allow, Layer::Allowlist));
    assert_eq!(house.decision(&layers, "ls --all").1, Layer::Denylist, "also what the judge allows");
}

#[test]
fn every_command_must_be_found_and_certain() {
    let house = House::new();
    house.person(
        List::Allowlist,
        &json!([rule("frob", "prefix", "frobnicate"), rule("git", "prefix", "git status")]),
    );
    let layers = house.layers();
    for line in [
        ASKED,
        "cd src && frobnicate x",
        "frobnicate a; frobnicate b",
        "timeout 9 frobnicate",
        "frobnicate | wc -l",
    ] {
        assert_eq!(house.decision(&layers, line), (Decision::Allow, Layer::Allowlist), "{line}");
    }
    for line in [
        // The critical bypass of the original: one known segment opened the rest.
        "xyzzy && git status",
        "git status; xyzzy",
        "frobnicate && xyzzy",
        "frobnicate $(xyzzy)",
        "frobnicate `xyzzy`",
        "frobnicate & xyzzy",
        "frobnicate\nxyzzy",
        "frobnicate | xyzzy",
        "frobnicate $UNKNOWN",
        "frobnicate > /opt/elsewhere",
        "frobnicate >> ~/.profile-of-mine",
        "sudo frobnicate",
        "PATH=/tmp/evil frobnicate",
        "/tmp/frobnicate",
        "./frobnicate",
        "frobnicated",
        "frobnicate \"",
        "xargs frobnicate < list",
        "cd /opt && frobnicate",
        "env -C /opt frobnicate",
        "env PATH=/tmp/evil frobnicate",
        "export PATH=/tmp/evil; frobnicate",
        "alias frobnicate=xyzzy; frobnicate",
        "frobnicate() { xyzzy; }; frobnicate",
        "{ frobnicate; } > /opt/x",
        "frobnicate | tee /opt/x",
        "frobnicate <(xyzzy)",
        "trap xyzzy EXIT; frobnicate",
    ] {
        assert_ne!(house.decision(&layers, line).1, Layer::Allowlist, "{line}");
    }
}

#[test]
fn a_rule_about_a_program_does_not_lift_reading_secrets() {
    let house = House::new();
    let rules = json!([
        rule("make", "prefix", "make"),
        rule("cat", "prefix", "cat"),
        rule("whole", "exact", "head -n 1 .env"),
    ]);
    house.person(List::Allowlist, &rules);
    let layers = house.layers();
    let decision = |line: &str| house.decision(&layers, line).0;
    for line in ["make all", "make -j4 check", "cat notes.txt", "head -n 1 .env"] {
        assert_eq!(decision(line), Decision::Allow, "{line}");
    }
    for line in ["cat .env", "make < .env", "cat ~/.ssh/id_ed25519", "head -n 2 .env"] {
        assert_ne!(decision(line), Decision::Allow, "{line}");
    }
}

#[test]
fn a_denylist_sees_through_what_hides_a_command() {
    let house = House::new();
    house.person(
        List::Denylist,
        &json!([rule("d", "prefix", "terraform destroy"), rule("raw", "regex", r"(?i)drop\s+table")]),
    );
    let layers = house.layers();
    for line in [
        "terraform destroy",
        "terraform   destroy -auto-approve",
        "cd infra && terraform destroy",
        "terra\"\"form 'destroy'",
        "/usr/bin/terraform destroy",
        "sudo terraform destroy",
        "env -i timeout 3 terraform destroy",
        "bash -c 'terraform destroy'",
        "echo $(terraform destroy)",
        "T=destroy; terraform $T",
        "psql -c 'DROP  TABLE users'",
        "echo 'drop table x",
    ] {
        assert_eq!(house.decision(&layers, line).0, Decision::Deny, "{line}");
    }
    assert_ne!(house.decision(&layers, "terraform destroyer").0, Decision::Deny);
}

#[test]
fn a_project_may_refuse_and_only_a_trusted_one_allows() {
    let house = House::new();
    house.project(List::Denylist, &json!([rule("no", "prefix", "ls -R")]));
    house.project(List::Allowlist, &json!([rule("frob", "prefix", "frobnicate")]));
    let layers = house.layers();
    assert_eq!(house.decision(&layers, "ls -R"), (Decision::Deny, Layer::Denylist));
    assert_eq!(house.decision(&layers, ASKED), (Decision::Ask, Layer::Judge));
    let file = house.layout.rules().join("allowlist.json");
    Trust::note(&house.layout.trusted(), &file).unwrap();
    assert_eq!(house.decision(&layers, ASKED), (Decision::Allow, Layer::Allowlist));
    // What an agent adds to it is not what the person trusted.
    house.project(
        List::Allowlist,
        &json!([rule("frob", "prefix", "frobnicate"), rule("x", "prefix", "xyzzy")]),
    );
    assert_eq!(house.decision(&layers, "xyzzy").0, Decision::Ask);
    assert_eq!(house.decision(&layers, ASKED).0, Decision::Ask);
    // A link is not followed out of the project.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(house.layout.user_security().join("allowlist.json"), &file).unwrap();
    house.person(List::Allowlist, &json!([]));
    assert!(house.layers().problems().iter().any(|problem| problem.hint.contains("link")));
}

#[test]
fn a_broken_file_loosens_nothing_and_the_last_good_one_stays() {
    let house = House::new();
    house.person(List::Denylist, &json!([rule("no", "prefix", "ls -R")]));
    house.person(List::Allowlist, &json!([rule("frob", "prefix", "frobnicate")]));
    let layers = house.layers();
    assert_eq!(house.decision(&layers, "ls -R").0, Decision::Deny);
    fs::write(house.layout.user_security().join("denylist.json"), "{\"rules\": [").unwrap();
    fs::write(house.layout.user_security().join("allowlist.json"), "nonsense").unwrap();
    assert_eq!(house.decision(&layers, "ls -R").0, Decision::Deny, "the last good one stays");
    assert_eq!(house.decision(&layers, ASKED).0, Decision::Allow);
    assert_eq!(house.decision(&layers, "ls").0, Decision::Allow);
    assert_eq!(layers.problems().len(), 2);
    // In a process that never saw a good one nothing is allowed that it might have refused.
    let fresh = house.layers();
    assert_eq!(house.decision(&fresh, "ls -R"), (Decision::Ask, Layer::Error));
    assert_eq!(house.decision(&fresh, "ls").0, Decision::Ask);
    assert_eq!(house.decision(&fresh, ASKED).0, Decision::Ask);
    assert_eq!(house.decision(&fresh, "rm -rf /").0, Decision::Deny);
    let reason = house.judge(&fresh, "ls").verdict.reason;
    assert!(reason.contains("denylist.json"), "{reason}");
    // What can be read of it is heard.
    house.person(List::Denylist, &json!([rule("no", "prefix", "ls -R"), rule("bad", "regex", "(")]));
    assert_eq!(house.decision(&fresh, "ls -R").0, Decision::Deny);
    assert_eq!(house.decision(&fresh, "ls").0, Decision::Ask);
    // Once it is fixed, it is as it should be.
    house.person(List::Denylist, &json!([rule("no", "prefix", "ls -R")]));
    assert_eq!(house.decision(&fresh, "ls").0, Decision::Allow);
    // A denylist that is taken away is taken away.
    fs::remove_file(house.layout.user_security().join("denylist.json")).unwrap();
    assert_eq!(house.decision(&fresh, "ls -R").0, Decision::Allow);
}

#[test]
fn ten_thousand_rules_take_bounded_time() {
    let house = House::new();
    let mut rules = Vec::new();
    for number in 0..10_000 {
        rules.push(match number % 4 {
            0 => rule(&format!("p{number}"), "prefix", &format!("tool{number} run")),
            1 => rule(&format!("c{number}"), "contains", &format!("--flag-{number}-x")),
            2 => rule(&format!("r{number}"), "regex", &format!(r"(?i)\bprog{number}\s+(a|b)+c?$")),
            _ => rule(&format!("h{number}"), "regex", &format!(r"((x+x+)+y{number}|(a*)*b)$")),
        });
    }
    house.person(List::Denylist, &json!(rules));
    let layers = house.layers();
    let started = std::time::Instant::now();
    let first = house.decision(&layers, "ls");
    let load = started.elapsed();
    assert_eq!(first.0, Decision::Allow);
    let nasty = format!("echo {}", "x".repeat(8_000));
    let lines = ["ls -la", "tool8 run x", "git status --flag-5-x", "PROG2 abab", &nasty];
    let started = std::time::Instant::now();
    let first: Vec<Decision> = lines.iter().map(|line| house.decision(&layers, line).0).collect();
    let cold = started.elapsed();
    assert_eq!(&first[1..4], [Decision::Deny; 3]);
    let started = std::time::Instant::now();
    for _ in 0..20 {
        house.decision(&layers, "git log --oneline -5");
    }
    let warm = started.elapsed() / 20;
    println!("10,000 rules: load {load:?}, five cold lines {cold:?}, warm {warm:?}");
    // On a quiet machine a tenth of this; the bound is for an unoptimised build on a busy one.
    assert!(
        load.as_secs() < 60 && cold.as_secs() < 20 && warm.as_millis() < 500,
        "{load:?} {cold:?} {warm:?}"
    );
}

#[test]
fn what_is_learned_is_as_narrow_as_what_was_approved() {
    let house = House::new();
    let redactor = marvin_base::redact::Redactor::patterns_only();
    let line = "cd . && frobnicate --all 'a b' > out.txt";
    let candidates = house.learnable(line).unwrap();
    assert_eq!(candidates.len(), 1);
    assert_eq!(candidates[0].pattern, "frobnicate --all 'a b' > out.txt");
    learn::add(&house.layout, line, "session-1", &candidates, &redactor).unwrap();
    let layers = house.layers();
    assert_eq!(house.decision(&layers, line), (Decision::Allow, Layer::Learned));
    assert_eq!(house.decision(&layers, "frobnicate  --all \"a b\" >out.txt").1, Layer::Learned);
    for other in [
        "frobnicate --all a b > out.txt",
        "frobnicate --all 'a b' > other.txt",
        "frobnicate --all 'a b'",
        "frobnicate --all 'a b' > out.txt x",
        "(cd /opt && frobnicate --all 'a b' > out.txt)",
    ] {
        assert_eq!(house.decision(&layers, other).0, Decision::Ask, "{other}");
    }
    // What refuses beats what was learned.
    house.person(List::Denylist, &json!([rule("no", "prefix", "frobnicate")]));
    assert_eq!(house.decision(&layers, line).0, Decision::Deny);
    fs::remove_file(house.layout.user_security().join("denylist.json")).unwrap();
    let id = learn::learned(&house.layout).unwrap()[0].id.clone();
    assert!(learn::remove(&house.layout, &id).unwrap() && !learn::remove(&house.layout, &id).unwrap());
    assert_eq!(house.decision(&layers, line).0, Decision::Ask);
}

#[test]
fn some_things_are_never_learned() {
    let house = House::new();
    for line in [
        "ls",
        "rm -rf /",
        "frobnicate $X",
        "frobnicate *.rs",
        "sudo frobnicate now",
        "A=1 frobnicate now",
        "python3 -c 'import frob'",
        "node -e 'frob()'",
        "bash -c 'frobnicate now'",
        "ssh host frobnicate now",
        "curl https://example.com/x",
        "rm src/main.rs",
        "git push --force origin main",
        "git reset --hard HEAD~1",
        "git -C /x push",
        "chmod +x /opt/x",
        "xargs frobnicate < list",
        "frobnicate \"",
    ] {
        assert!(house.learnable(line).is_err(), "{line}: {:?}", house.learnable(line));
    }
    assert!(house.learnable(&format!("frobnicate {}", "x".repeat(600))).is_err());
}

#[test]
fn a_secret_is_not_learned() {
    let house = House::new();
    let redactor = Arc::new(marvin_base::redact::Redactor::patterns_only());
    let line = "frobnicate --token AKIAIOSFODNN7EXAMPLE";
    let candidates = house.learnable(line).unwrap();
    assert!(learn::add(&house.layout, line, "s", &candidates, &redactor).is_err());
    assert!(learn::suggest(&house.layout.security(), line, "s", &candidates, &redactor).is_err());
    assert!(!learn::path(&house.layout).exists());
}

#[test]
fn a_suggestion_is_no_rule_until_a_person_says_so() {
    let house = House::new();
    let redactor = Arc::new(marvin_base::redact::Redactor::patterns_only());
    let directory = house.layout.security();
    let candidates = house.learnable(ASKED).unwrap();
    let id = learn::suggest(&directory, ASKED, "s", &candidates, &redactor).unwrap();
    assert_eq!(learn::suggest(&directory, ASKED, "s", &candidates, &redactor).unwrap(), id, "once is enough");
    assert_eq!(house.decision(&house.layers(), ASKED).0, Decision::Ask);
    let waiting = learn::suggestions(&directory).unwrap();
    assert_eq!((waiting.len(), waiting[0].id.as_str()), (1, id.as_str()));
    learn::add(&house.layout, &waiting[0].command, "s", &waiting[0].rules, &redactor).unwrap();
    learn::decide(&directory, &id, true, &redactor).unwrap();
    assert!(learn::suggestions(&directory).unwrap().is_empty());
    assert_eq!(house.decision(&house.layers(), ASKED), (Decision::Allow, Layer::Learned));
}

#[test]
fn an_agent_cannot_teach_the_gate() {
    let house = House::new();
    let redactor = marvin_base::redact::Redactor::patterns_only();
    let candidates = house.learnable(ASKED).unwrap();
    learn::add(&house.layout, ASKED, "s", &candidates, &redactor).unwrap();
    let layers = house.layers();
    assert_eq!(house.decision(&layers, ASKED).1, Layer::Learned);
    // Something in the project writes a line of its own.
    let mut text = fs::read_to_string(learn::path(&house.layout)).unwrap();
    text.push_str(
        &json!({"id": "learned-1-x", "type": "exact", "pattern": "xyzzy --now", "reason": "mine"})
            .to_string(),
    );
    fs::write(learn::path(&house.layout), text).unwrap();
    assert_eq!(house.decision(&layers, "xyzzy --now").0, Decision::Ask);
    assert!(
        learn::add(&house.layout, ASKED, "s", &candidates, &redactor)
            .unwrap_err()
            .to_string()
            .contains("not written by you")
    );
    for line in [
        "marvin gate learned add 'xyzzy'",
        "marvin gate --json learned add 'xyzzy'",
        "/usr/bin/marvin gate trust",
        "cd x && marvin gate suggestions accept s-1",
        "bash -c 'marvin gate rules add rust'",
    ] {
        assert_eq!(house.judge(&layers, line).verdict.rule, "gate.own", "{line}");
    }
}

/// A learned text is never a regex: `.*` in an approved command means these two characters.
#[test]
fn an_approved_text_does_not_become_an_expression() {
    let house = House::new();
    let redactor = marvin_base::redact::Redactor::patterns_only();
    let line = "frobnicate '.*|^' '(a+)+$'";
    let candidates = house.learnable(line).unwrap();
    learn::add(&house.layout, line, "s", &candidates, &redactor).unwrap();
    let layers = house.layers();
    assert_eq!(house.decision(&layers, line).1, Layer::Learned);
    for other in ["xyzzy now", "frobnicate abc aaa", "frobnicate"] {
        assert_eq!(house.decision(&layers, other).0, Decision::Ask, "{other}");
    }
    // A learned file with a regex in it is not believed even when it is trusted.
    let file = learn::path(&house.layout);
    fs::write(&file, json!({"id": "x", "type": "regex", "pattern": ".*", "reason": "r"}).to_string())
        .unwrap();
    Trust::note(&house.layout.trusted(), &file).unwrap();
    assert_eq!(house.decision(&house.layers(), "xyzzy now").0, Decision::Ask);
}

/// A project may know programs, once a person trusts what it says of them; that lifts no finding.
#[test]
fn programs_become_known_by_trust() {
    let house = House::new();
    let facts = "[[program]]\nnames = \"frobnicate\"\nclass = \"read\"\nwrites = \"-o\"\n";
    let own = house.layout.rules().join("programs.toml");
    fs::create_dir_all(house.layout.rules()).unwrap();
    fs::write(&own, facts).unwrap();
    assert_eq!(house.decision(&house.layers(), "frobnicate a.txt").0, Decision::Ask);
    Trust::note(&house.layout.trusted(), &own).unwrap();
    let layers = house.layers();
    assert_eq!(house.decision(&layers, "frobnicate a.txt").0, Decision::Allow);
    assert_eq!(house.decision(&layers, "frobnicate ~/.ssh/id_rsa").0, Decision::Deny);
    assert_ne!(house.decision(&layers, "frobnicate -o /etc/passwd a.txt").0, Decision::Allow);
    // Changed, it is trusted no longer; broken, it is told.
    fs::write(&own, facts.replace("read", "build")).unwrap();
    assert_eq!(house.decision(&layers, "frobnicate a.txt").0, Decision::Ask);
    let person = house.layout.user_security().join("programs.toml");
    fs::write(&person, facts.replace("read", "kill")).unwrap();
    assert_eq!(house.decision(&layers, "frobnicate a.txt").0, Decision::Ask);
    assert!(
        layers.problems().iter().any(|problem| problem.to_string().contains("line 3")),
        "{:?}",
        layers.problems()
    );
    fs::write(&person, facts).unwrap();
    assert_eq!(house.decision(&layers, "frobnicate a.txt").0, Decision::Allow);
}

/// An approval belongs to the session that asked, for a short time, once.
#[test]
fn an_approval_does_not_cross_sessions() {
    let mut pending = learn::Pending::default();
    let now = Instant::now();
    pending.ask("one", "frobnicate   x", now);
    assert!(!pending.answered("two", "frobnicate x", now));
    assert!(pending.answered("one", "frobnicate x", now) && !pending.answered("one", "frobnicate x", now));
    pending.ask("one", "frobnicate x", now);
    assert!(!pending.answered("one", "frobnicate x", now + learn::PENDING));
    pending.ask("one", "frobnicate x", now);
    pending.end("one");
    assert!(!pending.answered("one", "frobnicate x", now));
    for number in 0..1000 {
        pending.ask("many", &number.to_string(), now);
    }
    assert!(!pending.answered("many", "0", now) && pending.answered("many", "999", now));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]

    /// Whatever stands in a rule file: nothing panics, a denylist never loosens, and nothing lifts a denial.
    #[test]
    fn any_rule_file_is_survived(
        text in proptest::prop_oneof![
            "\\PC{0,80}",
            "[{}\\[\\]\":,a-z ]{0,120}",
            "(\\{\"rules\": \\[\\{\"id\":\"a\",\"type\":\"(prefix|regex|contains|exact)\",\"pattern\":\"[a-z.*+?() |]{1,12}\",\"reason\":\"r\"\\}\\]\\})",
        ],
    ) {
        let house = House::new();
        for line in ["ls", "frobnicate x", "rm -rf /", "git push --force"] {
            fs::write(house.layout.user_security().join("denylist.json"), "{\"rules\": []}").unwrap();
            let plain = house.decision(&house.layers(), line).0;
            fs::write(house.layout.user_security().join("denylist.json"), &text).unwrap();
            proptest::prop_assert!(house.decision(&house.layers(), line).0 >= plain, "{line}: {text}");
            fs::remove_file(house.layout.user_security().join("denylist.json")).unwrap();
            for file in ["allowlist.json", "learned.jsonl"] {
                fs::write(house.layout.user_security().join(file), &text).unwrap();
                let decision = house.decision(&house.layers(), line).0;
                proptest::prop_assert!(plain != Decision::Deny || decision == Decision::Deny, "{line}: {text}");
                fs::remove_file(house.layout.user_security().join(file)).unwrap();
            }
        }
    }
}
