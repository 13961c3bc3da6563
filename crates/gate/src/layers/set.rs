//! Many rules at once: what finds a text among ten thousand patterns without trying each.
//!
//! Beginnings are looked up in an ordered map, texts inside by one automaton, regexes in sets. Of all the rules that
//! find a text the one with the smallest id is named, so that neither order nor repetition changes the answer.

use super::rule::{EXPRESSION_BYTES, EXPRESSION_DEPTH, Fault, Kind, List, MEMORY_BYTES, Rule};
use aho_corasick::AhoCorasick;
use regex::{Regex, RegexSet, RegexSetBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Regexes that are compiled together.
const TOGETHER: usize = 64;
/// Bytes that all regexes of a file may take: a stranger's file must not fill the memory.
const ALL_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of all patterns that are looked for inside of texts.
const INSIDE_BYTES: usize = 1024 * 1024;

/// Compiled rules.
#[derive(Debug)]
pub(super) struct Set {
    list: List,
    rules: Vec<Rule>,
    /// Pattern to rule, for rules that name a whole command.
    exact: BTreeMap<String, usize>,
    /// Pattern to rule.
    prefixes: BTreeMap<String, usize>,
    inside: Option<(AhoCorasick, Vec<usize>)>,
    expressions: Vec<(RegexSet, Vec<usize>)>,
}

/// The form that a text must have for a rule to count.
pub(super) struct RuleQuery<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// Whether a rule that says nothing of where output goes may count.
    pub(super) contained: bool,
    /// The class of the directory that the command runs in.
    pub(super) directory: &'a str,
}

impl Set {
    /// Compiles rules that were read already. Rules that cannot be used are given back.
    pub(super) fn new(mut rules: Vec<Rule>, list: List) -> (Set, Vec<(Rule, Fault)>) {
        rules.sort();
        rules.dedup();
        let (set, broken) = Set::compiled(rules, list);
        if broken.is_empty() {
            return (set, broken);
        }
        let bad: BTreeSet<&Rule> = broken.iter().map(|(rule, _)| rule).collect();
        let rules = set.rules.into_iter().filter(|rule| !bad.contains(rule)).collect();
        (Set::compiled(rules, list).0, broken)
    }

    fn compiled(rules: Vec<Rule>, list: List) -> (Set, Vec<(Rule, Fault)>) {
        let mut set = Set {
            list,
            rules: Vec::new(),
            exact: BTreeMap::new(),
            prefixes: BTreeMap::new(),
            inside: None,
            expressions: Vec::new(),
        };
        let of = |kind: Kind| {
            let chosen = rules.iter().enumerate().filter(move |(_, rule)| rule.kind == kind);
            chosen.map(|(index, _)| index).collect::<Vec<usize>>()
        };
        let pattern = |index: &usize| rules.get(*index).map_or("", |rule| rule.pattern.as_str());
        // The rules are in the order of their ids: the first of equal patterns stays.
        for index in of(Kind::Exact) {
            set.exact.entry(pattern(&index).to_string()).or_insert(index);
        }
        for index in of(Kind::Prefix) {
            set.prefixes.entry(pattern(&index).to_string()).or_insert(index);
        }
        let mut faults: Vec<(usize, Fault)> = Vec::new();
        let (mut inside, mut bytes) = (Vec::new(), 0);
        for index in of(Kind::Contains) {
            bytes += pattern(&index).len();
            if bytes <= INSIDE_BYTES {
                inside.push(index);
            } else {
                faults.push((index, too_much(INSIDE_BYTES)));
            }
        }
        if !inside.is_empty() {
            match AhoCorasick::new(inside.iter().map(&pattern)) {
                Ok(automaton) => set.inside = Some((automaton, inside)),
                Err(error) => {
                    let fault = Fault::new(format!("the patterns are too large: {error}"), "use fewer rules");
                    faults.extend(inside.into_iter().map(|index| (index, fault.clone())));
                }
            }
        }
        let mut left = ALL_BYTES;
        for chunk in of(Kind::Regex).chunks(TOGETHER) {
            set.compile(chunk, &rules, &mut left, &mut faults);
        }
        let broken = faults
            .into_iter()
            .filter_map(|(index, fault)| rules.get(index).map(|rule| (rule.clone(), fault)))
            .collect();
        set.rules = rules;
        (set, broken)
    }

    /// Compiles regexes together; where they are too large for that, in halves. `left` is what memory is left.
    fn compile(
        &mut self,
        chunk: &[usize],
        rules: &[Rule],
        left: &mut usize,
        faults: &mut Vec<(usize, Fault)>,
    ) {
        // What a set takes is only told by the bound that it fits into.
        let mut bytes = EXPRESSION_BYTES / 8;
        while bytes <= EXPRESSION_BYTES.min(*left) {
            let patterns = chunk.iter().filter_map(|index| rules.get(*index)).map(|rule| &rule.pattern);
            let set = RegexSetBuilder::new(patterns)
                .size_limit(bytes)
                .dfa_size_limit(MEMORY_BYTES)
                .nest_limit(EXPRESSION_DEPTH)
                .dot_matches_new_line(self.list == List::Denylist)
                .build();
            match set {
                Ok(set) => {
                    *left -= bytes;
                    if self.list == List::Allowlist {
                        let everything = set.matches("").into_iter().filter_map(|at| chunk.get(at));
                        let fault = Fault::new("it finds everything", "say what the command must hold");
                        faults.extend(everything.map(|index| (*index, fault.clone())));
                    }
                    self.expressions.push((set, chunk.to_vec()));
                    return;
                }
                Err(regex::Error::CompiledTooBig(_)) => bytes *= 2,
                Err(_) => break,
            }
        }
        match chunk {
            // Nothing is tried any longer once the memory is used up.
            _ if *left < EXPRESSION_BYTES / 8 => {
                faults.extend(chunk.iter().map(|index| (*index, too_much(ALL_BYTES))));
            }
            [] => {}
            [index] => {
                let own = rules.get(*index).and_then(|rule| rule.expression(self.list).err());
                faults.push((*index, own.unwrap_or_else(|| too_much(ALL_BYTES))));
            }
            _ => {
                let (one, other) = chunk.split_at(chunk.len() / 2);
                self.compile(one, rules, left, faults);
                self.compile(other, rules, left, faults);
            }
        }
    }

    /// The rules, in the order of their ids.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Are there none?
    pub(super) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The rule with the smallest id that finds the text.
    pub(super) fn find(&self, wanted: &RuleQuery<'_>) -> Option<&Rule> {
        let found = self.all(wanted.text).into_iter().filter_map(|index| self.rules.get(index));
        found.filter(|rule| self.counts(rule, wanted)).min()
    }

    /// Whether a rule that was found counts here.
    fn counts(&self, rule: &Rule, wanted: &RuleQuery<'_>) -> bool {
        if self.list == List::Denylist {
            return true;
        }
        // What is allowed in the workspace is not thereby allowed anywhere.
        let place = match rule.directory.as_deref() {
            Some("anywhere") => true,
            Some(directory) => directory == wanted.directory,
            None => wanted.directory != "elsewhere",
        };
        let output = wanted.contained || rule.kind == Kind::Exact || rule.pattern.contains('>');
        let start = rule.kind != Kind::Regex || at_start(rule, wanted.text);
        place && output && start
    }

    /// Every rule whose pattern finds the text, by index.
    fn all(&self, text: &str) -> Vec<usize> {
        let mut found: Vec<usize> = self.exact.get(text).copied().into_iter().collect();
        self.beginnings(text, &mut found);
        if let Some((automaton, indices)) = &self.inside {
            let hits = automaton.find_overlapping_iter(text);
            found.extend(hits.filter_map(|hit| indices.get(hit.pattern().as_usize()).copied()).take(256));
        }
        for (set, indices) in &self.expressions {
            found.extend(set.matches(text).into_iter().filter_map(|at| indices.get(at).copied()));
        }
        found
    }

    /// The patterns that the text begins with, longest first: each step jumps to the greatest pattern that can still be
    /// one, which is at most as many steps as patterns that share a beginning with the text.
    fn beginnings(&self, text: &str, found: &mut Vec<usize>) {
        let mut rest = text;
        loop {
            let range = (Bound::Unbounded, Bound::Included(rest));
            let Some((pattern, index)) = self.prefixes.range::<str, _>(range).next_back() else { return };
            if rest.starts_with(pattern.as_str()) {
                if self.rules.get(*index).is_some_and(|rule| rule.begins(text)) {
                    found.push(*index);
                }
                let Some((last, _)) = pattern.char_indices().next_back() else { return };
                rest = text.get(..last).unwrap_or_default();
            } else {
                let same = rest.char_indices().zip(pattern.chars()).take_while(|((_, a), b)| a == b);
                let length = same.last().map_or(0, |((at, char), _)| at + char.len_utf8());
                rest = text.get(..length).unwrap_or_default();
            }
            if rest.is_empty() {
                return;
            }
        }
    }
}

fn too_much(bytes: usize) -> Fault {
    let what = format!("the patterns of the file take more than {bytes} bytes together");
    Fault::new(what, "drop rules that others cover, or use smaller counts")
}

/// Does the regex find something that begins where the text begins?
fn at_start(rule: &Rule, text: &str) -> bool {
    let expression: Option<Regex> = rule.expression(List::Allowlist).ok();
    expression.and_then(|expression| expression.find(text).map(|found| found.start())) == Some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str, kind: Kind, pattern: &str) -> Rule {
        Rule {
            id: id.into(),
            kind,
            pattern: pattern.into(),
            reason: "because".into(),
            matches: Vec::new(),
            not_match: Vec::new(),
            learned_at: None,
            approved_command: None,
            session_id: None,
            directory: None,
        }
    }

    fn found(set: &Set, text: &str) -> Option<String> {
        set.find(&RuleQuery { text, contained: true, directory: "workspace" }).map(|rule| rule.id.clone())
    }

    fn some() -> Vec<Rule> {
        vec![
            rule("z", Kind::Prefix, "git"),
            rule("a", Kind::Prefix, "git push"),
            rule("b", Kind::Prefix, "git push --force"),
            rule("c", Kind::Contains, "--no-verify"),
            rule("d", Kind::Regex, r"\bterraform\s+destroy\b"),
            rule("e", Kind::Exact, "make world"),
        ]
    }

    #[test]
    fn every_kind_finds_its_own() {
        let (set, broken) = Set::new(some(), List::Denylist);
        assert!(broken.is_empty());
        assert_eq!(found(&set, "git status").as_deref(), Some("z"));
        assert_eq!(found(&set, "git push --force x").as_deref(), Some("a"));
        assert_eq!(found(&set, "hg commit --no-verify").as_deref(), Some("c"));
        assert_eq!(found(&set, "cd a; terraform  destroy").as_deref(), Some("d"));
        assert_eq!(found(&set, "make world").as_deref(), Some("e"));
        assert_eq!(found(&set, "make worlds"), None);
        assert_eq!(found(&set, "gitk"), None);
        assert_eq!(found(&set, ""), None);
    }

    #[test]
    fn order_and_repetition_change_nothing() {
        let texts =
            ["git push --force x", "git a --no-verify", "terraform destroy", "make world", "ls", "git"];
        let answers = |rules: Vec<Rule>| {
            let (set, _) = Set::new(rules, List::Denylist);
            texts.map(|text| found(&set, text))
        };
        let expected = answers(some());
        let mut rules = some();
        for turn in 0..rules.len() {
            rules.rotate_left(1);
            let mut twice = rules.clone();
            twice.extend(rules.iter().rev().cloned());
            assert_eq!(answers(twice), expected, "turn {turn}");
        }
    }

    #[test]
    fn an_expression_of_an_allowlist_speaks_of_the_whole_command() {
        let (set, _) = Set::new(vec![rule("a", Kind::Regex, "cargo (build|test)")], List::Allowlist);
        assert_eq!(found(&set, "cargo build -p x").as_deref(), Some("a"));
        assert_eq!(found(&set, "evil 'cargo build'"), None);
        let open = RuleQuery { text: "cargo build > ../x", contained: false, directory: "workspace" };
        assert!(set.find(&open).is_none());
    }

    #[test]
    fn expressions_that_cannot_be_used_are_named() {
        let fault = |pattern: &str, list| {
            let (set, mut broken) = Set::new(vec![rule("r", Kind::Regex, pattern)], list);
            assert!(set.is_empty() && broken.len() == 1, "{pattern}");
            broken.remove(0).1
        };
        assert!(fault("a(", List::Denylist).what.contains("unclosed group"));
        assert!(fault("(a{900}){900}", List::Denylist).what.contains("bytes"));
        assert!(fault(r"(?!a)b", List::Denylist).hint.contains("look-around"));
        assert!(fault("x*", List::Allowlist).what.contains("everything"));
        fault(&format!("{}a{}", "(".repeat(200), ")".repeat(200)), List::Denylist);
        // One among many is found, and the others count.
        let mut rules: Vec<Rule> =
            (0..200).map(|number| rule(&format!("r{number}"), Kind::Regex, &format!("a{number}b"))).collect();
        rules.push(rule("bad", Kind::Regex, "("));
        let (set, broken) = Set::new(rules, List::Denylist);
        assert_eq!((set.rules().len(), broken.len(), broken[0].0.id.as_str()), (200, 1, "bad"));
        assert_eq!(found(&set, "a77b").as_deref(), Some("r77"));
    }

    #[test]
    fn a_hostile_file_is_not_loaded_whole() {
        let large: Vec<Rule> = (0..1_500)
            .map(|number| rule(&format!("r{number:05}"), Kind::Regex, &format!("x{number}[^a]{{200}}")))
            .collect();
        let (set, broken) = Set::new(large, List::Denylist);
        assert!(broken.len() > 100 && broken[0].1.what.contains("bytes together"), "{}", broken.len());
        let text = format!("x0{}", "b".repeat(200));
        assert_eq!(found(&set, &text).as_deref(), Some("r00000"), "the first still count");
        let long = |number: usize| rule(&format!("c{number}"), Kind::Contains, &format!("{number:01000}"));
        assert!(Set::new((0..2_000).map(long).collect(), List::Denylist).1.len() > 900);
    }

    proptest::proptest! {
        /// The map of beginnings finds what trying every pattern finds.
        #[test]
        fn beginnings_are_all_found(patterns in proptest::collection::vec("[ab é]{1,5}", 1..12), text in "[ab é]{0,9}") {
            let rules: Vec<Rule> = patterns
                .iter().filter(|pattern| !pattern.trim().is_empty())
                .map(|pattern| rule(pattern, Kind::Prefix, pattern)).collect();
            let mut plain: Vec<&Rule> = rules.iter().filter(|rule| rule.begins(&text)).collect();
            plain.sort();
            let (set, _) = Set::new(rules.clone(), List::Denylist);
            let expected = plain.first().map(|rule| rule.id.clone());
            proptest::prop_assert_eq!(found(&set, &text), expected);
        }
    }
}
