//! Arithmetic, where everything in it is known.

use super::Proof;
use super::words::Sample;
use crate::shell::bounds::guarded;
use brush_parser::arithmetic;
use brush_parser::ast::{ArithmeticExpr as Expr, ArithmeticTarget, BinaryOperator as Binary, UnaryOperator};

/// How deep brackets are followed.
const DEEPEST: usize = 30;

impl Proof {
    /// What a sum comes to, if that can be said.
    pub(super) fn sum(&self, source: &str, sample: Sample) -> Option<i64> {
        let text = self.quoted_text(source, sample)?;
        if text.trim().is_empty() {
            return Some(0);
        }
        let expression = guarded(|| arithmetic::parse(&text).ok())?;
        self.evaluated(&expression, sample, 0)
    }

    fn evaluated(&self, expression: &Expr, sample: Sample, depth: usize) -> Option<i64> {
        if depth > DEEPEST {
            return None;
        }
        let of = |expression: &Expr| self.evaluated(expression, sample, depth + 1);
        match expression {
            Expr::Literal(number) => Some(*number),
            Expr::Reference(ArithmeticTarget::Variable(name)) => {
                self.known(name, sample)?.trim().parse().ok()
            }
            Expr::UnaryOp(operator, inner) => {
                let inner = of(inner)?;
                match operator {
                    UnaryOperator::UnaryPlus => Some(inner),
                    UnaryOperator::UnaryMinus => inner.checked_neg(),
                    UnaryOperator::BitwiseNot => Some(!inner),
                    UnaryOperator::LogicalNot => Some(i64::from(inner == 0)),
                }
            }
            Expr::Conditional(condition, yes, no) => match of(condition) {
                Some(0) => of(no),
                Some(_) => of(yes),
                // The same either way.
                None => of(yes).filter(|yes| of(no) == Some(*yes)),
            },
            Expr::Assignment(_, value) => of(value),
            Expr::BinaryOp(operator, left, right) => combined(operator, of(left), of(right)),
            _ => None,
        }
    }
}

fn combined(operator: &Binary, left: Option<i64>, right: Option<i64>) -> Option<i64> {
    match (operator, left, right) {
        // One side is enough.
        (Binary::Multiply | Binary::LogicalAnd | Binary::BitwiseAnd, Some(0), _)
        | (Binary::Multiply | Binary::LogicalAnd | Binary::BitwiseAnd, _, Some(0)) => return Some(0),
        (Binary::LogicalOr, Some(one), _) | (Binary::LogicalOr, _, Some(one)) if one != 0 => return Some(1),
        (Binary::Comma, _, right) => return right,
        _ => {}
    }
    let (left, right) = (left?, right?);
    let truth = |holds: bool| Some(i64::from(holds));
    let small = || u32::try_from(right).ok().filter(|right| *right < 64);
    match operator {
        Binary::Power => left.checked_pow(small()?),
        Binary::Multiply => left.checked_mul(right),
        Binary::Divide => left.checked_div(right),
        Binary::Modulo => left.checked_rem(right),
        Binary::Add => left.checked_add(right),
        Binary::Subtract => left.checked_sub(right),
        Binary::ShiftLeft => left.checked_shl(small()?),
        Binary::ShiftRight => left.checked_shr(small()?),
        Binary::LessThan => truth(left < right),
        Binary::LessThanOrEqualTo => truth(left <= right),
        Binary::GreaterThan => truth(left > right),
        Binary::GreaterThanOrEqualTo => truth(left >= right),
        Binary::Equals => truth(left == right),
        Binary::NotEquals => truth(left != right),
        Binary::BitwiseAnd => Some(left & right),
        Binary::BitwiseXor => Some(left ^ right),
        Binary::BitwiseOr => Some(left | right),
        Binary::LogicalAnd => truth(left != 0 && right != 0),
        Binary::LogicalOr => truth(left != 0 || right != 0),
        Binary::Comma => Some(right),
    }
}
