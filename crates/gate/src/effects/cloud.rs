//! Clouds, clusters and infrastructure: what is changed there is shared with others.

use super::arguments::Arguments;
use super::look::Look;
use super::words::{self, WordList};
use crate::shell::Word;

/// Does the word change something?
pub(super) fn changes(word: &str) -> bool {
    let head = word.split(['-', ':']).next().unwrap_or(word);
    [word, head].into_iter().any(|part| {
        words::CHANGING_VERBS.matches(part)
            || words::STOPPING_VERBS.matches(part)
            || words::DESTROYING_VERBS.find(part).is_some()
    })
}

/// Judges programs whose verbs work on other machines; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !words::REMOTE_PROGRAMS.matches(base) {
        return false;
    }
    let words: Vec<String> = arguments.operands.iter().map(Word::shown).collect();
    let all: Vec<String> = look.rest().iter().map(Word::shown).collect();
    let has = |word: &str| all.iter().any(|own| own == word);
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let dry = all.iter().any(|word| {
        word.starts_with("--dry-run") || word == "--dryrun" || word == "-dry-run" || word == "--what-if"
    });
    // A plan says what would be destroyed, and destroys nothing.
    let plans = matches!(base, "terraform" | "tofu" | "terragrunt") && first == "plan";
    let takes = words.iter().take(4).any(|word| words::DESTROYING_VERBS.matches(word))
        || all.iter().any(|word| words::DESTROYING_FLAGS.matches(word))
        || all.iter().any(|word| word == "--force") && first == "replace"
        || all.iter().any(|word| word == "--replicas=0");
    if takes && !dry && !plans {
        look.deny("cloud.delete", format!("`{base}` would delete something on other machines"));
        return true;
    }
    if shows_secret(base, &words, &all) {
        look.deny("secret", "it shows stored credentials");
        return true;
    }
    if opens_account(&words, &all) && !dry {
        look.deny("cloud.rights", "it gives rights, keys or access to others");
        return true;
    }
    let address = all.iter().any(|word| word.starts_with("http://"));
    if address && matches!(first, "apply" | "create" | "install" | "upgrade" | "replace") {
        look.deny("code.network", "it applies what another machine sends, without a look at it");
        return true;
    }
    match base {
        "terraform" | "tofu" | "terragrunt" => infrastructure(look, first, second, &has),
        "pulumi" => {
            if !matches!(first, "version" | "about" | "preview" | "help") {
                look.ask("infrastructure", "it works on infrastructure");
            }
        }
        "kubectl" | "oc" => cluster(look, first, second, &all),
        "helm" | "helmfile" => {
            let looks = words::HELM_LOOKS.matches(first) || first == "repo" && second == "list";
            if !looks {
                look.ask("cluster", "it changes a cluster");
            } else if first == "get" {
                look.ask("secret", "values and manifests of a release may hold credentials");
            }
        }
        "vault" | "consul" | "etcdctl" => {
            if !words::CLUSTER_STORE_LOOKS.matches(first) {
                look.ask("cloud", "it reads or changes what machines share");
            }
        }
        // Every call goes to an account on other machines, with its keys.
        _ => {
            let local = matches!(
                first,
                "help" | "version" | "completion" | "synth" | "validate" | "lint" | "local" | "fmt"
            ) || has("help")
                || matches!((first, second), ("configure" | "config", "list"));
            if !local {
                look.ask("cloud", format!("`{base}` works on other machines"));
            }
        }
    }
    true
}

fn shows_secret(base: &str, words: &[String], all: &[String]) -> bool {
    let first = words.first().map_or("", String::as_str);
    let second = words.get(1).map_or("", String::as_str);
    let pair = words.windows(2).any(|pair| {
        matches!(pair, [what, verb] if (what.contains("secret") || what == "keyvault" || what.contains("parameter") || what == "kms" || what.ends_with("keys") || what == "credential")
            && (verb.starts_with("get") || verb == "show" || verb == "access" || verb.contains("value") || verb == "versions" || verb == "decrypt" || verb == "list-keys" || verb == "list" && what == "keys"))
    });
    let tokens = all.iter().any(|word| {
        word.contains("print-access-token")
            || word.contains("with-decryption")
            || word.contains("print-identity-token")
            || words::TOKEN_VERBS.matches(word)
    });
    let vault = base == "vault"
        && (first == "read"
            || first == "kv" && second == "get"
            || first == "token" && second == "create"
            || first == "unwrap"
            || first == "print");
    let cluster = matches!(base, "kubectl" | "oc")
        && first == "get"
        && words.iter().skip(1).any(|word| names_secrets(word))
        && all.iter().any(|word| {
            word.starts_with("-o") || word.starts_with("--output") || word.starts_with("--template")
        });
    let config = matches!(base, "kubectl" | "oc")
        && first == "config"
        && second == "view"
        && all.iter().any(|word| word == "--raw");
    let variables = base == "heroku"
        && (first == "config"
            || first.starts_with("config:get")
            || first == "auth:token"
            || first == "pg:credentials:url")
        || matches!(base, "fly" | "flyctl") && first == "auth" && second == "token"
        || matches!(base, "vercel" | "netlify")
            && first.starts_with("env")
            && (second == "pull" || second == "get" || first == "env:get")
        || base == "railway" && first == "variables"
        || base == "aws" && first == "configure" && matches!(second, "get" | "export-credentials")
        || matches!(base, "terraform" | "tofu" | "terragrunt")
            && first == "output"
            && all.iter().any(|word| word == "-raw" || word == "-json")
        || base == "pulumi" && all.iter().any(|word| word == "--show-secrets")
        || base == "supabase" && first == "projects" && second == "api-keys"
        || base == "firebase" && first == "login:ci";
    pair || tokens && base != "kubectl" || vault || cluster || config || variables
}

/// Whether a kind of `kubectl` is that of secrets: in any case, in a list, with its group and with a name.
fn names_secrets(word: &str) -> bool {
    word.to_ascii_lowercase().split(',').any(|part| {
        let kind = part.split(['/', '.']).next().unwrap_or_default();
        matches!(kind, "secret" | "secrets")
    })
}

/// Rights for others, keys that outlive the moment, walls taken down.
fn opens_account(words: &[String], all: &[String]) -> bool {
    let verb = |list: WordList| words.iter().take(5).any(|word| list.matches(word));
    let everyone = all.iter().any(|word| {
        word.contains("0.0.0.0/0")
            || word.contains("allUsers")
            || word.contains("public-read")
            || word == "::/0"
            || word.contains("allAuthenticatedUsers")
    });
    verb(words::RIGHTS_VERBS) || everyone && verb(words::OPENING_VERBS)
        || words.windows(2).any(|pair| matches!(pair, [what, verb] if matches!(what.as_str(), "keys" | "assignment") && verb == "create" || what == "sp" && verb == "create-for-rbac"))
        || words.first().is_some_and(|word| word == "adm") && all.iter().any(|word| word.starts_with("add-"))
}

fn infrastructure(look: &mut Look<'_>, first: &str, second: &str, has: &dyn Fn(&str) -> bool) {
    match first {
        _ if words::INFRASTRUCTURE_LOOKS.matches(first) => {
            if first == "state" && matches!(second, "rm" | "mv" | "push" | "replace-provider")
                || first == "workspace" && matches!(second, "new" | "select" | "delete")
                || first == "console"
                || first == "providers" && matches!(second, "lock" | "mirror")
            {
                look.ask("infrastructure", "it changes what is known of the infrastructure");
            }
            // An output that is named is shown even where it is marked as secret.
            if first == "state" && second == "pull"
                || first == "output" && !second.is_empty()
                || first == "show" && second.is_empty() && has("-json")
            {
                look.ask("secret", "it shows values that may be credentials");
            }
        }
        "apply" if has("-auto-approve") || has("--auto-approve") => {
            look.ask("infrastructure", "it changes infrastructure without asking");
        }
        _ => look.ask("infrastructure", "it changes infrastructure"),
    }
}

fn cluster(look: &mut Look<'_>, first: &str, second: &str, all: &[String]) {
    match first {
        _ if words::CLUSTER_LOOKS.matches(first) => {
            if first == "get" && names_secrets(second) {
                look.ask("secret", "it lists stored credentials");
            }
            if first == "auth" && !matches!(second, "can-i" | "whoami" | "") {
                look.ask("cluster", "it changes the rights in a cluster");
            }
            if first == "kustomize" && (second.contains("?ref=") || second.contains(".com/")) {
                look.ask("fetch", "it talks to another machine");
            }
        }
        "config"
            if matches!(
                second,
                "view" | "get-contexts" | "current-context" | "get-clusters" | "get-users"
            ) => {}
        "rollout" if matches!(second, "status" | "history") => {}
        "proxy"
            if all.iter().any(|word| {
                word.contains("0.0.0.0") || word.starts_with("--www") || word.contains("accept-hosts")
            }) =>
        {
            look.deny("send.serve", "it opens the cluster or files to other machines");
        }
        "run" | "create" | "apply" | "debug"
            if all.iter().any(|word| {
                word.contains("privileged")
                    || word.contains("hostPID")
                    || word.contains("hostPath")
                    || word.contains("hostNetwork")
            }) =>
        {
            look.deny("container.host", "the container would have the machine itself");
        }
        "exec" | "cp" | "attach" | "port-forward" | "proxy" | "debug" => {
            look.ask("cluster", "it works inside a cluster");
        }
        _ => look.ask("cluster", "it changes a cluster"),
    }
}
