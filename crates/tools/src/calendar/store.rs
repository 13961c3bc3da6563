//! The file `calendar.ics` of a profile: read whole, changed under a lock, replaced at once.
//!
//! Marvin's processes exclude each other with a lock beside the file. Other programs do not know that lock, so the file is
//! compared with what was read before it is replaced, and the change is made again where it differs.

use super::content::{Component, ContentLine, Document};
use super::error::CalendarError;
use super::event::{self, Draft, Event};
use super::time::EventTime;
use super::zones::{self, Zones};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use marvin_base::files::{self, Links};
use marvin_base::{atomic, ids, signature};
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

/// A calendar larger than this is not read.
const MAX_CALENDAR_BYTES: u64 = 32 * 1024 * 1024;
/// How often a change is made again because another program wrote the file meanwhile.
const MAX_ATTEMPTS: usize = 10;
/// Digits of the hash in a uid that follows from the content.
const UID_HASH_DIGITS: usize = 32;

#[derive(Debug, Clone)]
pub struct CalendarFile {
    path: PathBuf,
}

/// Result of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ImportCount {
    pub added: usize,
    pub updated: usize,
    pub unchanged: usize,
    /// Components that cannot be taken over: events without a start, and kinds that Marvin does not keep.
    pub skipped: usize,
}

impl CalendarFile {
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        // A link leads to the file that is replaced, and stays a link.
        let path = path.canonicalize().unwrap_or(path);
        CalendarFile { path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn io(&self, doing: &'static str, source: std::io::Error) -> CalendarError {
        CalendarError::Io { doing, path: self.path.display().to_string(), source }
    }

    /// The bytes of the file; none without a file.
    fn read_bytes(&self) -> Result<Option<Vec<u8>>, CalendarError> {
        match files::read(&self.path, MAX_CALENDAR_BYTES, Links::Follow) {
            Ok(bytes) if bytes.len() as u64 > MAX_CALENDAR_BYTES => Err(self
                .io("read", std::io::Error::other(format!("it is larger than {MAX_CALENDAR_BYTES} bytes")))),
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.io("read", error)),
        }
    }

    fn parse(&self, bytes: Option<&[u8]>) -> Result<Document, CalendarError> {
        match bytes {
            Some(bytes) if !bytes.is_empty() => Document::parse(bytes, &self.path.display().to_string()),
            _ => Ok(Document::empty()),
        }
    }

    /// The calendar; an empty one without a file.
    ///
    /// # Errors
    /// When the file cannot be read, or is not a calendar.
    pub fn read(&self) -> Result<Document, CalendarError> {
        self.parse(self.read_bytes()?.as_deref())
    }

    /// Every event.
    ///
    /// # Errors
    /// As [`CalendarFile::read`].
    pub fn events(&self) -> Result<Vec<Event>, CalendarError> {
        Ok(event::events(&self.read()?))
    }

    fn lock(&self) -> Result<File, CalendarError> {
        let directory = self.path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(|error| self.io("create the directory of", error))?;
        let mut name = self.path.file_name().unwrap_or_default().to_os_string();
        name.push(".lock");
        let path = self.path.with_file_name(name);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        let file = file.map_err(|error| self.io("lock", error))?;
        file.lock().map_err(|error| self.io("lock", error))?;
        Ok(file)
    }

    /// Changes the calendar, unless `change` fails.
    fn update<T>(
        &self,
        mut change: impl FnMut(&mut Document) -> Result<T, CalendarError>,
    ) -> Result<T, CalendarError> {
        let _lock = self.lock()?;
        for _ in 0..MAX_ATTEMPTS {
            let before = self.read_bytes()?;
            let mut document = self.parse(before.as_deref())?;
            let result = change(&mut document)?;
            let bytes = document.bytes();
            if before.as_ref() == Some(&bytes) {
                return Ok(result);
            }
            if self.read_bytes()? == before {
                atomic::replace(&self.path, &bytes)?;
                return Ok(result);
            }
        }
        Err(CalendarError::Busy { path: self.path.display().to_string() })
    }

    /// Adds an event; gives its uid.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn add(&self, draft: &Draft, now: Timestamp) -> Result<String, CalendarError> {
        let uid = format!("{}@marvin", ids::uuid());
        self.update(|document| {
            for time in [&draft.start, &draft.end] {
                describe_zone_once(document, time);
            }
            document.append(draft.lines(&uid, now));
            Ok(())
        })?;
        Ok(uid)
    }

    /// Removes the event with this uid, or the one whose title contains `title` or whose uid it is; gives it. All of a series is
    /// removed.
    ///
    /// # Errors
    /// When there is none, or the title fits several.
    pub fn remove(&self, uid: &str, title: &str, local: &TimeZone) -> Result<Event, CalendarError> {
        let (uid, title) = (uid.trim(), title.trim());
        if uid.is_empty() && title.is_empty() {
            return Err(CalendarError::Nothing);
        }
        self.update(|document| {
            let zones = Zones::from_document(document);
            let components = document.components();
            let events: Vec<(&Component, Event)> = components
                .iter()
                .filter(|component| component.kind == "VEVENT")
                .filter_map(|component| {
                    Some((component, Event::from_component(document, component, &zones)?))
                })
                .collect();
            // A uid that was given as the title is meant as one.
            let is_uid = uid.is_empty() && events.iter().any(|(_, event)| event.uid == title);
            let uid = if is_uid { title } else { uid };
            let event = pick(events.iter().map(|(_, event)| event), uid, title, local)?.clone();
            let gone: Vec<Component> = events
                .iter()
                .filter(|(_, other)| {
                    other.uid == event.uid && (!event.uid.is_empty() || other.title == event.title)
                })
                .map(|(component, _)| (*component).clone())
                .collect();
            document.remove(&gone);
            Ok(event)
        })
    }

    /// Takes over the events, tasks and journals of another calendar. One that is here already (by its uid) is replaced,
    /// unless the one here has a higher SEQUENCE. One without a uid gets one that follows from its content.
    ///
    /// # Errors
    /// When `other` is not a calendar, or the file cannot be written.
    pub fn import(&self, bytes: &[u8], name: &str) -> Result<ImportCount, CalendarError> {
        let mut other = Document::parse(bytes, name)?;
        add_missing_uids(&mut other);
        let zones = Zones::from_document(&other);
        self.update(|document| {
            let mut count = ImportCount::default();
            for zone in other.components().iter().filter(|component| component.kind == "VTIMEZONE") {
                if !has_zone(document, &value(&other, zone, "TZID")) {
                    document.prepend(other.lines(&zone.lines).to_vec());
                }
            }
            let mut imported: Vec<String> = Vec::new();
            for component in other.components().iter().filter(|component| component.kind != "VTIMEZONE") {
                let uid = value(&other, component, "UID");
                if uid.is_empty() {
                    count.skipped += 1;
                    continue;
                }
                if imported.contains(&uid) {
                    continue;
                }
                imported.push(uid.clone());
                let theirs = same_uid(&other, &uid);
                let has_start = |one: &Component| {
                    one.kind != "VEVENT" || Event::from_component(&other, one, &zones).is_some()
                };
                if !theirs.iter().any(has_start) {
                    count.skipped += 1;
                    continue;
                }
                let ours = same_uid(document, &uid);
                let lines = |document: &Document, all: &[Component]| -> Vec<_> {
                    all.iter().flat_map(|component| document.lines(&component.lines).to_vec()).collect()
                };
                let (new, old) = (lines(&other, &theirs), lines(document, &ours));
                let same = new.len() == old.len()
                    && new.iter().zip(&old).all(|(a, b)| {
                        (&a.name, &a.parameters, &a.value) == (&b.name, &b.parameters, &b.value)
                    });
                let sequence = |document: &Document, all: &[Component]| {
                    all.iter()
                        .filter_map(|one| value(document, one, "SEQUENCE").parse::<u64>().ok())
                        .max()
                        .unwrap_or(0)
                };
                if same || sequence(document, &ours) > sequence(&other, &theirs) {
                    count.unchanged += 1;
                    continue;
                }
                if ours.is_empty() {
                    count.added += 1;
                } else {
                    count.updated += 1;
                }
                document.remove(&ours);
                document.append(new);
            }
            Ok(count)
        })
    }
}

/// Kinds of components that have a uid.
const UID_KINDS: [&str; 3] = ["VEVENT", "VTODO", "VJOURNAL"];

/// Gives a uid to every event, task and journal without one. It follows from the content, so that a second import finds the
/// same; the time at which the file was written does not count.
fn add_missing_uids(document: &mut Document) {
    let is_nameless = |document: &Document, component: &Component| {
        UID_KINDS.contains(&component.kind.as_str()) && value(document, component, "UID").is_empty()
    };
    // From the last one: the ranges of those before stay valid.
    for component in document.components().iter().rev() {
        if !is_nameless(document, component) {
            continue;
        }
        let lines = document.lines(&component.lines).iter();
        let content: Vec<_> = lines
            .filter(|line| !matches!(line.name.as_str(), "DTSTAMP" | "UID"))
            .map(|line| (&line.name, &line.parameters, &line.value))
            .collect();
        let hash = signature::hash(&content);
        let uid = format!("{}@marvin-import", hash.get(..UID_HASH_DIGITS).unwrap_or(&hash));
        document.insert_property(component, ContentLine::new("UID", &[], &uid));
    }
}

fn value(document: &Document, component: &Component, name: &str) -> String {
    document
        .properties(component)
        .find(|line| line.name == name)
        .map(|line| line.value.trim().to_string())
        .unwrap_or_default()
}

/// Components of this uid.
fn same_uid(document: &Document, uid: &str) -> Vec<Component> {
    let components = document.components().into_iter();
    components
        .filter(|component| component.kind != "VTIMEZONE" && value(document, component, "UID") == uid)
        .collect()
}

fn has_zone(document: &Document, name: &str) -> bool {
    document
        .components()
        .iter()
        .any(|component| component.kind == "VTIMEZONE" && value(document, component, "TZID") == name)
}

/// Describes the zone of a time in the file, unless the file does already.
fn describe_zone_once(document: &mut Document, time: &EventTime) {
    let (Some(name), EventTime::InZone(_, zone)) = (time.zone_name(), time) else { return };
    if !has_zone(document, name) {
        document.prepend(zones::describe_zone(zone, time.instant(zone)));
    }
}

/// The event that is meant.
fn pick<'a>(
    events: impl Iterator<Item = &'a Event>,
    uid: &str,
    title: &str,
    local: &TimeZone,
) -> Result<&'a Event, CalendarError> {
    let wanted = title.to_lowercase();
    // An occurrence that was moved belongs to its series.
    let mut found: Vec<&Event> = Vec::new();
    for event in events {
        let fits =
            if uid.is_empty() { event.title.to_lowercase().contains(&wanted) } else { event.uid == uid };
        let known = found.iter().any(|other| !other.uid.is_empty() && other.uid == event.uid);
        if fits && !known {
            found.push(event);
        }
    }
    match found.as_slice() {
        [] if uid.is_empty() => Err(CalendarError::NotFound { what: format!("`{title}` in its title") }),
        [] => Err(CalendarError::NotFound { what: format!("the uid `{uid}`") }),
        [one] => Ok(one),
        several => Err(CalendarError::Ambiguous {
            title: title.to_string(),
            matches: several.iter().map(|event| event.line(local)).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn berlin() -> TimeZone {
        TimeZone::get("Europe/Berlin").unwrap()
    }

    fn draft(title: &str) -> Draft {
        Draft::new(title, "2026-11-20T15:00", "", &berlin()).unwrap()
    }

    fn calendar() -> (tempfile::TempDir, CalendarFile) {
        let directory = tempfile::tempdir().unwrap();
        let file = CalendarFile::new(directory.path().join("profile/calendar.ics"));
        (directory, file)
    }

    #[test]
    fn an_event_is_added_and_removed_and_the_rest_stays() {
        let (_directory, file) = calendar();
        assert_eq!(file.events().unwrap().len(), 0);
        file.add(&draft("First"), Timestamp::UNIX_EPOCH).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        let changed = text
            .replace("SUMMARY:First", "X-OWN;A=b:c\r\nSUMMARY:First")
            .replace("CALSCALE", "X-NAME:mine\r\nCALSCALE");
        std::fs::write(file.path(), &changed).unwrap();
        let uid = file.add(&draft("Second"), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(std::fs::read_to_string(file.path()).unwrap().matches("BEGIN:VTIMEZONE").count(), 1);
        assert_eq!(file.remove(&uid, "", &berlin()).unwrap().title, "Second");
        assert_eq!(std::fs::read_to_string(file.path()).unwrap(), changed);
    }

    #[test]
    fn several_matches_are_a_question() {
        let (_directory, file) = calendar();
        for title in ["Dentist", "dentist again", "Other"] {
            file.add(&draft(title), Timestamp::UNIX_EPOCH).unwrap();
        }
        let before = std::fs::read(file.path()).unwrap();
        let error = file.remove("", "DENTIST", &berlin()).unwrap_err();
        assert!(matches!(&error, CalendarError::Ambiguous { matches, .. } if matches.len() == 2), "{error}");
        assert!(error.to_string().contains("2026-11-20 15:00–16:00  Dentist (uid "), "{error}");
        for (uid, title) in [("", "nothing"), ("x", ""), ("", " ")] {
            file.remove(uid, title, &berlin()).unwrap_err();
        }
        assert_eq!(std::fs::read(file.path()).unwrap(), before);
        assert_eq!(file.remove("", "again", &berlin()).unwrap().title, "dentist again");
        let uid = file.events().unwrap()[0].uid.clone();
        assert_eq!(file.remove("", &uid, &berlin()).unwrap().title, "Dentist", "a uid as the title");
    }

    #[test]
    fn a_damaged_file_is_not_overwritten() {
        let (_directory, file) = calendar();
        file.add(&draft("One"), Timestamp::UNIX_EPOCH).unwrap();
        let whole = std::fs::read(file.path()).unwrap();
        let torn = &whole[..whole.len() / 2];
        std::fs::write(file.path(), torn).unwrap();
        assert!(file.add(&draft("Two"), Timestamp::UNIX_EPOCH).is_err());
        assert_eq!(std::fs::read(file.path()).unwrap(), torn);
    }

    #[test]
    fn a_link_stays_a_link() {
        let directory = tempfile::tempdir().unwrap();
        let (real, link) = (directory.path().join("real.ics"), directory.path().join("calendar.ics"));
        std::fs::write(&real, "BEGIN:VCALENDAR\nEND:VCALENDAR\n").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        CalendarFile::new(link.clone()).add(&draft("One"), Timestamp::UNIX_EPOCH).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(std::fs::read_to_string(&real).unwrap().contains("SUMMARY:One"));
    }

    #[test]
    fn an_import_adds_updates_and_leaves() {
        let (_directory, file) = calendar();
        let foreign = |sequence: u8, title: &str| {
            format!(
                "BEGIN:VCALENDAR\nBEGIN:VTODO\nUID:t\nSUMMARY:Task\nEND:VTODO\nBEGIN:VEVENT\nUID:e\nX-Y:z\nSEQUENCE:{sequence}\nSUMMARY:{title}\nDTSTART:20261120T100000Z\nEND:VEVENT\nEND:VCALENDAR\n"
            )
        };
        let import = |text: String| file.import(text.as_bytes(), "other.ics").unwrap();
        assert_eq!(import(foreign(1, "A")), ImportCount { added: 2, ..ImportCount::default() });
        assert_eq!(import(foreign(1, "A")), ImportCount { unchanged: 2, ..ImportCount::default() });
        assert_eq!(
            import(foreign(2, "B")),
            ImportCount { updated: 1, unchanged: 1, ..ImportCount::default() }
        );
        assert_eq!(import(foreign(1, "C")), ImportCount { unchanged: 2, ..ImportCount::default() });
        assert_eq!(file.events().unwrap()[0].title, "B");
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(
            text.contains("BEGIN:VTODO\nUID:t\nSUMMARY:Task\nEND:VTODO\n") && text.contains("X-Y:z"),
            "{text}"
        );
        assert!(file.import(b"nothing", "other.ics").is_err());
    }

    #[test]
    fn events_without_a_uid_are_imported_once() {
        let (_directory, file) = calendar();
        let foreign = |stamp: &str| {
            format!(
                "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTAMP:{stamp}\nSUMMARY:A\nDTSTART:20261120T100000Z\nEND:VEVENT\nBEGIN:VEVENT\nUID:\nSUMMARY:B\nDTSTART:20261121T100000Z\nEND:VEVENT\nBEGIN:VEVENT\nSUMMARY:No start\nEND:VEVENT\nBEGIN:VFREEBUSY\nEND:VFREEBUSY\nEND:VCALENDAR\n"
            )
        };
        let import = |stamp: &str| file.import(foreign(stamp).as_bytes(), "other.ics").unwrap();
        let added = ImportCount { added: 2, skipped: 2, ..ImportCount::default() };
        assert_eq!(import("20261101T000000Z"), added);
        let events = file.events().unwrap();
        assert_eq!(events.iter().map(|event| event.title.as_str()).collect::<Vec<_>>(), ["A", "B"]);
        assert!(events.iter().all(|event| event.uid.ends_with("@marvin-import")), "{events:?}");
        assert_ne!(events[0].uid, events[1].uid);
        assert_eq!((import("20261101T000000Z").added, import("20261102T000000Z").added), (0, 0));
        assert_eq!(file.events().unwrap().len(), 2);
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let (_directory, file) = calendar();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let file = file.clone();
                scope.spawn(move || {
                    for number in 0..10 {
                        let title = format!("{thread}-{number}");
                        file.add(&draft(&title), Timestamp::UNIX_EPOCH).unwrap();
                        if number % 2 == 1 {
                            file.remove("", &title, &berlin()).unwrap();
                        }
                    }
                });
            }
        });
        assert_eq!(file.events().unwrap().len(), 40);
    }
}
