//! Words of rules text: numbers, colours, types, counters, keywords and mana symbols.

use super::core::{Input, ParseResult, Phrase, Printer, word};
use crate::ability::{Amount, CounterKind, Keyword};
use crate::card::{CardType, Color, ManaCost, Supertype};
use crate::keywords::is_implemented;
use winnow::Parser;
use winnow::error::EmptyError;
use winnow::token::take_while;

/// Numbers as words; the index is the value.
const NUMBER_WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

pub(crate) const TYPE_WORDS: [(&str, &str, CardType); 9] = [
    ("artifact", "artifacts", CardType::Artifact),
    ("battle", "battles", CardType::Battle),
    ("creature", "creatures", CardType::Creature),
    ("enchantment", "enchantments", CardType::Enchantment),
    ("instant", "instants", CardType::Instant),
    ("kindred", "kindreds", CardType::Kindred),
    ("land", "lands", CardType::Land),
    ("planeswalker", "planeswalkers", CardType::Planeswalker),
    ("sorcery", "sorceries", CardType::Sorcery),
];

pub(crate) const COLOR_WORDS: [(&str, Color); 5] = [
    ("white", Color::White),
    ("blue", Color::Blue),
    ("black", Color::Black),
    ("red", Color::Red),
    ("green", Color::Green),
];

pub(crate) const SUPERTYPE_WORDS: [(&str, Supertype); 4] = [
    ("basic", Supertype::Basic),
    ("legendary", Supertype::Legendary),
    ("snow", Supertype::Snow),
    ("world", Supertype::World),
];

const COUNTER_WORDS: [(&str, CounterKind); 37] = [
    ("bribery", CounterKind::Bribery),
    ("+1/+1", CounterKind::PlusOne),
    ("-1/-1", CounterKind::MinusOne),
    ("loyalty", CounterKind::Loyalty),
    ("charge", CounterKind::Charge),
    ("time", CounterKind::Time),
    ("age", CounterKind::Age),
    ("fade", CounterKind::Fade),
    ("quest", CounterKind::Quest),
    ("lore", CounterKind::Lore),
    ("level", CounterKind::Level),
    ("study", CounterKind::Study),
    ("page", CounterKind::Page),
    ("verse", CounterKind::Verse),
    ("oil", CounterKind::Oil),
    ("stun", CounterKind::Stun),
    ("shield", CounterKind::Shield),
    ("bounty", CounterKind::Bounty),
    ("blood", CounterKind::Blood),
    ("feather", CounterKind::Feather),
    ("growth", CounterKind::Growth),
    ("intervention", CounterKind::Intervention),
    ("spore", CounterKind::Spore),
    ("storage", CounterKind::Storage),
    ("mining", CounterKind::Mining),
    ("gold", CounterKind::Gold),
    ("arrow", CounterKind::Arrow),
    ("brick", CounterKind::Brick),
    ("doom", CounterKind::Doom),
    ("flood", CounterKind::Flood),
    ("ki", CounterKind::Ki),
    ("plague", CounterKind::Plague),
    ("wish", CounterKind::Wish),
    ("flying", CounterKind::Flying),
    ("first strike", CounterKind::FirstStrike),
    ("deathtouch", CounterKind::Deathtouch),
    ("lifelink", CounterKind::Lifelink),
];

/// The entry of a table whose word comes next as a whole word; the longest wins.
pub(crate) fn find_word<'r, T>(input: &Input<'_>, rows: &'r [T], text: impl Fn(&T) -> &str) -> Option<&'r T> {
    let fitting = rows.iter().filter(|row| is_next_word(input.input, text(row)));
    fitting.max_by_key(|row| text(row).len())
}

/// Whether the text begins with the word, and the word ends there.
pub(crate) fn is_next_word(rest: &str, text: &str) -> bool {
    rest.strip_prefix(text).is_some_and(|after| !after.starts_with(is_word_character))
}

fn is_word_character(character: char) -> bool {
    character.is_alphanumeric() || character == '-'
}

/// Reads as many bytes as the text has; it was found before.
pub(crate) fn skip(input: &mut Input<'_>, text: &str) {
    input.input = input.input.strip_prefix(text).unwrap_or(input.input);
}

/// The next word, letters only, with inner hyphens and apostrophes.
pub(crate) fn peek_word<'t>(input: &Input<'t>) -> &'t str {
    let rest = input.input;
    let end = rest
        .find(|character: char| !(is_word_character(character) || character == '\''))
        .unwrap_or(rest.len());
    rest.get(..end).unwrap_or_default()
}

fn digits(input: &mut Input<'_>) -> ParseResult<i32> {
    let digits = take_while::<_, _, EmptyError>(1..=6, |character: char| character.is_ascii_digit());
    digits.try_map(str::parse::<i32>).parse_next(input)
}

/// A number in digits: `3`, or the letter X.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number;

impl Phrase for Number {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        if is_next_word(input.input, "X") {
            skip(input, "X");
            return Ok(input.state.x.clone().unwrap_or(Amount::X));
        }
        digits(input).map(Amount::Fixed)
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        match value {
            Amount::Fixed(number) => out.word(&number.to_string()),
            other => print_x(other, out),
        }
    }
}

/// Writes X for an amount that the sentence explains at its end, or that is the X of the cost.
pub(crate) fn print_x(value: &Amount, out: &mut Printer<'_>) -> bool {
    match &out.context.x {
        Some(known) if known != value => false,
        None if *value != Amount::X => {
            out.context.x = Some(value.clone());
            out.word("X")
        }
        _ => out.word("X"),
    }
}

/// A number as a word: `two`, or the letter X.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberWord;

impl Phrase for NumberWord {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        if let Some(text) = find_word(input, &NUMBER_WORDS, |text| text) {
            let value = NUMBER_WORDS.iter().position(|known| known == text).unwrap_or_default();
            skip(input, text);
            return i32::try_from(value).map(Amount::Fixed).map_err(|_| EmptyError);
        }
        Number.parse(input)
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        match value {
            Amount::Fixed(number) => {
                let text = usize::try_from(*number).ok().and_then(|index| NUMBER_WORDS.get(index));
                text.is_some_and(|text| out.word(text))
            }
            other => print_x(other, out),
        }
    }
}

/// A number of things: `a card`, `two cards`, `X cards`, `that many cards`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CountNoun {
    pub(crate) article: &'static str,
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
}

pub(crate) const CARDS: CountNoun = CountNoun { article: "a ", one: "card", many: "cards" };
pub(crate) const ADDITIONAL_CARDS: CountNoun =
    CountNoun { article: "an ", one: "additional card", many: "additional cards" };

impl Phrase for CountNoun {
    type Value = Amount;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Amount> {
        if word(input, self.article).is_ok() {
            word(input, self.one)?;
            return if input.input.starts_with(is_word_character) {
                Err(EmptyError)
            } else {
                Ok(Amount::Fixed(1))
            };
        }
        let amount = if word(input, "that many ").is_ok() {
            input.state.amount.clone().ok_or(EmptyError)?
        } else {
            let amount = NumberWord.parse(input)?;
            word(input, " ")?;
            amount
        };
        word(input, self.many)?;
        Ok(amount)
    }

    fn print(&self, value: &Amount, out: &mut Printer<'_>) -> bool {
        if *value == Amount::Fixed(1) {
            return out.word(self.article) && out.word(self.one);
        }
        if out.context.amount.as_ref() == Some(value)
            && out.attempt(|out| out.word("that many ") && out.word(self.many))
        {
            return true;
        }
        NumberWord.print(value, out) && out.word(" ") && out.word(self.many)
    }
}

/// A small fixed number in digits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SmallNumber;

impl Phrase for SmallNumber {
    type Value = u8;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<u8> {
        digits(input).and_then(|number| u8::try_from(number).map_err(|_| EmptyError))
    }

    fn print(&self, value: &u8, out: &mut Printer<'_>) -> bool {
        out.word(&value.to_string())
    }
}

/// A mana cost in symbols.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mana;

impl Phrase for Mana {
    type Value = ManaCost;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<ManaCost> {
        let end = symbols_end(input.input);
        let text = input.input.get(..end).filter(|text| !text.is_empty()).ok_or(EmptyError)?;
        let cost = text.parse::<ManaCost>().map_err(|_| EmptyError)?;
        skip(input, text);
        Ok(cost)
    }

    fn print(&self, value: &ManaCost, out: &mut Printer<'_>) -> bool {
        out.word(&value.to_string())
    }
}

/// The length of the run of mana symbols at the beginning.
fn symbols_end(text: &str) -> usize {
    let mut end = 0;
    for symbol in text.split_inclusive('}') {
        let is_mana = symbol.starts_with('{') && symbol.ends_with('}') && symbol != "{T}" && symbol != "{Q}";
        if !is_mana {
            break;
        }
        end += symbol.len();
    }
    end
}

/// A counter: `+1/+1`, `charge`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CounterName;

impl Phrase for CounterName {
    type Value = CounterKind;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<CounterKind> {
        let (text, kind) = find_word(input, &COUNTER_WORDS, |row| row.0).ok_or(EmptyError)?;
        skip(input, text);
        Ok(*kind)
    }

    fn print(&self, value: &CounterKind, out: &mut Printer<'_>) -> bool {
        COUNTER_WORDS.iter().find(|(_, kind)| kind == value).is_some_and(|(text, _)| out.word(text))
    }
}

/// A keyword without a parameter.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeywordName;

impl Phrase for KeywordName {
    type Value = Keyword;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Keyword> {
        let found = Keyword::ALL.iter().filter(|keyword| is_next_word(input.input, &keyword.text()));
        let keyword = found.max_by_key(|keyword| keyword.text().len()).ok_or(EmptyError)?;
        if !is_implemented(*keyword) {
            return Err(EmptyError);
        }
        skip(input, &keyword.text());
        Ok(*keyword)
    }

    fn print(&self, value: &Keyword, out: &mut Printer<'_>) -> bool {
        out.word(&value.text())
    }
}

/// A colour word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColorName;

impl Phrase for ColorName {
    type Value = Color;

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Color> {
        let (text, color) = find_word(input, &COLOR_WORDS, |row| row.0).ok_or(EmptyError)?;
        skip(input, text);
        Ok(*color)
    }

    fn print(&self, value: &Color, out: &mut Printer<'_>) -> bool {
        COLOR_WORDS.iter().find(|(_, color)| color == value).is_some_and(|(text, _)| out.word(text))
    }
}

/// A list: `a`, `a and b`, `a, b, and c`.
pub(crate) fn parse_list<P: Phrase>(
    phrase: &P,
    last: &'static str,
    input: &mut Input<'_>,
) -> ParseResult<Vec<P::Value>> {
    let mut values = vec![phrase.parse(input)?];
    loop {
        if let Ok((reached, value)) = parse_last(phrase, last, values.len() > 1, input) {
            *input = reached;
            values.push(value);
            return Ok(values);
        }
        // One of the middle, if the list continues after it.
        let mut trial = input.clone();
        match word(&mut trial, ", ").and_then(|()| phrase.parse(&mut trial)) {
            Ok(value) if trial.input.starts_with(", ") => {
                *input = trial;
                values.push(value);
            }
            _ if values.len() > 1 => return Err(EmptyError),
            _ => return Ok(values),
        }
    }
}

/// The last element of a list with its conjunction.
fn parse_last<'t, P: Phrase>(
    phrase: &P,
    last: &'static str,
    has_comma: bool,
    input: &Input<'t>,
) -> ParseResult<(Input<'t>, P::Value)> {
    let mut trial = input.clone();
    word(&mut trial, if has_comma { ", " } else { " " })?;
    word(&mut trial, last)?;
    word(&mut trial, " ")?;
    let value = phrase.parse(&mut trial)?;
    Ok((trial, value))
}

/// Writes a list as `parse_list` reads it.
pub(crate) fn print_list<P: Phrase>(
    phrase: &P,
    last: &str,
    values: &[P::Value],
    out: &mut Printer<'_>,
) -> bool {
    let count = values.len();
    count > 0
        && values.iter().enumerate().all(|(index, value)| {
            let is_last = index + 1 == count;
            let mark = match (index, is_last) {
                (0, _) => String::new(),
                (1, true) => format!(" {last} "),
                (_, true) => format!(", {last} "),
                _ => ", ".to_owned(),
            };
            out.word(&mark) && phrase.print(value, out)
        })
}
