use super::*;
use crate::index::{Document, Kind};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Writes a tiny model whose weights follow a rule.
fn model(directory: &Path) {
    let (words, width, wide, places) = (9, 8, 12, 16);
    let mut tensors: Vec<(String, Vec<usize>)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![words, width]),
        ("embeddings.position_embeddings.weight".into(), vec![places, width]),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, width]),
        ("embeddings.LayerNorm.weight".into(), vec![width]),
        ("embeddings.LayerNorm.bias".into(), vec![width]),
    ];
    for (name, outer, inner) in [
        ("attention.self.query", width, width),
        ("attention.self.key", width, width),
        ("attention.self.value", width, width),
        ("attention.output.dense", width, width),
        ("intermediate.dense", wide, width),
        ("output.dense", width, wide),
    ] {
        tensors.push((format!("encoder.layer.0.{name}.weight"), vec![outer, inner]));
        tensors.push((format!("encoder.layer.0.{name}.bias"), vec![outer]));
    }
    for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
        tensors.push((format!("encoder.layer.0.{name}.weight"), vec![width]));
        tensors.push((format!("encoder.layer.0.{name}.bias"), vec![width]));
    }
    let mut header = Map::new();
    let mut numbers: Vec<u8> = Vec::new();
    for (name, shape) in tensors {
        let start = numbers.len();
        let count: usize = shape.iter().product();
        for n in 0..count {
            let number = if name.contains("LayerNorm.weight") {
                1.0
            } else {
                ((n * 31 + name.len() * 7) % 17) as f32 / 17.0 - 0.5
            };
            let small = if name.contains("position") { number * 0.05 } else { number };
            numbers.extend(small.to_le_bytes());
        }
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, numbers.len()]}));
    }
    let header = Value::Object(header).to_string();
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend(numbers);
    std::fs::write(directory.join("model.safetensors"), bytes).unwrap();
    std::fs::write(directory.join("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\nkitten\ncar\nroad\nthe")
        .unwrap();
    let config = json!({
        "vocab_size": words, "hidden_size": width, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": wide, "max_position_embeddings": places,
    });
    std::fs::write(directory.join("config.json"), config.to_string()).unwrap();
}

#[test]
fn a_model_on_disk_gives_vectors() {
    let directory = tempfile::tempdir().unwrap();
    model(directory.path());
    let bert = Bert::read(directory.path()).unwrap();
    let vector = bert.embed("the cat");
    assert_eq!(vector.len(), bert.dimensions());
    assert!((vector.iter().map(|n| n * n).sum::<f32>() - 1.0).abs() < 1e-5, "{vector:?}");
    assert_eq!(vector, bert.embed("The  CAT"), "it does not depend on case or spaces");
    assert_ne!(vector, bert.embed("the car"));
    assert_eq!(bert.embed("").len(), 8);
    assert_eq!(bert.embed(&"cat ".repeat(1000)).len(), 8);
}

#[test]
fn an_incomplete_model_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    assert!(Bert::read(directory.path()).unwrap_err().to_string().contains("config.json"));
    model(directory.path());
    let weights = directory.path().join("model.safetensors");
    let bytes = std::fs::read(&weights).unwrap();
    for bad in [&b""[..], b"12345678", &bytes[..bytes.len() - 40], &[255; 64]] {
        std::fs::write(&weights, bad).unwrap();
        assert!(Bert::read(directory.path()).is_err());
    }
    std::fs::write(&weights, &bytes).unwrap();
    std::fs::write(directory.path().join("config.json"), r#"{"vocab_size": 99999999, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 12, "max_position_embeddings": 16}"#).unwrap();
    assert!(Bert::read(directory.path()).is_err());
}

/// Knows only which of two things a text is about.
#[derive(Debug)]
struct Animals;

impl Embedder for Animals {
    fn name(&self) -> &str {
        "animals"
    }
    fn dimensions(&self) -> usize {
        2
    }
    fn embed(&self, text: &str) -> Vec<f32> {
        let animal = ["cat", "kitten", "purr"].iter().any(|word| text.contains(word));
        if animal { vec![1.0, 0.0] } else { vec![0.0, 1.0] }
    }
}

#[test]
fn embeddings_find_what_words_do_not() {
    let directory = tempfile::tempdir().unwrap();
    let mut index = Index::open(&directory.path().join("i")).unwrap();
    let make = |id: &str, text: &str, scope: &str| Document {
        id: id.into(),
        text: text.into(),
        scope: scope.into(),
        ..Document::default()
    };
    let documents = [
        make("a", "a kitten sleeps", ""),
        make("b", "motorways at night", ""),
        make("c", "a cat of another person", "bob"),
    ];
    index.put(Kind::Ltm, &documents).unwrap();
    assert_eq!(refresh(&mut index, &Animals).unwrap(), 3);
    assert_eq!(refresh(&mut index, &Animals).unwrap(), 0);
    let question = Search { text: "who may purr", scope: Some("ann"), limit: 1, ..Search::default() };
    assert!(index.search(&question).unwrap().is_empty());
    let hits = super::search(&index, &question, &Animals).unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(),
        ["a"],
        "a filter is a rule here too"
    );
    index.put(Kind::Ltm, &[make("a", "now motorways", "")]).unwrap();
    assert_eq!(refresh(&mut index, &Animals).unwrap(), 1);
}
