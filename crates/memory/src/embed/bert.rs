//! A small BERT on the CPU, such as the models of sentence-transformers.
//!
//! Its directory holds `config.json`, `vocab.txt` (or `tokenizer.json`) and `model.safetensors`. The vector of a text is
//! the mean over its tokens.

use super::Embedder;
use super::error::ModelError;
use super::matrix::{Linear, Norm, add, dot, gelu, softmax};
use super::tensors::Tensors;
use super::wordpiece::WordPiece;
use marvin_base::files::{self, Links};
use serde::Deserialize;
use std::path::Path;

/// Further tokens of a text are ignored.
const MAX_SEQUENCE_TOKENS: usize = 256;
const MAX_CONFIG_BYTES: u64 = 1024 * 1024;

#[derive(Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default = "least")]
    layer_norm_eps: f32,
}

fn two() -> usize {
    2
}

fn least() -> f32 {
    1e-12
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    joined: Linear,
    joined_norm: Norm,
    wide: Linear,
    narrow: Linear,
    norm: Norm,
}

#[derive(Debug)]
pub struct Bert {
    name: String,
    width: usize,
    heads: usize,
    positions: usize,
    words: Vec<f32>,
    places: Vec<f32>,
    kind: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
    vocabulary: WordPiece,
}

impl Bert {
    /// Reads a model from its directory.
    ///
    /// # Errors
    /// When a file is missing or not valid.
    pub fn read(directory: &Path) -> Result<Self, ModelError> {
        let path = directory.join("config.json");
        let text = files::read_text(&path, MAX_CONFIG_BYTES, Links::Follow).map_err(|source| {
            let hint =
                "\n  hint: the directory of a model holds config.json, vocab.txt and model.safetensors";
            ModelError::Read { path: path.display().to_string(), source, hint }
        })?;
        let config: Config = serde_json::from_str(&text).map_err(|error| ModelError::json(&path, error))?;
        let width = config.hidden_size;
        let sensible = (1..=4096).contains(&width)
            && (1..=48).contains(&config.num_hidden_layers)
            && config.num_attention_heads > 0
            && width.is_multiple_of(config.num_attention_heads)
            && (1..=16_384).contains(&config.intermediate_size)
            && config.max_position_embeddings > 1
            && config.vocab_size > 0;
        if !sensible {
            return Err(ModelError::Unsupported(format!(
                "{} does not describe a small BERT",
                path.display()
            )));
        }
        let tensors = Tensors::read(&directory.join("model.safetensors"))?;
        let linear = |name: &str, outer: usize, inner: usize| -> Result<Linear, ModelError> {
            Ok(Linear {
                weight: tensors.get(&format!("{name}.weight"), &[outer, inner])?,
                bias: tensors.get(&format!("{name}.bias"), &[outer])?,
                inner,
            })
        };
        let norm = |name: &str| -> Result<Norm, ModelError> {
            Ok(Norm {
                weight: tensors.get(&format!("{name}.weight"), &[width])?,
                bias: tensors.get(&format!("{name}.bias"), &[width])?,
                least: config.layer_norm_eps,
            })
        };
        let mut layers = Vec::new();
        for number in 0..config.num_hidden_layers {
            let at = format!("encoder.layer.{number}");
            layers.push(Layer {
                query: linear(&format!("{at}.attention.self.query"), width, width)?,
                key: linear(&format!("{at}.attention.self.key"), width, width)?,
                value: linear(&format!("{at}.attention.self.value"), width, width)?,
                joined: linear(&format!("{at}.attention.output.dense"), width, width)?,
                joined_norm: norm(&format!("{at}.attention.output.LayerNorm"))?,
                wide: linear(&format!("{at}.intermediate.dense"), config.intermediate_size, width)?,
                narrow: linear(&format!("{at}.output.dense"), width, config.intermediate_size)?,
                norm: norm(&format!("{at}.output.LayerNorm"))?,
            });
        }
        let kinds =
            tensors.get("embeddings.token_type_embeddings.weight", &[config.type_vocab_size, width])?;
        Ok(Bert {
            name: format!(
                "{}:{width}x{}",
                directory.file_name().unwrap_or_default().to_string_lossy(),
                layers.len()
            ),
            width,
            heads: config.num_attention_heads,
            positions: config.max_position_embeddings,
            words: tensors.get("embeddings.word_embeddings.weight", &[config.vocab_size, width])?,
            places: tensors
                .get("embeddings.position_embeddings.weight", &[config.max_position_embeddings, width])?,
            kind: kinds.get(..width).unwrap_or_default().to_vec(),
            norm: norm("embeddings.LayerNorm")?,
            layers,
            vocabulary: WordPiece::read(directory)?,
        })
    }

    /// The sum of token, position and type embeddings.
    fn begin(&self, pieces: &[u32]) -> Vec<f32> {
        let row = |table: &[f32], at: usize| -> Vec<f32> {
            table
                .get(at * self.width..(at + 1) * self.width)
                .map_or_else(|| vec![0.0; self.width], <[f32]>::to_vec)
        };
        let mut all = Vec::with_capacity(pieces.len() * self.width);
        for (place, piece) in pieces.iter().enumerate() {
            let mut one = row(&self.words, *piece as usize);
            add(&mut one, &row(&self.places, place));
            add(&mut one, &self.kind);
            all.extend(one);
        }
        self.norm.apply(&mut all);
        all
    }

    /// Multi-head self-attention.
    fn attend(&self, layer: &Layer, state: &[f32]) -> Vec<f32> {
        let (queries, keys, values) =
            (layer.query.apply(state), layer.key.apply(state), layer.value.apply(state));
        let head = self.width / self.heads.max(1);
        #[expect(clippy::cast_precision_loss, reason = "a few dozen")]
        let scale = 1.0 / (head as f32).sqrt();
        let count = state.len() / self.width;
        let part = |rows: &[f32], row: usize, number: usize| -> Vec<f32> {
            let start = row * self.width + number * head;
            rows.get(start..start + head).unwrap_or_default().to_vec()
        };
        let mut joined = vec![0.0; state.len()];
        for number in 0..self.heads {
            let keys: Vec<Vec<f32>> = (0..count).map(|row| part(&keys, row, number)).collect();
            let values: Vec<Vec<f32>> = (0..count).map(|row| part(&values, row, number)).collect();
            for row in 0..count {
                let query = part(&queries, row, number);
                let mut shares: Vec<f32> = keys.iter().map(|key| dot(&query, key) * scale).collect();
                softmax(&mut shares);
                let start = row * self.width + number * head;
                let Some(out) = joined.get_mut(start..start + head) else { continue };
                for (share, value) in shares.iter().zip(&values) {
                    for (out, value) in out.iter_mut().zip(value) {
                        *out += share * value;
                    }
                }
            }
        }
        joined
    }
}

impl Embedder for Bert {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.width
    }

    fn embed(&self, text: &str) -> Vec<f32> {
        let pieces = self.vocabulary.pieces(text, MAX_SEQUENCE_TOKENS.min(self.positions));
        let mut state = self.begin(&pieces);
        for layer in &self.layers {
            let mut next = layer.joined.apply(&self.attend(layer, &state));
            add(&mut next, &state);
            layer.joined_norm.apply(&mut next);
            let mut wide = layer.wide.apply(&next);
            gelu(&mut wide);
            state = layer.narrow.apply(&wide);
            add(&mut state, &next);
            layer.norm.apply(&mut state);
        }
        let mut mean = vec![0.0; self.width];
        for row in state.chunks_exact(self.width) {
            add(&mut mean, row);
        }
        let length = dot(&mean, &mean).sqrt();
        if length > 0.0 && length.is_finite() {
            mean.iter_mut().for_each(|number| *number /= length);
        }
        mean
    }
}
