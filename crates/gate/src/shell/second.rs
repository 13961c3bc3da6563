//! A second opinion on which commands a line holds, from a reader of different make.

use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, Pipeline, Program,
};
use std::cell::RefCell;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

/// Commands that one of the readers has a form of its own for.
const SPECIAL: [&str; 9] =
    ["[", "test", "export", "declare", "typeset", "local", "readonly", "unset", "unsetenv"];

thread_local! {
    static READER: RefCell<Option<Parser>> = RefCell::new(reader());
}

fn reader() -> Option<Parser> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    Some(parser)
}

/// Does the second reader see the same commands? Errors are no.
pub(super) fn agrees(line: &str, program: &Program) -> bool {
    // Its scanner looks letters up in a table that has no place for those of other alphabets.
    let plain = plain(line);
    let line = plain.as_str();
    let Some(tree) = READER.with_borrow_mut(|reader| parsed(reader.as_mut()?, line)) else { return false };
    if tree.root_node().has_error() {
        return false;
    }
    let mut seen = Vec::new();
    collect(&tree, line, &mut seen);
    let mut ours = Vec::new();
    for list in &program.complete_commands {
        names(list, &mut ours, 0);
    }
    ours.iter_mut().for_each(|name| *name = self::plain(name));
    ours.retain(|name| !SPECIAL.contains(&name.as_str()));
    seen.retain(|name| !SPECIAL.contains(&name.as_str()));
    ours.sort_unstable();
    seen.sort_unstable();
    ours == seen
}

/// The text with one plain letter for each that is not.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_ascii() { char } else { 'u' }).collect()
}

/// The tree, unless it takes more work than any line of that length should.
fn parsed(reader: &mut Parser, line: &str) -> Option<Tree> {
    let most = 64 + line.len() / 8;
    let mut rounds = 0;
    let mut goes_on_too_long = |_: &ParseState| {
        rounds += 1;
        rounds > most
    };
    let options = ParseOptions::new().progress_callback(&mut goes_on_too_long);
    let bytes = line.as_bytes();
    let mut text = |at: usize, _: Point| bytes.get(at..).unwrap_or_default();
    let tree = reader.parse_with_options(&mut text, None, Some(options));
    if tree.is_none() {
        reader.reset();
    }
    tree
}

/// Command names of the tree, outside of substitutions.
fn collect(tree: &Tree, line: &str, names: &mut Vec<String>) {
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let inside = matches!(
            node.kind(),
            "command_substitution"
                | "process_substitution"
                | "heredoc_body"
                | "string"
                | "expansion"
                | "arithmetic_expansion"
        );
        if node.kind() == "command" {
            names.extend(name(node, line));
        }
        if !inside && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

fn name(command: Node<'_>, line: &str) -> Option<String> {
    let name = command.child_by_field_name("name")?;
    let text = name.utf8_text(line.as_bytes()).ok()?;
    if text != "time" {
        return Some(text.to_string());
    }
    // `time` belongs to the shell, and what it times is the command.
    let mut cursor = command.walk();
    let mut arguments = command.children_by_field_name("argument", &mut cursor);
    let first =
        arguments.find_map(|node| node.utf8_text(line.as_bytes()).ok().filter(|text| !text.starts_with('-')));
    first.map(str::to_string)
}

fn names(list: &CompoundList, found: &mut Vec<String>, depth: usize) {
    if depth > super::DEEPEST {
        return;
    }
    for item in &list.0 {
        pipeline(&item.0.first, found, depth);
        for next in &item.0.additional {
            let (AndOr::And(next) | AndOr::Or(next)) = next;
            pipeline(next, found, depth);
        }
    }
}

fn pipeline(pipeline: &Pipeline, found: &mut Vec<String>, depth: usize) {
    pipeline.seq.iter().for_each(|command| one(command, found, depth));
}

fn one(command: &Command, found: &mut Vec<String>, depth: usize) {
    match command {
        Command::Simple(simple) => {
            let prefix = simple.prefix.iter().flat_map(|prefix| &prefix.0);
            let first = prefix.clone().find_map(|item| match item {
                Item::Word(word) => Some(word.value.clone()),
                _ => None,
            });
            found.extend(first.or_else(|| simple.word_or_name.as_ref().map(|word| word.value.clone())));
        }
        Command::Function(function) => compound(&function.body.0, found, depth + 1),
        Command::Compound(inner, _) => compound(inner, found, depth + 1),
        Command::ExtendedTest(..) => {}
    }
}

fn compound(command: &CompoundCommand, found: &mut Vec<String>, depth: usize) {
    if depth > super::DEEPEST {
        return;
    }
    match command {
        CompoundCommand::BraceGroup(group) => names(&group.list, found, depth),
        CompoundCommand::Subshell(group) => names(&group.list, found, depth),
        CompoundCommand::ForClause(clause) => names(&clause.body.list, found, depth),
        CompoundCommand::ArithmeticForClause(clause) => names(&clause.body.list, found, depth),
        CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
            names(&clause.0, found, depth);
            names(&clause.1.list, found, depth);
        }
        CompoundCommand::IfClause(clause) => {
            names(&clause.condition, found, depth);
            names(&clause.then, found, depth);
            for other in clause.elses.iter().flatten() {
                other.condition.iter().for_each(|condition| names(condition, found, depth));
                names(&other.body, found, depth);
            }
        }
        CompoundCommand::CaseClause(clause) => {
            clause
                .cases
                .iter()
                .filter_map(|case| case.cmd.as_ref())
                .for_each(|body| names(body, found, depth));
        }
        CompoundCommand::Coprocess(process) => one(&process.body, found, depth),
        CompoundCommand::Arithmetic(_) => {}
    }
}
