//! yt-dlp, the program itself, in the sandbox, against local servers.

use super::server::{Server, page};
use crate::support::Fixture;
use marvin_gate::Access;
use marvin_testing::skip;
use marvin_tools::Mode;
use serde_json::json;
use std::path::PathBuf;

/// The program; none where it is not installed.
fn program() -> Option<String> {
    let python = std::env::var_os("MARVIN_TEST_PYTHON").map(PathBuf::from);
    let program = python.map(|python| python.join("bin/yt-dlp")).filter(|program| program.exists());
    if program.is_none() {
        skip("yt-dlp is not in the Python of MARVIN_TEST_PYTHON, which `cargo xtask test` installs");
    }
    program.map(|program| program.display().to_string())
}

/// A fixture in conversation that may reach these hosts.
fn fixture(program: &str, hosts: &str, variables: &[(&str, &str)]) -> Fixture {
    let mut all = vec![("MARVIN_YT_DLP", program), ("MARVIN_WEB_ORG_ALLOWLIST", hosts)];
    all.extend(variables);
    Fixture::with(Mode::Assistant, &Access::Full, &all)
}

/// Bytes that begin as those of an MP4 file do.
fn video() -> Vec<u8> {
    let mut bytes = b"\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41".to_vec();
    bytes.resize(200_000, 7);
    bytes
}

async fn media() -> Server {
    Server::start(|path, _| match path {
        "/clip.mp4" => page("200 OK", "video/mp4", video()),
        "/song.mp3" => page("200 OK", "audio/mpeg", b"ID3\x03\0\0\0\0\0\0sound".repeat(1_000)),
        "/page.html" => page(
            "200 OK",
            "text/html",
            "<html><head><title>A page</title></head><body><video src='/clip.mp4'></video></body></html>",
        ),
        _ => page("404 Not Found", "text/html", "gone"),
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn video_and_sound_are_saved_and_nothing_is_overwritten() {
    let Some(program) = program() else { return };
    let server = media().await;
    let host = server.address.to_string();
    let fixture = fixture(&program, &host, &[]);
    let downloads = fixture.home.join("Downloads");
    let first = fixture.call("yt_dlp_download", json!({"url": server.url("/clip.mp4")})).await.result;
    assert!(first.ok, "{}", first.for_model());
    assert_eq!(std::fs::read(downloads.join("clip-clip.mp4")).unwrap(), video());
    assert_ne!(first.data["sandbox"], "none", "{}", first.data);
    fixture.good("yt_dlp_download", json!({"url": server.url("/clip.mp4")})).await;
    assert_eq!(std::fs::read(downloads.join("clip-clip-2.mp4")).unwrap(), video());
    fixture.good("yt_dlp_download", json!({"url": server.url("/page.html"), "output_dir": "films"})).await;
    assert_eq!(std::fs::read_dir(downloads.join("films")).unwrap().count(), 1);
    let sound = json!({"url": server.url("/song.mp3"), "audio_only": true});
    fixture.good("yt_dlp_download", sound).await;
    assert!(downloads.join("song-song.mp3").metadata().unwrap().len() > 10_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_that_were_not_agreed_on_are_not_reached() {
    let Some(program) = program() else { return };
    let elsewhere = media().await;
    let target = elsewhere.url("/clip.mp4");
    let server = Server::start(move |path, _| match path {
        "/page.html" => {
            page("200 OK", "text/html", format!("<html><body><video src='{target}'></video></body></html>"))
        }
        _ => page("404 Not Found", "text/html", "gone"),
    })
    .await;
    let fixture = fixture(&program, &server.address.to_string(), &[]);
    let text = fixture.bad("yt_dlp_download", json!({"url": server.url("/page.html")})).await;
    assert!(text.contains(&elsewhere.address.to_string()), "{text}");
    assert!(text.contains("were not let through") && text.contains("web.org_allowlist"), "{text}");
    assert_eq!(elsewhere.hits(), 0);
    assert!(!fixture.home.join("Downloads").join("clip-clip.mp4").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_said_and_leave_nothing() {
    let Some(program) = program() else { return };
    let server = media().await;
    let host = server.address.to_string();
    let bounded = fixture(&program, &host, &[("MARVIN_WEB_DOWNLOAD_MAX_BYTES", "50000")]);
    bounded.bad("yt_dlp_download", json!({"url": server.url("/clip.mp4")})).await;
    let usual = fixture(&program, &host, &[]);
    let gone = usual.bad("yt_dlp_download", json!({"url": server.url("/none.mp4")})).await;
    assert!(gone.contains("404"), "{gone}");
    for wrong in ["../films", "/etc/films/../.."] {
        usual.bad("yt_dlp_download", json!({"url": server.url("/clip.mp4"), "output_dir": wrong})).await;
    }
    for fixture in [&bounded, &usual] {
        let left = std::fs::read_dir(fixture.home.join("Downloads")).into_iter().flatten().count();
        assert_eq!(left, 0);
    }
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = fixture(&program, &closed.to_string(), &[]);
    let text = unreachable.bad("yt_dlp_download", json!({"url": format!("http://{closed}/clip.mp4")})).await;
    assert!(text.contains("yt-dlp could not download it"), "{text}");
}

#[tokio::test]
async fn a_missing_program_is_named_before_anything_is_asked() {
    let server = media().await;
    let fixture = fixture("/nonexistent/yt-dlp", &server.address.to_string(), &[]);
    let text = fixture.bad("yt_dlp_download", json!({"url": server.url("/clip.mp4")})).await;
    assert!(text.contains("yt-dlp is not installed") && text.contains("media.yt_dlp"), "{text}");
    assert_eq!(server.hits(), 0);
}
