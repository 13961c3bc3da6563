//! Paths of which a part is a pattern, a variable or what a search finds.

use super::*;

#[test]
fn a_way_back_behind_something_unknown_leads_anywhere() {
    none_allowed(&[
        "rm -rf build/$X/../.git",
        "rm -rf build/$X/../src",
        "rm -rf target/*/../../.git",
        "echo x > src/$X/../.git/hooks/pre-commit",
        "echo x > src/*/../../.git/config",
        "mv build/$X/../src /tmp/x",
        "rm -rf \"/tmp/$X/../home\"",
        "rm -rf build/$X/../../src",
    ]);
    all(
        Decision::Allow,
        &["cat src/$X/../lib.rs", "rm -rf build/$X/debug", "rm -rf /tmp/build-$X", "echo x > src/$X/a.txt"],
    );
}

#[test]
fn names_of_git_behind_something_unknown_are_guarded() {
    none_allowed(&[
        "echo x > ./$X/.git/config",
        "echo x > ./$X",
        "sed -i d src/$X/CLAUDE.md",
        "cd ./$X && echo x > .git/config",
        "cd sub/$X && echo x > .git/hooks/post-checkout",
    ]);
}

#[test]
fn a_directory_that_is_not_known_is_not_the_workspace() {
    none_allowed(&[
        "cd $X && sed -i d *",
        "cd $X && echo y > notes",
        "cd $(git rev-parse --git-dir) && mv objects /tmp/o",
        "cd $(git rev-parse --git-dir) && tee config < x",
        "env -C $(git rev-parse --git-dir) tee config",
        "cd - && sed -i d *",
    ]);
    all(Decision::Allow, &["cd $X && ls", "cd $X && cat notes", "cd src/$X && echo y > notes"]);
}

#[test]
fn searches_that_nothing_narrows_find_files_of_git() {
    none_allowed(&[
        "find . -type f -exec sed -i s/a/b/ {} +",
        "find . -type f -exec truncate -s 0 {} +",
        "find . -type f -exec tee {} +",
        "find . -type f -exec cp x {} \\;",
        "find . -type f -exec ln -sf x {} \\;",
        "find . ! -name '*.rs' -exec sed -i s/a/b/ {} +",
        "find . -name '*.rs' -o -type f -exec sed -i s/a/b/ {} +",
        "find . -exec sed -i s/a/b/ {} + -name '*.rs'",
        "find . -newer -name x.rs -exec sed -i s/a/b/ {} +",
        "find . -name '*' -exec sed -i s/a/b/ {} +",
        "fd -H -x sed -i s/a/b/",
    ]);
    all(
        Decision::Allow,
        &[
            "find . -name '*.rs' -exec sed -i s/a/b/ {} +",
            "find src -type f -exec sed -i s/a/b/ {} +",
            "find . -type f \\( -name '*.ts' -o -iname '*.tsx' \\) -exec sed -i s/a/b/ {} \\;",
            "find . -type f -exec grep -l TODO {} +",
            "find . -type d -name __pycache__ -exec rm -rf {} +",
            "find . -name '*.pyc' -exec rm {} +",
        ],
    );
}

#[test]
fn what_a_file_says_may_be_any_path() {
    none_allowed(&[
        "rm -rf build/$(cat names)",
        "rm -rf /tmp/build-$(cat names)",
        "read name < names; rm -rf \"build/$name\"",
        "echo x > \"build/$(cat name)\"",
        "rm -rf \"build/$(ls -d ../*)\"",
        "rm -rf \"build/$(git config x.y)\"",
    ]);
    all(Decision::Allow, &["rm -rf /tmp/build-$$", "rm -rf target/$PROFILE", "cat build/$(cat names)"]);
}

#[test]
fn moving_sources_to_a_place_that_is_not_kept_loses_them() {
    none_allowed(&[
        "mv src /tmp/x",
        "mv src /dev/shm",
        "mv src \"$(mktemp -d)\"",
        "mv src target/ && rm -rf target",
    ]);
    all(Decision::Allow, &["mv src/a.rs src/b.rs", "mv /tmp/x.txt notes.txt", "mv target/a /tmp/a"]);
}

#[test]
fn a_search_begins_at_each_of_its_places() {
    none_allowed(&[
        "find src .git -type f -exec sed -i d {} +",
        "find src / -name '*.o' -exec rm -f {} \\;",
        "find -L src ~ -name '*.rs' -exec sed -i d {} +",
        "find -D tree .git -type f -exec tee {} \\;",
        "find -O3 ~/.ssh -type f -exec cat {} +",
        "find src ~/.aws -type f -exec cat {} +",
        "find $X -name '*.rs' -exec sed -i d {} +",
        "find src .git -name config -delete",
    ]);
    all(
        Decision::Allow,
        &["find src tests -name '*.rs' -exec sed -i s/a/b/ {} +", "find $X -name '*.rs' -exec wc -l {} +"],
    );
}
