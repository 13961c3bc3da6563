//! Parser of terminal input: characters, control characters, escape sequences (xterm's, with modifiers), pasted text, clicks and
//! the wheel of the mouse.
//!
//! Limits: a key that begins like a sequence is a key of its own when nothing more comes for a moment. What is not known is left out.

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

/// Longest escape sequence; longer input is text.
const MAX_SEQUENCE_BYTES: usize = 128;
const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// Understands bytes as they come.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    held: Vec<u8>,
    pasting: bool,
}

/// Result of parsing the beginning of some bytes.
enum ParseStep {
    /// More must come before it can be known.
    More,
    /// So many bytes, and what they mean, if anything.
    Some(usize, Option<Event>),
    /// So many bytes; pasted text follows.
    Paste(usize),
}

impl Parser {
    /// Takes bytes; gives what is whole by now.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        self.held.extend_from_slice(bytes);
        self.all(false)
    }

    /// Whether something waits for its end that may never come.
    pub(crate) fn waits(&self) -> bool {
        !self.held.is_empty() && !self.pasting
    }

    /// Nothing more comes: what waits is taken as it is.
    pub(crate) fn settle(&mut self) -> Vec<Event> {
        self.all(true)
    }

    fn all(&mut self, last: bool) -> Vec<Event> {
        let mut events = Vec::new();
        while !self.held.is_empty() {
            if self.pasting {
                let end = self.held.windows(PASTE_ENDS.len()).position(|window| window == PASTE_ENDS);
                let Some(end) = end else { break };
                let text: Vec<u8> = self.held.drain(..end).collect();
                self.held.drain(..PASTE_ENDS.len());
                self.pasting = false;
                events.push(Event::Paste(String::from_utf8_lossy(&text).into_owned()));
                continue;
            }
            match first(&self.held, last) {
                ParseStep::More => break,
                ParseStep::Some(length, event) => {
                    self.held.drain(..length.clamp(1, self.held.len()));
                    events.extend(event);
                }
                ParseStep::Paste(length) => {
                    self.held.drain(..length.min(self.held.len()));
                    self.pasting = true;
                }
            }
        }
        events
    }
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Event> {
    Some(Event::Key(KeyEvent::new(code, modifiers)))
}

fn first(bytes: &[u8], last: bool) -> ParseStep {
    match bytes {
        [0x1b] if !last => ParseStep::More,
        [0x1b] | [0x1b, 0x1b, ..] => ParseStep::Some(1, key(KeyCode::Esc, KeyModifiers::NONE)),
        [0x1b, b'[', rest @ ..] => sequence(rest, last),
        [0x1b, b'O', rest @ ..] => match rest {
            [] if !last => ParseStep::More,
            [byte, ..] => ParseStep::Some(3, letter(*byte).and_then(|code| key(code, KeyModifiers::NONE))),
            [] => ParseStep::Some(2, key(KeyCode::Char('O'), KeyModifiers::ALT)),
        },
        [0x1b, rest @ ..] => match plain(rest, last) {
            ParseStep::Some(length, Some(Event::Key(pressed))) => {
                ParseStep::Some(length + 1, key(pressed.code, pressed.modifiers | KeyModifiers::ALT))
            }
            ParseStep::Some(length, event) => ParseStep::Some(length + 1, event),
            other => other,
        },
        _ => plain(bytes, last),
    }
}

/// A character, or a control character.
fn plain(bytes: &[u8], last: bool) -> ParseStep {
    let Some(byte) = bytes.first().copied() else { return ParseStep::More };
    let control = |char: u8| key(KeyCode::Char(char::from(char)), KeyModifiers::CONTROL);
    let event = match byte {
        b'\r' => key(KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => key(KeyCode::Tab, KeyModifiers::NONE),
        0x7f | 0x08 => key(KeyCode::Backspace, KeyModifiers::NONE),
        0 => control(b' '),
        1..=26 => control(byte - 1 + b'a'),
        27..=31 => None,
        32..=126 => key(KeyCode::Char(char::from(byte)), KeyModifiers::NONE),
        _ => return character(bytes, byte, last),
    };
    ParseStep::Some(1, event)
}

fn character(bytes: &[u8], byte: u8, last: bool) -> ParseStep {
    let length = match byte {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    match bytes.get(..length) {
        None if !last => ParseStep::More,
        None => ParseStep::Some(1, None),
        Some(whole) => match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
            Some(char) => ParseStep::Some(length, key(KeyCode::Char(char), KeyModifiers::NONE)),
            None => ParseStep::Some(1, None),
        },
    }
}

/// Parses the rest of a sequence behind `ESC [`.
fn sequence(rest: &[u8], last: bool) -> ParseStep {
    let Some(end) = rest.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        return match rest.len() {
            length if length > MAX_SEQUENCE_BYTES => ParseStep::Some(length + 2, None),
            _ if !last => ParseStep::More,
            0 => ParseStep::Some(2, key(KeyCode::Char('['), KeyModifiers::ALT)),
            length => ParseStep::Some(length + 2, None),
        };
    };
    let (inner, ends) = (rest.get(..end).unwrap_or_default(), rest.get(end).copied().unwrap_or(0));
    let length = end + 3;
    let text = String::from_utf8_lossy(inner);
    if let Some(mouse) = text.strip_prefix('<') {
        return ParseStep::Some(length, parse_mouse(mouse, ends == b'M'));
    }
    let numbers: Vec<u32> =
        text.split(';').map(|part| part.split(':').next().unwrap_or("").parse().unwrap_or(0)).collect();
    let number = |at: usize| numbers.get(at).copied().unwrap_or(0);
    let modifiers = modifiers(number(1));
    let event = match ends {
        b'~' => match number(0) {
            200 => return ParseStep::Paste(length),
            // `modifyOtherKeys`: the modifiers, then the key.
            27 => named(number(2)).and_then(|code| key(code, modifiers)),
            tilde => by_number(tilde).and_then(|code| key(code, modifiers)),
        },
        b'u' => named(number(0)).and_then(|code| key(code, modifiers)),
        b'Z' => key(KeyCode::BackTab, KeyModifiers::SHIFT),
        // A cursor position report, which was not asked for here.
        b'R' if number(0) > 1 => None,
        other => letter(other).and_then(|code| key(code, modifiers)),
    };
    ParseStep::Some(length, event)
}

fn modifiers(number: u32) -> KeyModifiers {
    let bits = number.saturating_sub(1);
    let mut modifiers = KeyModifiers::NONE;
    for (bit, modifier) in [(1, KeyModifiers::SHIFT), (2, KeyModifiers::ALT), (4, KeyModifiers::CONTROL)] {
        if bits & bit != 0 {
            modifiers |= modifier;
        }
    }
    modifiers
}

fn letter(byte: u8) -> Option<KeyCode> {
    Some(match byte {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'M' => KeyCode::Enter,
        b'P'..=b'S' => KeyCode::F(byte - b'P' + 1),
        _ => return None,
    })
}

fn by_number(number: u32) -> Option<KeyCode> {
    let function =
        |from: u32, first: u8| u8::try_from(number - from).ok().map(|more| KeyCode::F(first + more));
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => return function(11, 1),
        17..=21 => return function(17, 6),
        23 | 24 => return function(23, 11),
        _ => return None,
    })
}

/// A key that is sent as the number of its character.
fn named(number: u32) -> Option<KeyCode> {
    Some(match number {
        8 | 127 => KeyCode::Backspace,
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        number => KeyCode::Char(char::from_u32(number).filter(|char| !char.is_control())?),
    })
}

/// A click or a turn of the wheel, in the form that xterm calls SGR. Releases and movements mean nothing here.
fn parse_mouse(text: &str, is_press: bool) -> Option<Event> {
    let mut numbers = text.split(';').map(|part| part.parse::<u16>().unwrap_or(0));
    let kind = match numbers.next()? & !0b1_1100 {
        0 if is_press => MouseEventKind::Down(MouseButton::Left),
        2 if is_press => MouseEventKind::Down(MouseButton::Right),
        64 => MouseEventKind::ScrollUp,
        65 => MouseEventKind::ScrollDown,
        _ => return None,
    };
    // Terminals count cells from one, the screen from zero.
    let mut place = || numbers.next().unwrap_or(1).saturating_sub(1);
    let (column, row) = (place(), place());
    Some(Event::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<(KeyCode, KeyModifiers)> {
        let mut parser = Parser::default();
        let mut events = parser.feed(bytes);
        events.extend(parser.settle());
        let pressed = |event: Event| match event {
            Event::Key(key) => Some((key.code, key.modifiers)),
            _ => None,
        };
        events.into_iter().filter_map(pressed).collect()
    }

    #[test]
    fn keys_are_understood() {
        let (none, control, alt, shift) =
            (KeyModifiers::NONE, KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
        for (bytes, code, modifiers) in [
            (&b"a"[..], KeyCode::Char('a'), none),
            ("日".as_bytes(), KeyCode::Char('日'), none),
            (b"\r", KeyCode::Enter, none),
            (b"\n", KeyCode::Char('j'), control),
            (b"\x04", KeyCode::Char('d'), control),
            (b"\x7f", KeyCode::Backspace, none),
            (b"\t", KeyCode::Tab, none),
            (b"\x1b", KeyCode::Esc, none),
            (b"\x1b\r", KeyCode::Enter, alt),
            (b"\x1bb", KeyCode::Char('b'), alt),
            (b"\x1b[A", KeyCode::Up, none),
            (b"\x1bOA", KeyCode::Up, none),
            (b"\x1b[1;2A", KeyCode::Up, shift),
            (b"\x1b[1;5H", KeyCode::Home, control),
            (b"\x1b[5~", KeyCode::PageUp, none),
            (b"\x1b[3;5~", KeyCode::Delete, control),
            (b"\x1bOP", KeyCode::F(1), none),
            (b"\x1b[12~", KeyCode::F(2), none),
            (b"\x1b[24~", KeyCode::F(12), none),
            (b"\x1b[Z", KeyCode::BackTab, shift),
            (b"\x1b[13;2u", KeyCode::Enter, shift),
            (b"\x1b[27;5;13~", KeyCode::Enter, control),
        ] {
            assert_eq!(keys(bytes), [(code, modifiers)], "{bytes:?}");
        }
    }

    #[test]
    fn pieces_paste_wheel_and_clicks() {
        let mut parser = Parser::default();
        assert!(parser.feed(b"\x1b[1;").is_empty() && parser.waits());
        assert_eq!(parser.feed(b"5Hx").len(), 2);
        assert!(parser.feed("日".as_bytes().get(..2).unwrap()).is_empty());
        assert_eq!(parser.feed("日".as_bytes().get(2..).unwrap()).len(), 1);
        assert!(parser.feed(b"\x1b[200~two\r").is_empty() && !parser.waits());
        assert_eq!(parser.feed(b"lines\x1b[20"), []);
        assert_eq!(parser.feed(b"1~"), [Event::Paste("two\rlines".into())]);
        assert_eq!(parser.feed(b"\x1b[24;1R"), []);
        let mouse =
            parser.feed(b"\x1b[<64;10;5M\x1b[<65;10;5M\x1b[<0;1;1M\x1b[<0;1;1m\x1b[<35;2;2M\x1b[<2;80;24M");
        let places: Vec<(MouseEventKind, u16, u16)> = mouse
            .iter()
            .filter_map(|event| match event {
                Event::Mouse(mouse) => Some((mouse.kind, mouse.column, mouse.row)),
                _ => None,
            })
            .collect();
        let expected = [
            (MouseEventKind::ScrollUp, 9, 4),
            (MouseEventKind::ScrollDown, 9, 4),
            (MouseEventKind::Down(MouseButton::Left), 0, 0),
            (MouseEventKind::Down(MouseButton::Right), 79, 23),
        ];
        assert_eq!(places, expected, "a release and a movement are not events");
        // Whatever comes, it ends.
        let mut state = 1_u32;
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"\x1b[O;<~0123u\xc3\xff\x7fA\0"[(state >> 16) as usize % 16]
                })
                .collect();
            let mut parser = Parser::default();
            parser.feed(&bytes);
            parser.settle();
            assert!(parser.held.is_empty() || parser.pasting, "{bytes:?}");
        }
    }
}
