//! Translation, by MyMemory.

use crate::context::ToolContext;
use crate::result::ToolError;
use crate::service::{Failure, Findings, Listing, Request, ServiceTool, needs};
use async_trait::async_trait;
use marvin_base::truncate;
use marvin_gate::network::Service;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of one request, by the service's rules.
const MAX_PIECE_BYTES: usize = 450;
const MAX_PIECES: usize = 20;

/// Names of languages with their codes.
const LANGUAGES: [(&str, &str); 36] = [
    ("arabic", "ar"),
    ("bulgarian", "bg"),
    ("catalan", "ca"),
    ("chinese", "zh-CN"),
    ("croatian", "hr"),
    ("czech", "cs"),
    ("danish", "da"),
    ("dutch", "nl"),
    ("english", "en"),
    ("estonian", "et"),
    ("finnish", "fi"),
    ("french", "fr"),
    ("german", "de"),
    ("greek", "el"),
    ("hebrew", "he"),
    ("hindi", "hi"),
    ("hungarian", "hu"),
    ("indonesian", "id"),
    ("irish", "ga"),
    ("italian", "it"),
    ("japanese", "ja"),
    ("korean", "ko"),
    ("latin", "la"),
    ("norwegian", "no"),
    ("persian", "fa"),
    ("polish", "pl"),
    ("portuguese", "pt"),
    ("romanian", "ro"),
    ("russian", "ru"),
    ("spanish", "es"),
    ("swedish", "sv"),
    ("thai", "th"),
    ("turkish", "tr"),
    ("ukrainian", "uk"),
    ("vietnamese", "vi"),
    ("welsh", "cy"),
];

pub(super) struct TranslateText;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TranslateInput {
    text: String,
    /// Language to translate to: a code (de) or an English name (German).
    target_language: String,
    /// Language of the text; auto: found by the service.
    #[serde(default = "auto")]
    source_language: String,
}

fn auto() -> String {
    "auto".into()
}

/// Answer of MyMemory.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemoryAnswer {
    response_data: MemoryText,
    /// A number, or the same as text.
    response_status: StatusCode,
    #[serde(default)]
    response_details: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MemoryText {
    translated_text: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum StatusCode {
    Number(u16),
    Text(String),
}

impl StatusCode {
    fn number(&self) -> u16 {
        match self {
            StatusCode::Number(number) => *number,
            StatusCode::Text(text) => text.trim().parse().unwrap_or(0),
        }
    }
}

/// The translation of a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Translation {
    source_language: String,
    target_language: String,
    text: String,
}

/// The code of a language.
fn language(text: &str, field: &str) -> Result<String, ToolError> {
    let text = text.trim();
    let name = LANGUAGES.iter().find(|(name, _)| text.eq_ignore_ascii_case(name));
    if let Some((_, code)) = name {
        return Ok((*code).to_string());
    }
    let is_code = (2..=7).contains(&text.len()) && text.chars().all(|c| c.is_ascii_alphabetic() || c == '-');
    if is_code {
        return Ok(text.to_string());
    }
    Err(ToolError::Usage(format!("`{field}` is a code such as \"de\", or the English name of a language.")))
}

impl TranslateInput {
    fn pair(&self) -> Result<(String, String), ToolError> {
        let source = if self.source_language.trim().eq_ignore_ascii_case("auto") {
            "Autodetect".to_string()
        } else {
            language(&self.source_language, "source_language")?
        };
        Ok((source, language(&self.target_language, "target_language")?))
    }

    fn pieces(&self) -> Result<Vec<String>, ToolError> {
        let pieces = split(&self.text);
        match pieces.len() {
            0 => Err(needs(TranslateText::NAME, "text", "the text to translate")),
            1..=MAX_PIECES => Ok(pieces),
            _ => Err(ToolError::Usage(format!(
                "`text` has at most about {} characters; translate it in parts.",
                MAX_PIECES * MAX_PIECE_BYTES
            ))),
        }
    }

    fn request(&self, piece: &str, context: &ToolContext) -> Result<Request, ToolError> {
        let (source, target) = self.pair()?;
        let pair = format!("{source}|{target}");
        Ok(Request::new(Service::Translation, &["get"], &[("q", piece), ("langpair", &pair)], context)?)
    }
}

/// Pieces of a text that the service takes, cut at the ends of sentences or words.
fn split(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if rest.len() <= MAX_PIECE_BYTES {
            pieces.push(rest.to_string());
            break;
        }
        let end = truncate::floor(rest, MAX_PIECE_BYTES);
        let head = rest.get(..end).unwrap_or(rest);
        let sentence = head.rfind(['.', '!', '?', '\n', '。']).map(|at| at + 1).filter(|at| *at > end / 2);
        let word = head.rfind(char::is_whitespace).filter(|at| *at > 0);
        let cut = truncate::floor(rest, sentence.or(word).unwrap_or(end)).max(1);
        let (piece, after) = rest.split_at_checked(cut).unwrap_or((rest, ""));
        pieces.push(piece.trim().to_string());
        rest = after.trim_start();
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[async_trait]
impl ServiceTool for TranslateText {
    type Input = TranslateInput;
    type Item = Translation;
    const NAME: &'static str = "translate_text";
    const DESCRIPTION: &'static str = "Translate a text by MyMemory, which gets the text; for a public text in a language that you do not know well.";
    const EXAMPLE: &'static str = r#"{"text": "Where is the station?", "target_language": "de"}"#;
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("to", "target_language"), ("from", "source_language"), ("target", "target_language")];
    const NOUN: &'static str = "translation";

    fn requests(input: &TranslateInput, context: &ToolContext) -> Result<Vec<Request>, ToolError> {
        let pieces = input.pieces()?;
        pieces.iter().map(|piece| input.request(piece, context)).collect()
    }

    async fn find(input: TranslateInput, context: &ToolContext) -> Result<Findings<Translation>, ToolError> {
        let (source_language, target_language) = input.pair()?;
        let requests = Self::requests(&input, context)?;
        let mut texts = Vec::new();
        let mut age = None;
        for request in &requests {
            let reply = request.ask::<MemoryAnswer>(context).await?;
            age = age.max(reply.age);
            let answer = reply.data;
            match (answer.response_status.number(), answer.response_data.translated_text) {
                (200, Some(text)) => texts.push(text),
                (429, _) => {
                    return Err(request
                        .failed(
                            Failure::Refused { status: 429, message: answer.response_details },
                            "try tomorrow: the free translations of the day are used up",
                        )
                        .into());
                }
                (status, _) => {
                    let failure = Failure::Refused { status, message: answer.response_details };
                    return Err(request.failed(failure, "check the languages").into());
                }
            }
        }
        let first = requests.first().ok_or_else(|| needs(Self::NAME, "text", "the text to translate"))?;
        let translation = Translation { source_language, target_language, text: texts.join(" ") };
        Ok(Findings::one(first, age, translation))
    }

    fn show(item: &Translation, listing: &mut Listing) {
        listing.entry(&format!("{} to {}", item.source_language, item.target_language));
        listing.lines(&item.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_at_sentences_and_languages_have_codes() {
        let sentence = "This is a sentence of some length, which ends here. ";
        let pieces = split(&sentence.repeat(20));
        assert!(pieces.len() > 2 && pieces.iter().all(|piece| piece.len() <= MAX_PIECE_BYTES));
        assert!(pieces.iter().all(|piece| piece.ends_with("here.")), "{pieces:?}");
        assert_eq!(split(&"é".repeat(1_000)).concat().chars().count(), 1_000);
        assert!(split("  ").is_empty());
        assert_eq!(language("German", "x").unwrap(), "de");
        assert_eq!(language("pt-BR", "x").unwrap(), "pt-BR");
        assert!(language("de|fr", "x").is_err() && language("", "x").is_err());
    }
}
