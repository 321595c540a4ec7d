//! The files that a scenario names. A scenario may come from a stranger. So only regular files are read, in the
//! scenario's own folder and below it or where the user allows more, up to a total size, and messages never quote their
//! content.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use windtunnel_sim::{RateTrace, parse_mahimahi};

use super::cursor::Cursor;
use super::fault::Fault;
use super::nearest::nearest;
use crate::reading::Reading;

/// The most bytes that all traces of a scenario may have: they have about 10^7 transmission opportunities then.
const MOST_BYTES: u64 = 100 << 20;

/// The most names of a folder that are compared with a name that is not among them.
const MOST_NAMES: usize = 10_000;

/// Reads the files of one scenario.
#[derive(Debug)]
pub(crate) struct Files<'r> {
    /// Their contents, where no file system is to be read.
    contents: Option<&'r BTreeMap<String, String>>,
    /// Where names without a folder are searched for.
    folder: PathBuf,
    /// What may be read: these and whatever is below them. Links are resolved.
    allowed: Vec<PathBuf>,
    /// How many more bytes may be read.
    left: Cell<u64>,
    /// What was read already: links may share a trace.
    traces: RefCell<BTreeMap<PathBuf, Arc<RateTrace>>>,
}

impl<'r> Files<'r> {
    /// The files of a scenario.
    pub(crate) fn new(reading: &Reading<'r>) -> Files<'r> {
        let folder = reading.file.map(folder_of).unwrap_or_default();
        let allowed = reading.allow_read.iter().chain([&folder]);
        let allowed = allowed.filter_map(|path| real(path).ok()).collect();
        let (left, traces) = (Cell::new(MOST_BYTES), RefCell::default());
        Files { contents: reading.files, folder, allowed, left, traces }
    }

    /// Reads the trace called `name`, which was written at `at`.
    pub(crate) fn trace(&self, name: &str, at: &Cursor<'_>) -> Result<Arc<RateTrace>, Fault> {
        if let Some(contents) = self.contents {
            let names = contents.keys().map(String::as_str);
            let text = contents.get(name).ok_or_else(|| {
                let missing = at.fault(format!("the content of the file {name:?} is not here"));
                missing.with_hint(nearest(name, names))
            })?;
            return trace_of(text, name, at);
        }
        let path = self.find(name, at)?;
        if let Some(trace) = self.traces.borrow().get(&path) {
            return Ok(Arc::clone(trace));
        }
        let bytes = self.read(&path, at)?;
        let text = str::from_utf8(&bytes).map_err(|_| at.not_allowed("a text file"))?;
        let trace = trace_of(text, name, at)?;
        self.traces.borrow_mut().insert(path, Arc::clone(&trace));
        Ok(trace)
    }

    /// The path without links of the library called `name`, if it is one of `allowed`.
    pub(crate) fn library(&self, name: &str, allowed: &[PathBuf], at: &Cursor<'_>) -> Result<PathBuf, Fault> {
        match real(&self.folder.join(name)) {
            Ok(path) if allowed.contains(&path) => Ok(path),
            _ => {
                self.find(name, at)?;
                Err(at.not_allowed(
                    "a library that you allow, because its code runs as a part of windtunnel: --plugin FILE (in Python \
                     load_plugin)",
                ))
            }
        }
    }

    /// The file that is meant, if it may be read. For other files, messages do not even reveal whether they exist.
    fn find(&self, name: &str, at: &Cursor<'_>) -> Result<PathBuf, Fault> {
        let path = self.folder.join(name);
        match real(&path) {
            Ok(target) if self.allows(&target) => Ok(target),
            Err(error) if self.would_allow(&path) => Err(match error.kind() {
                ErrorKind::NotFound => self.not_there(name, &path, at),
                _ => unreadable(&error, at),
            }),
            _ => Err(at.not_allowed(
                "a file in the scenario's folder or below it, also at the end of links; --allow-read PATH (in Python \
                 allow_read) allows more",
            )),
        }
    }

    fn allows(&self, path: &Path) -> bool {
        self.allowed.iter().any(|allowed| path.starts_with(allowed))
    }

    /// Whether a missing file would be allowed: those folders of its path that exist are allowed, and the rest of the
    /// path leads down.
    fn would_allow(&self, path: &Path) -> bool {
        let existing = path.ancestors().find_map(|folder| Some((folder, real(folder).ok()?)));
        existing.is_some_and(|(folder, target)| {
            let rest = path.strip_prefix(folder).unwrap_or(path);
            self.allows(&target) && rest.components().all(|part| matches!(part, Component::Normal(_)))
        })
    }

    /// Says that a file is missing, and which one may have been meant.
    fn not_there(&self, name: &str, path: &Path, at: &Cursor<'_>) -> Fault {
        let folder = path.parent().unwrap_or(Path::new(""));
        let shown = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let fault = at.fault(format!("there is no file {name:?} in {}", shown.display()));
        // A link may lead out of the folder: names from elsewhere are not told.
        let names = real(folder).ok().filter(|folder| self.allows(folder)).map(files_in).unwrap_or_default();
        let wanted = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let hint = nearest(wanted, names.iter().map(String::as_str));
        let hint = hint.map(|near| Path::new(name).with_file_name(near).display().to_string());
        fault.with_hint(hint.as_deref())
    }

    /// The content of a file. It is not opened unless it is a regular file: a pipe could wait for ever.
    fn read(&self, path: &Path, at: &Cursor<'_>) -> Result<Vec<u8>, Fault> {
        let failed = |error: io::Error| unreadable(&error, at);
        let metadata = fs::metadata(path).map_err(failed)?;
        expect_regular(metadata.file_type(), at)?;
        if metadata.len() == 0 {
            // The files of /proc have no length, and some of them no end.
            return Err(at.not_allowed("a file that is not empty"));
        }
        let file = File::open(path).map_err(failed)?;
        expect_regular(file.metadata().map_err(failed)?.file_type(), at)?;
        let left = self.left.get();
        let mut bytes = Vec::new();
        let size = file.take(left + 1).read_to_end(&mut bytes).map_err(failed)? as u64;
        let rest = left.checked_sub(size).ok_or_else(|| {
            at.not_allowed(format!("the traces of a scenario have at most {} MiB together", MOST_BYTES >> 20))
        })?;
        self.left.set(rest);
        Ok(bytes)
    }
}

/// The trace in a text.
fn trace_of(text: &str, name: &str, at: &Cursor<'_>) -> Result<Arc<RateTrace>, Fault> {
    let trace = parse_mahimahi(text).map_err(|error| at.fault(format!("{name:?}: {error}")))?;
    Ok(Arc::new(trace))
}

/// The folder of a scenario file. A pipe or a device, as in `windtunnel run <(...)`, has none, and names are searched
/// for in the current folder then.
fn folder_of(scenario: &str) -> PathBuf {
    let scenario = Path::new(scenario);
    let is_piped = fs::metadata(scenario).is_ok_and(|metadata| !metadata.is_file());
    let parent = scenario.parent().filter(|_| !is_piped);
    parent.map(Path::to_path_buf).unwrap_or_default()
}

/// The path without links; the empty one is the current folder.
fn real(path: &Path) -> io::Result<PathBuf> {
    if path.as_os_str().is_empty() { fs::canonicalize(".") } else { fs::canonicalize(path) }
}

fn expect_regular(kind: FileType, at: &Cursor<'_>) -> Result<(), Fault> {
    if kind.is_file() {
        return Ok(());
    }
    let what = if kind.is_dir() { "a folder" } else { "a pipe or a device" };
    Err(at.not_allowed(format!("a regular file; this is {what}")))
}

fn unreadable(error: &io::Error, at: &Cursor<'_>) -> Fault {
    at.fault(format!("cannot be read: {}", error.kind()))
}

/// The names of the files in a folder.
fn files_in(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().take(MOST_NAMES).flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
