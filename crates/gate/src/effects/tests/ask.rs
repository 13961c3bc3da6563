//! What a person decides.

use super::*;

#[test]
fn files_outside_and_files_that_go() {
    all(
        Decision::Ask,
        &[
            "rm notes.txt",
            "rm -rf src",
            "rm *.txt",
            "rm \"$x\"",
            "find . -name '*.bak' -delete",
            "find src -name x -exec rm {} ;",
            "git ls-files -o | xargs rm",
            "touch ~/x",
            "cp a ~/backup/",
            "cp a /opt/tool/",
            "mv ../x .",
            "echo x > /opt/x",
            "echo x > \"$target\"",
            "tee ~/x < a",
            "sed -i s/a/b/ ~/x",
            "chmod 777 run.sh",
            "chmod -R g+w src",
            "chown ada src",
            "chgrp dev src",
            "setfacl -m u:bob:r a",
            "truncate -s 0 data.csv",
            "shred -u a.txt",
            "cat .env",
            "cat -n .env",
            "cat ~/.env",
            "cat /srv/app/.env",
            "cat /home/bob/app/.env.production",
            "grep KEY .env.local",
            "head config/tls.key",
            "cp .env .env.bak",
            "cat /dev/sda1",
            "echo x >> AGENTS.md",
            "echo x > .github/workflows/ci.yml",
            "cp /bin/bash ./b",
            "zip -m out.zip a.txt",
            "tar --remove-files -cf a.tar src",
            "echo x > /tmp/.hidden",
        ],
    );
}

#[test]
fn packages_and_containers() {
    all(
        Decision::Ask,
        &[
            "npm install",
            "npm ci",
            "npm publish",
            "npx create-app x",
            "pytest ../other",
            "python -m pytest ../other",
            "pytest ~/other/tests",
            "cargo test --manifest-path /opt/x/Cargo.toml",
            "npm --prefix /opt/x test",
            "go test /opt/x",
            "ctest --test-dir=/opt/build",
            "git pull --ff-only",
            "uvx black .",
            "pipx run tool --help",
            "docker run image --help",
            "sudo -s",
            "sudo --login -u ada",
            "doas -s",
            "ss -K dst 10.0.0.1",
            "cp /dev/null notes.db",
            "yarn add left-pad",
            "pnpm dlx x",
            "bun add x",
            "pip install requests",
            "python3 -m pip install x",
            "uv sync",
            "uv cache clean",
            "poetry add x",
            "pipx install x",
            "conda create -n x",
            "cargo install ripgrep",
            "cargo publish",
            "cargo add serde",
            "go get example.org/x",
            "go install example.org/x@latest",
            "gem install rails",
            "bundle install",
            "composer require x/y",
            "mix deps.get",
            "dotnet add package X",
            "apt install jq",
            "sudo apt-get update",
            "brew install jq",
            "dnf remove x",
            "pacman -S jq",
            "apk add jq",
            "snap install x",
            "nix-env -iA nixpkgs.jq",
            "rustup update",
            "docker run alpine",
            "docker build .",
            "docker compose up -d",
            "docker rm web",
            "podman pull alpine",
            "make install",
            "just deploy",
            "npm run deploy",
            "python3 setup.py install",
            "./install.sh",
        ],
    );
}

#[test]
fn networks_clouds_and_forges() {
    all(
        Decision::Ask,
        &[
            "curl https://example.org",
            "curl -X POST -d a=1 https://example.org",
            "wget https://example.org/a.zip",
            "ssh host",
            "ssh host uptime",
            "scp host:a .",
            "rsync -a src/ host:src/",
            "nc -z host 80",
            "nmap host",
            "ftp host",
            "git clone https://example.org/x.git",
            "git push",
            "git push origin main",
            "git remote add x https://example.org/x.git",
            "git submodule update --init",
            "aws s3 ls",
            "gcloud compute instances list",
            "az vm list",
            "terraform apply",
            "terraform init",
            "pulumi up",
            "kubectl apply -f web.yaml",
            "kubectl exec web -- ls",
            "helm upgrade web ./chart",
            "ansible-playbook site.yml",
            "gh pr create --fill",
            "gh api repos/x/y",
            "gh release create v1",
            "vercel deploy",
            "psql -c 'select 1'",
            "redis-cli get x",
            "python3 -m http.server",
            "tcpdump -i eth0",
            "curl -H \"Authorization: Bearer $API_TOKEN\" https://example.org",
        ],
    );
}

#[test]
fn machines_and_processes() {
    all(
        Decision::Ask,
        &[
            "sudo ls",
            "sudo systemctl restart web",
            "systemctl restart web",
            "service web reload",
            "kill 4242",
            "pkill node",
            "killall node",
            "at now",
            "mount /dev/sdb1 /mnt",
            "umount /mnt",
            "ip link add x type dummy",
            "sysctl -w vm.swappiness=10",
            "journalctl --vacuum-size=1G",
            "env",
            "printenv SECRET_KEY",
            "history",
            "screen -dmS x ./run",
            "tmux new -d ./run",
            "nohup ./nowhere/x/y/z/unknown-long-name-of-a-program-here",
            "gpg -d a.gpg",
            "ssh-keygen -t ed25519",
            "vim src/a.rs",
            "nano a",
            "virsh list",
            "vagrant up",
            "crontab -l -u bob",
            "import -window root a.png",
            "xclip -o",
            "bash",
            "python3",
            "perf stat /bin/sh",
            "setlock x /bin/sh",
        ],
    );
}

#[test]
fn what_cannot_be_known() {
    all(
        Decision::Ask,
        &[
            "unheard-of-program",
            "unheard-of-program src/a.rs",
            "$TOOL src/a.rs",
            "\"$(cat tool.txt)\" x",
            "`printf ls` x",
            "a=l; b=s; $a$b",
            "$'\\x6c\\x73' -la",
            "{ls,-la}",
            "echo bHMgLWxh | base64 -d | bash",
            "eval \"$(printf %s bHM= | base64 -d)\"",
            "echo sl | rev | sh",
            "read -r c <<< ls; $c",
            "set -- ls -la; \"$@\"",
            "shopt -s expand_aliases; alias x=ls\nx",
            "cat list | sh",
            "bash \"$script\"",
            "ls 'unclosed",
            "python3 -c 'import os; os.system(\"ls\")'",
            "python3 -c \"$code\"",
            "node -e 'fetch(\"https://example.org\")'",
            "perl -e 'unlink \"a\"'",
            "git -c core.pager=./x log",
            "git unknown-verb",
            "PATH=/tmp/x:$PATH ls",
            "GIT_EDITOR=./x git commit",
            "NODE_TLS_REJECT_UNAUTHORIZED=0 npm test",
            "docker unknown-verb",
            "cargo unknown-verb",
            "systemctl unknown-verb",
        ],
    );
}

#[test]
fn commits_that_change() {
    all(
        Decision::Ask,
        &[
            "git commit --amend",
            "git commit --no-verify -m x",
            "git rebase main",
            "git rebase -i HEAD~3",
            "git branch -D x",
            "git branch -f main HEAD~1",
            "git tag -d v1",
            "git tag -f v1",
            "git config user.name x",
            "git config --global alias.x y",
            "git checkout -B x",
            "git switch -C x",
            "git worktree remove ../w",
            "git rm -f a.txt",
            "git fetch origin +main:main",
            "git push --force-with-lease",
            "git symbolic-ref HEAD refs/heads/x",
            "git lfs prune",
            "git maintenance start",
        ],
    );
}

#[test]
fn other_agents() {
    all(
        Decision::Ask,
        &["claude -p x", "codex exec x", "claude mcp add x y", "claude mcp remove x", "codex mcp $verb"],
    );
    all(
        Decision::Allow,
        &[
            "claude --version",
            "codex --help",
            "claude mcp",
            "claude mcp list",
            "codex mcp list --json",
            "claude mcp get x",
        ],
    );
}

#[test]
fn what_steers_agents_is_not_taken_out_by_the_way() {
    all(
        Decision::Ask,
        &[
            "git rm -r .claude",
            "git rm .codex/hooks.json",
            "git mv .codex x",
            "git mv -f .claude/settings.json a.json",
            "git mv x/.claude .",
            "git mv hooks.json .codex/",
            "git stash -u",
            "git stash --include-untracked",
            "git stash push -a",
            "git stash save --all wip",
            "git stash push -qu -m wip",
            "git stash push -u -- .",
            "git stash push .claude",
            "git stash -- .codex/hooks.json",
            "git sparse-checkout set src",
            "git sparse-checkout reapply",
            "git apply a.patch",
            "git apply --check --apply a.patch",
            "git am < a.mbox",
            "git diff --output .claude/settings.json",
            "git archive -o .codex/hooks.json HEAD",
            "cp -r x/.claude .",
            "cp x/AGENTS.md .",
            "mv x/.codex ./",
            "cp -t . x/.mcp.json",
            "ln -s x/CLAUDE.md .",
            "ln -s .claude c",
            "tar xf a.tar .claude/settings.json",
            "tar xf a.tar ./.codex",
            "unzip -o a.zip .claude/settings.json",
            "npx prettier --write .claude/settings.json",
            "yarn prettier --write .claude/settings.json",
            "npm run format -- --write .codex/hooks.json",
            "npx eslint --fix .claude/hooks/a.js",
            "tsc --outFile a.js -o .claude/x.js",
            "marvin init --remove",
            "marvin lessons promote abc --yes",
            "marvin daemon stop",
            "marvin fix the bug",
        ],
    );
    all(
        Decision::Allow,
        &["git rm src/old.rs", "marvin verify", "marvin lessons reflect --json", "marvin inspect-run"],
    );
}

#[test]
fn s4_a_path_beyond_the_workspace_that_no_table_explains_is_doubt() {
    all(
        Decision::Ask,
        &[
            "cargo init ~",
            "git init ~/x",
            "git worktree add ../x",
            "git worktree move a /srv/x",
            "objcopy --dump-section .text=/srv/x a.o",
            "ld -Map=/srv/x.map a.o",
            "rustc --emit=link=/srv/x a.rs",
            "meson setup //root/x",
            "jar cf /srv/x.jar classes",
        ],
    );
}

#[test]
fn s4_a_tilde_in_an_argument_that_looks_like_an_assignment_is_expanded() {
    all(Decision::Deny, &["dd if=a of=~/.bashrc", "x=1 dd if=a of=~/.ssh/authorized_keys"]);
    all(Decision::Ask, &["dd if=a of=~/x"]);
    all(Decision::Allow, &["dd if=a of=x~", "echo a=~/x"]);
}

#[test]
fn s4_values_of_steering_variables_are_known_or_doubted() {
    all(
        Decision::Ask,
        &[
            "_JAVA_OPTIONS=-XX:OnOutOfMemoryError=x java -version",
            "MAVEN_OPTS=-Dmaven.ext.class.path=x.jar mvn -v",
            "GNUMAKEFLAGS='-f evil.mk' make",
            "MAKEFLAGS=SHELL=./x make",
            "GIT_DIR=./x git status",
        ],
    );
    all(
        Decision::Allow,
        &[
            "MAKEFLAGS=-j4 make",
            "MAKEFLAGS='-j 4 --no-print-directory' make test",
            "MAVEN_OPTS='-Xmx2g -Dfile.encoding=UTF-8' mvn -q test",
            "GIT_DIR=.git git status",
        ],
    );
}

#[test]
fn secrets_by_another_way() {
    all(
        Decision::Ask,
        &[
            "cat $d/.env",
            "cat \"$(git rev-parse --show-toplevel)/.env\"",
            "cat .e*",
            "cat .en?",
            "find . -name .env -exec cat {} ;",
            "find . -name '.e*' -exec cat {} +",
            "find . -name .env | xargs cat",
            "git show HEAD:.env",
            "git log -p -- .env",
            "git diff HEAD -- .env",
            "git cat-file -p HEAD:config/master.key",
            "git archive HEAD .env | tar xO",
            "ln -s .env x",
            "python3 -c \"print(open('.env').read())\"",
            "node -e \"console.log(require('fs').readFileSync('.env','utf8'))\"",
            "curl -d @.env http://localhost:3000",
            "echo $AWS_SECRET_ACCESS_KEY",
            "export",
            "export -p",
            "declare -p | grep X",
            "set",
            "npm config get //registry.npmjs.org/:_authToken",
        ],
    );
    all(
        Decision::Deny,
        &[
            "cat /home/$x/.ssh/id_rsa",
            "cat $x/.ssh/id_rsa",
            "cat /proc/$$/environ",
            "for u in $(ls /home); do cat /home/$u/.ssh/id_rsa; done",
            "echo ~/.ssh/id_rsa > list; tar cf x.tar -T list",
            "printf '%s\\n' ~/.ssh/id_rsa > list && xargs -a list cat",
        ],
    );
    all(
        Decision::Allow,
        &[
            "cat $d/.env.example",
            "cat $d/README.md",
            "git log --oneline -- .env",
            "git check-ignore .env",
            "find . -name .env",
            "ls -la .env",
            "declare -A counts",
            "export NODE_ENV=test",
            "set -euo pipefail",
            "echo ${TOKEN:+set}",
            "echo $MARVIN_STEP_KEY",
            "echo README.md > list; tar cf x.tar -T list",
        ],
    );
}

#[test]
fn values_that_become_commands_and_files() {
    all(
        Decision::Ask,
        &[
            "sed -i/opt/* s/a/b/ x",
            "sed --in-place=/opt/* s/a/b/ x",
            "ffmpeg -i a.mp4 /opt/b.mp4",
            "ffmpeg -i https://x.example/a.mp4 b.mp4",
            "strip /opt/tool",
            "curl -w '%output{/opt/x}a' localhost",
            "curl gopher://localhost:6379/_FLUSHALL",
            "cmake --build build --target install",
            "cmake -DCMAKE_C_COMPILER_LAUNCHER=./x .",
            "go tool pprof http://x.example/p",
            "mlr --icsv put 'system(\"id\")' x.csv",
            "ps auxe",
            "strace -p 1",
        ],
    );
    all(Decision::Deny, &["make CC='rm -rf ~'", "cmake -DCMAKE_C_COMPILER_LAUNCHER='rm;-rf;/home/ada' ."]);
    all(
        Decision::Allow,
        &[
            "make CC=clang CFLAGS='-O2 -g'",
            "cmake -DCMAKE_C_COMPILER_LAUNCHER=ccache .",
            "sed -i.bak s/a/b/ x",
            "ffmpeg -i a.mp4 b.mp3",
            "curl -w '%{http_code}' localhost",
            "mlr --icsv filter '$x > 1' a.csv",
        ],
    );
}

#[test]
fn variables_with_keys_are_not_shown_in_any_form() {
    all(
        Decision::Ask,
        &[
            "echo ${GITHUB_TOKEN:0}",
            "echo ${GITHUB_TOKEN@Q}",
            "echo ${GITHUB_TOKEN^^} ${GITHUB_TOKEN#x}",
            "echo ${GITHUB_TOKEN:-x}",
            "echo ${GITHUB_TOKEN[0]} ${GITHUB_TOKEN[@]}",
            "x=GITHUB_TOKEN; echo ${!x}",
            "declare -n r=GITHUB_TOKEN; echo $r",
            "cat <<< \"$GITHUB_TOKEN\"",
            ": \"${x:?$GITHUB_TOKEN}\"",
            "ls \"$GITHUB_TOKEN\"",
            "git log --format=\"${GITHUB_TOKEN:0}\"",
            "declare -p GITHUB_TOKEN",
        ],
    );
    all(
        Decision::Allow,
        &[
            "[ -z \"$GITHUB_TOKEN\" ] && echo missing",
            ": \"${API_KEY:?must be set}\"",
            "echo ${#GITHUB_TOKEN} ${GITHUB_TOKEN:+set}",
            "printenv PATH | tr : x",
            "declare -p HOME",
        ],
    );
}

#[test]
fn words_that_a_file_holds_are_doubted() {
    all(
        Decision::Ask,
        &[
            "cat $(cat list.txt)",
            "cat $(< list.txt)",
            "xargs -a list.txt cat",
            "cat list.txt | xargs cat",
            "while read f; do cat \"$f\"; done < list.txt",
            "mapfile -t a < list.txt; cat \"${a[@]}\"",
            "find . $(cat args.txt)",
            "git log $(cat args.txt)",
            "sort $(git show HEAD:args.txt)",
            "cat $(python3 -c 'print(open(\"list.txt\").read())')",
        ],
    );
    all(
        Decision::Allow,
        &[
            "echo $(cat VERSION)",
            "for f in $(git ls-files); do wc -l \"$f\"; done",
            "git diff --name-only | xargs cat",
            "grep -rl foo src | sort | xargs sed -n 1,5p",
            "cat $(find . -name '*.toml')",
            "find . -name '*.py' | while read -r f; do head -n 1 \"$f\"; done",
            "while read -r line; do echo \"$line\"; done < notes.txt",
            "make -j$(nproc)",
        ],
    );
}

#[test]
fn patterns_find_hidden_secrets_through_lists_and_loops() {
    all(
        Decision::Deny,
        &[
            "cat ../.n*",
            "cat ~/.*",
            "cat ../.*",
            "for f in ~/.n*; do cat \"$f\"; done",
            "bash -nv ~/.ssh/id_rsa",
            "bash -v ~/.netrc -c",
        ],
    );
    all(
        Decision::Ask,
        &[
            "cat .*",
            "od -c .e*",
            "shopt -s dotglob; cat *",
            "set -- .e*; cat \"$1\"",
            "a=(.e*); cat \"${a[@]}\"",
            "echo .e* | xargs cat",
            "cat $(ls -d .e*)",
            "tar cf - . | tar xOf - ./.env",
            "grep -rn . --include=.env",
            "rg -g .env .",
            "git mv .env e.txt",
            "gcc -E .env",
        ],
    );
    all(
        Decision::Allow,
        &["ls -d .*", "cat *.md", "for f in *.py; do head -n 1 \"$f\"; done", "bash -n x.sh"],
    );
}

#[test]
fn sources_that_are_piped_name_files() {
    all(
        Decision::Deny,
        &[
            "echo '#include \"/home/ada/.ssh/id_rsa\"' | gcc -E -",
            "as - <<< '.incbin \"/home/ada/.ssh/id_rsa\"'",
            "xmllint --noent - <<< '<!ENTITY x SYSTEM \"file:///home/ada/.netrc\">'",
            "groff <<< '.so /home/ada/.netrc'",
        ],
    );
    all(Decision::Allow, &["echo '#include <stdio.h>' | gcc -E -", "grep -c x <<< '/home/ada/.ssh/id_rsa'"]);
}
