//! Parser of `go test -json`: one event per line.

use super::counts::Counts;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    package: Option<String>,
    test: Option<String>,
    output: Option<String>,
}

fn events(text: &str) -> impl Iterator<Item = Event> {
    text.lines().filter(|line| line.starts_with('{')).filter_map(|line| serde_json::from_str(line).ok())
}

/// Counts the events; `None` when there are none. Of a test with subtests only these count.
pub(super) fn read(text: &str) -> Option<Counts> {
    let mut ends: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    let mut any = false;
    for event in events(text) {
        let Some(package) = event.package else { continue };
        any = true;
        let is_end = matches!(event.action.as_str(), "pass" | "fail" | "skip");
        match event.test {
            Some(test) if is_end => {
                ends.insert((package, test), event.action);
            }
            Some(test) if event.action == "run" => {
                // One that never ends was killed with its process.
                ends.entry((package, test)).or_insert_with(|| "run".to_string());
            }
            None if is_end => {
                packages.insert(package, event.action);
            }
            _ => {}
        }
    }
    let mut counts = Counts::default();
    let mut blamed: BTreeSet<&String> = BTreeSet::new();
    for ((package, test), end) in &ends {
        // Its subtests follow in the order of names, if it has any.
        let inner = (package.clone(), format!("{test}/"));
        let next = ends.range(&inner..).next();
        if next.is_some_and(|((other, name), _)| other == package && name.starts_with(&inner.1)) {
            continue;
        }
        counts.note(&format!("{package}.{test}"), end != "skip");
        match end.as_str() {
            "pass" => counts.passed += 1,
            "skip" => counts.skipped += 1,
            _ => {
                counts.failed += 1;
                counts.failing.push(format!("{package}.{test}"));
                blamed.insert(package);
            }
        }
    }
    for (package, end) in &packages {
        if end == "fail" && !blamed.contains(&package) {
            counts.errors += 1;
            counts.failing.push(package.clone());
        }
    }
    any.then_some(counts)
}

/// The output of the tests, without the events around it.
pub(super) fn text(json: &str) -> String {
    events(json).filter_map(|event| event.output).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_subtests_and_packages_are_distinguished() {
        let text = r#"{"Action":"start","Package":"a/b"}
{"Action":"run","Package":"a/b","Test":"TestOne"}
{"Action":"output","Package":"a/b","Test":"TestOne","Output":"--- PASS: TestFake (0.00s)\n"}
{"Action":"pass","Package":"a/b","Test":"TestOne","Elapsed":0}
{"Action":"run","Package":"a/b","Test":"TestTwo"}
{"Action":"run","Package":"a/b","Test":"TestTwo/x"}
{"Action":"fail","Package":"a/b","Test":"TestTwo/x","Elapsed":0}
{"Action":"run","Package":"a/b","Test":"TestTwo/y"}
{"Action":"pass","Package":"a/b","Test":"TestTwo/y","Elapsed":0}
{"Action":"fail","Package":"a/b","Test":"TestTwo","Elapsed":0}
{"Action":"skip","Package":"a/b","Test":"TestThree","Elapsed":0}
{"Action":"fail","Package":"a/b","Elapsed":0.1}
{"ImportPath":"a/c","Action":"build-output","Output":"c.go:1: syntax error\n"}
{"Action":"fail","Package":"a/c","Elapsed":0}
{"Action":"skip","Package":"a/none","Elapsed":0}
{"Action":"run","Package":"a/d","Test":"TestPanic"}
{"Action":"fail","Package":"a/d"}
"#;
        let counts = read(text).unwrap();
        assert_eq!((counts.passed, counts.failed, counts.skipped, counts.errors), (2, 2, 1, 1));
        assert_eq!(counts.failing, ["a/b.TestTwo/x", "a/d.TestPanic", "a/c"]);
        let many: String = (0..40_000)
            .map(|at| format!("{{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T{at}/x\"}}\n{{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"T{at}\"}}\n"))
            .collect();
        let started = marvin_testing::CpuTimer::start();
        assert_eq!(read(&many).unwrap().passed, 40_000, "a test with subtests counts by these");
        assert!(started.elapsed() < std::time::Duration::from_secs(20), "{:?}", started.elapsed());
        assert!(self::text(text).contains("syntax error"));
        assert_eq!(read("ok  \ta/b\t0.1s\n"), None);
    }
}
