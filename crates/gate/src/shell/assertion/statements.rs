//! Statements of inline code, as far as it matters whether they can fail.
//!
//! A comparison proves something where its outcome ends the program: in `assert`, or before `|| process.exit(1)`. As a bare
//! expression, printed, or as the code of an exit, which is 1 for true, it does not. The texts of the code are blank here.

use super::regexes::compile;

/// What a statement does with the comparison in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparing {
    /// There is none, or it decides whether the program fails.
    Decides,
    /// It is printed and decides nothing.
    Shown,
    /// It decides nothing, or the wrong way.
    Lost,
}

/// The parts of a text between separators outside of brackets.
fn split(code: &str, separators: &[char]) -> Vec<String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for char in code.chars() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && separators.contains(&char) {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(char);
        }
    }
    parts.into_iter().map(|part| part.trim().to_string()).collect()
}

/// The statements of code whose texts are blank.
pub(super) fn statements(blank: &str) -> Vec<String> {
    let mut parts = split(blank, &[';', '\n']);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The inside of brackets that are the whole expression.
fn inside(expression: &str, open: char, close: char) -> Option<&str> {
    let inner = expression.strip_prefix(open)?.strip_suffix(close)?;
    let mut depth = 0_i32;
    let is_whole = inner.chars().all(|char| {
        depth += match char {
            '(' | '[' | '{' => 1,
            ')' | ']' | '}' => -1,
            _ => 0,
        };
        depth >= 0
    });
    is_whole.then_some(inner)
}

fn is_match(pattern: &str, text: &str) -> bool {
    compile(pattern).is_some_and(|regex| regex.is_match(text))
}

/// Comparisons of Python, and of Node.js.
const PYTHON_COMPARISON: &str = r"==|!=|<|>|\bin\b|\bis\b";
const NODE_COMPARISON: &str = r"==|!=|<|(?:^|[^=])>";
/// A number or a text of Python alone, or one of its constants.
const CONSTANT: &str = r#"^(?:[-+]?[\d._]+|[rbuf]{0,2}(?:"[^"]*"|'[^']*')|None|True|False)$"#;

/// What a statement of Python does with its comparison.
pub(super) fn python(statement: &str) -> Comparing {
    if let Some(asserted) = keyword(statement, "assert") {
        let condition = split(&asserted, &[',']).into_iter().next().unwrap_or_default();
        return if can_fail(&condition) { Comparing::Decides } else { Comparing::Lost };
    }
    if !is_match(PYTHON_COMPARISON, &without_arguments(statement)) {
        return Comparing::Decides;
    }
    if is_match(r"^\w+(?:\.\w+)*\s*[-+*/]?=[^=]", statement) {
        return Comparing::Decides;
    }
    if is_match(r"^print\s*\(", statement) {
        return Comparing::Shown;
    }
    // A difference ends the program with 1, equality with 0.
    let is_exit = is_match(r"^(?:sys\.)?exit\s*\(", statement);
    let is_difference = statement.matches("!=").count() == 1 && !is_match(r"==|<|>|\bin\b|\bis\b", statement);
    if is_exit && is_difference { Comparing::Decides } else { Comparing::Lost }
}

fn keyword(statement: &str, word: &str) -> Option<String> {
    let rest = statement.strip_prefix(word)?;
    rest.starts_with(|next: char| !next.is_alphanumeric() && next != '_' && next != '.')
        .then(|| rest.trim().to_string())
}

/// The statement, without what stands in calls inside of an expression; the arguments of the outer call stay.
fn without_arguments(statement: &str) -> String {
    let is_outer = is_match(r"^(?:print|(?:sys\.)?exit)\s*\(", statement);
    let kept = if is_outer { 1 } else { 0 };
    let mut depth = 0_usize;
    let mut text = String::new();
    for char in statement.chars() {
        match char {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            char if depth <= kept => text.push(char),
            _ => {}
        }
    }
    text
}

/// Whether an asserted condition can be false.
fn can_fail(condition: &str) -> bool {
    if let Some(inner) = inside(condition, '(', ')') {
        // A tuple is true, whatever is in it.
        return split(inner, &[',']).len() == 1 && !inner.trim().is_empty() && can_fail(inner.trim());
    }
    if inside(condition, '[', ']').or(inside(condition, '{', '}')).is_some() {
        return false;
    }
    let is_constant = |text: &str| is_match(CONSTANT, text);
    if is_constant(condition) {
        // `assert False` is a mark that this line is not reached.
        return ["False", "None", "0"].contains(&condition);
    }
    let Some(regex) = compile(r"\bin\b|==") else { return false };
    let Some(operator) = regex.find(condition) else { return true };
    let left = condition.get(..operator.start()).unwrap_or_default().trim();
    let right = condition.get(operator.end()..).unwrap_or_default().trim();
    if left == right {
        return false;
    }
    let list =
        [('(', ')'), ('[', ']'), ('{', '}')].iter().find_map(|(open, close)| inside(right, *open, *close));
    let has_constant =
        || list.is_some_and(|list| split(list, &[',', ':']).iter().any(|one| is_constant(one)));
    !(operator.as_str() == "in" && is_constant(left) && has_constant())
}

/// What a statement of JavaScript does with its comparison.
pub(super) fn node(statement: &str, prints: bool) -> Comparing {
    if !is_match(NODE_COMPARISON, statement) {
        return Comparing::Decides;
    }
    let is_deciding = is_match(r"^(?:assert[\w.]*\s*\(|(?:const|let|var)\s)", statement)
        || is_match(r"^require\(['\x22]fs['\x22]\)\.\w+\([^=<>]*$", statement)
        || is_match(r"^[\w.]*assert[\w.]*\s*\(", statement)
        || is_match(r"\|\|\s*process\.exit\(\s*[1-9]\d*\s*\)$", statement);
    if is_deciding {
        return Comparing::Decides;
    }
    if prints || is_match(r"^console\.log\s*\(", statement) { Comparing::Shown } else { Comparing::Lost }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_that_decide_nothing_are_told() {
        for lost in [
            "assert (calc.add(2,3)==5, \"\")",
            "assert ((calc.add(2,3)==5,))",
            "assert [calc.add(2,3)==5]",
            "assert {calc.add(2,3)}",
            "assert \"\"",
            "assert 5 in (calc.add(2,3), 5)",
            "assert calc.add(2,3) == calc.add(2,3)",
            "assert()",
            "calc.add(2, 3) == 5",
            "sys.exit(calc.add(2,3)==5)",
            "exit(calc.add(2,3) is 5)",
            "sys.exit(calc.add(2,3)!=5==1)",
        ] {
            assert_eq!(python(lost), Comparing::Lost, "{lost}");
        }
        for decides in [
            "assert calc.add(2,3) == 5",
            "assert(calc.add(2,3) == 5)",
            "assert (calc.add(2,3)) == (5)",
            "assert calc.add(2,3) == 5, \"\"",
            "assert calc.pair() == (2, 3)",
            "assert calc.add(2,3) in (5, 6)",
            "assert \"r\" in calc.text()",
            "assert calc.is_ok(a=[1, 2])",
            "x = calc.add(2,3) == 5",
            "sys.exit(calc.main())",
            "sys.exit(calc.add(2,3) != 5)",
            "calc.check(lambda_=1 == 2)",
            "import calc",
        ] {
            assert_eq!(python(decides), Comparing::Decides, "{decides}");
        }
        assert_eq!(python("print(calc.add(2,3) == 5)"), Comparing::Shown);
        assert_eq!(node("require('p').add(2,3)===5", true), Comparing::Shown);
        assert_eq!(node("require('p').add(2,3)===5", false), Comparing::Lost);
        assert_eq!(node("process.exit(require('p').add(2,3)===5)", false), Comparing::Lost);
        for decides in [
            "require('p').add(2,3)===5 || process.exit(1)",
            "assert(require('p').add(2,3)===5)",
            "require('').strict.equal(1, 1)",
            "const five = require('p').add(2,3) === 5",
        ] {
            assert_eq!(node(decides, false), Comparing::Decides, "{decides}");
        }
    }

    #[test]
    fn statements_end_outside_of_brackets() {
        assert_eq!(statements("import a; f(1;\n2)\n\nb"), ["import a", "f(1;\n2)", "b"]);
    }
}
