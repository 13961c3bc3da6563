//! The words and phrases by which sentences are classified.

/// What stands before the sentence proper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Opening {
    #[default]
    Nothing,
    Yes,
    End,
}

/// Phrases that open a sentence and say little, longest first.
pub(super) const OPENINGS: [(&str, Opening); 63] = [
    ("thank you very much", Opening::End),
    ("thank you so much", Opening::End),
    ("looks good to me", Opening::End),
    ("thanks a lot", Opening::End),
    ("looks good", Opening::End),
    ("looks great", Opening::End),
    ("looking good", Opening::End),
    ("good job", Opening::End),
    ("great job", Opening::End),
    ("nice job", Opening::End),
    ("good work", Opening::End),
    ("great work", Opening::End),
    ("nice work", Opening::End),
    ("well done", Opening::End),
    ("ship it", Opening::End),
    ("thank you", Opening::End),
    ("all good", Opening::End),
    ("thats it", Opening::End),
    ("thats all", Opening::End),
    ("thanks", Opening::End),
    ("thx", Opening::End),
    ("perfect", Opening::End),
    ("lgtm", Opening::End),
    ("awesome", Opening::End),
    ("excellent", Opening::End),
    ("great", Opening::End),
    ("done", Opening::End),
    ("nice", Opening::End),
    ("sounds good", Opening::Yes),
    ("sounds great", Opening::Yes),
    ("go ahead", Opening::Yes),
    ("go for it", Opening::Yes),
    ("please do", Opening::Yes),
    ("do it", Opening::Yes),
    ("thats right", Opening::Yes),
    ("thats correct", Opening::Yes),
    ("yes", Opening::Yes),
    ("yeah", Opening::Yes),
    ("yep", Opening::Yes),
    ("yup", Opening::Yes),
    ("correct", Opening::Yes),
    ("right", Opening::Yes),
    ("exactly", Opening::Yes),
    ("agreed", Opening::Yes),
    ("sure", Opening::Yes),
    ("okay", Opening::Yes),
    ("ok", Opening::Yes),
    ("hold on", Opening::Nothing),
    ("good", Opening::Nothing),
    ("cool", Opening::Nothing),
    ("alright", Opening::Nothing),
    ("hmm", Opening::Nothing),
    ("well", Opening::Nothing),
    ("oh", Opening::Nothing),
    ("ah", Opening::Nothing),
    ("wait", Opening::Nothing),
    ("sorry", Opening::Nothing),
    ("hey", Opening::Nothing),
    ("hi", Opening::Nothing),
    ("hello", Opening::Nothing),
    ("claude", Opening::Nothing),
    ("codex", Opening::Nothing),
    ("marvin", Opening::Nothing),
];
/// Words that join; they open nothing by themselves.
pub(super) const JOINTS: [&str; 12] =
    ["but", "and", "so", "also", "then", "now", "next", "please", "pls", "just", "however", "again"];
/// Openings that need a pause after them, since they are also ordinary words.
pub(super) const NEED_PAUSE: [&str; 10] =
    ["right", "correct", "good", "well", "done", "great", "sure", "nice", "do it", "please do"];

/// Verbs that ask for work.
pub(super) const TASKS: [&str; 62] = [
    "add",
    "analyze",
    "apply",
    "bump",
    "build",
    "change",
    "check",
    "clean",
    "commit",
    "compare",
    "continue",
    "convert",
    "create",
    "debug",
    "delete",
    "deploy",
    "describe",
    "design",
    "document",
    "draft",
    "explain",
    "explore",
    "extend",
    "extract",
    "figure",
    "find",
    "finish",
    "fix",
    "format",
    "generate",
    "give",
    "handle",
    "implement",
    "improve",
    "inline",
    "install",
    "investigate",
    "list",
    "look",
    "make",
    "merge",
    "migrate",
    "move",
    "open",
    "optimize",
    "refactor",
    "remove",
    "rename",
    "replace",
    "review",
    "rewrite",
    "run",
    "search",
    "set",
    "show",
    "split",
    "start",
    "summarize",
    "test",
    "tidy",
    "update",
    "write",
];
/// Verbs that, with "instead" or "rather than", say how it should have been.
pub(super) const IMPERATIVES: [&str; 22] = [
    "use", "do", "try", "put", "make", "call", "keep", "write", "prefer", "import", "run", "return", "name",
    "place", "pass", "store", "go", "change", "move", "replace", "log", "throw",
];
/// Verbs of rules: "we always use", "and never commit".
pub(super) const RULED: [&str; 30] = [
    "use", "run", "write", "put", "commit", "push", "add", "prefer", "call", "check", "test", "import",
    "keep", "format", "lint", "include", "handle", "return", "name", "mock", "want", "do", "ask", "create",
    "edit", "avoid", "validate", "document", "log", "squash",
];

/// Words after "no" that make it harmless.
#[rustfmt::skip]
pub(super) const HARMLESS_NO: &[&str] = &[
    "problem", "problems", "worries", "worry", "thanks", "thank", "rush", "hurry", "need", "idea", "luck", "clue", "doubt",
    "comment", "matter", "one", "way", "longer", "more", "difference", "output", "response", "changes", "errors", "error",
    "issues", "issue", "questions", "further", "reason", "such", "matching",
];
/// Words that state how things are.
#[rustfmt::skip]
pub(super) const STATES: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "needed", "yet", "found", "now", "anymore", "left", "fails", "failing",
    "works", "happens", "appears", "shows", "exists", "so", "far", "matches", "shown",
];
/// What takes back, or refuses.
#[rustfmt::skip]
pub(super) const UNDOES: &[&str] = &[
    "revert that", "revert this", "revert it", "revert your", "undo that", "undo this", "undo it", "undo your",
    "i dont want", "i dont like", "i didnt ask", "i did not ask", "we dont want", "i dont think thats", "i dont think that is",
    "i dont think this is right", "id rather", "id prefer", "i would rather", "i would prefer",
];
/// What says that something is not as it should be.
#[rustfmt::skip]
pub(super) const BLAMES: &[&str] = &[
    "you forgot", "you missed", "you broke", "you ignored", "you deleted", "you removed the", "you should have",
    "you should use", "you still", "you keep", "you were supposed", "you used the wrong", "you didnt", "you did not",
    "youre missing", "youre ignoring", "youre repeating", "youre editing the generated",
    "i said", "i told you", "i already said", "i already told", "i asked for", "i asked you", "i meant", "i wanted",
    "as i said", "it should be", "it should have been", "that should be", "this should be", "this should have",
    "we already have", "there is already", "theres already", "too much", "too many", "too complicated", "too complex",
    "too verbose", "too long", "way too", "keep it simple", "keep it short", "keep it small", "do it like", "do it the",
    "thats wrong", "thats incorrect", "its wrong", "this isnt how", "thats too", "this is too", "you cant", "you cannot", "you added",
    "youre using the old", "no need for", "no need to add", "no need to use", "no need to create", "there is no need for",
];
/// After "the", "this", "your" ….
#[rustfmt::skip]
pub(super) const WRONG: &[&str] = &[
    "is wrong", "is incorrect", "looks wrong", "are wrong", "was wrong", "seems wrong", "is misleading", "is unnecessary",
    "is redundant", "is overkill", "is not needed here", "belongs into", "belongs in", "is too complicated", "is too verbose",
];
/// What begins a rule.
#[rustfmt::skip]
pub(super) const DIRECTS: &[&str] = &[
    "make sure", "be sure to", "dont forget", "do not forget", "as a rule", "every time", "whenever you", "prefer", "ensure",
    "avoid", "i prefer", "keep in mind", "we use", "we prefer", "we dont use", "we do not use", "in this project", "in this repo", "in this codebase",
    "this project uses", "this repo uses", "our convention", "the convention here",
];
/// Things of ours that an agent can get wrong.
#[rustfmt::skip]
pub(super) const OURS: &[&str] = &[
    "file", "files", "place", "way", "approach", "direction", "branch", "function", "one", "folder", "name", "path", "package",
    "version", "order", "line", "class", "method", "variable", "test", "module", "table", "column", "repo", "component",
];
/// What says that all is well after "actually".
#[rustfmt::skip]
pub(super) const FINE: &[&str] = &[
    "never mind", "nevermind", "fine", "good", "great", "nice", "perfect", "works", "yes", "lets leave", "looks ok",
];
