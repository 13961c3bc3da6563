//! A safer command for what was most likely meant.

/// The words of a command, as a safer one is looked for.
struct Command<'a> {
    program: &'a str,
    words: &'a [String],
    rest: &'a [String],
    /// The first word that is not a flag.
    first: &'a str,
}

impl Command<'_> {
    fn has(&self, flag: &str) -> bool {
        self.rest.iter().any(|word| word == flag)
    }

    /// The line with each word replaced.
    fn mapped<'w>(&'w self, map: impl Fn(&'w str) -> &'w str) -> Option<String> {
        let line: Vec<&str> =
            std::iter::once(self.program).chain(self.rest.iter().map(|word| map(word))).collect();
        Some(line.join(" "))
    }

    fn swapped<'w>(&'w self, from: &[&str], to: &'w str) -> Option<String> {
        self.mapped(|word| if from.contains(&word) { to } else { word })
    }

    fn with(&self, flag: &str) -> Option<String> {
        Some(format!("{} {flag}", self.words.join(" ")))
    }
}

/// The line of a command that does less harm, if there is one.
pub(super) fn command(words: &[String]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let program = crate::shell::base_name(program);
    let first = rest.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let command = Command { program, words, rest, first };
    match program {
        "git" => git(&command),
        "rm" | "rmdir" | "unlink" | "shred" | "chmod" | "find" | "sed" | "cat" | "less" | "head" | "grep" => {
            files(&command)
        }
        "curl" | "wget" => {
            let address = rest.iter().find(|word| word.contains("://"))?;
            let sends = ["-d", "--data", "-F", "-T", "-X", "--post-file", "--data-binary"];
            (!sends.iter().any(|flag| command.has(flag))).then(|| {
                format!("curl -fsSL -o download.txt {address}, then read download.txt before it is run")
            })
        }
        "kill" | "pkill" | "killall" => {
            // No signal to init, to the own process group or to every process is a safer one.
            let is_wide = rest.iter().any(|word| ["-1", "0", "1"].contains(&word.as_str()));
            (command.has("-9") && !is_wide).then(|| command.swapped(&["-9"], "-TERM")).flatten()
        }
        "docker" | "podman" if matches!(first, "system" | "volume") => Some(format!("{program} system df")),
        "systemctl" | "service" => rest
            .iter()
            .find(|word| !word.starts_with('-') && *word != first)
            .map(|unit| format!("systemctl status {unit}")),
        "crontab" => Some("crontab -l".into()),
        "env" | "printenv" => Some("env | cut -d= -f1".into()),
        _ => dry_run(&command),
    }
}

fn git(command: &Command<'_>) -> Option<String> {
    let has = |flag: &str| command.has(flag);
    let line: &str = match command.first {
        "push" if has("--force") || has("-f") => {
            return command.swapped(&["--force", "-f"], "--force-with-lease");
        }
        "branch" if has("-D") => return command.swapped(&["-D"], "-d"),
        "push" if command.rest.iter().any(|word| word.starts_with('+')) => "git push --force-with-lease",
        "reset" if has("--hard") => "git stash",
        "checkout" | "restore" | "switch" => "git stash",
        "clean" => "git clean -n",
        "stash" => "git stash list",
        "rebase" => "git rebase --abort, or git merge",
        "commit" if has("--no-verify") || has("-n") => "git commit",
        "commit" if has("--amend") => "git commit --fixup HEAD",
        "add" => "git add -p",
        "rm" => "git rm --cached",
        _ => return None,
    };
    Some(line.to_string())
}

fn files(command: &Command<'_>) -> Option<String> {
    let any = |test: &dyn Fn(&String) -> bool| command.rest.iter().any(test);
    match command.program {
        "chmod" if any(&|word| word.ends_with("777") || word.contains("o+w") || word.contains("a+rwx")) => {
            command.mapped(|word| {
                if word.ends_with("777") {
                    "755"
                } else if word.contains("+w") || word.contains("+rwx") {
                    "u+rwx"
                } else {
                    word
                }
            })
        }
        "rm" | "rmdir" | "unlink" | "shred" => {
            let target = command.rest.iter().find(|word| !word.starts_with('-'))?;
            let wide =
                target.starts_with(['/', '~']) || target.contains("..") || target == "." || target == "*";
            (!wide).then(|| format!("mv {target} /tmp/"))
        }
        "find" if command.has("-delete") => command.swapped(&["-delete"], "-print"),
        "sed" if command.has("-i") => command.swapped(&["-i"], "-n"),
        "cat" | "less" | "head" | "grep" if any(&|word| word.ends_with(".env")) => {
            Some("cut -d= -f1 .env".into())
        }
        _ => None,
    }
}

/// The same command in a mode that shows what it would do.
fn dry_run(command: &Command<'_>) -> Option<String> {
    let program = command.program;
    match (program, command.first) {
        ("npm", "install" | "i") if !command.has("--ignore-scripts") => command.with("--ignore-scripts"),
        ("npm" | "cargo", "publish") => Some(format!("{program} publish --dry-run")),
        ("terraform" | "tofu", "apply") => Some(format!("{program} plan")),
        ("terraform" | "tofu", "destroy") => Some(format!("{program} plan -destroy")),
        ("kubectl" | "oc", "apply" | "delete" | "create" | "replace" | "patch" | "scale") => {
            command.with("--dry-run=server")
        }
        ("helm", "install" | "upgrade" | "uninstall") => command.with("--dry-run"),
        ("rsync", _) if command.rest.iter().any(|word| word.starts_with("--del")) => {
            command.with("--dry-run")
        }
        ("apt" | "apt-get", "install" | "remove" | "purge" | "upgrade" | "dist-upgrade" | "autoremove") => {
            command.with("--simulate")
        }
        _ => None,
    }
}
