//! Files that can be read, recognized by their first bytes.

use crate::trains::Error;
use crate::trains::capture::Capture;
use crate::trains::records::Records;
use crate::trains::sockets::Sockets;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// Bytes by which a file is recognized.
const BEGIN: u64 = 4096;

/// A file that is being read.
#[derive(Debug)]
pub enum InputFile {
    /// Packets.
    Capture(Capture),
    /// Flow records of a collector.
    Records(Records),
    /// Sockets, as `ss` lists them.
    Sockets(Sockets),
}

impl InputFile {
    /// Opens a file; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, or has none of the supported forms.
    pub fn open(path: &Path) -> Result<InputFile, Error> {
        let name = path.display().to_string();
        if path == Path::new("-") {
            return InputFile::new("standard input", Box::new(io::stdin()), None);
        }
        let file = File::open(path).map_err(|e| Error::file(&name, e.to_string()))?;
        let meta = file.metadata().map_err(|e| Error::file(&name, e.to_string()))?;
        if meta.is_dir() {
            return Err(Error::file(name, "is a directory; name the captures in it"));
        }
        InputFile::new(&name, Box::new(file), meta.is_file().then_some(meta.len()))
    }

    /// Reads from `source`; `name` is for messages, `size` in bytes for progress.
    ///
    /// # Errors
    /// The source cannot be read, or has none of the supported forms.
    pub fn new(name: &str, mut source: Box<dyn Read>, size: Option<u64>) -> Result<InputFile, Error> {
        let mut begin = Vec::new();
        let read = (&mut source).take(BEGIN).read_to_end(&mut begin);
        read.map_err(|e| Error::file(name, format!("cannot be read: {e}")))?;
        let whole: Box<dyn Read> = Box::new(Cursor::new(begin.clone()).chain(source));
        let whole = match Records::recognise(name, &begin, whole) {
            Ok(records) => return Ok(InputFile::Records(records)),
            Err(whole) => whole,
        };
        match Sockets::recognise(name, &begin, whole) {
            Ok(sockets) => Ok(InputFile::Sockets(sockets)),
            Err(whole) => Ok(InputFile::Capture(Capture::new(name, whole, size)?)),
        }
    }

    /// Bytes read.
    pub fn offset(&self) -> u64 {
        match self {
            InputFile::Capture(capture) => capture.offset(),
            InputFile::Records(records) => records.offset(),
            InputFile::Sockets(sockets) => sockets.offset(),
        }
    }

    /// Time of the first packet of a capture, ns; `None` for other files, whose order does not matter.
    fn first_ns(self) -> Result<Option<u64>, Error> {
        match self {
            InputFile::Capture(mut capture) => Ok(capture.next_frame()?.map(|f| f.time_ns)),
            InputFile::Records(_) | InputFile::Sockets(_) => Ok(None),
        }
    }
}

/// Files in the order of their first packets; files without packets and standard input keep their places at the end.
///
/// # Errors
/// A file cannot be read, or has none of the supported forms.
pub fn in_order(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    if let [one] = paths {
        return Ok(vec![one.clone()]);
    }
    let mut all = Vec::new();
    for path in paths {
        let first = if path == Path::new("-") { None } else { InputFile::open(path)?.first_ns()? };
        all.push((first.unwrap_or(u64::MAX), path.clone()));
    }
    all.sort_by_key(|(first, _)| *first);
    Ok(all.into_iter().map(|(_, path)| path).collect())
}
