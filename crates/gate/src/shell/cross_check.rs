//! A second opinion on which commands a line holds, from a parser of a different origin.

use super::doubt::Doubt;
use super::parse_cache::ParseCache;
use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, Pipeline, Program,
};
use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Point, Tree};

/// Commands that one of the parsers has a form of its own for.
const SPECIAL: [&str; 9] =
    ["[", "test", "export", "declare", "typeset", "local", "readonly", "unset", "unsetenv"];

thread_local! {
    static READER: RefCell<Option<Reader>> = RefCell::new(Reader::new());
}

/// The second parser, and the names of commands that it saw: of a text, and of each substitution inside it.
struct Reader {
    parser: Parser,
    kinds: Kinds,
    seen: ParseCache<Option<Vec<String>>>,
}

/// Numbers of the kinds of nodes that matter.
#[derive(Clone, Copy)]
struct Kinds {
    command: u16,
    substitution: u16,
    process: u16,
}

impl Reader {
    fn new() -> Option<Self> {
        let mut parser = Parser::new();
        let language = tree_sitter_bash::LANGUAGE.into();
        parser.set_language(&language).ok()?;
        let kind = |name: &str| Some(language.id_for_node_kind(name, true)).filter(|id| *id != 0);
        let kinds = Kinds {
            command: kind("command")?,
            substitution: kind("command_substitution")?,
            process: kind("process_substitution")?,
        };
        Some(Reader { parser, kinds, seen: ParseCache::new() })
    }

    /// The names that it sees in a text, sorted; none when it does not understand it.
    fn names(&mut self, line: &str) -> Option<Vec<String>> {
        if let Some(known) = self.seen.get(line) {
            return known.clone();
        }
        let names = match parsed(&mut self.parser, line) {
            Some(tree) if !tree.root_node().has_error() => Some(self.collect(&tree, line)),
            _ => None,
        };
        self.seen.keep(line, names.clone());
        names
    }

    /// Command names of the tree outside of substitutions. Those inside of one are kept, for its text is read next.
    fn collect(&mut self, tree: &Tree, line: &str) -> Vec<String> {
        let mut cursor = tree.walk();
        let mut names = Vec::new();
        // The substitutions that the walk is in, each with the names that were found around it.
        let mut around: Vec<(usize, Vec<String>)> = Vec::new();
        loop {
            let node = cursor.node();
            let kind = node.kind_id();
            if kind == self.kinds.command {
                names.extend(name(node, line));
            } else if kind == self.kinds.substitution || kind == self.kinds.process {
                around.push((node.id(), std::mem::take(&mut names)));
            }
            if cursor.goto_first_child() {
                continue;
            }
            loop {
                let node = cursor.node();
                if around.last().is_some_and(|(id, _)| *id == node.id())
                    && let Some((_, outer)) = around.pop()
                {
                    let inner = std::mem::replace(&mut names, outer);
                    if let Some(text) = inside(node, line) {
                        self.seen.keep(text, Some(inner));
                    }
                }
                if cursor.goto_next_sibling() {
                    break;
                }
                if !cursor.goto_parent() {
                    return names;
                }
            }
        }
    }
}

/// Texts with what the first parser made of them, which the second has not read yet. It is the slower one, and a line that is
/// refused by what the first one saw is refused whatever the second sees.
#[derive(Debug, Clone, Default)]
pub(super) struct CrossCheckQueue(Vec<(Box<str>, Rc<Program>)>);

impl CrossCheckQueue {
    /// Keeps a text for later.
    pub(super) fn keep(&mut self, text: &str, program: &Rc<Program>) {
        self.0.push((text.into(), program.clone()));
    }

    /// Reads all of them, outer ones first, and adds the doubt that follows from what was seen.
    pub(super) fn read(&mut self, doubts: &mut Vec<Doubt>) {
        let all = std::mem::take(&mut self.0);
        if doubts.contains(&Doubt::ParsersDisagree) {
            return;
        }
        if all.iter().any(|(text, program)| !agrees(text, program)) {
            doubts.insert(0, Doubt::ParsersDisagree);
        }
    }
}

/// Empties the cache.
pub(super) fn forget() {
    READER.with_borrow_mut(|reader| {
        if let Some(reader) = reader {
            reader.seen.forget();
        }
    });
}

/// Does the second parser see the same commands? Errors are no. A line that is plain needs no whole grammar to be read.
pub(super) fn agrees(line: &str, program: &Program) -> bool {
    let mut ours = Vec::new();
    for list in &program.complete_commands {
        names(list, &mut ours, 0);
    }
    if super::simple_line::names(line).is_some_and(|seen| seen == ours) {
        return true;
    }
    // Its scanner looks letters up in a table that has no place for those of other alphabets.
    let letters = ascii(line);
    let Some(mut seen) = READER.with_borrow_mut(|reader| reader.as_mut()?.names(&letters)) else {
        return false;
    };
    if !line.is_ascii() {
        ours.iter_mut().for_each(|name| *name = ascii(name).into_owned());
    }
    ours.retain(|name| !SPECIAL.contains(&name.as_str()));
    seen.retain(|name| !SPECIAL.contains(&name.as_str()));
    ours.sort_unstable();
    seen.sort_unstable();
    ours == seen
}

/// The text with one letter of ours for each of another alphabet.
fn ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(|char| if char.is_ascii() { char } else { 'u' }).collect())
}

/// The tree, unless it takes more work than any line of that length should.
fn parsed(reader: &mut Parser, line: &str) -> Option<Tree> {
    let most = 64 + line.len() / 8;
    let mut rounds = 0;
    let mut goes_on_too_long = |state: &ParseState| {
        rounds += 1;
        // A text with an error is not understood, so that fixing it is of no use.
        rounds > most || state.has_error()
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

/// The text of a substitution, without its brackets.
fn inside<'l>(substitution: Node<'_>, line: &'l str) -> Option<&'l str> {
    let last = substitution.child_count().checked_sub(1)?;
    let (open, close) = (substitution.child(0)?, substitution.child(last)?);
    (open.id() != close.id()).then(|| line.get(open.end_byte()..close.start_byte()))?
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
    if depth > super::limits::MAX_SCRIPT_DEPTH {
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
    if depth > super::limits::MAX_SCRIPT_DEPTH {
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
