//! Brace expansion.

use super::limits::MAX_EXPANDED_WORDS;
use brush_parser::word::{BraceExpressionMember, BraceExpressionOrText};

/// Every combination of what was so far with each member.
pub(super) fn combine(parts: &[BraceExpressionOrText], all: &mut Vec<String>) {
    for part in parts {
        let members: Vec<String> = match part {
            BraceExpressionOrText::Text(text) => vec![text.clone()],
            BraceExpressionOrText::Expr(members) => members.iter().flat_map(member).collect(),
        };
        let combined = all
            .iter()
            .flat_map(|begun| members.iter().map(move |member| format!("{begun}{member}")))
            .take(MAX_EXPANDED_WORDS + 1)
            .collect();
        *all = combined;
    }
}

fn member(member: &BraceExpressionMember) -> Vec<String> {
    match member {
        BraceExpressionMember::Child(parts) => {
            let mut all = vec![String::new()];
            combine(parts, &mut all);
            all
        }
        BraceExpressionMember::NumberSequence { start, end, increment } => {
            let step = usize::try_from(increment.unsigned_abs().max(1)).unwrap_or(1);
            let (low, high) = (*start.min(end), *start.max(end));
            let mut numbers: Vec<i64> = (low..=high).step_by(step).take(MAX_EXPANDED_WORDS + 1).collect();
            if start > end {
                numbers.reverse();
            }
            numbers.iter().map(i64::to_string).collect()
        }
        BraceExpressionMember::CharSequence { start, end, increment } => {
            let step = usize::try_from(increment.unsigned_abs().max(1)).unwrap_or(1);
            let (low, high) = (*start.min(end), *start.max(end));
            let mut chars: Vec<char> = (low..=high).step_by(step).take(MAX_EXPANDED_WORDS + 1).collect();
            if start > end {
                chars.reverse();
            }
            chars.iter().map(char::to_string).collect()
        }
    }
}
