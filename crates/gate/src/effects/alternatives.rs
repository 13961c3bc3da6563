//! A safer command for what was most likely meant.

/// The words of a command that does less harm, if there is one.
pub(super) fn command(words: &[String]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let program = crate::shell::base_name(program);
    let has = |flag: &str| rest.iter().any(|word| word == flag);
    let first = rest.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let swapped = |from: &[&str], to: &str| {
        let line: Vec<&str> = std::iter::once(program)
            .chain(rest.iter().map(|word| if from.contains(&word.as_str()) { to } else { word.as_str() }))
            .collect();
        Some(line.join(" "))
    };
    match program {
        "git" => match first {
            "push" if has("--force") || has("-f") => swapped(&["--force", "-f"], "--force-with-lease"),
            "push" if rest.iter().any(|word| word.starts_with('+')) => {
                Some("git push --force-with-lease".into())
            }
            "reset" if has("--hard") => Some("git stash".into()),
            "checkout" | "restore" | "switch" => Some("git stash".into()),
            "clean" => Some("git clean -n".into()),
            "stash" => Some("git stash list".into()),
            "branch" if has("-D") => swapped(&["-D"], "-d"),
            "rebase" => Some("git rebase --abort, or git merge".into()),
            "commit" if has("--no-verify") || has("-n") => Some("git commit".into()),
            "commit" if has("--amend") => Some("git commit --fixup HEAD".into()),
            "add" => Some("git add -p".into()),
            "rm" => Some("git rm --cached".into()),
            _ => None,
        },
        "chmod"
            if rest
                .iter()
                .any(|word| word.ends_with("777") || word.contains("o+w") || word.contains("a+rwx")) =>
        {
            let line: Vec<&str> = std::iter::once(program)
                .chain(rest.iter().map(|word| {
                    if word.ends_with("777") {
                        "755"
                    } else if word.contains("+w") || word.contains("+rwx") {
                        "u+rwx"
                    } else {
                        word.as_str()
                    }
                }))
                .collect();
            Some(line.join(" "))
        }
        "chown" | "chgrp" => None,
        "rm" | "rmdir" | "unlink" | "shred" => {
            let target = rest.iter().find(|word| !word.starts_with('-'))?;
            if target.starts_with('/')
                || target.starts_with('~')
                || target.contains("..")
                || target == "."
                || target == "*"
            {
                None
            } else {
                Some(format!("mv {target} /tmp/"))
            }
        }
        "find" if has("-delete") => swapped(&["-delete"], "-print"),
        "dd" => None,
        "curl" | "wget" => {
            let address = rest.iter().find(|word| word.contains("://"))?;
            let sends = rest.iter().any(|word| {
                matches!(
                    word.as_str(),
                    "-d" | "--data" | "-F" | "-T" | "-X" | "--post-file" | "--data-binary"
                )
            });
            (!sends).then(|| {
                format!("curl -fsSL -o download.txt {address}, then read download.txt before it is run")
            })
        }
        "kill" | "pkill" | "killall" => has("-9").then(|| swapped(&["-9"], "-TERM")).flatten(),
        "npm" if matches!(first, "install" | "i") && !has("--ignore-scripts") => {
            Some(format!("{} --ignore-scripts", words.join(" ")))
        }
        "npm" if first == "publish" => Some("npm publish --dry-run".into()),
        "cargo" if first == "publish" => Some("cargo publish --dry-run".into()),
        "terraform" | "tofu" if matches!(first, "apply" | "destroy") => {
            Some(format!("{program} plan{}", if first == "destroy" { " -destroy" } else { "" }))
        }
        "kubectl" | "oc"
            if matches!(first, "apply" | "delete" | "create" | "replace" | "patch" | "scale") =>
        {
            Some(format!("{} --dry-run=server", words.join(" ")))
        }
        "helm" if matches!(first, "install" | "upgrade" | "uninstall") => {
            Some(format!("{} --dry-run", words.join(" ")))
        }
        "rsync" if rest.iter().any(|word| word.starts_with("--del")) => {
            Some(format!("{} --dry-run", words.join(" ")))
        }
        "apt" | "apt-get"
            if matches!(
                first,
                "install" | "remove" | "purge" | "upgrade" | "dist-upgrade" | "autoremove"
            ) =>
        {
            Some(format!("{} --simulate", words.join(" ")))
        }
        "docker" | "podman" if first == "system" || first == "volume" => Some(format!("{program} system df")),
        "systemctl" | "service" => rest
            .iter()
            .find(|word| !word.starts_with('-') && *word != first)
            .map(|unit| format!("systemctl status {unit}")),
        "sed" if has("-i") => swapped(&["-i"], "-n"),
        "crontab" => Some("crontab -l".into()),
        "env" | "printenv" => Some("env | cut -d= -f1".into()),
        "cat" | "less" | "head" | "grep" if rest.iter().any(|word| word.ends_with(".env")) => {
            Some("cut -d= -f1 .env".into())
        }
        _ => None,
    }
}
