//! Tokens: "two 1/1 white Soldier creature tokens with lifelink", "a Treasure token".

use super::ability::parse_paragraph;
use super::change::Gift;
use super::core::{Input, ParseResult, Phrase, Printer, attempt, has_word, word};
use super::words::{ColorName, NumberWord, TYPE_WORDS, find_word, parse_list, peek_word, print_list, skip};
use crate::ability::{Ability, Amount, Change, TokenSpec};
use crate::card::{CardFace, CardType, Color, ColorSet, Subtype};
use winnow::error::EmptyError;

/// Tokens that the rules define, with their text (111.10).
const KNOWN_TOKENS: [(&str, &str); 5] = [
    ("Treasure", "{T}, sacrifice ~: add one mana of any color."),
    ("Food", "{2}, {T}, sacrifice ~: you gain 3 life."),
    ("Clue", "{2}, sacrifice ~: draw a card."),
    ("Gold", "sacrifice ~: add one mana of any color."),
    ("Blood", "{1}, {T}, discard a card, sacrifice ~: draw a card."),
];

/// A number of tokens with their characteristics.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens;

impl Phrase for Tokens {
    type Value = (Amount, Box<TokenSpec>);

    fn parse(&self, input: &mut Input<'_>) -> ParseResult<Self::Value> {
        let amount = if has_word(input, "a ") || has_word(input, "an ") {
            Amount::Fixed(1)
        } else if has_word(input, "that many ") {
            input.state.amount.clone().ok_or(EmptyError)?
        } else {
            let amount = NumberWord.parse(input)?;
            word(input, " ")?;
            amount
        };
        let is_plural = amount != Amount::Fixed(1);
        let tapped = has_word(input, "tapped ");
        let mut spec = match attempt(input, |input| parse_known(input, is_plural)) {
            Ok(spec) => spec,
            Err(_) => parse_described(input, is_plural)?,
        };
        spec.tapped = tapped;
        let attacking =
            if is_plural { " that are tapped and attacking" } else { " that's tapped and attacking" };
        if has_word(input, attacking) {
            (spec.tapped, spec.attacking) = (true, true);
        }
        let amount = match (amount, attempt(input, parse_each)) {
            (Amount::Fixed(number), Ok(each)) => super::amount::multiply(each, number),
            (amount, _) => amount,
        };
        Ok((amount, Box::new(spec)))
    }

    fn print(&self, (amount, spec): &Self::Value, out: &mut Printer<'_>) -> bool {
        if out.attempt(|out| print_tokens(amount, spec, out) && !out.has_next(" for each ")) {
            return true;
        }
        let (each, number) = super::amount::divide(amount);
        print_tokens(&Amount::Fixed(number), spec, out)
            && out.word(" for each ")
            && super::amount::EachPhrase.print(each, out)
    }
}

fn parse_each(input: &mut Input<'_>) -> ParseResult<Amount> {
    word(input, " for each ")?;
    super::amount::EachPhrase.parse(input)
}

fn print_tokens(amount: &Amount, spec: &TokenSpec, out: &mut Printer<'_>) -> bool {
    let is_plural = *amount != Amount::Fixed(1);
    let is_counted = if is_plural {
        (out.context.amount.as_ref() == Some(amount) && out.attempt(|out| out.word("that many ")))
            || (NumberWord.print(amount, out) && out.word(" "))
    } else {
        out.one_of(&["a ", "an "])
    };
    let attacking = if is_plural { " that are tapped and attacking" } else { " that's tapped and attacking" };
    is_counted
        && (!spec.tapped || spec.attacking || out.word("tapped "))
        && (out.attempt(|out| print_known(spec, is_plural, out)) || print_described(spec, is_plural, out))
        && (!spec.attacking || out.word(attacking))
}

fn known_face(name: &str) -> Option<CardFace> {
    let (name, text) = KNOWN_TOKENS.iter().find(|(known, _)| *known == name)?;
    let ability = parse_paragraph(text, false).ok()?;
    Some(CardFace {
        name: (*name).to_owned(),
        types: [CardType::Artifact].into_iter().collect(),
        subtypes: vec![Subtype::find(name)?],
        abilities: ability,
        text: (*text).to_owned(),
        ..CardFace::default()
    })
}

/// A token that the rules define.
pub(crate) fn known_token(name: &str) -> Option<TokenSpec> {
    known_face(name).map(new_spec)
}

fn new_spec(face: CardFace) -> TokenSpec {
    TokenSpec { face, size: None, tapped: false, attacking: false, counters: Vec::new(), attached_to: None }
}

const fn token_word(is_plural: bool) -> &'static str {
    if is_plural { " tokens" } else { " token" }
}

fn parse_known(input: &mut Input<'_>, is_plural: bool) -> ParseResult<TokenSpec> {
    let name = peek_word(input);
    let face = known_face(name).ok_or(EmptyError)?;
    skip(input, name);
    word(input, token_word(is_plural))?;
    Ok(new_spec(face))
}

fn print_known(spec: &TokenSpec, is_plural: bool, out: &mut Printer<'_>) -> bool {
    known_face(&spec.face.name).as_ref() == Some(&spec.face)
        && out.word(&spec.face.name)
        && out.word(token_word(is_plural))
}

fn parse_described(input: &mut Input<'_>, is_plural: bool) -> ParseResult<TokenSpec> {
    let power = super::words::Number.parse(input)?;
    word(input, "/")?;
    let toughness = super::words::Number.parse(input)?;
    word(input, " ")?;
    let mut spec = new_spec(CardFace::default());
    match (&power, &toughness) {
        (Amount::Fixed(power), Amount::Fixed(toughness)) => {
            (spec.face.power, spec.face.toughness) = (Some(*power), Some(*toughness));
        }
        _ if power == toughness => {
            (spec.face.power, spec.face.toughness) = (Some(0), Some(0));
            spec.size = Some(power);
        }
        _ => return Err(EmptyError),
    }
    spec.face.colors = parse_colors(input).ok_or(EmptyError)?;
    let (subtypes, types) = parse_types(input, false)?;
    if subtypes.is_empty() || types.is_empty() {
        return Err(EmptyError);
    }
    word(input, token_word(is_plural))?;
    spec.face.name = subtypes.iter().map(|subtype| subtype.name()).collect::<Vec<_>>().join(" ");
    spec.face.subtypes = subtypes;
    spec.face.types = types.into_iter().collect();
    if let Ok(gifts) = attempt(input, |input| {
        word(input, " with ")?;
        parse_list(&Gift, "and", input)
    }) {
        spec.face.abilities = gifts.into_iter().filter_map(ability_of).collect();
    }
    Ok(spec)
}

fn ability_of(gift: Change) -> Option<Ability> {
    match gift {
        Change::AddKeyword(keyword) => Some(Ability::Keyword(keyword)),
        Change::AddAbility(ability) => Some(*ability),
        _ => None,
    }
}

fn gift_of(ability: &Ability) -> Change {
    match ability {
        Ability::Keyword(keyword) => Change::AddKeyword(*keyword),
        other => Change::AddAbility(Box::new(other.clone())),
    }
}

fn print_described(spec: &TokenSpec, is_plural: bool, out: &mut Printer<'_>) -> bool {
    let face = &spec.face;
    let (Some(power), Some(toughness)) = (face.power, face.toughness) else { return false };
    let (power, toughness) = match &spec.size {
        Some(size) => (size.clone(), size.clone()),
        None => (Amount::Fixed(power), Amount::Fixed(toughness)),
    };
    // "Creature" is the last of the types.
    let mut types: Vec<CardType> = face.types.iter().collect();
    types.sort_by_key(|card_type| *card_type == CardType::Creature);
    let gifts: Vec<Change> = face.abilities.iter().map(gift_of).collect();
    super::words::Number.print(&power, out)
        && out.word("/")
        && super::words::Number.print(&toughness, out)
        && out.word(" ")
        && print_colors(face.colors, out)
        && print_types(&face.subtypes, &types, false, out)
        && out.word(token_word(is_plural))
        && (gifts.is_empty() || (out.word(" with ") && print_list(&Gift, "and", &gifts, out)))
}

/// Colours before a noun, with the space behind them: "white ", "black and red ", "colorless ".
pub(crate) fn parse_colors(input: &mut Input<'_>) -> Option<ColorSet> {
    if has_word(input, "colorless ") {
        return Some(ColorSet::EMPTY);
    }
    let colors = attempt(input, |input| {
        let colors = parse_list(&ColorName, "and", input)?;
        word(input, " ")?;
        Ok(colors)
    });
    colors.ok().map(|colors| colors.into_iter().collect())
}

pub(crate) fn print_colors(colors: ColorSet, out: &mut Printer<'_>) -> bool {
    if colors.is_empty() {
        return out.word("colorless ");
    }
    // Text orders two colours around the wheel, which need not be the order of the set.
    let mut listed: Vec<Color> = colors.iter().collect();
    let count = listed.len();
    (0..count).any(|_| {
        listed.rotate_left(1);
        out.attempt(|out| print_list(&ColorName, "and", &listed, out) && out.word(" "))
    }) || (print_list(&ColorName, "and", &listed, out) && out.word(" "))
}

/// Subtypes and card types in the order of a token: "Elf Warrior creature".
pub(crate) fn parse_types(
    input: &mut Input<'_>,
    is_plural: bool,
) -> ParseResult<(Vec<Subtype>, Vec<CardType>)> {
    let (mut subtypes, mut types) = (Vec::new(), Vec::new());
    loop {
        let mut trial = input.clone();
        if !(subtypes.is_empty() && types.is_empty()) && word(&mut trial, " ").is_err() {
            break;
        }
        if let Some(row) = find_word(&trial, &TYPE_WORDS, |row| if is_plural { row.1 } else { row.0 }) {
            skip(&mut trial, if is_plural { row.1 } else { row.0 });
            types.push(row.2);
        } else if let Some(row) = find_word(&trial, &TYPE_WORDS, |row| row.0) {
            skip(&mut trial, row.0);
            types.push(row.2);
        } else if let Some(subtype) = Subtype::find(peek_word(&trial)).filter(|_| types.is_empty()) {
            skip(&mut trial, subtype.name());
            subtypes.push(subtype);
        } else {
            break;
        }
        *input = trial;
    }
    if subtypes.is_empty() && types.is_empty() { Err(EmptyError) } else { Ok((subtypes, types)) }
}

pub(crate) fn print_types(
    subtypes: &[Subtype],
    types: &[CardType],
    is_plural: bool,
    out: &mut Printer<'_>,
) -> bool {
    let mut words: Vec<&str> = subtypes.iter().map(|subtype| subtype.name()).collect();
    let count = types.len();
    for (index, card_type) in types.iter().enumerate() {
        let Some(row) = TYPE_WORDS.iter().find(|row| row.2 == *card_type) else { return false };
        words.push(if is_plural && index + 1 == count { row.1 } else { row.0 });
    }
    !words.is_empty() && out.word(&words.join(" "))
}
