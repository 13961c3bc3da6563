//! Layer 7: the browser front end.
//!
//! One server on this machine ([`service`]) gives one page and the data that it shows. Access control is in
//! one place ([`guard`]), what can be asked for in one table, which the description at `/openapi.json`
//! follows. The pages ([`pages`]) read what is stored, through the same calls as the commands, and decide nothing.

mod answer;
mod assets;
mod guard;
mod pages;
mod routes;
mod seats;
mod service;
mod session;

pub use seats::{SeatServer, serve_seats};
pub use service::{Setup, StartError, WebServer, serve};
