//! The Model Context Protocol over real pipes and sockets: Marvin as a server, and as a client of honest and hostile ones.

mod client;
mod server;
mod servitors;
mod work;

use crate::support::{RunningProgram, World};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::ChildStdin;

/// A client that speaks line by line.
struct Pipe {
    running: RunningProgram,
    stdin: Option<ChildStdin>,
    next: u64,
    /// Messages other than answers.
    notifications: Vec<Value>,
}

impl Pipe {
    /// Starts `marvin mcp` and initializes the session.
    fn open(world: &World, more: &[&str]) -> Self {
        let (running, stdin) = world.marvin(["mcp"]).args(more).converse();
        let mut pipe = Pipe { running, stdin: Some(stdin), next: 0, notifications: Vec::new() };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        let answer = pipe.ask("initialize", hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        pipe
    }

    fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(format!("{message}\n").as_bytes()).unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request and returns its id.
    fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": self.next, "method": method});
        message["params"] = params;
        self.send(&message);
        self.next
    }

    /// The next message: every line must be one.
    fn message(&mut self) -> Value {
        let line = self.running.line().expect("the server still speaks");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0");
        message
    }

    /// Sends a request and waits for the answer.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let mut params = json!({"name": tool});
        params["arguments"] = arguments;
        self.ask("tools/call", params)
    }
}

/// Number of processes that work in this directory or name it.
fn processes(mark: &Path) -> usize {
    let mark = mark.display().to_string();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let inside = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&mark));
            let named = fs::read(entry.path().join("cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&mark));
            inside || named
        })
        .count()
}
