//! A subset of CSS selectors: names, classes, ids, attributes, four combinators, commas, and `:first-child`,
//! `:last-child`, `:nth-child(N)`.

use super::tree::{Document, NodeId};

/// Comparisons of one search, so that a hostile selector cannot take hours.
const MAX_MATCH_STEPS: usize = 20_000_000;
const MAX_SELECTOR_BYTES: usize = 500;
const MAX_COMPOUNDS: usize = 12;

/// Why a selector cannot be parsed or applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SelectorError {
    #[error("the selector is longer than {MAX_SELECTOR_BYTES} characters")]
    TooLong,
    #[error("the selector takes too long on this page; use a simpler one")]
    TooSlow,
    #[error("more than {MAX_COMPOUNDS} parts in a row")]
    TooManyParts,
    #[error("`{0}` cannot be parsed")]
    Unexpected(String),
    #[error("{0}")]
    Missing(&'static str),
    #[error("a name is missing before `{0}`")]
    MissingName(char),
    #[error(":nth-child takes a number from 1")]
    NotAPosition,
    #[error("`:{0}` is not known; :first-child, :last-child and :nth-child(N) are")]
    UnknownPseudoClass(String),
}

/// How an attribute is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    Present,
    Equal(String),
    Word(String),
    Begins(String),
    Ends(String),
    Contains(String),
    Language(String),
}

/// One condition on an element.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    Name(String),
    Attribute(String, Test),
    /// Place among the elements of the parent, from 1; 0 stands for the last.
    Place(usize),
}

/// How an element relates to the one before it in the selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Below,
    Child,
    Next,
    Later,
}

/// Conditions on one element.
type Compound = Vec<Condition>;

/// A selector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Alternatives; each is the last compound and those that must precede it, nearest first.
    alternatives: Vec<(Compound, Vec<(Relation, Compound)>)>,
}

impl Selector {
    /// Parses a selector.
    ///
    /// # Errors
    /// Names the part that cannot be parsed.
    pub(crate) fn parse(text: &str) -> Result<Self, SelectorError> {
        if text.len() > MAX_SELECTOR_BYTES {
            return Err(SelectorError::TooLong);
        }
        let mut parser = SelectorParser { rest: text.trim() };
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(parser.alternative()?);
            parser.space();
            if parser.rest.is_empty() {
                return Ok(Selector { alternatives });
            }
            if !parser.take(',') {
                return Err(parser.unexpected());
            }
            parser.space();
        }
    }

    /// The selected elements, in the order of the page.
    ///
    /// # Errors
    /// When it takes too many comparisons on this page.
    pub(crate) fn select(&self, document: &Document) -> Result<Vec<NodeId>, SelectorError> {
        let mut steps = 0;
        let mut found = Vec::new();
        for id in document.elements() {
            for (last, before) in &self.alternatives {
                if fits(document, id, last, &mut steps) && leads(document, id, before, &mut steps) {
                    found.push(id);
                    break;
                }
            }
            if steps > MAX_MATCH_STEPS {
                return Err(SelectorError::TooSlow);
            }
        }
        Ok(found)
    }
}

fn fits(document: &Document, id: NodeId, compound: &Compound, steps: &mut usize) -> bool {
    *steps += 1;
    compound.iter().all(|condition| match condition {
        Condition::Name(name) => document.name(id) == Some(name),
        Condition::Attribute(name, test) => document.attribute(id, name).is_some_and(|value| match test {
            Test::Present => true,
            Test::Equal(wanted) => value == wanted,
            Test::Word(wanted) => value.split_ascii_whitespace().any(|word| word == wanted),
            Test::Begins(wanted) => !wanted.is_empty() && value.starts_with(wanted.as_str()),
            Test::Ends(wanted) => !wanted.is_empty() && value.ends_with(wanted.as_str()),
            Test::Contains(wanted) => !wanted.is_empty() && value.contains(wanted.as_str()),
            Test::Language(wanted) => value
                .strip_prefix(wanted.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('-')),
        }),
        Condition::Place(place) => {
            let siblings = siblings(document, id);
            *steps += siblings.len();
            let own = siblings.iter().position(|sibling| *sibling == id).map_or(0, |at| at + 1);
            own == if *place == 0 { siblings.len() } else { *place }
        }
    })
}

fn siblings(document: &Document, id: NodeId) -> Vec<NodeId> {
    let all = document.parent(id).map_or(&[][..], |parent| document.children(parent));
    all.iter().copied().filter(|sibling| document.name(*sibling).is_some()).collect()
}

/// Whether some element before this one satisfies the rest of the selector.
fn leads(document: &Document, id: NodeId, before: &[(Relation, Compound)], steps: &mut usize) -> bool {
    let Some(((relation, compound), rest)) = before.split_first() else { return true };
    if *steps > MAX_MATCH_STEPS {
        return false;
    }
    let mut candidates = Vec::new();
    match relation {
        Relation::Below | Relation::Child => {
            let mut above = document.parent(id);
            while let Some(parent) = above {
                candidates.push(parent);
                above = if *relation == Relation::Child { None } else { document.parent(parent) };
            }
        }
        Relation::Next | Relation::Later => {
            let all = siblings(document, id);
            *steps += all.len();
            let earlier = all.iter().position(|sibling| *sibling == id).unwrap_or(0);
            candidates.extend(all.iter().take(earlier).rev());
            if *relation == Relation::Next {
                candidates.truncate(1);
            }
        }
    }
    candidates.into_iter().any(|candidate| {
        fits(document, candidate, compound, steps) && leads(document, candidate, rest, steps)
    })
}

struct SelectorParser<'t> {
    rest: &'t str,
}

impl<'t> SelectorParser<'t> {
    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn unexpected(&self) -> SelectorError {
        SelectorError::Unexpected(self.rest.to_string())
    }

    fn space(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start();
        self.rest.len() < before
    }

    fn word(&mut self) -> Result<&'t str, SelectorError> {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_') || !c.is_ascii();
        let (word, rest) = self.rest.split_at(self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len()));
        if word.is_empty() {
            return Err(match self.rest.chars().next() {
                Some(found) => SelectorError::MissingName(found),
                None => SelectorError::Missing("a name is missing at the end"),
            });
        }
        self.rest = rest;
        Ok(word)
    }

    fn alternative(&mut self) -> Result<(Compound, Vec<(Relation, Compound)>), SelectorError> {
        let mut last = self.compound()?;
        let mut before = Vec::new();
        loop {
            let spaced = self.space();
            let relation = match self.rest.chars().next() {
                None | Some(',') => return Ok((last, before)),
                Some('>') => Relation::Child,
                Some('+') => Relation::Next,
                Some('~') => Relation::Later,
                Some(_) if spaced => Relation::Below,
                Some(_) => return Err(self.unexpected()),
            };
            if relation != Relation::Below {
                let mut rest = self.rest.chars();
                rest.next();
                self.rest = rest.as_str().trim_start();
            }
            before.insert(0, (relation, std::mem::replace(&mut last, self.compound()?)));
            if before.len() > MAX_COMPOUNDS {
                return Err(SelectorError::TooManyParts);
            }
        }
    }

    fn compound(&mut self) -> Result<Compound, SelectorError> {
        let mut compound = Vec::new();
        let start = self.rest.len();
        if !self.take('*') && self.rest.starts_with(|c: char| c.is_alphabetic()) {
            compound.push(Condition::Name(self.word()?.to_ascii_lowercase()));
        }
        loop {
            if self.take('.') {
                compound.push(Condition::Attribute("class".into(), Test::Word(self.word()?.into())));
            } else if self.take('#') {
                compound.push(Condition::Attribute("id".into(), Test::Equal(self.word()?.into())));
            } else if self.take('[') {
                compound.push(self.attribute()?);
            } else if self.take(':') {
                compound.push(self.place()?);
            } else if self.rest.len() == start {
                return Err(match self.rest.is_empty() {
                    true => SelectorError::Missing("an element is missing at the end"),
                    false => self.unexpected(),
                });
            } else {
                return Ok(compound);
            }
        }
    }

    fn attribute(&mut self) -> Result<Condition, SelectorError> {
        self.space();
        let name = self.word()?.to_ascii_lowercase();
        self.space();
        if self.take(']') {
            return Ok(Condition::Attribute(name, Test::Present));
        }
        let make: fn(String) -> Test = match self.rest.chars().next() {
            Some('=') => Test::Equal,
            Some('~') => Test::Word,
            Some('^') => Test::Begins,
            Some('$') => Test::Ends,
            Some('*') => Test::Contains,
            Some('|') => Test::Language,
            _ => {
                return Err(SelectorError::Missing(
                    "after an attribute comes `]`, `=`, `~=`, `^=`, `$=`, `*=` or `|=`",
                ));
            }
        };
        if !self.take('=') {
            let mut rest = self.rest.chars();
            rest.next();
            self.rest = rest.as_str();
            if !self.take('=') {
                return Err(SelectorError::Missing("an `=` is missing after the attribute"));
            }
        }
        self.space();
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        let value = match quote {
            Some(quote) => {
                self.take(quote);
                let unclosed = SelectorError::Missing("a quote is not closed");
                let (value, rest) = self.rest.split_once(quote).ok_or(unclosed)?;
                self.rest = rest;
                value
            }
            None => self.word()?,
        };
        self.space();
        if !self.take(']') {
            return Err(SelectorError::Missing("a `]` is missing"));
        }
        Ok(Condition::Attribute(name, make(value.to_string())))
    }

    fn place(&mut self) -> Result<Condition, SelectorError> {
        match self.word()? {
            "first-child" => Ok(Condition::Place(1)),
            "last-child" => Ok(Condition::Place(0)),
            "nth-child" if self.take('(') => {
                let unclosed = SelectorError::Missing("a `)` is missing");
                let (number, rest) = self.rest.split_once(')').ok_or(unclosed)?;
                self.rest = rest;
                let number = number.trim().parse::<usize>().ok().filter(|number| *number > 0);
                number.map(Condition::Place).ok_or(SelectorError::NotAPosition)
            }
            other => Err(SelectorError::UnknownPseudoClass(other.to_string())),
        }
    }
}
