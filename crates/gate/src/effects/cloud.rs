//! Clouds, clusters and infrastructure: what is changed there is somebody's.

use super::Look;
use super::arguments::Arguments;
use crate::shell::Word;

/// Words that take something away for good.
const DESTROYS: [&str; 34] = [
    "delete",
    "destroy",
    "terminate",
    "remove",
    "rm",
    "rb",
    "del",
    "purge",
    "drop",
    "wipe",
    "erase",
    "flush",
    "reset",
    "delete-all",
    "force-delete",
    "teardown",
    "nuke",
    "empty",
    "undeploy",
    "deprovision",
    "decommission",
    "drain",
    "flushall",
    "uninstall",
    "detach",
    "revoke",
    "disable",
    "deregister",
    "release",
    "stop",
    "cancel",
    "down",
    "deletecollection",
    "schedule-key-deletion",
];

/// Words that change something.
const CHANGES: [&str; 46] = [
    "create",
    "update",
    "set",
    "add",
    "put",
    "modify",
    "edit",
    "apply",
    "deploy",
    "install",
    "upgrade",
    "start",
    "restart",
    "run",
    "invoke",
    "attach",
    "associate",
    "enable",
    "import",
    "export-snapshot",
    "upload",
    "push",
    "publish",
    "scale",
    "resize",
    "rollback",
    "promote",
    "patch",
    "replace",
    "tag",
    "untag",
    "grant",
    "assign",
    "move",
    "mv",
    "cp",
    "copy",
    "sync",
    "restore",
    "init",
    "login",
    "logout",
    "configure",
    "rename",
    "new",
    "fix",
];

/// Clouds and clusters.
const REMOTE: [&str; 62] = [
    "aws",
    "gcloud",
    "gsutil",
    "bq",
    "az",
    "azcopy",
    "doctl",
    "linode-cli",
    "vultr-cli",
    "hcloud",
    "scw",
    "oci",
    "ibmcloud",
    "aliyun",
    "tccli",
    "yc",
    "openstack",
    "heroku",
    "vercel",
    "netlify",
    "fly",
    "flyctl",
    "railway",
    "render",
    "firebase",
    "supabase",
    "eb",
    "cf",
    "nomad",
    "consul",
    "vault",
    "boundary",
    "kubectl",
    "oc",
    "kubeadm",
    "helm",
    "helmfile",
    "terraform",
    "tofu",
    "terragrunt",
    "pulumi",
    "cdk",
    "cdktf",
    "sam",
    "serverless",
    "sls",
    "eksctl",
    "kops",
    "rabbitmqctl",
    "rabbitmqadmin",
    "etcdctl",
    "kafka-topics",
    "kafka-topics.sh",
    "argocd",
    "istioctl",
    "flux",
    "velero",
    "wrangler",
    "s3cmd",
    "mc",
    "ovhai",
    "databricks",
];

/// Does the word take something away for good?
pub(super) fn destroys(word: &str) -> bool {
    DESTROYS.iter().take(24).any(|verb| {
        word == *verb
            || word.strip_prefix(verb).is_some_and(|rest| rest.starts_with(['-', ':']))
            || word.strip_suffix(verb).is_some_and(|rest| rest.ends_with(['-', ':']))
    })
}

/// Does the word change something?
pub(super) fn changes(word: &str) -> bool {
    let head = word.split(['-', ':']).next().unwrap_or(word);
    CHANGES.contains(&word) || CHANGES.contains(&head) || DESTROYS.contains(&word) || DESTROYS.contains(&head)
}

/// Judges programs whose verbs work on other machines; true when the verb was judged here.
pub(super) fn verbs(look: &mut Look<'_>, base: &str, arguments: &Arguments) -> bool {
    if !REMOTE.contains(&base) {
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
    let takes = words.iter().take(4).any(|word| destroys(word))
        || all.iter().any(|word| {
            matches!(
                word.as_str(),
                "-destroy"
                    | "--destroy"
                    | "--delete"
                    | "--force-destroy"
                    | "--prune"
                    | "--replace"
                    | "--cascade"
            )
        })
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
            let looks = matches!(
                first,
                "list"
                    | "ls"
                    | "status"
                    | "get"
                    | "history"
                    | "show"
                    | "template"
                    | "lint"
                    | "search"
                    | "version"
                    | "env"
                    | "inspect"
                    | "diff"
                    | "verify"
                    | "dependency"
                    | "help"
                    | "create"
                    | "package"
            ) || first == "repo" && second == "list";
            if !looks {
                look.ask("cluster", "it changes a cluster");
            }
        }
        "vault" | "consul" | "etcdctl" => {
            if !matches!(
                first,
                "status"
                    | "version"
                    | "members"
                    | "list"
                    | "info"
                    | "endpoint"
                    | "member"
                    | "path-help"
                    | "help"
                    | "validate"
            ) {
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
            || word == "get-access-token"
            || word == "get-session-token"
            || word == "get-secret-value"
            || word == "get-login-password"
            || word == "get-credentials"
            || word == "get-federation-token"
            || word == "export-credentials"
            || word == "get-password-data"
            || word == "--show-token"
            || word == "create-login-profile"
    });
    let vault = base == "vault"
        && (first == "read"
            || first == "kv" && second == "get"
            || first == "token" && second == "create"
            || first == "unwrap"
            || first == "print");
    let cluster = matches!(base, "kubectl" | "oc")
        && first == "get"
        && words
            .iter()
            .skip(1)
            .any(|word| word.split(['/', ',']).any(|kind| matches!(kind, "secret" | "secrets")))
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
        || base == "terraform"
            && first == "output"
            && all.iter().any(|word| word == "-raw" || word == "-json")
        || base == "pulumi" && all.iter().any(|word| word == "--show-secrets")
        || base == "supabase" && first == "projects" && second == "api-keys"
        || base == "firebase" && first == "login:ci";
    pair || tokens && base != "kubectl" || vault || cluster || config || variables
}

/// Rights for others, keys that outlive the moment, walls taken down.
fn opens_account(words: &[String], all: &[String]) -> bool {
    let verb = |list: &[&str]| words.iter().take(5).any(|word| list.contains(&word.as_str()));
    let everyone = all.iter().any(|word| {
        word.contains("0.0.0.0/0")
            || word.contains("allUsers")
            || word.contains("public-read")
            || word == "::/0"
            || word.contains("allAuthenticatedUsers")
    });
    verb(&[
        "create-access-key", "attach-user-policy", "attach-role-policy", "attach-group-policy", "put-user-policy", "put-role-policy", "create-login-profile",
        "update-login-profile", "add-user-to-group", "update-assume-role-policy", "add-iam-policy-binding", "set-iam-policy", "clusterrolebinding", "rolebinding",
        "create-user", "put-bucket-policy", "put-bucket-acl", "modify-snapshot-attribute", "modify-image-attribute", "stop-logging", "update-trail",
        "create-service-specific-credential", "create-key-pair", "put-public-access-block", "delete-public-access-block", "disable-key", "put-event-selectors",
    ]) || everyone && verb(&["authorize-security-group-ingress", "put-bucket-acl", "create", "iam", "acl", "update", "set", "ch", "firewall-rules"])
        || words.windows(2).any(|pair| matches!(pair, [what, verb] if matches!(what.as_str(), "keys" | "assignment") && verb == "create" || what == "sp" && verb == "create-for-rbac"))
        || words.first().is_some_and(|word| word == "adm") && all.iter().any(|word| word.starts_with("add-"))
}

fn infrastructure(look: &mut Look<'_>, first: &str, second: &str, has: &dyn Fn(&str) -> bool) {
    match first {
        "plan" | "validate" | "fmt" | "show" | "output" | "graph" | "providers" | "version" | "state"
        | "workspace" | "console" | "metadata" | "hclfmt" | "" => {
            if first == "state" && matches!(second, "rm" | "mv" | "push" | "replace-provider")
                || first == "workspace" && matches!(second, "new" | "select" | "delete")
                || first == "console"
                || first == "providers" && matches!(second, "lock" | "mirror")
            {
                look.ask("infrastructure", "it changes what is known of the infrastructure");
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
        "get" | "describe" | "logs" | "top" | "explain" | "api-resources" | "api-versions" | "version"
        | "cluster-info" | "diff" | "auth" | "events" | "wait" | "options" | "completion" | "kustomize"
        | "whoami" | "status" | "projects" => {
            if first == "get" && second.split(['/', ',']).any(|kind| matches!(kind, "secret" | "secrets")) {
                look.ask("secret", "it lists stored credentials");
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
