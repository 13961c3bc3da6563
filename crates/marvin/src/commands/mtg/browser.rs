//! `marvin mtg serve --browser`: a game of two people in their browsers, on this machine.

use super::failures::table_failure;
use crate::failure::Failure;
use crate::output;
use crate::runtime::{cancel_on_signal, runtime};
use marvin_base::Exit;
use marvin_table::{PlayerId, Table};
use marvin_web::{SeatServer, serve_seats};
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr};

/// The output of `--json`.
#[derive(Serialize)]
struct Ready {
    url: String,
    game: String,
    links: [String; 2],
}

/// Serves a game until it is interrupted, and prints its summary.
pub(super) fn serve(table: Table, port: u16, json: bool) -> Result<Exit, Failure> {
    let game = table.id().to_owned();
    let runtime = runtime()?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let summary = runtime.block_on(async {
        let cancel = cancel_on_signal();
        let server = serve_seats(table, address, &cancel).await.map_err(Failure::failed)?;
        announce(&server, game, json)?;
        let mut is_over = false;
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                seat = server.opened() => {
                    if !json {
                        output::talk(&format!("Seat {} is open. For another window: {}", seat.0, server.link(seat)));
                    }
                }
                () = server.over(), if !is_over => {
                    is_over = true;
                    output::talk("The game is over; end with Ctrl-C.");
                }
            }
        }
        server.stop().await.map_err(table_failure)
    })?;
    runtime.shutdown_background();
    output::talk(&summary.to_string());
    Ok(Exit::Success)
}

fn announce(server: &SeatServer, game: String, json: bool) -> Result<(), Failure> {
    let links = PlayerId::BOTH.map(|seat| server.link(seat));
    if json {
        output::json_object(&Ready { url: format!("http://{}", server.address()), game, links })?;
        return Ok(());
    }
    let [one, two] = &links;
    output::line(&format!("{game}\n{one}\n{two}"))?;
    output::talk("Open one link per person; each works once. End with Ctrl-C.");
    Ok(())
}
