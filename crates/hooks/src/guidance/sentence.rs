//! Sentences as words, and what their words say.

use super::Kind;
use super::phrases::{
    BLAMES, DIRECTS, FINE, HARMLESS_NO, IMPERATIVES, JOINTS, NEED_PAUSE, OPENINGS, OURS, Opening, RULED,
    STATES, TASKS, UNDOES, WRONG,
};

/// Characters of a prompt that are read, and sentences of it.
const READ: usize = 4_000;
const SENTENCES: usize = 8;

/// A sentence without what stands politely before it.
#[derive(Debug, Default)]
pub(super) struct Sentence {
    /// Small letters, without apostrophes: `don't` is `dont`.
    words: Vec<String>,
    /// Whether something (a comma, a dash) stands after each word.
    pauses: Vec<bool>,
    question: bool,
    opening: Opening,
    /// Whether a "but" stands between the opening and the sentence.
    but: bool,
}

/// The sentences of a prompt, without code and quotations.
pub(super) fn sentences(prompt: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut code = false;
    let end = prompt.char_indices().nth(READ).map_or(prompt.len(), |(at, _)| at);
    for line in prompt.get(..end).unwrap_or(prompt).lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            code = !code;
            continue;
        }
        if code || line.starts_with(['>', '|']) {
            continue;
        }
        split(line.trim_start_matches(['-', '*', '•', '#', ' ']), &mut found);
        if found.len() >= SENTENCES {
            break;
        }
    }
    found.truncate(SENTENCES);
    found
}

/// Splits a line at what ends a sentence; a dot within `a.rs` ends none.
fn split(line: &str, found: &mut Vec<Sentence>) {
    let mut start = String::new();
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let ends = match c {
            '.' | '!' | '?' => {
                characters.peek().is_none_or(|next| next.is_whitespace() || ".!?".contains(*next))
            }
            ';' => true,
            _ => false,
        };
        start.push(c);
        if ends {
            push(&start, found);
            start.clear();
        }
    }
    push(&start, found);
}

fn push(text: &str, found: &mut Vec<Sentence>) {
    let mut sentence = Sentence { question: text.trim_end().ends_with('?'), ..Sentence::default() };
    let mut word = String::new();
    let mut quoted = false;
    let close = |word: &mut String, pause: bool, sentence: &mut Sentence| {
        if !word.is_empty() {
            sentence.words.push(std::mem::take(word));
            sentence.pauses.push(pause);
        } else if let (true, Some(last)) = (pause, sentence.pauses.last_mut()) {
            *last = true;
        }
    };
    for c in text.chars() {
        match c {
            '`' => {
                // Code within a sentence is one word of no meaning.
                quoted = !quoted;
                close(&mut word, false, &mut sentence);
                if quoted {
                    word.push('`');
                }
                close(&mut word, false, &mut sentence);
            }
            _ if quoted => {}
            '\'' | '’' => {}
            c if c.is_alphanumeric() || "_-/.@".contains(c) && !word.is_empty() => {
                word.extend(c.to_lowercase());
            }
            ',' | ':' | '—' | '–' | '-' | '.' | '!' | '?' | ';' => close(&mut word, true, &mut sentence),
            _ => close(&mut word, false, &mut sentence),
        }
    }
    close(&mut word, true, &mut sentence);
    for (word, pause) in sentence.words.iter_mut().zip(&mut sentence.pauses) {
        let plain = word.trim_end_matches(['.', '-', '/', '@']).len();
        if plain < word.len() {
            word.truncate(plain);
            *pause = true;
        }
    }
    if !sentence.words.is_empty() {
        sentence.open();
        found.push(sentence);
    }
}

impl Sentence {
    /// Takes off what stands politely before the sentence.
    fn open(&mut self) {
        loop {
            let first = self.words.first().cloned().unwrap_or_default();
            let joint = usize::from(JOINTS.contains(&first.as_str()));
            let phrase = OPENINGS.iter().find(|(phrase, _)| {
                let length = phrase.split(' ').count();
                let paused = self.pauses.get(length - 1) == Some(&true);
                self.starts(phrase) && (paused || length == self.words.len() || !NEED_PAUSE.contains(phrase))
            });
            let length = match phrase {
                Some((phrase, opening)) => {
                    self.opening = self.opening.max(*opening);
                    phrase.split(' ').count()
                }
                None => joint,
            };
            if length == 0 || self.words.is_empty() {
                return;
            }
            self.but |= matches!(first.as_str(), "but" | "however");
            self.words.drain(..length.min(self.words.len()));
            self.pauses.drain(..length.min(self.pauses.len()));
        }
    }

    fn word(&self, at: usize) -> &str {
        self.words.get(at).map(String::as_str).unwrap_or_default()
    }

    fn at(&self, from: usize, phrase: &str) -> bool {
        phrase.split(' ').enumerate().all(|(at, word)| self.word(from + at) == word)
    }

    fn starts(&self, phrase: &str) -> bool {
        self.at(0, phrase)
    }

    fn starts_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.starts(phrase))
    }

    fn has(&self, phrase: &str) -> bool {
        (0..self.words.len()).any(|from| self.at(from, phrase))
    }

    fn has_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.has(phrase))
    }

    /// Is it a bare no?
    pub(super) fn is_no(&self) -> bool {
        self.words.len() == 1
            && matches!(self.word(0), "no" | "nope" | "nah" | "wrong" | "stop")
            && !self.question
    }

    /// Is it something that the person states, and not only thanks?
    pub(super) fn states(&self) -> bool {
        !self.question && !self.words.is_empty()
    }

    /// Does it say that something was, or would be, wrong?
    pub(super) fn corrects(&self) -> bool {
        if self.starts_any(&["can you not", "could you not", "can you stop", "could you stop"]) {
            return true;
        }
        if self.question
            || self.words.is_empty()
            || self.starts_any(&["why", "how", "what", "if", "when", "where"])
        {
            return false;
        }
        self.denies()
            || self.forbids()
            || self.prefers()
            || self.blames()
            || self.places()
            || self.but && self.opening > Opening::Nothing && self.starts_any(&["without", "no", "only"])
            || self.has_any(&["wont work", "will not work", "wouldnt work", "wrong approach", "too shallow"])
            || self.has_any(&["more robust", "wrong direction", "not what i"])
            || self.words.iter().any(|word| word.starts_with("misunderst"))
            || self.should_not()
    }

    /// "No, …", "that's not …", "wrong …", "actually …".
    fn denies(&self) -> bool {
        let (first, next) = (self.word(0), self.word(1));
        let alone = self.words.len() == 1;
        if matches!(first, "no" | "nope" | "nah") {
            let objects = [
                "dont", "do", "not", "use", "it", "its", "thats", "that", "this", "you", "stop", "just",
                "wait", "i", "we", "keep", "put", "make", "instead", "actually", "never", "remove", "leave",
                "revert", "please", "undo", "no",
            ];
            let harmless = HARMLESS_NO.contains(&next) && self.words.len() <= 4;
            return !alone && !harmless && (self.pauses.first() == Some(&true) || objects.contains(&next));
        }
        if matches!(first, "wrong" | "incorrect") {
            // "Wrong file": a thing of ours; "wrong password gives a 500": a thing of theirs.
            return !alone && (self.pauses.first() == Some(&true) || OURS.contains(&next));
        }
        if first == "actually" {
            return !alone
                && !self.has_any(FINE)
                && !self.starts_any(&["actually can you", "actually could you"]);
        }
        if first == "instead" {
            return !alone
                && !self.has_any(&[
                    "i get",
                    "i got",
                    "it returns",
                    "it shows",
                    "returns",
                    "we get",
                    "i see",
                ]);
        }
        if first == "not" {
            let unsure = ["sure", "yet", "really", "necessarily", "only", "now", "bad", "that", "necessary"];
            let about = ["use", "do", "like that", "like this", "what", "there", "here", "quite", "the"];
            return !unsure.contains(&next) && self.has_any(&about);
        }
        let subject = [
            "thats not",
            "that is not",
            "this is not",
            "this isnt",
            "that isnt",
            "its not",
            "it is not",
            "that was not",
            "that wasnt",
        ];
        if let Some(said) = subject.iter().find(|said| self.starts(said)) {
            let harmless = [
                "a problem",
                "an issue",
                "a big deal",
                "bad",
                "necessary",
                "needed",
                "urgent",
                "important",
                "working",
                "a bug",
                "my",
                "too bad",
                "possible",
                "compiling",
                "running",
                "worth",
                "clear",
            ];
            let length = said.split(' ').count();
            return !harmless.iter().any(|fine| self.at(length, fine));
        }
        false
    }

    /// "Don't …", "stop …ing", "revert that".
    fn forbids(&self) -> bool {
        let length = if self.starts("dont") { 1 } else { usize::from(self.starts("do not")) * 2 };
        if length > 0 {
            let harmless = [
                "worry",
                "know",
                "think",
                "understand",
                "care",
                "mind",
                "forget",
                "bother",
                "hesitate",
                "see",
                "have",
                "need",
                "you",
                "we",
                "they",
            ];
            return self.words.len() > length && !harmless.contains(&self.word(length));
        }
        self.starts("stop") && self.word(1).ends_with("ing") || self.starts_any(UNDOES)
    }

    /// "Use x instead of y", "use pnpm".
    fn prefers(&self) -> bool {
        let imperative = IMPERATIVES.contains(&self.word(0));
        if imperative && self.has_any(&["instead", "rather than"]) {
            return true;
        }
        if self.word(0) != "use" || self.words.len() < 2 {
            return false;
        }
        // A short "use pnpm", "use tabs, not spaces"; "use the explorer to find …" begins a task.
        let states = self.has_any(&["is", "are", "fails", "failing", "works"]);
        let noun = matches!(self.word(1), "case" | "cases");
        !noun && (self.has("not") || (self.words.len() <= 8 && !self.has("to") && !states))
    }

    /// "You forgot …", "this is wrong", "I said …".
    fn blames(&self) -> bool {
        let about = ["the", "this", "that", "it", "its", "thats", "your", "these", "those"];
        self.starts_any(BLAMES)
            || about.contains(&self.word(0)) && self.has_any(WRONG)
            || self.has("wrong")
                && self.starts_any(&["its the", "thats the", "this is the", "youre", "you are", "you used"])
            || self
                .words
                .iter()
                .any(|word| word.starts_with("overcomplicat") || word.starts_with("overengineer"))
    }

    /// Whether it reports the words of another person or program.
    fn reports(&self) -> bool {
        self.has_any(&["says", "say", "said", "reads"]) && self.word(0) != "i"
    }

    /// "Tests go into tests/, not beside the source".
    fn places(&self) -> bool {
        let verbs = ["go", "goes", "belong", "belongs", "live", "lives", "should", "must"];
        let placed = self.words.iter().any(|word| verbs.contains(&word.as_str()));
        placed && self.not_so()
    }

    fn should_not(&self) -> bool {
        let harmless = ["be a problem", "be hard", "be difficult", "be too", "take", "matter", "be an issue"];
        if self.reports() {
            return false;
        }
        let found = ["should not", "should never", "shouldnt", "must not", "must never", "mustnt"]
            .iter()
            .find_map(|phrase| {
                let at = (0..self.words.len()).find(|from| self.at(*from, phrase))?;
                Some(at + phrase.split(' ').count())
            });
        found.is_some_and(|after| !harmless.iter().any(|fine| self.at(after, fine)))
    }

    /// A request that says how it should have been: "make it more robust", "change it to use x instead of y".
    pub(super) fn corrects_within_task(&self) -> bool {
        !self.question
            && (self.has_any(&["more robust", "too shallow", "wrong approach"])
                || IMPERATIVES.contains(&self.word(0)) && self.has("instead")
                || self.starts_any(&["change it back", "put it back", "make it back"])
                || self.words.len() <= 12 && self.not_so())
    }

    /// "…, not userId".
    fn not_so(&self) -> bool {
        let apart = |at: usize| self.word(at) == "not" && self.pauses.get(at - 1) == Some(&true);
        (1..self.words.len().saturating_sub(1)).any(apart)
    }

    /// Does it give a rule that holds from now on? A task may be about rules: it gives one only beside what it asks for.
    pub(super) fn directs(&self, task: bool, first: bool) -> bool {
        if self.question
            || self.words.is_empty()
            || self.reports()
            || self.starts_any(&["never mind", "always fails", "never works"])
        {
            return false;
        }
        let lasting =
            ["always", "never", "from now on", "going forward", "in future", "in the future", "remember"];
        if self.starts_any(&lasting)
            || self.has_any(&["from now on", "going forward"])
            || self.rules(task && first)
        {
            return true;
        }
        !task
            && (self.starts_any(DIRECTS)
                || self.has_any(&["make sure to", "and make sure", "remember to", "our convention is"])
                || self.obliges()
                || self.keeps()
                || self.bans())
    }

    /// "You should always use", "we never commit", "and always run".
    fn rules(&self, within_task: bool) -> bool {
        let beside = ["please", "and", "but", "also"];
        let before = ["you", "we", "should", "must", "to", "want", "have"];
        (1..self.words.len()).any(|at| {
            let paused = at.checked_sub(1).and_then(|at| self.pauses.get(at)) == Some(&true);
            let last = self.word(at - 1);
            matches!(self.word(at), "always" | "never")
                && (beside.contains(&last) || paused || !within_task && before.contains(&last))
                && RULED.contains(&self.word(at + 1))
        })
    }

    /// "Commit messages must follow …".
    fn obliges(&self) -> bool {
        let subject = !matches!(self.word(0), "i" | "it" | "there" | "this" | "that");
        subject && (1..4).any(|at| self.word(at) == "must" && !matches!(self.word(at + 1), "have" | "be"))
    }

    /// "Keep functions short", "all functions need comments".
    fn keeps(&self) -> bool {
        let needs = ["need", "needs", "must", "should", "have to", "has to"];
        self.word(0) == "keep" && !matches!(self.word(1), "going" | "it" | "me" | "trying" | "up" | "")
            || matches!(self.word(0), "all" | "every" | "each") && self.has_any(&needs)
    }

    /// "No emojis in commit messages": a ban names things, and has no verb.
    fn bans(&self) -> bool {
        let states = |word: &String| STATES.contains(&word.as_str());
        self.word(0) == "no"
            && (2..=8).contains(&self.words.len())
            && !HARMLESS_NO.contains(&self.word(1))
            && !self.words.iter().any(states)
    }

    /// Does it ask for work?
    pub(super) fn is_task(&self) -> bool {
        let polite = [
            "can you please",
            "could you please",
            "would you please",
            "can you",
            "could you",
            "would you",
            "will you",
            "i want you to",
            "i need you to",
            "id like you to",
            "i would like you to",
            "help me to",
            "help me",
            "lets",
            "we need to",
            "please help me",
            "i want to",
            "i need to",
        ];
        let asked = polite.iter().find(|phrase| self.starts(phrase));
        let from = asked.map_or(0, |phrase| phrase.split(' ').count());
        if self.question && asked.is_none() || self.at(from, "make sure") || self.obliges() {
            return false;
        }
        let skip = ["please", "also", "now", "then", "just", "quickly", "first", "to", "go"];
        let from = (from..self.words.len()).find(|at| !skip.contains(&self.word(*at))).unwrap_or(from);
        TASKS.contains(&self.word(from)) || self.starts("help") || self.starts("take a look")
    }

    /// What it says where it is neither guidance nor a request.
    pub(super) fn attitude(&self, only: bool) -> Option<Kind> {
        if self.question {
            return None;
        }
        let no = matches!(
            self.word(0),
            "no" | "nope" | "nah" | "wrong" | "incorrect" | "stop" | "cancel" | "dont"
        );
        let alone = self.words.len() == 1
            || self.starts_any(&["no thanks", "no thank you", "nope thanks"])
            || self.words.len() == 2 && matches!(self.word(1), "that" | "this" | "it");
        if no && alone {
            return Some(Kind::Rejection);
        }
        // "Nice, but …" is neither thanks nor a yes.
        let short = !self.but && (only && self.words.len() <= 5 || self.words.is_empty());
        match self.opening {
            Opening::End if short => Some(Kind::TaskEnd),
            Opening::Yes if short || !self.but && self.words.len() <= 8 => Some(Kind::Approval),
            _ => None,
        }
    }
}
