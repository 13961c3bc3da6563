//! Searching a library and looking at its top cards.

use super::action::{Subject, library, tapped};
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, rules, word};
use super::noun::{Article, Noun, PLURAL};
use super::words::{CARDS, NumberWord};
use crate::ability::{Amount, Destination, Effect, Filter, LibraryPosition, RestOfCards, Selector, Zone};
use winnow::error::EmptyError;

/// "Search your library for a basic land card, put it onto the battlefield tapped, then shuffle".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Searching;

const FOUND: [&str; 4] = ["it", "that card", "them", "those cards"];

rules! {
    /// Where found cards go.
    FoundPlace: Destination {
        [" into your hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" into their hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" onto the battlefield"] => { Destination::battlefield() } <= { to if *to == Destination::battlefield() };
        [" onto the battlefield tapped"] => { tapped(Destination::battlefield()) } <= { to if *to == tapped(Destination::battlefield()) };
        [" into your graveyard"] => { Destination::zone(Zone::Graveyard) } <= { to if *to == Destination::zone(Zone::Graveyard) };
    }
}

impl Phrase for Searching {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        word(
            input,
            if input.state.third { "searches their library for " } else { "search your library for " },
        )?;
        let who = Subject.parse(input)?;
        let (filter, min, max) = parse_sought(input)?;
        if has_word(input, ", then shuffle and put that card on top") {
            let to = library(LibraryPosition::Top);
            return Ok(Effect::Search {
                library: who.clone(),
                who,
                filter,
                min,
                max,
                reveal: false,
                to,
                shuffle_before: true,
            });
        }
        let reveal = attempt(input, |input| {
            word(input, ", reveal ")?;
            parse_found(input)
        })
        .is_ok();
        if !has_word(input, ", put ") {
            word(input, ", and put ")?;
        }
        parse_found(input)?;
        let to = FoundPlace.parse(input)?;
        word(input, ", then shuffle")?;
        Ok(Effect::Search { library: who.clone(), who, filter, min, max, reveal, to, shuffle_before: false })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::Search { who, library: searched, filter, min, max, reveal, to, shuffle_before } = value
        else {
            return false;
        };
        let is_begun = who == searched
            && Subject.print(who, out)
            && out.word(if out.context.third {
                "searches their library for "
            } else {
                "search your library for "
            })
            && print_sought(filter, min, max, out);
        if !is_begun {
            return false;
        }
        if *shuffle_before {
            return !reveal
                && *to == library(LibraryPosition::Top)
                && out.word(", then shuffle and put that card on top");
        }
        (!reveal || (out.word(", reveal ") && out.one_of(&FOUND)))
            && out.one_of(&[", put ", ", and put "])
            && out.one_of(&FOUND)
            && FoundPlace.print(to, out)
            && out.word(", then shuffle")
    }
}

fn parse_found(input: &mut Input<'_>) -> ParseResult<()> {
    let fitting = FOUND.iter().filter(|text| super::words::is_next_word(input.input, text));
    let text = fitting.max_by_key(|text| text.len()).ok_or(EmptyError)?;
    super::words::skip(input, text);
    Ok(())
}

fn parse_sought(input: &mut Input<'_>) -> ParseResult<(Filter, Amount, Amount)> {
    if has_word(input, "up to ") {
        let max = NumberWord.parse(input)?;
        word(input, " ")?;
        let noun = PLURAL.parse(input)?;
        return if noun.zone.is_none() { Ok((noun.filter, Amount::Fixed(0), max)) } else { Err(EmptyError) };
    }
    let filter = Article.parse(input)?;
    // A search for any card cannot fail to find one (701.19b).
    let min = Amount::Fixed(i32::from(filter == Filter::Card));
    Ok((filter, min, Amount::Fixed(1)))
}

fn print_sought(filter: &Filter, min: &Amount, max: &Amount, out: &mut Printer<'_>) -> bool {
    let single = Amount::Fixed(i32::from(*filter == Filter::Card));
    if *max == Amount::Fixed(1) && *min == single && out.attempt(|out| Article.print(filter, out)) {
        return true;
    }
    *min == Amount::Fixed(0)
        && out.word("up to ")
        && NumberWord.print(max, out)
        && out.word(" ")
        && PLURAL.print(&Noun { filter: filter.clone(), zone: None }, out)
}

/// "Look at the top three cards of your library. Put one of them into your hand and the rest into your graveyard".
#[derive(Debug, Clone, Copy)]
pub(crate) struct Looking;

const RESTS: [(&str, RestOfCards); 6] = [
    ("on the bottom of your library in any order", RestOfCards::BottomAnyOrder),
    ("on the bottom of your library in a random order", RestOfCards::BottomRandom),
    ("into your graveyard", RestOfCards::Graveyard),
    ("on the bottom of your library", RestOfCards::BottomAnyOrder),
    ("back on top of your library in any order", RestOfCards::TopAnyOrder),
    ("on top of your library in any order", RestOfCards::TopAnyOrder),
];

rules! {
    /// Where taken cards go.
    TakenPlace: Destination {
        [" into your hand"] => { Destination::zone(Zone::Hand) } <= { to if *to == Destination::zone(Zone::Hand) };
        [" onto the battlefield"] => { Destination::battlefield() } <= { to if *to == Destination::battlefield() };
        [" onto the battlefield tapped"] => { tapped(Destination::battlefield()) } <= { to if *to == tapped(Destination::battlefield()) };
    }
}

fn parse_rest(input: &mut Input<'_>) -> ParseResult<RestOfCards> {
    let fitting = RESTS.iter().filter(|(text, _)| super::words::is_next_word(input.input, text));
    let (text, rest) = fitting.max_by_key(|(text, _)| text.len()).ok_or(EmptyError)?;
    super::words::skip(input, text);
    Ok(*rest)
}

fn print_rest(value: RestOfCards, out: &mut Printer<'_>) -> bool {
    let texts: Vec<&str> = RESTS.iter().filter(|(_, rest)| *rest == value).map(|(text, _)| *text).collect();
    out.one_of(&texts)
}

/// How many cards are taken, which, and where they and the rest go.
struct Taking {
    filter: Filter,
    min: Amount,
    max: Amount,
    reveal: bool,
    to: Destination,
    rest: RestOfCards,
}

impl Phrase for Looking {
    type Value = Effect;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Effect> {
        let is_reveal = has_word(input, "reveal the top ");
        if !is_reveal {
            word(input, "look at the top ")?;
        }
        let who = Subject.parse(input)?;
        if who != Selector::You {
            return Err(EmptyError);
        }
        let amount = parse_top(input)?;
        word(input, " of your library")?;
        let taking = attempt(input, parse_back)
            .or_else(|_| attempt(input, parse_some_taken))
            .or_else(|_| attempt(input, |input| parse_matching(input, is_reveal)))?;
        let Taking { filter, min, max, reveal, to, rest } = taking;
        // What is put into the hand from among revealed cards needs no second reveal.
        Ok(Effect::LookAtTop { who, amount, reveal: reveal || is_reveal, filter, min, max, to, rest })
    }

    fn print(&self, value: &Effect, out: &mut Printer<'_>) -> bool {
        let Effect::LookAtTop { who, amount, reveal, filter, min, max, to, rest } = value else {
            return false;
        };
        if *who != Selector::You || !Subject.print(who, out) {
            return false;
        }
        let is_reveal = out.has_next("reveal the top ");
        if is_reveal && !reveal {
            return false;
        }
        if !out.one_of(&["look at the top ", "reveal the top "])
            || !print_top(amount, out)
            || !out.word(" of your library")
        {
            return false;
        }
        let taking = Taking {
            filter: filter.clone(),
            min: min.clone(),
            max: max.clone(),
            reveal: *reveal,
            to: to.clone(),
            rest: *rest,
        };
        out.attempt(|out| print_back(&taking, out))
            || out.attempt(|out| print_some_taken(&taking, out))
            || out.attempt(|out| print_matching(&taking, is_reveal, out))
    }
}

fn parse_top(input: &mut Input<'_>) -> ParseResult<Amount> {
    if has_word(input, "card") { Ok(Amount::Fixed(1)) } else { CARDS.parse(input) }
}

fn print_top(amount: &Amount, out: &mut Printer<'_>) -> bool {
    if *amount == Amount::Fixed(1) { out.word("card") } else { CARDS.print(amount, out) }
}

/// ", then put them back in any order".
fn parse_back(input: &mut Input<'_>) -> ParseResult<Taking> {
    word(input, ", then put them back in any order")?;
    Ok(Taking {
        filter: Filter::Any,
        min: Amount::Fixed(0),
        max: Amount::Fixed(0),
        reveal: false,
        to: Destination::zone(Zone::Hand),
        rest: RestOfCards::TopAnyOrder,
    })
}

fn print_back(taking: &Taking, out: &mut Printer<'_>) -> bool {
    taking.max == Amount::Fixed(0)
        && taking.rest == RestOfCards::TopAnyOrder
        && !taking.reveal
        && out.word(", then put them back in any order")
}

/// ". Put one of them into your hand and the rest into your graveyard".
fn parse_some_taken(input: &mut Input<'_>) -> ParseResult<Taking> {
    word(input, ". put ")?;
    let count = NumberWord.parse(input)?;
    word(input, " of them")?;
    let to = TakenPlace.parse(input)?;
    if !has_word(input, " and the rest ") {
        word(input, " and the other ")?;
    }
    let rest = parse_rest(input)?;
    Ok(Taking { filter: Filter::Any, min: count.clone(), max: count, reveal: false, to, rest })
}

fn print_some_taken(taking: &Taking, out: &mut Printer<'_>) -> bool {
    taking.min == taking.max
        && taking.filter == Filter::Any
        && !taking.reveal
        && out.word(". put ")
        && NumberWord.print(&taking.max, out)
        && out.word(" of them")
        && TakenPlace.print(&taking.to, out)
        && out.one_of(&[" and the rest ", " and the other "])
        && print_rest(taking.rest, out)
}

/// ". You may reveal a creature card from among them and put it into your hand. Put the rest on the bottom ...".
fn parse_matching(input: &mut Input<'_>, is_reveal: bool) -> ParseResult<Taking> {
    word(input, ". you may ")?;
    let reveal = has_word(input, "reveal ");
    if !reveal {
        word(input, "put ")?;
    }
    let filter = Article.parse(input)?;
    word(input, " from among them")?;
    if reveal && !has_word(input, " and put it") {
        word(input, " and put that card")?;
    }
    let to = TakenPlace.parse(input)?;
    word(input, ". put the rest ")?;
    let rest = parse_rest(input)?;
    if reveal && is_reveal {
        return Err(EmptyError);
    }
    Ok(Taking { filter, min: Amount::Fixed(0), max: Amount::Fixed(1), reveal, to, rest })
}

fn print_matching(taking: &Taking, is_reveal: bool, out: &mut Printer<'_>) -> bool {
    let reveal = taking.reveal && !is_reveal;
    taking.min == Amount::Fixed(0)
        && taking.max == Amount::Fixed(1)
        && out.word(". you may ")
        && out.word(if reveal { "reveal " } else { "put " })
        && Article.print(&taking.filter, out)
        && out.word(" from among them")
        && (!reveal || out.one_of(&[" and put it", " and put that card"]))
        && TakenPlace.print(&taking.to, out)
        && out.word(". put the rest ")
        && print_rest(taking.rest, out)
}
