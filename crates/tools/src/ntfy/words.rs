//! Words of topics, which are as hard to guess as they are easy to say.

use marvin_base::ids;

/// Number of words of a topic.
const WORDS_PER_TOPIC: usize = 5;
/// The words that topics are made of.
const WORDS: &str = include_str!("../../data/topic_words.txt");

/// A new topic of five words. Everyone who knows a topic can read it, so its words are chosen at random.
#[must_use]
pub fn new_topic() -> String {
    let words: Vec<&str> = WORDS.split_whitespace().collect();
    let word = |_| {
        let number = u32::from_str_radix(&ids::short(8), 16).unwrap_or(0);
        let index = usize::try_from(number).unwrap_or(0) % words.len().max(1);
        words.get(index).copied().unwrap_or("marvin")
    };
    (0..WORDS_PER_TOPIC).map(word).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn topics_are_five_words_and_differ() {
        let unique: BTreeSet<&str> = WORDS.split_whitespace().collect();
        assert!(unique.len() == WORDS.split_whitespace().count() && unique.len() > 500, "45 bits or more");
        let topics: BTreeSet<String> = (0..200).map(|_| new_topic()).collect();
        assert_eq!(topics.len(), 200);
        for topic in topics {
            assert_eq!(topic.split('-').count(), 5);
            assert!(topic.len() <= 64, "{topic}");
        }
    }
}
