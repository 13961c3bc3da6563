//! S3 services on this machine: moto, which keeps conditional writes, and rclone, which does not.
//!
//! `MARVIN_TEST_S3` names the Python environment that has both; `cargo xtask fleet-test` installs it.

use marvin_base::environment::Environment;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// Moto with one request at a time. With threads, as `moto_server` starts it, two conditional writes of one object can both
/// succeed.
const MOTO: &str = "
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import run_simple
application = DomainDispatcherApplication(create_backend_app)
run_simple('127.0.0.1', 0, application, threaded=False, request_handler=MotoRequestHandler)
";

/// A running service; it ends with its value.
pub(crate) struct Service {
    child: Child,
    port: u16,
    _directory: tempfile::TempDir,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn program(name: &str) -> Option<PathBuf> {
    let Some(environment) = std::env::var_os("MARVIN_TEST_S3") else {
        marvin_testing::skip("S3 services are not installed; `cargo xtask fleet-test` installs them");
        return None;
    };
    Some(PathBuf::from(environment).join("bin").join(name))
}

impl Service {
    pub(crate) fn moto() -> Option<Self> {
        let mut command = Command::new(program("python3")?);
        command.args(["-c", MOTO]);
        let service = Service::start(command, tempfile::tempdir().unwrap());
        let created = service.put("/bucket");
        assert!(created.contains(" 200 OK\r\n"), "{created}");
        Some(service)
    }

    pub(crate) fn rclone() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("bucket")).unwrap();
        let mut command = Command::new(program("rclone")?);
        command.args(["serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", "key,secret", "--config", ""]);
        command.arg(directory.path());
        Some(Service::start(command, directory))
    }

    /// Starts a service and waits until it prints its address.
    fn start(mut command: Command, directory: tempfile::TempDir) -> Self {
        command
            .current_dir(directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let port = lines.by_ref().find_map(|line| {
            let rest = line.split("http://127.0.0.1:").nth(1)?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        // It must not wait for a reader of its log.
        std::thread::spawn(move || lines.for_each(drop));
        let port = port.expect("the service prints its address");
        Service { child, port, _directory: directory }
    }

    fn put(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = "HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        write!(stream, "PUT {path} {head}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Its process, for example to freeze it.
    #[allow(dead_code, reason = "the tests of a fleet freeze it; those of the store do not")]
    pub(crate) fn process(&self) -> &Child {
        &self.child
    }

    pub(crate) fn environment(&self) -> Environment {
        environment(self.port)
    }
}

/// The variables of a service at this port.
pub(crate) fn environment(port: u16) -> Environment {
    Environment::from_iter([
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}").as_str()),
        ("AWS_ACCESS_KEY_ID", "key"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
    ])
}
