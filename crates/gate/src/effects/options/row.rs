//! An option row of a program, as a file of `data/programs` writes it. The build script reads it too.

use std::collections::BTreeMap;

/// The options of one program, or of one of its subcommands, by effect.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct OptionRow {
    /// Names of the program, or phrases of the subcommand separated by commas.
    pub(super) names: String,
    /// Another program of the table whose options this one has too.
    pub(super) like: String,
    /// `gnu` (default): clusters and `--long`; `single`: whole words behind one or two dashes; `text`: no options.
    pub(super) grammar: String,
    /// What operands mean where the class of `facts.toml` does not say it: `none` or `plus`.
    pub(super) rest: String,
    /// `-5` is an option.
    pub(super) numeric: bool,
    /// `@FILE` stands for more arguments.
    pub(super) response: bool,
    /// The first word may be a cluster without a dash: `tar xf`.
    pub(super) bundled: bool,
    /// `--no-X` is known where `--X` is harmless.
    pub(super) negates: bool,
    /// Options are read only before the first operand.
    pub(super) leading: bool,
    /// After so many operands behind the subcommand all words belong to a script or program that it starts.
    pub(super) passes: Option<u8>,
    /// Which options take a value is known from the manual only: a value that looks like an option is read as one too.
    pub(super) loose: bool,
    /// Long options have no abbreviations; where this is not said, unique beginnings are read as `getopt_long` does.
    pub(super) unabbreviated: bool,
    /// The words behind `--` are options of this program.
    pub(super) behind: String,
    /// Harmless, without a value.
    pub(super) flags: String,
    /// Harmless, with a value.
    pub(super) values: String,
    /// Harmless, with a value only when it is attached.
    pub(super) optional: String,
    /// The value is a file that is read.
    pub(super) reads: String,
    /// The value is a file or directory that is written.
    pub(super) writes: String,
    /// The value is a list `KIND=FILE,…`, whose files are written.
    pub(super) writes_each: String,
    /// The value is a directory that is emptied or deleted.
    pub(super) deletes: String,
    /// The value is a file, directory or module from which the program takes code or configuration.
    pub(super) loads: String,
    /// The value is a command or a program.
    pub(super) runs: String,
    /// The value is an address that is talked to.
    pub(super) sends: String,
    /// A person is asked.
    pub(super) asks: String,
    /// A person is asked, and the next word is the option's value.
    pub(super) asks_value: String,
    /// Options whose value is harmless only when it matches one of these patterns.
    pub(super) only: BTreeMap<String, String>,
    /// Options whose value is a directory that is emptied, unless it matches one of these patterns: the usual output.
    pub(super) empties: BTreeMap<String, String>,
    /// Options whose value holds options of another program of the table.
    pub(super) inner: BTreeMap<String, String>,
    /// Lines that are allowed, and lines that are not. A test judges them.
    pub(super) allow: Vec<String>,
    /// Lines that are asked about or denied.
    pub(super) ask: Vec<String>,
    /// Subcommands.
    pub(super) sub: Vec<OptionRow>,
}
