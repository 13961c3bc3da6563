//! Redirections: which files are read and written beside what the command itself does.

use super::run::{InheritedIo, stream};
use super::state::{Redirect, RedirectKind, Shell};
use super::value::{Piece, Stream, Word};
use brush_parser::ast::{self, IoFileRedirectKind, IoFileRedirectTarget, IoRedirect};

impl Shell<'_> {
    /// The redirections of a group, and the files that its output goes to.
    pub(super) fn redirected(
        &mut self,
        list: Option<&ast::RedirectList>,
        around: &InheritedIo,
    ) -> (InheritedIo, Vec<(Word, bool)>) {
        let mut around = around.clone();
        let mut written = Vec::new();
        let before = around.redirects.len();
        let outer = std::mem::replace(&mut self.widest, 1);
        for redirect in list.iter().flat_map(|list| &list.0) {
            self.redirect(redirect, &mut around, &mut written);
        }
        if std::mem::replace(&mut self.widest, outer) > 1 {
            self.doubt("a redirection of several commands to one of several files");
        }
        if around.redirects.len() > before {
            // The group's own redirections are judged once, on their own.
            let own = around.redirects.split_off(before);
            let alone = InheritedIo { input: None, redirects: own };
            self.emit(Vec::new(), Vec::new(), &alone);
        }
        (around, written)
    }

    pub(super) fn redirect(
        &mut self,
        redirect: &IoRedirect,
        around: &mut InheritedIo,
        written: &mut Vec<(Word, bool)>,
    ) {
        match redirect {
            IoRedirect::File(descriptor, kind, target) => {
                let target = match target {
                    IoFileRedirectTarget::Filename(word) => self.single(&word.value),
                    IoFileRedirectTarget::Fd(_) => return,
                    IoFileRedirectTarget::Duplicate(word) => {
                        let word = self.single(&word.value);
                        let number =
                            |text: &str| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
                        match word.text() {
                            Some(text) if number(&text) => return,
                            _ => word,
                        }
                    }
                    IoFileRedirectTarget::ProcessSubstitution(kind, inner) => self.process(kind, inner),
                };
                self.other_target(&target);
                if target.globs() && ["[:", "[.", "[="].iter().any(|class| target.shown().contains(class)) {
                    self.doubt("a redirection to a file that a pattern finds");
                }
                self.apply_options(std::slice::from_ref(&target));
                let kind = match kind {
                    IoFileRedirectKind::Read | IoFileRedirectKind::DuplicateInput => RedirectKind::Read,
                    IoFileRedirectKind::Append | IoFileRedirectKind::ReadAndWrite => RedirectKind::Append,
                    _ => RedirectKind::Write,
                };
                if kind == RedirectKind::Read {
                    let stream =
                        self.file(&target).unwrap_or_else(|| Stream::unknown(super::taint_of(&target)));
                    around.input = Some(stream);
                } else if descriptor.is_none_or(|number| number == 1) {
                    written.push((target.clone(), kind == RedirectKind::Append));
                } else if let Some(path) = self.place(&target) {
                    // What is written through another descriptor is not followed.
                    self.files.insert(path, Stream::unknown(super::value::Taint::NONE));
                }
                around.redirects.push(Redirect { kind, target });
            }
            IoRedirect::OutputAndError(word, append) => {
                let target = self.single(&word.value);
                self.other_target(&target);
                self.apply_options(std::slice::from_ref(&target));
                written.push((target.clone(), *append));
                let kind = if *append { RedirectKind::Append } else { RedirectKind::Write };
                around.redirects.push(Redirect { kind, target });
            }
            IoRedirect::HereDocument(_, document) => {
                let word = if document.requires_expansion {
                    self.document(&document.doc.value)
                } else {
                    Word::known(document.doc.value.clone())
                };
                around.input = Some(stream(&word));
            }
            IoRedirect::HereString(_, word) => {
                let word = self.single(&word.value);
                around.input = Some(stream(&word).then(Stream::known("\n")));
            }
        }
    }

    /// Output that goes to files is remembered there, and is gone from the pipe.
    pub(super) fn keep(&mut self, written: &[(Word, bool)], output: Stream) -> Stream {
        let Some(((target, append), _)) = written.split_last() else { return output };
        if let Some(path) = self.place(target) {
            let old = if *append { self.files.remove(&path) } else { None };
            let content = match old {
                Some(old) => old.then(output),
                None => match self.files.get(&path) {
                    // Which of two contents is there when it is read depends on the path.
                    Some(old) if *old != output => Stream::unknown(old.taint.and(output.taint)),
                    _ => output,
                },
            };
            if self.files.len() < 64 {
                self.files.insert(path, content);
            }
        }
        Stream::empty()
    }

    /// Targets that zsh reads otherwise: in `>! FILE` the mark belongs to the sign, and `=ls` is where `ls` lies.
    fn other_target(&mut self, target: &Word) {
        let bare = |piece: &Piece| match piece {
            Piece::Known { text, quoted: false } => text.starts_with(['!', '=']),
            _ => false,
        };
        if target.pieces.first().is_some_and(bare) {
            self.doubt("a redirection that shells read differently");
        }
    }
}
