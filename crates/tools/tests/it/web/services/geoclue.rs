//! The position of the machine by the real GeoClue: its service, its agent and its program, on a bus of the test's own.

use super::rules::attend;
use super::{Server, at, page};
use marvin_testing::skip;
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SERVICE: &str = "/usr/libexec/geoclue";
const AGENT: &str = "/usr/libexec/geoclue-2.0/demos/agent";
const WHERE_AM_I: &str = "/usr/libexec/geoclue-2.0/demos/where-am-i";

/// Only the socket with the sentences of a GPS receiver is a source.
const CONFIGURATION: &str = "[agent]\nwhitelist=geoclue-demo-agent\n[network-nmea]\nenable=true\n[wifi]\nenable=false\n\
    [3g]\nenable=false\n[cdma]\nenable=false\n[modem-gps]\nenable=false\n\
    [geoclue-where-am-i]\nallowed=true\nsystem=true\nusers=\n";

/// The reply of the service that knows the place of an IP address.
const BY_ADDRESS: &str = r#"{"status": "success", "country": "Germany", "regionName": "Berlin", "city": "Berlin", "lat": 52.5, "lon": 13.4, "timezone": "Europe/Berlin"}"#;

/// A process that ends with the test.
struct TestProcess(Child);

impl Drop for TestProcess {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Whether the real programs can run here.
fn has_geoclue() -> bool {
    let missing = [SERVICE, AGENT, WHERE_AM_I].into_iter().find(|path| !Path::new(path).exists());
    if let Some(path) = missing {
        skip(&format!("{path} is not installed (Debian: geoclue-2.0 and geoclue-2-demo)"));
        return false;
    }
    let runs = |program: &str, words: &[&str]| {
        Command::new(program).args(words).output().is_ok_and(|output| output.status.success())
    };
    if !runs("dbus-daemon", &["--version"]) {
        skip("dbus-daemon is not installed");
        return false;
    }
    // GeoClue reads its configuration at a fixed place, which only a mount namespace can change.
    if !runs("unshare", &["-rmn", "true"]) {
        skip("this system has no namespaces for users");
        return false;
    }
    true
}

fn write_script(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A sentence of a GPS receiver, with its checksum.
fn sentence(words: &str) -> String {
    let sum = words.bytes().fold(0, |sum, byte| sum ^ byte);
    format!("${words}*{sum:02X}\r\n")
}

/// Plays a GPS receiver in Munich for GeoClue, until the connection ends.
fn serve_gps(listener: &UnixListener) {
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { return };
        let words = "GPGGA,120000.00,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,";
        while stream.write_all(sentence(words).as_bytes()).is_ok() {
            // A receiver sends a sentence per second.
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
    }
}

/// Starts a bus that starts GeoClue when it is asked for, and the agent that lets its clients in; returns a program that asks it.
fn start_geoclue(directory: &Path) -> (String, [TestProcess; 2]) {
    let place = |name: &str| directory.join(name).display().to_string();
    let listener = UnixListener::bind(place("gps.sock")).unwrap();
    std::thread::spawn(move || serve_gps(&listener));
    std::fs::write(place("geoclue.conf"), CONFIGURATION).unwrap();
    let (conf, gps) = (place("geoclue.conf"), place("gps.sock"));
    let inner = format!("mount --bind '{conf}' /etc/geoclue/geoclue.conf && exec {SERVICE} -u '{gps}'");
    write_script(
        Path::new(&place("start")),
        &format!("#!/bin/sh\nexec unshare -rmn sh -c \"{inner}\" 2>'{}'\n", place("geoclue.log")),
    );
    let unit = format!("[D-BUS Service]\nName=org.freedesktop.GeoClue2\nExec={}\n", place("start"));
    std::fs::write(place("org.freedesktop.GeoClue2.service"), unit).unwrap();
    let address = format!("unix:path={}", place("bus.sock"));
    std::fs::write(
        place("bus.conf"),
        format!(
            "<busconfig><type>session</type><listen>{address}</listen><servicedir>{}</servicedir>\
             <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/>\
             <allow own=\"*\"/></policy></busconfig>",
            directory.display()
        ),
    )
    .unwrap();
    let mut bus = Command::new("dbus-daemon")
        .args(["--nofork", "--print-address", "--config-file", &place("bus.conf")])
        .env("DBUS_SYSTEM_BUS_ADDRESS", &address)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(bus.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("unix:"), "{line}");
    let bus = TestProcess(bus);
    let agent = Command::new(AGENT)
        .env("DBUS_SYSTEM_BUS_ADDRESS", &address)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let asks = place("where-am-i");
    write_script(
        Path::new(&asks),
        &format!("#!/bin/sh\nDBUS_SYSTEM_BUS_ADDRESS={address} exec {WHERE_AM_I} \"$@\"\n"),
    );
    (asks, [TestProcess(agent), bus])
}

#[tokio::test(flavor = "multi_thread")]
async fn the_machine_knows_its_position_without_a_service() {
    if !has_geoclue() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (program, _running) = start_geoclue(directory.path());
    let server = Server::start(|_, _| page("200 OK", "application/json", BY_ADDRESS)).await;
    let fixture = at(&server.url(""), &[("MARVIN_GEOCLUE", &program)]);
    let called = fixture.call("get_my_location", json!({})).await.result;
    let log = std::fs::read_to_string(directory.path().join("geoclue.log")).unwrap_or_default();
    assert_eq!(server.hits(), 0, "{}\n{log}", called.for_model());
    assert_eq!(called.data["service"], "GeoClue");
    let item = &called.data["items"][0];
    assert_eq!((&item["latitude"], &item["longitude"]), (&json!(48.1173), &json!(11.516_667)), "{item}");
    let text = called.for_model();
    assert!(text.contains("(from GeoClue") && text.contains("48.1173, 11.516667"), "{text}");
}

#[tokio::test]
async fn without_a_position_the_ip_address_is_asked_after_both_were_agreed_to() {
    let server = Server::start(|_, _| page("200 OK", "application/json", BY_ADDRESS)).await;
    let variables = [("MARVIN_GEOCLUE", "/bin/false"), ("MARVIN_TOOLS_PRIVATE", "ask")];
    let mut fixture = at(&server.url(""), &variables);
    let person = attend(&mut fixture, true);
    let text = fixture.good("get_my_location", json!({})).await;
    assert!(text.contains("Berlin") && text.contains("by IP address"), "{text}");
    let asked = person.questions.lock().unwrap().concat();
    assert!(
        asked.contains("this tells GeoClue and ip-api.com your IP address and the networks near you"),
        "{asked}"
    );
    assert_eq!(server.hits(), 1);
}
