//! Meanings of English words, from the Free Dictionary.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Failure, Findings, Listing, Request, ServiceTool, words};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Definitions of one part of speech.
const MAX_DEFINITIONS: usize = 6;
const MAX_SYNONYMS: usize = 15;

pub(super) struct DictionaryLookup;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WordInput {
    word: String,
    #[serde(default = "crate::schema::yes")]
    include_synonyms: bool,
}

/// An entry of the dictionary.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WordEntry {
    word: String,
    phonetic: String,
    meanings: Vec<WordMeaning>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WordMeaning {
    part_of_speech: String,
    definitions: Vec<Definition>,
    synonyms: Vec<String>,
    antonyms: Vec<String>,
}

#[derive(Debug, Default, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(super) struct Definition {
    definition: String,
    example: String,
}

/// Meanings of a word in one part of speech.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Meaning {
    word: String,
    phonetic: String,
    part_of_speech: String,
    definitions: Vec<Definition>,
    synonyms: Vec<String>,
    antonyms: Vec<String>,
}

#[async_trait]
impl ServiceTool for DictionaryLookup {
    type Input = WordInput;
    type Item = Meaning;
    const NAME: &'static str = "dictionary_lookup";
    const DESCRIPTION: &'static str = "Look an English word up: meanings, examples, pronunciation, synonyms.";
    const EXAMPLE: &'static str = r#"{"word": "serendipity", "include_synonyms": true}"#;
    const NOUN: &'static str = "meaning";

    fn requests(input: &WordInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let word = words(&input.word, Self::NAME, "word")?.to_lowercase();
        Ok(vec![Request::new(Service::Dictionary, &["api", "v2", "entries", "en", &word], &[], context)?])
    }

    async fn find(input: WordInput, context: &ToolContext) -> Result<Findings<Meaning>, ToolError> {
        let request = Self::requests(&input, context)?.remove(0);
        let reply = request.ask::<Vec<WordEntry>>(context).await.map_err(|error| match error.kind {
            Failure::NotFound => ToolError::Failed(format!(
                "the dictionary does not have `{}`\n  hint: check the spelling; it has single English words",
                truncate::line(&input.word, 60)
            )),
            _ => error.into(),
        })?;
        let mut meanings = Vec::new();
        for entry in reply.data {
            for meaning in entry.meanings {
                let few = |list: Vec<String>| -> Vec<String> {
                    list.into_iter().take(if input.include_synonyms { MAX_SYNONYMS } else { 0 }).collect()
                };
                meanings.push(Meaning {
                    word: entry.word.clone(),
                    phonetic: entry.phonetic.clone(),
                    part_of_speech: meaning.part_of_speech,
                    definitions: meaning.definitions.into_iter().take(MAX_DEFINITIONS).collect(),
                    synonyms: few(meaning.synonyms),
                    antonyms: few(meaning.antonyms),
                });
            }
        }
        Ok(Findings::new(&request, reply.age, meanings))
    }

    fn show(item: &Meaning, listing: &mut Listing) {
        listing.entry(&format!("{} {} ({})", item.word, item.phonetic, item.part_of_speech));
        for definition in &item.definitions {
            listing.fact("meaning", &definition.definition);
            listing.fact("example", &definition.example);
        }
        listing.fact("synonyms", &item.synonyms.join(", "));
        listing.fact("antonyms", &item.antonyms.join(", "));
    }
}
