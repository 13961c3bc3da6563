//! `marvin gate explain` for shell constructs, rule files and clients.

use super::explain::explain;
use crate::cli::show;
use crate::support::World;
use insta::assert_snapshot;

#[test]
fn shell_constructs() {
    assert_snapshot!(explain("cd src && git push --force"), @"
    DENY  cd src && git push --force
      because it overwrites or deletes what others have
      layer judge, rule git.remote-lost
      Leave it; say in your answer what you wanted to reach.
      safer: git push --force-with-lease
    ├─ allow  cd src
    └─ deny  git push --force
         would change commits of git push --force
         it overwrites or deletes what others have [git.remote-lost]
         safer: git push --force-with-lease
    [exit code 0]
    ");
    assert_snapshot!(explain("env A=1 timeout 5 frobnicate x; ls"), @"
    ASK  env A=1 timeout 5 frobnicate x; ls
      because nothing is known of the program `frobnicate`
      layer judge, rule program.unknown
      Say in your answer what should be run and why.
    ├─ ask  frobnicate x  (started by env, timeout)
    │    nothing is known of the program `frobnicate` [program.unknown]
    └─ allow  ls
    [exit code 0]
    ");
    assert_snapshot!(explain("if test -f a; then rm a; else touch a; fi"), @"
    ASK  if test -f a; then rm a; else touch a; fi
      because it would delete a file of the workspace: `a`
      layer judge, rule effect.delete
      Name what is to be deleted, inside the workspace, or leave it.
      safer: mv a /tmp/
    ├─ allow  test -f a
    ├─ ask  rm a
    │    would delete a: a file of the workspace
    │    it would delete a file of the workspace: `a` [effect.delete]
    │    safer: mv a /tmp/
    └─ allow  touch a
         would write a: a file of the workspace
    [exit code 0]
    ");
    assert_snapshot!(explain("for f in *.txt; do cat \"$f\"; done"), @r#"
    ALLOW  for f in *.txt; do cat "$f"; done
      because it only reads, builds, tests, or changes what can be brought back
      layer judge, rule effect
    ├─ allow  cat *.txt
    │    would read *.txt: a file of the workspace
    └─ allow  cat *.txt
         would read *.txt: a file of the workspace
    [exit code 0]
    "#);
    assert_snapshot!(explain("bash -c 'rm -rf ~'"), @"
    DENY  bash -c 'rm -rf ~'
      because it would delete everything in the whole home directory: `[HOME]`
      layer catastrophe, rule catastrophe.delete
      Name what is to be deleted, inside the workspace, or leave it.
    ├─ allow  bash -c rm -rf ~  (started by bash)
    └─ deny  rm -rf [HOME]  (started by bash)
         would delete everything in [HOME]: the whole home directory
         it would delete everything in the whole home directory: `[HOME]` [catastrophe.delete]
    [exit code 0]
    ");
    assert_snapshot!(explain("$(echo rm) a.txt"), @"
    ASK  $(echo rm) a.txt
      because it would delete a file of the workspace: `a.txt`
      layer judge, rule effect.delete
      Name what is to be deleted, inside the workspace, or leave it.
      safer: mv a.txt /tmp/
    ├─ allow  echo rm
    ├─ ask  rm a.txt
    │    would delete a.txt: a file of the workspace
    │    it would delete a file of the workspace: `a.txt` [effect.delete]
    │    safer: mv a.txt /tmp/
    └─ not certain: a program's name that is put together on the way
    [exit code 0]
    ");
    assert_snapshot!(explain("echo cm0gLXJmIC8= | base64 -d | sh"), @"
    DENY  echo cm0gLXJmIC8= | base64 -d | sh
      because it would delete everything in the whole file system: `/`
      layer catastrophe, rule catastrophe.delete
      Name what is to be deleted, inside the workspace, or leave it.
    ├─ allow  echo cm0gLXJmIC8=
    ├─ allow  base64 -d
    ├─ allow  sh  (started by sh)
    ├─ deny  rm -rf /  (started by sh)
    │    would delete everything in /: the whole file system
    │    it would delete everything in the whole file system: `/` [catastrophe.delete]
    └─ not certain: a script that was encoded
    [exit code 0]
    ");
    assert_snapshot!(explain("python3 -c 'import os; os.remove(\"a\")'"), @r#"
    ASK  python3 -c 'import os; os.remove("a")'
      because the program changes files
      layer judge, rule code.files
      Say in your answer what should be run and why.
    └─ ask  python3 -c import os; os.remove("a")
         would run python3 -c import os; os.remove("a")
         the program changes files [code.files]
    [exit code 0]
    "#);
    assert_snapshot!(explain("frobnicate --all"), @"
    ASK  frobnicate --all
      because nothing is known of the program `frobnicate`
      layer judge, rule program.unknown
      Say in your answer what should be run and why.
    └─ ask  frobnicate --all
         nothing is known of the program `frobnicate` [program.unknown]
    [exit code 0]
    ");
    assert_snapshot!(explain("echo 'unclosed"), @"
    ASK  echo 'unclosed
      because the line holds something that cannot be read as shell, so it is not certain what it does
      layer judge, rule command.unresolved
      Write the command out, without variables and substitutions that cannot be known.
    ├─ not certain: something that cannot be read as shell
    └─ not certain: a script that cannot be read
    [exit code 0]
    ");
    assert_snapshot!(explain(""), @"
    ASK
      because the line holds no command
      layer judge, rule command.empty
      Say what to run.
    [exit code 0]
    ");
}

#[test]
fn rule_files_clients_and_exit_codes() {
    let world = World::new();
    let rules = r#"{"rules": [{"id": "no-push", "type": "prefix", "pattern": "git push", "reason": "releases are made by CI"}]}"#;
    world.write(".marvin/security/denylist.json", rules);
    let run = |words: &[&str]| show(&world, world.marvin(["gate", "explain"]).args(words));
    assert_snapshot!(run(&["git push"]), @"
    DENY  git push
      because releases are made by CI
      layer denylist, rule denylist.no-push
      Do it another way, or say in your answer why it is needed.
    └─ ask  git push
         would change commits of git push
         it publishes commits [git.push]
    [exit code 0]
    ");
    assert_snapshot!(run(&["git push", "--no-rules"]), @"
    ASK  git push
      because it publishes commits
      layer judge, rule git.push
      Say in your answer what should be run and why.
    └─ ask  git push
         would change commits of git push
         it publishes commits [git.push]
    [exit code 0]
    ");
    assert_snapshot!(run(&["git push", "--exit-code"]), @"
    DENY  git push
      because releases are made by CI
      layer denylist, rule denylist.no-push
      Do it another way, or say in your answer why it is needed.
    └─ ask  git push
         would change commits of git push
         it publishes commits [git.push]
    [exit code 5]
    ");
    assert_snapshot!(run(&["npm test", "--client", "claude"]), @"
    claude: no opinion (the line may run code that has not been read, so the client decides)
      hook output: {}
    ALLOW  npm test
      because it only reads, builds, tests, or changes what can be brought back
      layer judge, rule effect
    └─ allow  npm test
    [exit code 0]
    ");
    assert_snapshot!(run(&["git push", "--json"]), @r#"
    {"command":"git push","verdict":"deny","layer":"denylist","rule":"denylist.no-push","reason":"releases are made by CI","how_to_fix":"Do it another way, or say in your answer why it is needed.","safer":null,"doubts":[],"segments":[{"words":["git","push"],"through":[],"effects":[{"act":"history","target":"git push","class":"something that cannot be known from the line","verb":"change commits of"}],"verdict":"ask","rule":"git.push","reason":"it publishes commits","safer":null}]}
    [exit code 0]
    "#);
}
