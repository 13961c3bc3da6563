//! The grammar of rules text: phrases that parse to the ability representation and print it back.
//!
//! From the bottom: [`words`] and [`noun`] phrases, [`object`]s and [`player`]s, [`amount`]s,
//! [`condition`]s, [`cost`]s, [`event`]s, then verbs ([`action`], [`change`], [`library`], [`token`],
//! [`mana`], [`prevention`]), sentences ([`effect`]), bodies and paragraphs ([`ability`]).

mod ability;
mod action;
mod amount;
mod become_phrase;
mod body;
mod change;
mod clause;
mod condition;
mod continuous;
mod core;
mod cost;
mod costing;
mod effect;
mod event;
mod keyword;
mod library;
mod mana;
mod named_action;
mod noun;
mod object;
mod player;
mod prevention;
mod statics;
mod suffix;
mod token;
mod words;

pub(crate) use ability::{ParagraphError, parse_paragraph, print_paragraph};
