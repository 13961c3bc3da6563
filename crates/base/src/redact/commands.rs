//! Passwords among the words of programs: `mysql -pX`, `curl -u bob:X`, `echo X | sudo -S`.
//!
//! Which letter means a password depends on the program, so the words of a line are read one by one: a program that takes
//! passwords, then its flags. That costs next to nothing for lines without such a program, and nothing to get ready.
//!
//! Limits: a line is not parsed as shell. A variable (`-p "$PASS"`) or a path does not count as a secret.

use super::span::{Evidence, Span};
use super::values;
use memchr::memmem::Finder;
use std::ops::Range;
use std::sync::LazyLock;

/// How a program takes a password.
struct Habit {
    programs: &'static [&'static str],
    /// A word that must come before the flag: `docker login`.
    verb: &'static str,
    flags: &'static [&'static str],
    form: Form,
}

/// Position of the password.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Behind the flag or next to it: `-p X`, `-pX`.
    Either,
    /// Only behind it: `openssl -key FILE` is something else.
    Behind,
    /// Only next to it: `mysql -p NAME` asks for the password and opens a database.
    Attached,
    /// Behind a user's name: `-u bob:X`, `-ubob:X`; the flag may end a cluster: `-su`.
    AfterUser,
    /// The first word that is not a flag: `vault login X`.
    Operand,
    /// On standard input: what was printed into it is the password.
    Input,
}

const HABITS: [Habit; 15] = [
    Habit { programs: &["mysql*", "mariadb*"], verb: "", flags: &["-p"], form: Form::Attached },
    Habit { programs: &["7z", "7za", "7zr", "7zz", "rar"], verb: "", flags: &["-p"], form: Form::Attached },
    Habit {
        programs: &["sshpass", "mongo*", "cqlsh", "rabbitmqadmin"],
        verb: "",
        flags: &["-p"],
        form: Form::Either,
    },
    Habit {
        programs: &["docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "az", "oc"],
        verb: "login",
        flags: &["-p"],
        form: Form::Either,
    },
    Habit { programs: &["redis-cli"], verb: "", flags: &["-a"], form: Form::Either },
    Habit { programs: &["ldap*"], verb: "", flags: &["-w"], form: Form::Either },
    Habit { programs: &["zip", "unzip", "sqlcmd", "bcp"], verb: "", flags: &["-P"], form: Form::Either },
    Habit { programs: &["plink", "pscp", "psftp"], verb: "", flags: &["-pw"], form: Form::Behind },
    Habit { programs: &["openssl"], verb: "", flags: &["-k", "-K"], form: Form::Behind },
    Habit {
        programs: &["curl"],
        verb: "",
        flags: &["-u", "-U", "--user", "--proxy-user"],
        form: Form::AfterUser,
    },
    Habit {
        programs: &["http", "https", "xh", "xhs"],
        verb: "",
        flags: &["-a", "--auth"],
        form: Form::AfterUser,
    },
    Habit { programs: &["smb*"], verb: "", flags: &["-U", "--user"], form: Form::AfterUser },
    Habit { programs: &["vault"], verb: "login", flags: &[], form: Form::Operand },
    Habit { programs: &["sudo"], verb: "", flags: &["-S", "--stdin"], form: Form::Input },
    Habit {
        programs: &["docker", "podman", "helm", "gpg", "gpg2", "gh", "glab", "passwd", "cryptsetup"],
        verb: "",
        flags: &["--password-stdin", "--passphrase-fd", "--with-token", "--stdin", "--key-file=-"],
        form: Form::Input,
    },
];

impl Habit {
    fn is_of(&self, name: &str) -> bool {
        self.programs.iter().any(|program| match program.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => name == *program,
        })
    }
}

/// Words of a line with where they begin.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    line.as_bytes().split(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).filter_map(move |word| {
        let start = at;
        at += word.len() + 1;
        line.get(start..start + word.len()).filter(|word| !word.is_empty()).map(|word| (start, word))
    })
}

/// The name that a word ends in, behind quotes, brackets and directories, and where it begins.
fn name(word: &str) -> (usize, &str) {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let start = word.len() - word.bytes().rev().take_while(plain).count();
    (start, word.get(start..).unwrap_or_default())
}

fn prints(name: &str) -> bool {
    matches!(name, "echo" | "printf")
}

/// Does this name a program that takes a password among its words, or prints it for one that does? Asked of every word:
/// the programs of [`HABITS`] once more, as one comparison.
#[rustfmt::skip]
fn is_program(name: &str) -> bool {
    matches!(
        name,
        "echo" | "printf" | "config" | "configure" | "7z" | "7za" | "7zr" | "7zz" | "rar" | "sshpass" | "cqlsh"
            | "rabbitmqadmin" | "docker" | "podman" | "nerdctl" | "buildah" | "skopeo" | "helm" | "oras" | "az" | "oc"
            | "redis-cli" | "zip" | "unzip" | "sqlcmd" | "bcp" | "plink" | "pscp" | "psftp" | "openssl" | "curl"
            | "http" | "https" | "xh" | "xhs" | "vault" | "sudo" | "gpg" | "gpg2" | "gh" | "glab" | "passwd" | "cryptsetup"
    ) || name.as_bytes().first().is_some_and(|first| matches!(first, b'm' | b'l' | b's'))
        && ["mysql", "mariadb", "mongo", "ldap", "smb"].iter().any(|start| name.starts_with(start))
}

/// Start of the first command of a line that may hold a password among its words.
pub(super) fn start(line: &str) -> Option<usize> {
    words(line).find_map(|(at, word)| {
        let (behind, name) = name(word);
        is_program(name).then_some(at + behind)
    })
}

/// Verbs one of which stands before a password that has no flag. Made once: every text is searched for them.
static VERBS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| [" set ", " login "].map(Finder::new));
/// A flag of `openssl` for a password, whatever the program in front of it.
const PASS_FLAG: &str = " -pass";

/// Adds a span for every password among the words of programs. Before each of them a flag or a verb stands on its line, so
/// only lines with one are read word by word.
pub(super) fn find(text: &str, spans: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let is_flag = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        before.is_some_and(|byte| matches!(byte, b' ' | b'\t'))
    };
    let flags = memchr::memchr_iter(b'-', bytes).filter(is_flag);
    let verbs = VERBS.iter().flat_map(|verb| verb.find_iter(bytes));
    let mut marks: Vec<usize> = flags.chain(verbs).collect();
    marks.sort_unstable();
    let mut done = 0;
    for mark in marks {
        if mark < done {
            continue;
        }
        let (head, rest) = bytes.split_at(mark);
        let start = memchr::memrchr(b'\n', head).map_or(0, |line_end| line_end + 1);
        done = memchr::memchr(b'\n', rest).map_or(bytes.len(), |line_end| mark + line_end + 1);
        let line = text.get(start..done).unwrap_or_default();
        for found in passwords(line) {
            let value = line.get(found.clone()).unwrap_or_default().trim_matches(['"', '\'', '\\']);
            let evidence = if values::is_generated(value) { Evidence::Generated } else { Evidence::Named };
            let range = start + found.start..start + found.end;
            spans.push(Span { range, kind: "password".into(), evidence });
        }
    }
}

/// State of the scan of a line.
#[derive(Default)]
struct Reading {
    habits: Vec<&'static Habit>,
    verbs: Vec<String>,
    /// Text printed into a pipe, up to the pipe.
    printed: Option<Range<usize>>,
    /// Whether the program waits for a password on its standard input.
    waits: bool,
    /// Whether the next word is a password, and in which form.
    next: Option<Form>,
    found: Vec<Range<usize>>,
}

/// Ranges of the passwords of a line, in their order.
fn passwords(line: &str) -> Vec<Range<usize>> {
    if start(line).is_none() && !line.contains(PASS_FLAG) {
        return Vec::new();
    }
    let mut reading = Reading::default();
    let (mut before, mut last) = ("", "");
    for (at, word) in words(line) {
        let (behind, name) = name(word);
        if let Some(form) = reading.next.take() {
            reading.take(line, at, form);
        } else if is_program(name) && !word.starts_with('-') {
            reading.begin(line, at + behind, name);
        } else if is_pass(last)
            && let Some(password) = word.trim_start_matches(['"', '\'']).strip_prefix("pass:")
        {
            reading.take(line, at + word.len() - password.len(), Form::Either);
        } else if last == "set" && matches!(before, "config" | "configure") && names_secret(word) {
            match word.split_once('=') {
                Some((name, _)) => reading.take(line, at + name.len() + 1, Form::Either),
                None => reading.next = Some(Form::Either),
            }
        } else if let Some(given) = word.strip_prefix("<<<").filter(|_| reading.waits) {
            match given {
                "" => reading.next = Some(Form::Either),
                _ => reading.take(line, at + 3, Form::Either),
            }
        } else {
            reading.word(line, at, word);
        }
        // The next command has flags of its own.
        if matches!(word, "|" | "||" | "&&" | "&") || word.ends_with(';') {
            reading.habits.clear();
            reading.verbs.clear();
            reading.waits = false;
        }
        (before, last) = (last, word);
    }
    let mut found = reading.found;
    found.sort_by_key(|range| range.start);
    found
}

impl Reading {
    fn begin(&mut self, line: &str, at: usize, name: &str) {
        self.habits = HABITS.iter().filter(|habit| habit.is_of(name)).collect();
        self.verbs.clear();
        self.waits = false;
        if prints(name) {
            self.printed = printed(line, at + name.len());
        }
    }

    /// A word of a program.
    fn word(&mut self, line: &str, at: usize, word: &str) {
        for habit in std::mem::take(&mut self.habits) {
            self.habits.push(habit);
            if !habit.verb.is_empty() && !self.verbs.iter().any(|verb| verb == habit.verb) {
                continue;
            }
            if habit.form == Form::Operand {
                if !word.starts_with('-') {
                    self.take(line, at, Form::Operand);
                    self.habits.pop();
                }
                continue;
            }
            let Some(rest) = habit.flags.iter().find_map(|flag| behind(word, flag, habit.form)) else {
                continue;
            };
            match habit.form {
                Form::Input => {
                    self.waits = true;
                    // Printed straight into this program: nothing else is between them.
                    let printed = self.printed.take();
                    self.found.extend(printed.filter(|range| {
                        let between = line.get(range.end..at).unwrap_or_default();
                        between.matches('|').count() == 1
                    }));
                }
                Form::Attached if rest.is_empty() => {}
                form if rest.is_empty() => self.next = Some(form),
                form => self.take(line, at + word.len() - rest.len(), form),
            }
        }
        if !word.starts_with('-') && self.verbs.len() < 8 {
            self.verbs.push(word.to_string());
        }
    }

    /// Takes the word that begins here for a password, where it looks like one.
    fn take(&mut self, line: &str, at: usize, form: Form) {
        let Some(mut range) = shell_word(line, at) else { return };
        let text = line.get(range.clone()).unwrap_or_default();
        match form {
            Form::AfterUser => match text.find([':', '%']) {
                // A URL is not a user with a password.
                Some(mark) if !text.get(mark + 1..).unwrap_or_default().starts_with("//") => {
                    range.start += mark + 1;
                    let quote = text.trim_start_matches('\\').starts_with(['"', '\'']);
                    let closed = quote && text.len() > mark + 1 && text.ends_with(['"', '\'']);
                    range.end -= usize::from(closed);
                }
                _ => return,
            },
            // `username=bob` gives a name to something.
            Form::Operand if text.trim_end_matches('=').contains('=') => return,
            _ => {}
        }
        let value = line.get(range.clone()).unwrap_or_default();
        if is_value(value) && !value.contains("[REDACTED:") {
            self.found.push(range);
        }
    }
}

/// The rest of a word behind its flag; empty if the value is the next word.
fn behind<'a>(word: &'a str, flag: &str, form: Form) -> Option<&'a str> {
    if form == Form::Behind {
        return (word == flag).then_some("");
    }
    if flag.starts_with("--") {
        let rest = word.strip_prefix(flag)?;
        return match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None => rest.is_empty().then_some(rest),
        };
    }
    if let Some(rest) = word.strip_prefix(flag) {
        return Some(rest.strip_prefix('=').unwrap_or(rest));
    }
    // The last of several letters: `-sSu bob:X`, `-kS`.
    let letter = flag.strip_prefix('-')?;
    let cluster = word.strip_prefix('-')?;
    let clusters = matches!(form, Form::AfterUser | Form::Input);
    let plain = cluster.bytes().all(|byte| byte.is_ascii_alphabetic());
    (clusters && plain && cluster.ends_with(letter)).then_some("")
}

/// The words that are printed into a pipe: from behind the program's name and its own flags to the pipe.
fn printed(line: &str, from: usize) -> Option<Range<usize>> {
    let mut start = from;
    for (at, word) in words(line.get(from..)?) {
        let own = word.starts_with('-')
            && word.len() > 1
            && word.bytes().skip(1).all(|byte| b"neE".contains(&byte));
        start = from + at + if own { word.len() } else { 0 };
        if !own {
            break;
        }
    }
    let rest = line.get(start..)?;
    let end = rest.find('|')?;
    let value = rest.get(..end)?.trim_end();
    let value = value.trim_start();
    let start = start + (rest.get(..end)?.len() - rest.get(..end)?.trim_start().len());
    (is_value(value) && !value.is_empty() && !value.contains("[REDACTED:"))
        .then(|| start..start + value.len())
}

/// End of the shell word that begins here; quotes may hold blanks.
fn shell_word(line: &str, at: usize) -> Option<Range<usize>> {
    let text = line.get(at..)?;
    let mut end = 0;
    while let Some(letter) = text.get(end..).and_then(|rest| rest.chars().next()) {
        match letter {
            '"' | '\'' => {
                let rest = text.get(end + 1..).unwrap_or_default();
                // The quote may belong to a sentence that mentions the command.
                let closes =
                    end > 0 && rest.starts_with([',', '}', ']', ':', '.', ')', ' ', '\n']) || rest.is_empty();
                match rest.find(letter).filter(|_| !closes) {
                    Some(length) => end += length + 2,
                    None => break,
                }
            }
            ' ' | '\t' | '\r' | '\n' | '|' | ';' | '&' | '<' | '>' | '(' | ')' | '`' => break,
            letter => end += letter.len_utf8(),
        }
    }
    (end > 0).then_some(at..at + end)
}

/// A path, a variable, a placeholder or an address is not a secret.
fn is_value(text: &str) -> bool {
    let value = text.trim_start_matches('\\').trim_matches(['"', '\'', '`']);
    let innocent = ["/", "./", "../", "~", "$", "<", "{", "http://", "https://", "file:"];
    !value.is_empty() && !innocent.iter().any(|start| value.starts_with(start))
}

/// Flags of OpenSSL whose value says where a password is.
fn is_pass(word: &str) -> bool {
    matches!(word, "-pass" | "-passin" | "-passout" | "-password")
}

/// Does the name of a setting say that its value is secret?
fn names_secret(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    let name = lower.split('=').next().unwrap_or_default();
    ["secret", "token", "password", "passwd", "access_key", "api_key", "apikey"]
        .iter()
        .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::{HABITS, is_program};
    use crate::redact::{Redactor, Scope, samples};

    #[test]
    fn every_program_is_seen() {
        for program in HABITS.iter().flat_map(|habit| habit.programs) {
            assert!(is_program(&program.replace('*', "x")), "{program}");
        }
        assert!(!is_program("cargo") && !is_program(""));
    }

    #[test]
    fn passwords_among_the_words_of_programs_are_caught() {
        for (text, redacted) in [
            ("mysql -u root -phunter shop", "mysql -u root -p[REDACTED:password] shop"),
            ("/usr/bin/mysqldump -p'a b' shop > x", "/usr/bin/mysqldump -p[REDACTED:password] shop > x"),
            ("mariadb -hdb -pX", "mariadb -hdb -p[REDACTED:password]"),
            ("curl -sS -u bob:hunter https://h/", "curl -sS -u bob:[REDACTED:password] https://h/"),
            ("curl https://h/ -su 'bob:a'", "curl https://h/ -su 'bob:[REDACTED:password]'"),
            ("curl --user bob:x h", "curl --user bob:[REDACTED:password] h"),
            ("curl -x p --proxy-user bob:x h", "curl -x p --proxy-user bob:[REDACTED:password] h"),
            ("http --auth bob:x GET h", "http --auth bob:[REDACTED:password] GET h"),
            ("https -a bob:x h", "https -a bob:[REDACTED:password] h"),
            ("sshpass -p hunter ssh a@b", "sshpass -p [REDACTED:password] ssh a@b"),
            ("sshpass -p\"my word\" ssh a@b", "sshpass -p[REDACTED:password] ssh a@b"),
            ("docker login -u bob -p hunter r.io", "docker login -u bob -p [REDACTED:password] r.io"),
            (
                "aws configure set aws_secret_access_key hunter",
                "aws configure set aws_secret_access_key [REDACTED:password]",
            ),
            (
                "npm config set //r.io/:_authToken hunter",
                "npm config set //r.io/:_authToken [REDACTED:password]",
            ),
            ("echo hunter | sudo -S apt update", "echo [REDACTED:password] | sudo -S apt update"),
            ("echo -n 'a b'|sudo -kS -p '' ls", "echo -n [REDACTED:password]|sudo -kS -p '' ls"),
            (
                "printf '%s' hunter | docker login --password-stdin",
                "printf [REDACTED:password] | docker login --password-stdin",
            ),
            ("sudo -S ls <<< hunter", "sudo -S ls <<< [REDACTED:password]"),
            (
                "openssl enc -aes-256-cbc -k hunter -in a",
                "openssl enc -aes-256-cbc -k [REDACTED:password] -in a",
            ),
            (
                "openssl rsa -passin pass:a -passout pass:b",
                "openssl rsa -passin pass:[REDACTED:password] -passout pass:[REDACTED:password]",
            ),
            ("vault login hvs.CAESIJabcdef", "vault login [REDACTED:password]"),
            ("vault login -no-print hunter", "vault login -no-print [REDACTED:password]"),
            ("ldapsearch -x -D cn=a -w hunter -b c", "ldapsearch -x -D cn=a -w [REDACTED:password] -b c"),
            ("redis-cli -h db -a hunter ping", "redis-cli -h db -a [REDACTED:password] ping"),
            ("redis-cli --pass hunter ping", "redis-cli --pass [REDACTED:flag] ping"),
            ("gpg --batch --passphrase hunter -d a", "gpg --batch --passphrase [REDACTED:flag] -d a"),
            ("PGPASSWORD=x psql -h db", "PGPASSWORD=[REDACTED:environment] psql -h db"),
            ("MYSQL_PWD='hunter' mysql", "MYSQL_PWD='[REDACTED:environment]' mysql"),
            ("export GITHUB_TOKEN=hunter; ls", "export GITHUB_TOKEN=[REDACTED:environment]; ls"),
            ("mongosh -u a -p hunter", "mongosh -u a -p [REDACTED:password]"),
            ("zip -r -P hunter a.zip a", "zip -r -P [REDACTED:password] a.zip a"),
            ("smbclient -U bob%hunter //h/s", "smbclient -U bob%[REDACTED:password] //h/s"),
        ] {
            assert_eq!(Redactor::patterns_only().text(text), redacted, "{text}");
            assert_eq!(
                Redactor::patterns_only().text(&Redactor::patterns_only().text(text)),
                redacted,
                "twice: {text}"
            );
        }
    }

    #[test]
    fn generated_passwords_do_not_reach_a_model() {
        let redactor = Redactor::patterns_only();
        for template in [
            "mysql -u root -p⟦«b62:24»⟧ shop",
            "curl -u bob:⟦«b62:24»⟧ https://h/",
            "sshpass -p '⟦«b62:24»⟧' ssh a@b",
            "redis-cli -a ⟦«b62:24»⟧ ping",
        ] {
            let (text, secret) = samples::secret(template, 1);
            let clean = redactor.text_for(&text, Scope::Model);
            assert!(!clean.contains(&secret), "{clean}");
            assert_eq!(redactor.text_for(&text, Scope::Caller), text);
        }
        let typed = "mysql -u root -phunter2 shop";
        assert_eq!(redactor.text_for(typed, Scope::Model), typed);
    }

    #[test]
    fn ordinary_words_are_not_redacted() {
        for text in [
            "mysql -u root -p shop",
            "mysql -p",
            "mysql -P 3306 -h db",
            "mysql -p$PASSWORD shop",
            "curl -u bob https://h:80/",
            "curl -u \"$USER:$PASSWORD\" https://h/",
            "curl --user-agent a:b h",
            "curl -fsSL https://h:8080/a",
            "docker run -p 80:80 nginx",
            "docker login -u bob --password-stdin",
            "docker compose -p name up",
            "sshpass -e ssh a@b",
            "sshpass -p \"$PASS\" ssh a@b",
            "echo done | sudo tee a",
            "echo \"$PASS\" | sudo -S ls",
            "echo hello | grep h",
            "sudo -S ls",
            "openssl req -key a.pem -keyout b.pem",
            "openssl rsa -passin env:NAME",
            "vault login -method=userpass username=bob",
            "git config set user.name bob",
            "npm config set registry https://r.io",
            "ldapsearch -x -b cn=a -W",
            "redis-cli -h db ping",
            "grep -a hunter file",
            "mkdir -p src/a",
            "USE_TOKEN=true MAX_TOKENS=4096 PWD=/home/a",
            "PGPASSWORD=$PASS psql",
            "unzip -l a.zip",
            "the http -> https change",
        ] {
            assert_eq!(Redactor::patterns_only().text(text), text);
        }
    }
}
