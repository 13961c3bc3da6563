//! Packs of knowledge: what they hold, when they matter, what an agent is told of them.
