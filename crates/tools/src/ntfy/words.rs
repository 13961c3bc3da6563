//! Words of topics, which are as hard to guess as they are easy to say.

use marvin_base::ids;

/// Words of a topic.
const WORDS_PER_TOPIC: usize = 5;

/// A new topic of five words. Everyone who knows a topic can read it, so its words are chosen at random.
#[must_use]
pub fn new_topic() -> String {
    let word = |_| {
        let number = u32::from_str_radix(&ids::short(8), 16).unwrap_or(0);
        let index = usize::try_from(number).unwrap_or(0) % WORDS.len();
        WORDS.get(index).copied().unwrap_or("marvin")
    };
    (0..WORDS_PER_TOPIC).map(word).collect::<Vec<_>>().join("-")
}

#[rustfmt::skip]
const WORDS: [&str; 539] = [
    "acorn", "actor", "alder", "alley", "almond", "alpine", "amber", "anchor", "angle", "ankle",
    "apple", "apricot", "apron", "arch", "arrow", "artist", "ash", "aspen", "atlas", "attic",
    "autumn", "award", "axis", "azure", "badge", "bagel", "baker", "bamboo", "banjo", "banner",
    "barley", "barn", "barrel", "basil", "basin", "basket", "beach", "beacon", "beam", "bean",
    "bear", "beaver", "bell", "bench", "berry", "birch", "bird", "bison", "blanket", "blossom",
    "blue", "board", "boat", "bold", "bolt", "bonnet", "book", "border", "bottle", "boulder",
    "bowl", "branch", "brass", "bread", "breeze", "brick", "bridge", "bright", "brook", "broom",
    "brown", "brush", "bucket", "bulb", "butter", "button", "cabin", "cable", "cactus", "camel",
    "camera", "candle", "canoe", "canvas", "canyon", "captain", "carbon", "cargo", "carpet",
    "carrot", "castle", "cedar", "cello", "chair", "chalk", "cherry", "chess", "chest", "chief",
    "chime", "cider", "cinder", "circle", "citrus", "clam", "clay", "clever", "cliff", "clock",
    "cloud", "clover", "coast", "cobalt", "cocoa", "comet", "compass", "copper", "coral", "cork",
    "corner", "cotton", "cougar", "cove", "cradle", "crane", "crater", "creek", "cricket",
    "crimson", "crisp", "crow", "crown", "crystal", "cube", "curtain", "cycle", "cypress", "daisy",
    "dawn", "deer", "delta", "denim", "desert", "desk", "diamond", "dinner", "dock", "dolphin",
    "donkey", "door", "dove", "dragon", "drift", "drum", "dune", "dusk", "eagle", "early", "earth",
    "easel", "east", "echo", "eel", "ember", "emerald", "engine", "entry", "ermine", "evening",
    "fable", "falcon", "farm", "feather", "fence", "fennel", "fern", "ferry", "fiddle", "field",
    "fig", "finch", "fire", "fjord", "flag", "flame", "flask", "flax", "flint", "flock", "flora",
    "flour", "flute", "foam", "forest", "fork", "fossil", "fountain", "fox", "frame", "fresh",
    "frog", "frost", "fruit", "galaxy", "gallery", "garden", "garlic", "garnet", "gate", "gentle",
    "geyser", "ginger", "glacier", "glass", "globe", "glove", "gold", "goose", "grain", "granite",
    "grape", "grass", "gravel", "green", "grove", "guitar", "gull", "hammer", "harbor", "hare",
    "harp", "harvest", "hawk", "hazel", "heather", "hedge", "helmet", "heron", "hickory", "hill",
    "hinge", "honey", "hoop", "horizon", "hornet", "house", "humble", "hut", "ice", "indigo",
    "ink", "inlet", "iris", "iron", "island", "ivory", "ivy", "jacket", "jade", "jaguar",
    "jasmine", "jelly", "jewel", "jolly", "journal", "jungle", "juniper", "kayak", "kelp",
    "kettle", "key", "kite", "kitten", "kiwi", "knot", "koala", "lace", "ladder", "lagoon", "lake",
    "lamp", "lantern", "lark", "laurel", "lava", "lavender", "leaf", "leather", "ledge", "lemon",
    "lentil", "letter", "library", "lilac", "lily", "lime", "linen", "lion", "lizard", "lobster",
    "locket", "lodge", "loom", "lotus", "lucky", "lunar", "lute", "lynx", "magnet", "magpie",
    "mango", "maple", "marble", "maroon", "marsh", "meadow", "mellow", "melon", "merry", "meteor",
    "mill", "mineral", "mint", "mirror", "mitten", "moose", "morning", "mosaic", "moss", "motor",
    "mountain", "mulberry", "museum", "music", "mustard", "napkin", "nectar", "nest", "nickel",
    "night", "noble", "noodle", "north", "nougat", "nutmeg", "oak", "oasis", "oat", "ocean",
    "olive", "onion", "onyx", "opal", "orange", "orbit", "orchard", "orchid", "otter", "oval",
    "owl", "oyster", "paddle", "page", "palace", "palm", "panda", "paper", "parade", "parcel",
    "parrot", "parsley", "pasture", "peach", "peanut", "pear", "pearl", "pebble", "pelican",
    "pencil", "pepper", "piano", "pickle", "pigeon", "pillow", "pilot", "pine", "planet", "plaza",
    "plum", "pocket", "poem", "polar", "pollen", "pond", "poplar", "poppy", "porch", "potato",
    "prairie", "prism", "pulley", "pumpkin", "puzzle", "quail", "quartz", "quiet", "quill",
    "quilt", "quince", "rabbit", "radish", "raft", "rain", "ranch", "raven", "reef", "ribbon",
    "rice", "ridge", "ripple", "river", "robin", "rocket", "rope", "rose", "rowan", "ruby",
    "rudder", "rustic", "rye", "saddle", "saffron", "sage", "sail", "salmon", "salt", "sand",
    "sapphire", "saucer", "scarf", "scarlet", "school", "scroll", "seal", "season", "seed",
    "shadow", "shell", "shore", "silk", "silver", "slate", "sled", "smooth", "snow", "soap",
    "solar", "sparrow", "spice", "spider", "spiral", "spoon", "spring", "spruce", "squid",
    "stable", "star", "steel", "stone", "stork", "storm", "stream", "sugar", "summer", "summit",
    "sunny", "swan", "swift", "table", "tango", "teapot", "temple", "thistle", "thunder", "tide",
    "tiger", "timber", "toast", "tomato", "topaz", "torch", "tower", "trail", "train", "trout",
    "trumpet", "tulip", "tundra", "tunnel", "turnip", "turtle", "umber", "umbrella", "urchin",
    "valley", "vanilla", "velvet", "vessel", "village", "vine", "violet", "violin", "vista",
    "voyage", "waffle", "wagon", "walnut", "walrus", "warm", "water", "wave", "wheat", "whisper",
    "willow", "window", "winter", "wolf", "wonder", "wood", "wool", "wren", "yard", "yarn",
    "yellow", "yew", "zebra", "zenith", "zephyr", "zinc",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn topics_are_five_words_and_differ() {
        let unique: BTreeSet<&str> = WORDS.into_iter().collect();
        assert!(unique.len() == WORDS.len() && WORDS.len() > 500, "45 bits or more");
        let topics: BTreeSet<String> = (0..200).map(|_| new_topic()).collect();
        assert_eq!(topics.len(), 200);
        for topic in topics {
            assert_eq!(topic.split('-').count(), 5);
            assert!(topic.len() <= 64, "{topic}");
        }
    }
}
