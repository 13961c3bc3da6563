//! What was learned from corrections: found, kept, weighed, and let go.
