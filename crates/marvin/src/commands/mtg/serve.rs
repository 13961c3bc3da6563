//! `marvin mtg serve` and `marvin mtg join`: a game of two people over loopback.

use super::browser;
use super::failures::table_failure;
use super::table::{DeckArguments, SeedArguments, table_context};
use crate::arguments::ProjectArguments;
use crate::failure::Failure;
use crate::output;
use crate::runtime::runtime;
use clap::Args;
use marvin_base::Exit;
use marvin_table::{GameSetup, SeatKind, Table, TableServer};
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

/// Serve a game of two people on this machine
#[derive(Debug, Args)]
#[command(
    after_help = "The server listens on loopback only and prints one command for each person. Each sees only the own board. A connection that is lost can be made again.\n\nExamples:\n  marvin mtg serve --decks boundless_elves,dark_sacrifice\n  marvin mtg serve --browser"
)]
pub(crate) struct ServeArguments {
    #[command(flatten)]
    decks: DeckArguments,
    #[command(flatten)]
    seed: SeedArguments,
    /// Print one link per seat for browsers, in place of commands for terminals
    #[arg(long)]
    browser: bool,
    /// The port; a free one if there is none
    #[arg(long, default_value_t = 0, value_name = "PORT")]
    port: u16,
    /// Continue this game of two people
    #[arg(long, value_name = "GAME", conflicts_with_all = ["decks", "seed"])]
    resume: Option<String>,
    #[command(flatten)]
    place: ProjectArguments,
}

/// Join a game that `marvin mtg serve` serves
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  marvin mtg join 127.0.0.1:40123 0123456789abcdef01234567")]
pub(crate) struct JoinArguments {
    /// The address that the server printed
    #[arg(value_name = "ADDRESS")]
    address: SocketAddr,
    /// The token of the seat
    #[arg(value_name = "TOKEN")]
    token: String,
}

pub(crate) fn serve(arguments: &ServeArguments) -> Result<Exit, Failure> {
    let context = table_context(&arguments.place)?;
    let table = match &arguments.resume {
        Some(id) => Table::resume(&context, id),
        None => {
            let decks = arguments.decks.choose()?;
            let seats = [SeatKind::Person, SeatKind::Person];
            Table::create(&context, GameSetup::new(decks, seats, arguments.seed.choose()))
        }
    };
    let table = table.map_err(table_failure)?;
    let id = table.id().to_owned();
    if arguments.browser {
        return browser::serve(table, arguments.port, arguments.place.json);
    }
    runtime()?.block_on(async {
        let server = TableServer::bind(table, arguments.port).await.map_err(table_failure)?;
        let address = server.address().map_err(table_failure)?;
        let [one, two] = server.tokens();
        output::line(&format!("{id}\nmarvin mtg join {address} {one}\nmarvin mtg join {address} {two}\n"))?;
        let summary = server.run().await.map_err(table_failure)?;
        output::line(&summary)
    })
}

pub(crate) fn join(arguments: &JoinArguments) -> Result<Exit, Failure> {
    let wrong = |error: std::io::Error| {
        Failure::failed(format!("cannot join {}: {error}", arguments.address))
            .hint("start the server: marvin mtg serve")
    };
    if !arguments.address.ip().is_loopback() {
        return Err(Failure::usage(format!("{} is not on this machine", arguments.address))
            .hint("games are served on loopback"));
    }
    let mut stream = TcpStream::connect(arguments.address).map_err(wrong)?;
    writeln!(stream, "{}", arguments.token).map_err(wrong)?;
    let mut input = stream.try_clone().map_err(wrong)?;
    // Lines of the person go out beside what comes in; the end of the connection ends the command.
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if writeln!(input, "{line}").is_err() {
                return;
            }
        }
    });
    for line in BufReader::new(stream).lines() {
        output::line(&line.map_err(wrong)?)?;
    }
    Ok(Exit::Success)
}
