//! The GitHub tools, against an interface and a git server on this machine.

use super::fixture;
use super::server::{Reply, Server, answer, page, redirect};
use serde_json::json;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Repositories to clone: `owner/one` and `owner/two`.
pub(crate) struct Origin {
    directory: tempfile::TempDir,
}

impl Origin {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let work = directory.path().join("work");
        std::fs::create_dir_all(work.join("src")).unwrap();
        marvin_testing::git(directory.path(), &["init", "-q", "-b", "main", "work"]);
        std::fs::write(work.join("src/main.rs"), "fn main() { needle(); }\n").unwrap();
        marvin_testing::git(&work, &["add", "-A"]);
        marvin_testing::git(&work, &["commit", "-qm", "one"]);
        std::fs::write(work.join("README.md"), "a needle in a haystack\n").unwrap();
        symlink("/etc/passwd", work.join("link")).unwrap();
        std::fs::write(
            work.join(".gitmodules"),
            "[submodule \"x\"]\n\tpath = x\n\turl = http://127.0.0.1:1/x.git\n",
        )
        .unwrap();
        marvin_testing::git(&work, &["add", "-A"]);
        marvin_testing::git(&work, &["commit", "-qm", "two"]);
        marvin_testing::git(&work, &["tag", "v1"]);
        for name in ["one", "two"] {
            let bare = directory.path().join("owner").join(format!("{name}.git"));
            marvin_testing::git(directory.path(), &["clone", "-q", "--bare", "work", bare.to_str().unwrap()]);
        }
        Origin { directory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().to_path_buf()
    }
}

/// Serves repositories with git's own program.
pub(crate) fn git(root: &Path, path: &str, head: &str, body: &[u8]) -> Reply {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(&format!("{name}:")));
        line.and_then(|line| line.split_once(':'))
            .map(|(_, value)| value.trim().to_string())
            .unwrap_or_default()
    };
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", head.split(' ').next().unwrap())
        .env("CONTENT_TYPE", header("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    backend.stdin.take().unwrap().write_all(body).unwrap();
    let output = backend.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or(0);
    let headers = String::from_utf8_lossy(&output[..end]).into_owned();
    let status =
        headers.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_string();
    let pairs: Vec<(&str, &str)> = headers
        .lines()
        .filter_map(|line| line.split_once(": "))
        .filter(|(name, _)| *name != "Status" && *name != "Content-Length")
        .collect();
    answer(&status, &pairs, &output[end + 4..])
}

async fn serve(origin: &Origin) -> Server {
    let root = origin.root();
    Server::with_bodies("127.0.0.1:0", move |path, head, body| git(&root, path, head, body)).await
}

fn clones(fixture: &crate::support::Fixture) -> PathBuf {
    fixture.root.join(".marvin/tools_cache/github")
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test]
async fn a_repository_is_cloned_and_searched() {
    let origin = Origin::new();
    let server = serve(&origin).await;
    let fixture = fixture(&[("MARVIN_GITHUB_CLONE_URL", &server.url(""))]);
    let text = fixture.bad("github_grep", json!({"repo": "owner/one", "pattern": "needle"})).await;
    assert!(text.contains("github_clone"), "{text}");
    let called = fixture.call("github_clone", json!({"repo": "owner/one"})).await;
    assert!(called.result.ok, "{}", called.result.for_model());
    assert_eq!((called.verdict.rule.as_str(), called.result.source), ("network.listed", "web"));
    assert_eq!(called.result.data["path"], ".marvin/tools_cache/github/owner/one");
    assert_eq!(called.result.data["already"], false);
    assert_eq!(called.result.data["commit"].as_str().map(str::len), Some(40));
    let clone = clones(&fixture).join("owner/one");
    // A link of the repository is a plain file, its submodules are not fetched, and it has neither hooks nor history.
    assert!(clone.join("link").symlink_metadata().unwrap().is_file());
    assert_eq!(std::fs::read_to_string(clone.join("link")).unwrap(), "/etc/passwd");
    assert!(!clone.join(".git/hooks").exists() && clone.join(".git/shallow").exists());
    assert_eq!(names(&clones(&fixture).join("owner")), ["one"]);

    let text = fixture.good("github_grep", json!({"repo": "owner/one", "pattern": "NEEDLE"})).await;
    assert!(text.contains("src/main.rs") && text.contains("README.md"), "{text}");
    let text = fixture
        .good("github_grep", json!({"repo": "owner/one", "pattern": "needle", "glob_filter": "*.rs"}))
        .await;
    assert!(text.contains("src/main.rs") && !text.contains("README.md"), "{text}");
    let before = server.hits();
    let called = fixture.call("github_clone", json!({"repo": "owner/one"})).await;
    assert_eq!((called.result.data["already"].as_bool(), server.hits()), (Some(true), before));
    let called = fixture.call("github_clone", json!({"repo": "owner/two", "shallow": false})).await;
    assert!(called.result.ok && !clones(&fixture).join("owner/two/.git/shallow").exists());
    fixture.good("github_grep", json!({"repo": "owner/two", "pattern": "needle"})).await;
}

#[tokio::test]
async fn a_clone_that_fails_leaves_nothing() {
    let origin = Origin::new();
    let server = serve(&origin).await;
    let secret = Server::secret("127.0.0.1:0").await;
    let target = secret.url("");
    let leading = Server::start(move |path, _| redirect("302 Found", &format!("{target}{path}"))).await;
    let silent = Server::start(|_, _| Reply::Silence).await;
    let asking = Server::start(|_, _| answer("401 Unauthorized", &[("WWW-Authenticate", "Basic")], "")).await;
    for (settings, expected) in [
        (vec![("MARVIN_GITHUB_CLONE_URL", server.url("/nowhere"))], "git could not clone"),
        (vec![("MARVIN_GITHUB_CLONE_URL", leading.url(""))], "git could not clone"),
        (vec![("MARVIN_GITHUB_CLONE_URL", asking.url(""))], "git could not clone"),
        (
            vec![("MARVIN_GITHUB_CLONE_URL", silent.url("")), ("MARVIN_GITHUB_CLONE_TIMEOUT_S", "1".into())],
            "not done after 1 s",
        ),
        (
            vec![
                ("MARVIN_GITHUB_CLONE_URL", server.url("")),
                ("MARVIN_GITHUB_CLONE_MAX_BYTES", "1000".into()),
            ],
            "larger than 1000 bytes",
        ),
        (
            vec![
                ("MARVIN_GITHUB_CLONE_URL", server.url("")),
                ("MARVIN_WEB_ORG_ALLOWLIST", "example.com".into()),
            ],
            "no list of hosts names",
        ),
    ] {
        let pairs: Vec<(&str, &str)> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let fixture = fixture(&pairs);
        let text = fixture.bad("github_clone", json!({"repo": "owner/one"})).await;
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(names(&clones(&fixture).join("owner")).is_empty(), "{expected}");
    }
    assert_eq!(secret.hits(), 0);
    // Cancelled.
    let fixture = fixture(&[("MARVIN_GITHUB_CLONE_URL", &silent.url(""))]);
    let cancel = fixture.context.cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel.cancel();
    });
    let text = fixture.bad("github_clone", json!({"repo": "owner/one"})).await;
    assert!(text.contains("cancelled"), "{text}");
    assert!(names(&clones(&fixture).join("owner")).is_empty());
}

#[tokio::test]
async fn no_link_leads_a_clone_elsewhere() {
    let origin = Origin::new();
    let server = serve(&origin).await;
    for place in
        [".marvin", ".marvin/tools_cache", ".marvin/tools_cache/github", ".marvin/tools_cache/github/owner"]
    {
        let fixture = fixture(&[("MARVIN_GITHUB_CLONE_URL", &server.url(""))]);
        let outside = fixture.home.join("outside");
        std::fs::create_dir_all(&outside).unwrap();
        let link = fixture.root.join(place);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&outside, &link).unwrap();
        fixture.bad("github_clone", json!({"repo": "owner/one"})).await;
        assert!(names(&outside).is_empty(), "{place}");
    }
}

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

#[tokio::test]
async fn the_interface_is_searched_and_read_with_the_token() {
    let other = Server::start(|_, _| page("200 OK", "text/plain", "elsewhere")).await;
    let elsewhere = other.url("/");
    let server = Server::start(move |path, head| match path.split('?').next().unwrap() {
        "/v3/search/repositories" => page(
            "200 OK",
            "application/json",
            json!({"total_count": 41, "items": [{"full_name": "a/b", "description": "about b", "stargazers_count": 7,
                "language": "Rust", "html_url": "https://github.com/a/b"}]})
            .to_string(),
        ),
        "/v3/search/code" => page("403 Forbidden", "application/json", r#"{"message": "rate limit exceeded"}"#),
        "/v3/repos/a/b/contents/src/l%20ib.rs" => {
            page("200 OK", "application/vnd.github.raw+json; charset=utf-8", "one\ntwo\nthree\n")
        }
        "/v3/repos/a/b/contents" => page(
            "200 OK",
            "application/json; charset=utf-8",
            r#"[{"name": "src", "type": "dir"}, {"name": "README.md", "type": "file"}]"#,
        ),
        "/v3/repos/a/moved/contents/x" => redirect("301 Moved Permanently", "/v3/repos/a/b/contents/src/l%20ib.rs"),
        "/v3/repos/a/away/contents/x" => redirect("302 Found", &elsewhere),
        "/v3/repos/a/echo/contents/x" => page("200 OK", "text/plain", head),
        _ => page("404 Not Found", "application/json", r#"{"message": "Not Found"}"#),
    })
    .await;
    let fixture = fixture(&[("MARVIN_GITHUB_API_URL", &server.url("/v3/")), ("GH_TOKEN", TOKEN)]);
    let text = fixture.good("github_search", json!({"query": "b language:rust"})).await;
    assert!(
        text.contains("41 repositories found") && text.contains("a/b") && text.contains("7 stars"),
        "{text}"
    );
    assert!(server.heads()[0].starts_with("GET /v3/search/repositories?q=b+language%3Arust&per_page=10 "));
    let text = fixture.bad("github_search", json!({"query": "x", "search_type": "code"})).await;
    assert!(text.contains("rate limit exceeded") && text.contains("github.token"), "{text}");
    let read = async |arguments| fixture.call("github_read_file", arguments).await.result;
    let file = read(json!({"repo": "a/b", "path": "src/l ib.rs"})).await;
    assert_eq!(
        (file.data["content"].as_str(), file.data["lines"].as_u64()),
        (Some("one\ntwo\nthree\n"), Some(3))
    );
    let part = read(json!({"repo": "a/b", "path": "/src/./l ib.rs", "start": 2, "end": 2})).await;
    assert_eq!(part.data["content"], "two");
    assert!(!read(json!({"repo": "a/b", "path": "src/l ib.rs", "start": 9})).await.ok);
    assert_eq!(read(json!({"repo": "a/b"})).await.data["content"], "src/\nREADME.md");
    assert!(read(json!({"repo": "a/moved", "path": "x"})).await.ok);
    assert!(read(json!({"repo": "a/none", "path": "x"})).await.error.unwrap().contains("Not Found"));
    // The token goes to the interface, comes back from nowhere, and is not carried away.
    assert!(server.heads().iter().all(|head| head.contains(&format!("Bearer {TOKEN}"))));
    let echoed = read(json!({"repo": "a/echo", "path": "x"})).await;
    assert!(echoed.ok && !echoed.for_model().contains("ghp_") && echoed.for_model().contains("****"));
    assert!(!read(json!({"repo": "a/away", "path": "x"})).await.ok);
    assert_eq!(other.hits(), 0);
    // Nor where a redirect to another place is agreed on.
    let open = super::fixture(&[
        ("MARVIN_GITHUB_API_URL", &server.url("/v3/")),
        ("GH_TOKEN", TOKEN),
        ("MARVIN_WEB_ORG_ALLOWLIST", "127.0.0.1"),
    ]);
    open.good("github_read_file", json!({"repo": "a/away", "path": "x"})).await;
    assert_eq!(other.hits(), 1);
    assert!(!other.heads()[0].contains("ghp_"), "{}", other.heads()[0]);
}
