//! Conditions: `test`, `[` and `[[`.

use super::command::Call;
use super::program::{Outcome, Output};
use super::regexes::{Demand, Syntax, demand, is_demanding_glob};
use super::word::Operand;
use super::{AssertionRefusal, Checker};
use brush_parser::ast::{BinaryPredicate, ExtendedTestExpr, UnaryPredicate};

/// Numbers from which an upper bound is none.
const MAX_BOUND: i64 = 1_000_000;

const FIXED_HINT: &str =
    "compare the output of a program with the text that is expected: `[ \"$(./tool)\" = 5 ]`";

/// A comparison of two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// The same text.
    Text,
    /// The right side is a glob.
    Glob,
    /// The right side is a regex.
    Regex,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// One file is newer than the other.
    Age,
}

impl Comparison {
    fn parse(operator: &str) -> Option<Self> {
        Some(match operator {
            "=" | "==" => Comparison::Text,
            "-eq" => Comparison::Equal,
            "-ne" => Comparison::Unequal,
            "-lt" => Comparison::Less,
            "-le" => Comparison::LessOrEqual,
            "-gt" => Comparison::Greater,
            "-ge" => Comparison::GreaterOrEqual,
            "-nt" | "-ot" => Comparison::Age,
            _ => return None,
        })
    }

    fn of_predicate(predicate: &BinaryPredicate) -> Option<Self> {
        Some(match predicate {
            BinaryPredicate::StringExactlyMatchesPattern => Comparison::Glob,
            BinaryPredicate::StringExactlyMatchesString => Comparison::Text,
            BinaryPredicate::StringMatchesRegex => Comparison::Regex,
            BinaryPredicate::ArithmeticEqualTo => Comparison::Equal,
            BinaryPredicate::ArithmeticNotEqualTo => Comparison::Unequal,
            BinaryPredicate::ArithmeticLessThan => Comparison::Less,
            BinaryPredicate::ArithmeticLessThanOrEqualTo => Comparison::LessOrEqual,
            BinaryPredicate::ArithmeticGreaterThan => Comparison::Greater,
            BinaryPredicate::ArithmeticGreaterThanOrEqualTo => Comparison::GreaterOrEqual,
            BinaryPredicate::LeftFileIsNewerOrExistsWhenRightDoesNot => Comparison::Age,
            _ => return None,
        })
    }

    /// The comparison with the sides exchanged.
    fn flipped(self) -> Option<Self> {
        Some(match self {
            Comparison::Less => Comparison::Greater,
            Comparison::LessOrEqual => Comparison::GreaterOrEqual,
            Comparison::Greater => Comparison::Less,
            Comparison::GreaterOrEqual => Comparison::LessOrEqual,
            Comparison::Glob | Comparison::Regex => return None,
            other => other,
        })
    }

    fn is_numeric(self) -> bool {
        !matches!(self, Comparison::Text | Comparison::Glob | Comparison::Regex | Comparison::Age)
    }

    fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less => left < right,
            Comparison::LessOrEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterOrEqual => left >= right,
            Comparison::Text | Comparison::Glob | Comparison::Regex | Comparison::Age => false,
        }
    }
}

impl Checker {
    /// `test` and `[`.
    pub(super) fn test(&mut self, name: &str, call: &Call) -> Result<Outcome, AssertionRefusal> {
        let mut words = call.words.as_slice();
        if name == "[" {
            match words.split_last() {
                Some((last, rest)) if last.literal().is_some_and(|text| text == "]") => words = rest,
                _ => return Err(AssertionRefusal::beyond(&call.part, "is not closed")),
            }
        }
        if words.iter().any(Operand::has_glob) {
            return Err(AssertionRefusal::beyond(&call.part, "holds a pattern of file names"));
        }
        match words {
            [operator, operand] => {
                let operator = operator.literal().unwrap_or_default();
                self.unary(&operator, operand, &call.part)
            }
            [left, operator, right] => {
                let operator = operator.literal().unwrap_or_default();
                let comparison = Comparison::parse(&operator).ok_or_else(|| {
                    AssertionRefusal::beyond(
                        &call.part,
                        format!("compares by `{operator}`, which nearly always holds"),
                    )
                })?;
                self.binary(comparison, left, right, &call.part)
            }
            _ => Err(AssertionRefusal::beyond(&call.part, "is not a test of one file or one output")),
        }
    }

    /// `[[`
    pub(super) fn extended_test(
        &mut self,
        expr: &ExtendedTestExpr,
        part: &str,
    ) -> Result<Outcome, AssertionRefusal> {
        match expr {
            ExtendedTestExpr::And(one, other) => self.nested(part, |checker| {
                checker.extended_test(one, part)?;
                checker.extended_test(other, part)
            }),
            ExtendedTestExpr::Parenthesized(inner) => {
                self.nested(part, |checker| checker.extended_test(inner, part))
            }
            ExtendedTestExpr::Or(..) => {
                Err(AssertionRefusal::beyond(part, "holds when one of two conditions holds"))
            }
            ExtendedTestExpr::Not(_) => {
                Err(AssertionRefusal::beyond(part, "holds when a condition does not"))
            }
            ExtendedTestExpr::UnaryTest(predicate, word) => {
                self.unary(unary_operator(predicate), &Operand::parse(&word.value)?, part)
            }
            ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                let comparison = Comparison::of_predicate(predicate).ok_or_else(|| {
                    AssertionRefusal::beyond(part, "compares in a way that nearly always holds")
                })?;
                let right = match comparison {
                    Comparison::Regex => regex_operand(&right.value)?,
                    _ => Operand::parse(&right.value)?,
                };
                self.binary(comparison, &Operand::parse(&left.value)?, &right, part)
            }
        }
    }

    fn unary(&mut self, operator: &str, operand: &Operand, part: &str) -> Result<Outcome, AssertionRefusal> {
        match operator {
            "-e" | "-f" | "-d" | "-s" | "-x" | "-r" | "-w" | "-L" | "-h" => self.file_test(operand, part),
            "-z" | "-n" => {
                let outcome = self.substituted(operand, part)?;
                if outcome.output != Output::Findings || outcome.runs {
                    let reason =
                        "asks only whether something is printed, which also happens when a check fails";
                    return Err(AssertionRefusal::new(part, reason, FIXED_HINT));
                }
                Ok(condition())
            }
            "!" => Err(AssertionRefusal::beyond(part, "holds when something is missing")),
            _ => Err(AssertionRefusal::beyond(part, "is not a test of a file or an output")),
        }
    }

    fn file_test(&mut self, operand: &Operand, part: &str) -> Result<Outcome, AssertionRefusal> {
        if let Some(path) = operand.home_path() {
            if path.starts_with(['.', '/']) || path.is_empty() || path.contains("..") {
                return Err(AssertionRefusal::beyond(part, "looks at something that is always there"));
            }
            return Ok(condition());
        }
        let Some(path) = operand.literal() else {
            return Err(AssertionRefusal::beyond(operand.source(), "is not a path that stands in the line"));
        };
        let path = self.work_path(&path)?;
        self.refuse_own_path(&path, part)?;
        Ok(condition())
    }

    fn binary(
        &mut self,
        comparison: Comparison,
        left: &Operand,
        right: &Operand,
        part: &str,
    ) -> Result<Outcome, AssertionRefusal> {
        if comparison == Comparison::Age {
            let (one, other) = (left.literal().unwrap_or_default(), right.literal().unwrap_or_default());
            let (one, other) = (self.work_path(&one)?, self.work_path(&other)?);
            self.refuse_own_file(&one, part)?;
            self.refuse_own_file(&other, part)?;
            return if one == other {
                Err(AssertionRefusal::beyond(part, "compares a file with itself"))
            } else {
                Ok(condition())
            };
        }
        let (comparison, printed, literal) = if right.substitution().is_some() {
            let flipped = comparison
                .flipped()
                .ok_or_else(|| AssertionRefusal::beyond(part, "matches against an output"))?;
            (flipped, right, left)
        } else {
            (comparison, left, right)
        };
        let outcome = self.substituted(printed, part)?;
        let Some(expected) = literal.text() else {
            return Err(AssertionRefusal::new(
                part,
                "compares with something that does not stand in the line",
                FIXED_HINT,
            ));
        };
        if comparison.is_numeric() {
            return refuse_number(comparison, &expected, &outcome, part).map(|()| condition());
        }
        let is_demanding = match comparison {
            Comparison::Glob if literal.has_glob() => is_demanding_glob(&expected),
            Comparison::Regex => demand(&expected, Syntax::Extended, false) == Demand::Text,
            _ => !expected.trim().is_empty(),
        };
        if !is_demanding {
            let reason = "holds for nearly every output, or for none at all";
            return Err(AssertionRefusal::new(part, reason, FIXED_HINT));
        }
        Ok(condition())
    }

    /// The output of the one substitution that an operand is.
    fn substituted(&mut self, operand: &Operand, part: &str) -> Result<Outcome, AssertionRefusal> {
        let Some((script, quoted)) = operand.substitution() else {
            return Err(AssertionRefusal::new(part, "compares only fixed texts or variables", FIXED_HINT));
        };
        // An empty word without quotes changes the meaning of `test`.
        if !quoted && !part.starts_with("[[") {
            return Err(AssertionRefusal::new(
                part,
                "holds a substitution without quotes",
                "write `\"$(…)\"`",
            ));
        }
        let program = Self::parse(script)?;
        let items: Vec<_> = program.complete_commands.iter().flat_map(|list| &list.0).collect();
        let [item] = items.as_slice() else {
            return Err(AssertionRefusal::beyond(script, "is more than one pipeline"));
        };
        if !item.0.additional.is_empty() || matches!(item.1, brush_parser::ast::SeparatorOperator::Async) {
            return Err(AssertionRefusal::beyond(script, "is more than one pipeline"));
        }
        let outcome = self.nested(script, |checker| checker.printed(&item.0.first, script))?;
        if matches!(outcome.output, Output::Literal | Output::Nothing) {
            return Err(AssertionRefusal::new(
                part,
                "looks at a text that is the same in every project",
                FIXED_HINT,
            ));
        }
        Ok(outcome)
    }
}

/// The regex behind `=~`, of which bash would expand nothing.
fn regex_operand(source: &str) -> Result<Operand, AssertionRefusal> {
    let expands = source
        .split('$')
        .skip(1)
        .any(|rest| rest.starts_with(|next: char| !matches!(next, ')' | '|' | '"' | '\'')));
    if expands || source.contains(['`', '~']) {
        return Err(AssertionRefusal::beyond(source, "is a regex that does not stand in the line"));
    }
    Ok(Operand::known(source.trim_matches(['"', '\''])))
}

fn condition() -> Outcome {
    Outcome { checks: true, ..Outcome::default() }
}

/// Refuses a comparison of numbers that holds for every count, or for the count of nothing.
fn refuse_number(
    comparison: Comparison,
    expected: &str,
    outcome: &Outcome,
    part: &str,
) -> Result<(), AssertionRefusal> {
    let Ok(number) = expected.trim().parse::<i64>() else {
        return Err(AssertionRefusal::new(part, "compares with something that is not a number", FIXED_HINT));
    };
    let is_upper = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
    let always = comparison.holds(0, number)
        && (comparison.holds(1, number) && !is_upper || is_upper && number >= MAX_BOUND);
    let is_only_unequal = comparison == Comparison::Unequal && number != 0;
    if number < 0 || always || is_only_unequal {
        return Err(AssertionRefusal::new(part, "holds for nearly every number", FIXED_HINT));
    }
    if outcome.output == Output::Facts {
        return Err(AssertionRefusal::new(part, "counts something that is always there", FIXED_HINT));
    }
    // `[[` takes an empty text for 0; `[` fails on it.
    let is_file = outcome.members == 1 && !outcome.runs && !part.starts_with("[[");
    if comparison.holds(0, number) && outcome.output != Output::Findings && !is_file {
        let reason = "also holds when the command prints nothing";
        return Err(AssertionRefusal::new(part, reason, FIXED_HINT));
    }
    Ok(())
}

fn unary_operator(predicate: &UnaryPredicate) -> &'static str {
    match predicate {
        UnaryPredicate::FileExists => "-e",
        UnaryPredicate::FileExistsAndIsRegularFile => "-f",
        UnaryPredicate::FileExistsAndIsDir => "-d",
        UnaryPredicate::FileExistsAndIsNotZeroLength => "-s",
        UnaryPredicate::FileExistsAndIsExecutable => "-x",
        UnaryPredicate::FileExistsAndIsReadable => "-r",
        UnaryPredicate::FileExistsAndIsWritable => "-w",
        UnaryPredicate::FileExistsAndIsSymlink => "-L",
        UnaryPredicate::StringHasZeroLength => "-z",
        UnaryPredicate::StringHasNonZeroLength => "-n",
        _ => "",
    }
}
