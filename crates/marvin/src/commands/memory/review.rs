//! Reviewing candidates one by one, at a terminal.

use super::reviewer::Reviewer;
use super::show;
use crate::failure::Failure;
use crate::output;
use marvin_base::Exit;
use marvin_memory::Person;
use marvin_memory::candidate::{Candidate, CandidateEdit};
use marvin_memory::memory::{Decision, Memory};
use marvin_memory::proposal::Proposal;
use std::io::{BufRead, IsTerminal};

/// Shows what waits; at a terminal asks about each.
pub(super) fn pending(memory: &mut Memory, reviewer: &Reviewer) -> Result<Exit, Failure> {
    let waiting = memory.pending()?;
    if reviewer.place.json {
        return output::json(&waiting);
    }
    if waiting.is_empty() {
        return output::line("Nothing waits for you.");
    }
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let text: Vec<String> = waiting.iter().map(show::whole).collect();
        return output::line(&text.join("\n"));
    }
    let person = reviewer.person()?;
    let mut answers = std::io::stdin().lock();
    review(memory, &waiting, &person, &reviewer.note, &mut answers, &mut output::talk)?;
    Ok(Exit::Success)
}

fn ask(question: &str, answers: &mut dyn BufRead, say: &mut dyn FnMut(&str)) -> Option<String> {
    say(question);
    let mut line = String::new();
    match answers.read_line(&mut line) {
        Ok(read) if read > 0 => Some(line.trim().to_string()),
        _ => None,
    }
}

/// Asks about each; gives how many were decided.
fn review(
    memory: &mut Memory,
    waiting: &[Proposal],
    person: &Person,
    note: &str,
    answers: &mut dyn BufRead,
    say: &mut dyn FnMut(&str),
) -> Result<usize, Failure> {
    let mut decided = 0;
    for proposal in waiting {
        say(&show::whole(proposal));
        loop {
            // The end of the input decides nothing.
            let Some(answer) = ask("Remember it? y yes, n no, e change it, s later, q stop: ", answers, say)
            else {
                return Ok(decided);
            };
            let decision = match answer.to_lowercase().as_str() {
                "y" | "yes" => Decision::Approve,
                "n" | "no" => Decision::Reject,
                "s" | "skip" => break,
                "q" | "quit" => return Ok(decided),
                "e" | "edit" => match changed(memory, &proposal.candidate, answers, say) {
                    Some(candidate) => Decision::Edit(Box::new(candidate)),
                    None => continue,
                },
                _ => continue,
            };
            match memory.decide(proposal, decision, None, note, person) {
                Ok(done) => {
                    decided += 1;
                    say(if done.id.is_some() { "remembered" } else { "not remembered" });
                }
                Err(error) => say(&error.to_string()),
            }
            break;
        }
    }
    Ok(decided)
}

/// Asks for a changed candidate: a new text, or a whole candidate as JSON. None where it cannot be parsed.
fn changed(
    memory: &Memory,
    candidate: &Candidate,
    answers: &mut dyn BufRead,
    say: &mut dyn FnMut(&str),
) -> Option<Candidate> {
    let text = ask("The new text (or a whole candidate as JSON; empty: as it was): ", answers, say)?;
    let changed = if text.starts_with('{') {
        match serde_json::from_str(&text) {
            Ok(whole) => Candidate::read(&whole, memory.redactor()),
            Err(error) => {
                say(&format!("that is not JSON: {error}"));
                return None;
            }
        }
    } else {
        let tags = ask("Tags, with commas (empty: as they were): ", answers, say)?;
        let days = ask("Days until it expires (empty: as it was, 0: never): ", answers, say)?;
        let edit = CandidateEdit {
            text: (!text.is_empty()).then_some(text),
            tags: (!tags.is_empty()).then(|| tags.split(',').map(|tag| tag.trim().to_string()).collect()),
            ttl_days: days.parse().ok(),
            ..CandidateEdit::default()
        };
        candidate.edited(edit, memory.redactor())
    };
    changed.map_err(|error| say(&error.to_string())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use marvin_base::environment::Environment;
    use marvin_base::layout::Layout;
    use marvin_base::redact::Redactor;
    use marvin_memory::Places;
    use marvin_memory::candidate::{Source, Type};
    use marvin_memory::memory::CandidateOrigin;
    use marvin_memory::proposal::Origin;
    use std::sync::Arc;

    #[test]
    fn one_by_one() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().display().to_string();
        let layout = Layout::new(&Environment::from_iter([("HOME", home.as_str())]), Some(directory.path()));
        let places = Places::below(&layout.memory(), &layout);
        let mut memory = Memory::open(places, Arc::new(Redactor::patterns_only()));
        let candidate = |text: &str| Candidate::new(text, Type::Fact, Source::AssistantInferred, "test");
        let all = ["one", "two", "three", "four", "five"].map(|text| candidate(&format!("fact {text}")));
        memory.propose(all.to_vec(), Origin::Think, &CandidateOrigin::default()).unwrap();
        let waiting = memory.pending().unwrap();
        let person = marvin_base::person::testing::person("ann", directory.path()).unwrap();
        let answers = "y\nwhat?\nn\ne\nfact 3\nnumbers, odd\n10\ns\n";
        let mut output = String::new();
        let decided = review(&mut memory, &waiting, &person, "", &mut answers.as_bytes(), &mut |text| {
            output.push_str(text);
            output.push('\n');
        });
        assert_eq!(decided.unwrap(), 3, "{output}");
        assert!(output.contains("source: assistant_inferred; proposed by think"), "{output}");
        let texts: Vec<String> =
            memory.list().unwrap().into_iter().map(|one| one.entry.candidate.text).collect();
        assert_eq!(texts, ["fact one", "fact 3"]);
        assert_eq!(memory.pending().unwrap().len(), 2, "later, and gone away");
        assert!(memory.audit().unwrap().ok);
    }
}
