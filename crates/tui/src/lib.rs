//! Layer 7: the terminal front end.
//!
//! Thin: it shows what a [`Chat`] holds and sends what the person wants. The first frame is drawn before the conversation is
//! opened; from then on it is drawn when something changed, and only then. The conversation runs on a thread of its own, so that
//! a key never waits for it.
//!
//! Output of models and tools is shown, never obeyed: escape sequences and turns of direction are written out, and Markdown is
//! coloured with all its marks in place.

mod app;
pub mod board;
mod editor;
mod highlight;
mod input;
mod keys;
mod markdown;
mod panel;
pub mod picture;
mod terminal;
mod text;
mod theme;
mod transcript;
mod view;

use app::{App, Effect};
use crossterm::event::Event as Key;
use marvin_agent::chat::{Answer, Chat, Event, InputHistory, Message, Reply};
use marvin_base::environment::Environment;
use marvin_base::truncate;
use panel::Panel;
use picture::PictureProtocol;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use terminal::{Reader, TerminalGuard};
use theme::Theme;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use transcript::Tone;

/// While text is arriving, frames are this far apart; keys are shown at once.
const FRAME: Duration = Duration::from_millis(16);
/// How long an interrupted turn may take to close its record when the person leaves.
const TURN_CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// Events that are taken at once.
const MANY: usize = 2_048;

/// A conversation that was opened.
pub struct OpenedChat {
    pub chat: Chat,
    /// Text for an empty conversation.
    pub welcome: String,
    /// Text that is shown when it opens; empty: none.
    pub note: String,
    /// Values that must live as long as the conversation.
    pub held: Box<dyn std::any::Any>,
}

impl std::fmt::Debug for OpenedChat {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Opened").field("chat", &self.chat).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// No colours.
    pub no_color: bool,
    /// The person's editor, with its words.
    pub editor: String,
}

enum FrontEndMessage {
    Key(Key),
    Resized,
    /// The terminal is gone, or the program is asked to end.
    End,
    Opened(Box<Start>),
    Failed(String),
    Events(Vec<Arc<Event>>),
    Reply(Reply),
    /// The recorder runs, for this many seconds.
    Recording(u64),
    Voice(Result<String, String>),
}

/// An opened conversation, as the front end receives it.
struct Start {
    chat: Chat,
    welcome: String,
    note: String,
    messages: Vec<Arc<Message>>,
}

/// Requests to the conversation's thread.
enum Job {
    Line(String),
    Voice(u64),
    End,
}

#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("cannot use the terminal: {0}\n  hint: try --plain")]
    Setup(#[from] std::io::Error),
    #[error("the terminal is gone: {0}")]
    Gone(std::io::Error),
    #[error("{0}")]
    Chat(String),
    #[error("the conversation failed")]
    Panicked,
}

impl From<TerminalError> for String {
    fn from(error: TerminalError) -> Self {
        error.to_string()
    }
}

/// Shows a conversation until the person leaves. `open` runs on the thread of the conversation, after the first frame.
///
/// # Errors
/// When the terminal cannot be used, or the conversation cannot be opened.
pub fn run<F, Fut, E>(options: &Options, open: F) -> Result<(), TerminalError>
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = Result<OpenedChat, E>>,
    E: std::fmt::Display,
{
    let (tell, messages) = channel();
    let (jobs, orders) = unbounded_channel();
    let taken = TerminalGuard::new()?;
    let mut screen = Terminal::new(CrosstermBackend::new(std::io::stdout()))?;
    let mut app = App::new(Theme::choose(options.no_color));
    screen.draw(|frame| view::draw(&mut app, frame))?;
    let service = {
        let tell = tell.clone();
        std::thread::Builder::new().name("chat".into()).spawn(move || serve(open, &tell, orders))?
    };
    let reader = keys_to(&tell)?;
    let mut front_end = TerminalFrontEnd {
        app,
        screen,
        chat: None,
        welcome: String::new(),
        reader: Some(reader),
        taken: Some(taken),
        tell,
        jobs,
        pictures: PictureProtocol::detect(&Environment::of_process()),
        picture: PictureState::default(),
    };
    let ended = front_end.live(&messages, options);
    let TerminalFrontEnd { screen, reader, taken, jobs, .. } = front_end;
    jobs.send(Job::End).ok();
    drop(reader);
    drop(screen);
    drop(taken);
    service.join().map_err(|_| TerminalError::Panicked)?;
    ended
}

fn keys_to(tell: &Sender<FrontEndMessage>) -> std::io::Result<Reader> {
    let tell = tell.clone();
    Reader::start(move |key| tell.send(key.map_or(FrontEndMessage::End, FrontEndMessage::Key)).is_ok())
}

struct TerminalFrontEnd {
    app: App,
    screen: Terminal<CrosstermBackend<std::io::Stdout>>,
    chat: Option<Chat>,
    welcome: String,
    reader: Option<Reader>,
    taken: Option<TerminalGuard>,
    tell: Sender<FrontEndMessage>,
    jobs: UnboundedSender<Job>,
    /// How the terminal takes pictures; none: it takes none.
    pictures: Option<PictureProtocol>,
    picture: PictureState,
}

/// A picture over the conversation. It stays until the next key.
#[derive(Debug, Default)]
enum PictureState {
    #[default]
    None,
    /// A PNG that is shown after the next frame.
    Waiting(Vec<u8>),
    Shown,
}

impl TerminalFrontEnd {
    /// Receives messages and draws until the person leaves.
    fn live(&mut self, messages: &Receiver<FrontEndMessage>, options: &Options) -> Result<(), TerminalError> {
        let (mut drawn, mut due) = (Instant::now(), false);
        loop {
            let next = if due {
                messages.recv_timeout(FRAME.saturating_sub(drawn.elapsed()))
            } else {
                messages.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            let mut at_once = false;
            let first = match next {
                Ok(first) => Some(first),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            for one in first.into_iter().chain(messages.try_iter().take(MANY)) {
                at_once |= !matches!(one, FrontEndMessage::Events(_));
                self.hear(one, options)?;
                if self.app.quitting {
                    return Ok(());
                }
            }
            due = !at_once && drawn.elapsed() < FRAME;
            if !due {
                let app = &mut self.app;
                self.screen.draw(|frame| view::draw(app, frame)).map_err(TerminalError::Gone)?;
                self.show_picture().map_err(TerminalError::Gone)?;
                drawn = Instant::now();
            }
        }
    }

    fn hear(&mut self, message: FrontEndMessage, options: &Options) -> Result<(), TerminalError> {
        match message {
            FrontEndMessage::Key(key) => {
                self.hide_picture().map_err(TerminalError::Gone)?;
                let effects = keys::input(&mut self.app, &key, self.chat.as_ref());
                self.all(effects, options);
            }
            FrontEndMessage::Resized => {}
            FrontEndMessage::End => self.app.quitting = true,
            FrontEndMessage::Failed(error) => return Err(TerminalError::Chat(error)),
            FrontEndMessage::Opened(start) => {
                let Start { chat, welcome, note, messages } = *start;
                self.app.show(&messages, &welcome);
                self.app.note(&note, Tone::Quiet);
                let project = chat.project();
                self.app.typed = InputHistory::read(&project.layout.typed(&chat.status().profile));
                self.app.stands(chat.status(), chat.approvals());
                self.chat = Some(chat);
                self.welcome = welcome;
            }
            FrontEndMessage::Events(events) => {
                let mut refresh = false;
                for event in &events {
                    if event.kind == "gap" {
                        self.show_again();
                    }
                    refresh |= self.app.event(event);
                    if self.pictures.is_some()
                        && let Some(png) = picture::picture_of_event(&event.kind, &event.data)
                    {
                        self.picture = PictureState::Waiting(png);
                    }
                }
                if refresh {
                    self.refresh();
                }
            }
            FrontEndMessage::Reply(reply) => {
                self.app.commands = self.app.commands.saturating_sub(1);
                let effects = self.app.reply(reply);
                self.all(effects, options);
            }
            FrontEndMessage::Recording(seconds) => {
                self.app.flash = Some(format!("speak: {seconds} seconds"));
            }
            FrontEndMessage::Voice(transcript) => {
                self.app.commands = self.app.commands.saturating_sub(1);
                match transcript {
                    Ok(text) => self.app.editor.insert(&text),
                    Err(error) => self.app.note(&error, Tone::Bad),
                }
            }
        }
        Ok(())
    }

    /// Shows a picture that waits, over the upper left of the conversation.
    fn show_picture(&mut self) -> std::io::Result<()> {
        let (Some(protocol), PictureState::Waiting(png)) = (self.pictures, &self.picture) else {
            return Ok(());
        };
        let columns = self.screen.size()?.width.saturating_sub(4);
        terminal::write_at(2, 3, &protocol.encode(png, columns))?;
        self.picture = PictureState::Shown;
        Ok(())
    }

    /// Takes a shown picture away; the next frame is drawn as a whole.
    fn hide_picture(&mut self) -> std::io::Result<()> {
        if let (Some(protocol), PictureState::Shown) = (self.pictures, &self.picture) {
            terminal::write_at(1, 1, protocol.remove_all())?;
            self.screen.clear()?;
            self.picture = PictureState::None;
        }
        Ok(())
    }

    fn refresh(&mut self) {
        if let Some(chat) = &self.chat {
            self.app.stands(chat.status(), chat.approvals());
        }
    }

    fn show_again(&mut self) {
        if let Some(chat) = &self.chat {
            self.app.show(&chat.messages(), &self.welcome);
            self.app.typed = InputHistory::read(&chat.project().layout.typed(&chat.status().profile));
        }
    }

    fn all(&mut self, effects: Vec<Effect>, options: &Options) {
        for effect in effects {
            self.effect(effect, options);
        }
    }

    fn effect(&mut self, effect: Effect, options: &Options) {
        match effect {
            Effect::Line(line) if self.chat.is_none() => {
                self.app.editor.set(&line);
                self.app.flash = Some("a moment: the conversation is being opened".into());
            }
            Effect::Line(line) => {
                self.app.commands += 1;
                self.jobs.send(Job::Line(line)).ok();
            }
            Effect::Voice(seconds) => {
                self.app.commands += 1;
                self.jobs.send(Job::Voice(seconds)).ok();
            }
            Effect::Cancel => {
                if let Some(text) = self.chat.as_ref().and_then(|chat| chat.cancel().queued) {
                    self.app.take_back(&text);
                }
            }
            Effect::Answer(id, answer) => {
                if let Some(chat) = &self.chat
                    && let Err(error) = chat.answer(&id, &answer)
                {
                    if let Answer::Edit(text) = &answer {
                        self.app.editor.set(text);
                        self.app.answering = Some(id);
                    }
                    self.app.flash = Some(truncate::line(&error.to_string(), 200));
                }
                self.refresh();
            }
            Effect::Look(what) => self.look(what),
            Effect::Copy(text) => {
                let done = terminal::copy(&text);
                let bytes = text.len();
                self.app.flash = Some(done.map_or_else(
                    |error| error.to_string(),
                    |()| format!("the last answer is copied ({bytes} bytes)"),
                ));
            }
            Effect::Edit(path) => self.edit(&path, options),
            Effect::Quit => self.app.quitting = true,
        }
    }

    fn look(&mut self, what: &str) {
        let Some(chat) = &self.chat else { return };
        match what {
            "memory" => {
                self.refresh();
                self.app.panel = Some(Panel::Approvals { at: 0, scroll: 0 });
            }
            "servitors" => {
                let rows = chat.servitors();
                self.app.show_servitors(rows);
            }
            "runs" => {
                let rows = chat.runs(100);
                self.app.show_runs(rows);
            }
            "messages" => self.show_again(),
            _ => {
                self.redraw();
            }
        }
    }

    /// Everything is drawn again with the next frame. The terminal is asked nothing: its answer would be taken for a key.
    fn redraw(&mut self) {
        if let Ok(size) = self.screen.size() {
            self.screen.resize(Rect::new(0, 0, size.width, size.height)).ok();
        }
    }

    /// Leaves the terminal to the person's editor until that ends.
    fn edit(&mut self, path: &Path, options: &Options) {
        // Only the editor may read what is typed meanwhile.
        self.reader = None;
        self.taken = None;
        let mut words = options.editor.split_whitespace();
        let ended =
            words.next().map(|program| std::process::Command::new(program).args(words).arg(path).status());
        self.app.flash = match ended {
            Some(Ok(status)) if status.success() => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Some(format!("closed: {name}"))
            }
            Some(Ok(status)) => Some(format!("the editor ended with {status}")),
            Some(Err(error)) => Some(format!("`{}` cannot be started: {error}; set EDITOR", options.editor)),
            None => Some("no editor is set: set EDITOR".into()),
        };
        self.taken = TerminalGuard::new().ok();
        self.reader = keys_to(&self.tell).ok();
        self.redraw();
        if self.taken.is_none() || self.reader.is_none() {
            self.app.quitting = true;
        }
    }
}

/// The thread of the conversation: opens it, forwards its events to the front end, and executes jobs.
fn serve<F, Fut, E>(open: F, tell: &Sender<FrontEndMessage>, mut orders: UnboundedReceiver<Job>)
where
    F: FnOnce() -> Fut,
    Fut: Future<Output = Result<OpenedChat, E>>,
    E: std::fmt::Display,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tell.send(FrontEndMessage::Failed(format!("cannot start: {error}"))).ok();
            return;
        }
    };
    runtime.block_on(async {
        listen_to_signals(tell);
        let (chat, _held) = match open().await {
            Ok(OpenedChat { chat, welcome, note, held }) => {
                let start = Start { messages: chat.messages(), chat: chat.clone(), welcome, note };
                tell.send(FrontEndMessage::Opened(Box::new(start))).ok();
                (chat, held)
            }
            Err(error) => {
                tell.send(FrontEndMessage::Failed(error.to_string())).ok();
                return;
            }
        };
        let mut events = chat.events(None);
        loop {
            tokio::select! {
                some = events.some(MANY) => {
                    if some.is_empty() || tell.send(FrontEndMessage::Events(some)).is_err() {
                        break;
                    }
                }
                job = orders.recv() => match job {
                    Some(Job::Line(line)) => {
                        let (chat, tell) = (chat.clone(), tell.clone());
                        tokio::spawn(async move { tell.send(FrontEndMessage::Reply(line_to(&chat, &line).await)).ok() });
                    }
                    Some(Job::Voice(seconds)) => {
                        let (chat, tell) = (chat.clone(), tell.clone());
                        tokio::spawn(async move {
                            let begun = || { tell.send(FrontEndMessage::Recording(seconds)).ok(); };
                            let text = chat.listen(seconds, begun).await.map_err(|error| error.to_string());
                            tell.send(FrontEndMessage::Voice(text)).ok()
                        });
                    }
                    Some(Job::End) | None => break,
                },
            }
        }
        // The running turn is interrupted, and its record closed.
        if chat.cancel().cancelled {
            let quiet = async {
                while chat.status().busy {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(TURN_CLOSE_TIMEOUT, quiet).await.ok();
        }
    });
}

async fn line_to(chat: &Chat, line: &str) -> Reply {
    match chat.command(line).await {
        Some(reply) => reply,
        None => chat.send(line).map_or_else(|refusal| Reply::Wrong(refusal.to_string()), Reply::Sent),
    }
}

fn listen_to_signals(tell: &Sender<FrontEndMessage>) {
    for (kind, ends) in [
        (SignalKind::window_change(), false),
        (SignalKind::terminate(), true),
        (SignalKind::hangup(), true),
        (SignalKind::interrupt(), true),
    ] {
        let Ok(mut signal) = signal(kind) else { continue };
        let tell = tell.clone();
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                if tell.send(if ends { FrontEndMessage::End } else { FrontEndMessage::Resized }).is_err() {
                    break;
                }
            }
        });
    }
}

#[cfg(test)]
mod tests;
