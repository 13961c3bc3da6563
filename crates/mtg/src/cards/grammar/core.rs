//! Phrases that are read and written by the same rule.
//!
//! A [`Phrase`] parses text to a value of the ability representation and prints the value back. Most
//! phrases are tables of the macro `rules!`: a row has words and parts on the left and the value on
//! the right; the same tokens are the expression that builds it and the pattern that takes it apart.
//!
//! Of several rows the one that reads the most text wins; two that read the same text to different
//! values mark the reading as ambiguous, and the card is declined. The printer is guided by the text
//! it should equal, so that of two wordings of one meaning it writes the one that stands there. It
//! never copies: every word it writes comes from a row.

use crate::ability::{Amount, Selector, Slot, TargetSpec};
use winnow::Parser;
use winnow::error::EmptyError;
use winnow::stream::Stateful;
use winnow::token::literal;

/// Text with the references that it can use.
pub(crate) type Input<'t> = Stateful<&'t str, Context>;
pub(crate) type ParseResult<T> = Result<T, EmptyError>;

/// Pronouns without a noun.
const PERSONAL_PRONOUNS: [&str; 6] = ["it", "him", "they", "them", "its", "their"];

/// References in effect at a place of the text; parser and printer keep the same books.
#[derive(Debug, Clone, Default)]
pub(crate) struct Context {
    /// Targets of the ability. The printer knows all of them, the parser those read so far.
    pub(crate) targets: Vec<TargetSpec>,
    /// How many targets were mentioned so far.
    pub(crate) mentioned: usize,
    /// What "it" or "they" means.
    pub(crate) it: Option<Selector>,
    /// What "that creature" means: the last mention other than the source, or the other side of an event.
    pub(crate) that: Option<Selector>,
    /// `it` and `that` as the words of the last instruction meant them, if its result took their place.
    pub(crate) earlier: Option<(Option<Selector>, Option<Selector>)>,
    /// `it` and `that` before the branch of the sentence before, if that began with a condition.
    pub(crate) before_branch: Option<(Option<Selector>, Option<Selector>)>,
    /// What "it" or "that card" means after a move to another zone.
    pub(crate) moved: Option<Selector>,
    /// What an instruction sacrificed; otherwise "the sacrificed creature" paid a cost.
    pub(crate) sacrificed: Option<Selector>,
    /// What "that player" means.
    pub(crate) player: Option<Selector>,
    /// Who does what a verb without a subject says.
    pub(crate) subject: Option<Selector>,
    /// Verbs end in `s`.
    pub(crate) third: bool,
    /// What `X` means in the sentence.
    pub(crate) x: Option<Amount>,
    /// What "that much" means.
    pub(crate) amount: Option<Amount>,
    pub(crate) next_bind: Slot,
    /// Bound results that are referred to.
    pub(crate) used_binds: Vec<Slot>,
    /// Two readings were found.
    pub(crate) is_ambiguous: bool,
    /// The last word was a quotation mark, which ends a sentence without another full stop.
    pub(crate) after_quote: bool,
    /// "Until end of turn" stood before the clauses of the sentence.
    pub(crate) is_timed: bool,
    /// "If you do" can follow.
    pub(crate) in_offer: bool,
}

impl Context {
    /// Takes note of an object that was mentioned.
    pub(crate) fn mention(&mut self, selector: &Selector) {
        self.it = Some(selector.clone());
        // In "destroy target land. ~ deals 2 damage to that land's controller" the source comes between.
        if *selector != Selector::This {
            self.that = Some(selector.clone());
        }
        self.moved = None;
        self.earlier = None;
    }

    /// Takes note of the result of an instruction, which the words inside it do not mean yet.
    pub(crate) fn mention_result(&mut self, result: &Selector) {
        let earlier = (self.it.clone(), self.that.clone());
        self.mention(result);
        self.earlier = Some(earlier);
    }

    /// Returns to what words mean inside the last instruction.
    pub(crate) fn recall(&mut self) {
        if let Some((it, that)) = self.earlier.take() {
            (self.it, self.that) = (it, that);
        }
    }

    /// Begins "if it's a land card" after "if it's a creature card, create a token": both are about the
    /// same card, not about what the first branch did.
    pub(crate) fn begin_branch(&mut self, is_about_it: bool) -> Option<(Option<Selector>, Option<Selector>)> {
        let before = self.before_branch.take().filter(|_| is_about_it);
        if let Some((it, that)) = before {
            (self.it, self.that, self.moved, self.earlier) = (it, that, None, None);
        }
        Some((self.it.clone(), self.that.clone()))
    }

    /// Like `recall`, for words after which the result is meant again; keep the value for the end.
    pub(crate) fn begin_suffix(&mut self) -> Option<Self> {
        let outer = self.earlier.is_some().then(|| self.clone());
        self.recall();
        outer
    }

    pub(crate) fn end_suffix(&mut self, outer: Option<Self>) {
        if let Some(outer) = outer {
            (self.it, self.that, self.moved, self.earlier) =
                (outer.it, outer.that, outer.moved, outer.earlier);
        }
    }

    /// What a pronoun means; one with a noun never means the source if there is something else.
    pub(crate) fn referent(&self, wording: &str) -> Option<&Selector> {
        let that = self.that.as_ref().filter(|_| !PERSONAL_PRONOUNS.contains(&wording.trim_end()));
        that.or(self.it.as_ref())
    }

    /// Takes note of a pronoun: in "that spell's power to its controller" both are of the spell.
    pub(crate) fn use_pronoun(&mut self, wording: &str) -> Option<Selector> {
        self.it = self.referent(wording).cloned();
        self.it.clone()
    }
}

/// A kind of phrase with its parser and its printer.
pub(crate) trait Phrase {
    type Value;
    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value>;
    /// Whether the value was printed; if not, the printer is left anywhere.
    fn print(&self, value: &Self::Value, out: &mut Printer<'_>) -> bool;
}

/// Reads the given text.
pub(crate) fn word(input: &mut Input<'_>, text: &'static str) -> ParseResult<()> {
    literal::<_, _, EmptyError>(text).void().parse_next(input)
}

/// Whether the given text comes next; it is read if so.
pub(crate) fn has_word(input: &mut Input<'_>, text: &'static str) -> bool {
    word(input, text).is_ok()
}

/// Runs a parser; nothing is read if it fails.
pub(crate) fn attempt<T>(
    input: &mut Input<'_>,
    parser: impl FnOnce(&mut Input<'_>) -> ParseResult<T>,
) -> ParseResult<T> {
    let saved = input.clone();
    let result = parser(input);
    if result.is_err() {
        *input = saved;
    }
    result
}

/// The reading of the alternative that reads the most.
pub(crate) fn longest<T: PartialEq>(
    input: &mut Input<'_>,
    alternatives: &[fn(&mut Input<'_>) -> ParseResult<T>],
) -> ParseResult<T> {
    let mut best: Option<(Input<'_>, T)> = None;
    for alternative in alternatives {
        let mut trial = input.clone();
        let Ok(value) = alternative(&mut trial) else { continue };
        match &mut best {
            Some((reached, known)) if reached.input.len() == trial.input.len() => {
                reached.state.is_ambiguous |= *known != value;
            }
            Some((reached, _)) if reached.input.len() < trial.input.len() => {}
            _ => best = Some((trial, value)),
        }
    }
    let (reached, value) = best.ok_or(EmptyError)?;
    *input = reached;
    Ok(value)
}

/// Writes text, guided by the text that it should equal.
#[derive(Debug, Clone)]
pub(crate) struct Printer<'t> {
    /// What should follow; `None` prints the first wording of everything.
    guide: Option<&'t str>,
    text: String,
    pub(crate) context: Context,
}

impl<'t> Printer<'t> {
    pub(crate) fn new(guide: Option<&'t str>, context: Context) -> Self {
        Self { guide, text: String::new(), context }
    }

    /// Writes words; false if the guide has others here.
    pub(crate) fn word(&mut self, text: &str) -> bool {
        if let Some(guide) = self.guide {
            let Some(rest) = guide.strip_prefix(text) else { return false };
            self.guide = Some(rest);
        }
        self.text.push_str(text);
        true
    }

    /// The text, if it is the whole of the guide.
    pub(crate) fn finish(self) -> Option<String> {
        self.guide.is_none_or(str::is_empty).then_some(self.text)
    }

    /// Runs a printer; nothing is written if it fails.
    pub(crate) fn attempt(&mut self, printer: impl FnOnce(&mut Self) -> bool) -> bool {
        let saved = self.clone();
        let is_printed = printer(self);
        if !is_printed {
            *self = saved;
        }
        is_printed
    }

    /// The wording that follows the guide the farthest; the first without a guide.
    pub(crate) fn longest<V>(
        &mut self,
        value: &V,
        alternatives: &[fn(&V, &mut Printer<'_>) -> bool],
    ) -> bool {
        let mut best: Option<Printer<'t>> = None;
        for alternative in alternatives {
            let mut trial = self.clone();
            if !alternative(value, &mut trial) {
                continue;
            }
            if best.as_ref().is_none_or(|known| known.text.len() < trial.text.len()) {
                best = Some(trial);
            }
            if self.guide.is_none() {
                break;
            }
        }
        match best {
            Some(reached) => {
                *self = reached;
                true
            }
            None => false,
        }
    }

    /// One of several wordings of the same.
    pub(crate) fn one_of(&mut self, wordings: &[&str]) -> bool {
        let Some(guide) = self.guide else {
            return wordings.first().is_some_and(|first| self.word(first));
        };
        let fitting = wordings.iter().filter(|wording| guide.starts_with(**wording));
        fitting.max_by_key(|wording| wording.len()).is_some_and(|wording| self.word(wording))
    }

    /// What was written since an earlier state.
    pub(crate) fn text_after(&self, earlier: &Self) -> &str {
        self.text.get(earlier.text.len()..).unwrap_or_default()
    }

    /// Whether words come next in the guide; they are not written.
    pub(crate) fn has_next(&self, text: &str) -> bool {
        self.guide.is_some_and(|guide| guide.starts_with(text))
    }
}

/// Declares a phrase by a table of wordings.
macro_rules! rules {
    ($(#[$meta:meta])* $phrase:ident : $value:ty {
        $( [ $($piece:tt)* ] => { $($built:tt)* } $( <= { $($pattern:tt)* } )? ; )*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub(crate) struct $phrase;

        impl $crate::cards::grammar::core::Phrase for $phrase {
            type Value = $value;

            fn parse(
                &self,
                input: &mut $crate::cards::grammar::core::Input<'_>,
            ) -> $crate::cards::grammar::core::ParseResult<$value> {
                $crate::cards::grammar::core::longest(input, &[$(
                    |input: &mut $crate::cards::grammar::core::Input<'_>| {
                        $crate::cards::grammar::core::parse_pieces!(input; $($piece)*);
                        Ok($($built)*)
                    },
                )*])
            }

            fn print(&self, value: &$value, out: &mut $crate::cards::grammar::core::Printer<'_>) -> bool {
                out.longest(value, &[$(
                    |value: &$value, out: &mut $crate::cards::grammar::core::Printer<'_>| {
                        $crate::cards::grammar::core::print_rule!(
                            value, out, [$($piece)*], { $($built)* } $(, { $($pattern)* })?
                        )
                    },
                )*])
            }
        }
    };
}

/// The statements that read the pieces of a row.
macro_rules! parse_pieces {
    ($input:ident;) => {};
    ($input:ident; $text:literal $($rest:tt)*) => {
        $crate::cards::grammar::core::word($input, $text)?;
        $crate::cards::grammar::core::parse_pieces!($input; $($rest)*);
    };
    ($input:ident; { $bare:literal , $third:literal } $($rest:tt)*) => {
        $crate::cards::grammar::core::word($input, if $input.state.third { $third } else { $bare })?;
        $crate::cards::grammar::core::parse_pieces!($input; $($rest)*);
    };
    ($input:ident; ($name:ident : $kind:expr) $($rest:tt)*) => {
        let $name = $crate::cards::grammar::core::Phrase::parse(&$kind, $input)?;
        $crate::cards::grammar::core::parse_pieces!($input; $($rest)*);
    };
}

/// The expression that prints a row, if the value is one of its own.
macro_rules! print_rule {
    ($value:ident, $out:ident, [$($piece:tt)*], { $($built:tt)* }) => {
        $crate::cards::grammar::core::print_rule!($value, $out, [$($piece)*], {}, { $($built)* })
    };
    ($value:ident, $out:ident, [$($piece:tt)*], { $($built:tt)* }, { $($pattern:tt)* }) => {{
        #[allow(unreachable_patterns, reason = "a table may have one row for everything")]
        match $value {
            $($pattern)* => $crate::cards::grammar::core::print_pieces!($out; $($piece)*),
            _ => false,
        }
    }};
}

macro_rules! print_pieces {
    ($out:ident;) => { true };
    ($out:ident; $text:literal $($rest:tt)*) => {
        $out.word($text) && $crate::cards::grammar::core::print_pieces!($out; $($rest)*)
    };
    ($out:ident; { $bare:literal , $third:literal } $($rest:tt)*) => {
        $out.word(if $out.context.third { $third } else { $bare })
            && $crate::cards::grammar::core::print_pieces!($out; $($rest)*)
    };
    ($out:ident; ($name:ident : $kind:expr) $($rest:tt)*) => {
        $crate::cards::grammar::core::Phrase::print(&$kind, $name, $out)
            && $crate::cards::grammar::core::print_pieces!($out; $($rest)*)
    };
}

pub(crate) use {parse_pieces, print_pieces, print_rule, rules};

/// A phrase whose value lies on the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BoxPhrase<P>(pub(crate) P);

impl<P: Phrase> Phrase for BoxPhrase<P> {
    type Value = Box<P::Value>;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        self.0.parse(input).map(Box::new)
    }

    fn print(&self, value: &Self::Value, out: &mut Printer<'_>) -> bool {
        self.0.print(value, out)
    }
}
