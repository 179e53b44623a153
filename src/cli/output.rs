//! Files that a command writes: a file gets its name only when it is complete and on disk, so that a failure replaces
//! nothing. `-` is standard output.
//!
//! Recordings are written in place: a recording is of use before it is complete.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;
use crate::cli::interrupt::AtOnce;
use crate::record;
use crate::record::disk::sync_folder;
use crate::scene::suggest::shown;

/// A file that is being written.
pub(super) struct Output {
    /// The flag that asks for it.
    flag: &'static str,
    /// Final name.
    path: PathBuf,
    to: Destination,
    /// Whether it takes the place of a recording.
    is_recording: bool,
}

enum Destination {
    StandardOutput,
    /// What cannot be renamed, such as a device or a pipe.
    InPlace(File),
    /// A file beside the final one; removed by a signal that ends the program at once.
    Partial {
        file: File,
        path: PathBuf,
        _removal: AtOnce,
    },
    Kept,
}

impl Output {
    /// Starts a file that will be called `path`; `taken` are files it must not be, and what they are.
    pub(super) fn begin(flag: &'static str, path: &Path, taken: &[(&str, &Path)]) -> Result<Self, Failure> {
        check_free(flag, path, taken)?;
        if record::is_recording(path) {
            return Err(Failure::bad_input(is_a_recording(flag, path)));
        }
        Self::start(flag, path, false)
    }

    /// Starts a recording that takes the place of one.
    pub(super) fn begin_recording(flag: &'static str, path: &Path) -> Result<Self, Failure> {
        Self::start(flag, path, true)
    }

    fn start(flag: &'static str, path: &Path, is_recording: bool) -> Result<Self, Failure> {
        let refused = |reason: &dyn std::fmt::Display| {
            Failure::bad_input(format_args!("{flag}: cannot create {}: {reason}", shown(path)))
        };
        if is_dash(path) {
            return Ok(Output { flag, path: path.to_owned(), to: Destination::StandardOutput, is_recording });
        }
        let (place, to) = match fs::metadata(path) {
            Ok(file) if file.is_dir() => return Err(refused(&"that is a folder; name a file in it")),
            // By its own name: what `/dev/stdout` and the like lead to may have no other.
            Ok(file) if !file.is_file() => (path.to_owned(), open_in_place(path).map(Destination::InPlace)),
            existing => {
                // Links are followed: the target of a link is to be replaced.
                let place = destination(path);
                let to = create_beside(&place);
                if let (Ok(existing), Ok(Destination::Partial { file, .. })) = (existing, &to) {
                    // A file that is replaced keeps its permissions, as far as this user may set them.
                    let _ = file.set_permissions(existing.permissions());
                }
                (place, to)
            }
        };
        Ok(Output { flag, path: place, to: to.map_err(|error| refused(&error))?, is_recording })
    }

    /// Where to write; nothing is there yet.
    pub(super) fn writer(&self) -> Result<Box<dyn Write + Send>, Failure> {
        match &self.to {
            Destination::InPlace(file) | Destination::Partial { file, .. } => {
                file.try_clone().map(|file| Box::new(file) as _).map_err(|error| self.failed(&error))
            }
            Destination::StandardOutput | Destination::Kept => Ok(Box::new(io::stdout())),
        }
    }

    /// The file is complete: gives it its name, once it is on disk.
    pub(super) fn keep(mut self) -> Result<(), Failure> {
        let Destination::Partial { file, path, .. } = &self.to else { return Ok(()) };
        // One may have begun there since.
        if !self.is_recording && record::is_recording(&self.path) {
            return Err(Failure::failed(is_a_recording(self.flag, &self.path)));
        }
        file.sync_all().and_then(|()| fs::rename(path, &self.path)).map_err(|error| self.failed(&error))?;
        self.to = Destination::Kept;
        sync_folder(&self.path);
        Ok(())
    }

    /// What was to be written could not be.
    pub(super) fn failed(&self, error: &io::Error) -> Failure {
        Failure::failed(format_args!("{}: cannot write {}: {error}", self.flag, shown(&self.path)))
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Destination::Partial { path, .. } = &self.to {
            // An incomplete file is of no use; if it cannot be removed, it does no harm.
            let _ = fs::remove_file(path);
        }
    }
}

/// A recording is replaced by another recording only.
fn is_a_recording(flag: &str, path: &Path) -> String {
    format!(
        "{flag}: cannot create {}: that is a recording; choose another name, or remove it first",
        shown(path)
    )
}

/// Whether a path stands for standard input or output.
pub(super) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses a file that is read, that another flag writes, or that a stream was redirected to, whether it exists or not and
/// by whatever name.
pub(super) fn check_free(flag: &str, path: &Path, taken: &[(&str, &Path)]) -> Result<(), Failure> {
    let streams = [
        ("that standard output goes to", Path::new("/dev/stdout")),
        ("that standard error goes to", Path::new("/dev/stderr")),
    ];
    match taken.iter().chain(&streams).find(|(_, other)| is_same_file(path, other)) {
        Some((what, _)) => Err(Failure::bad_input(format_args!(
            "{flag}: cannot create {}: that is the file {what}; choose another name",
            shown(path)
        ))),
        None => Ok(()),
    }
}

/// Whether two paths lead to one file, or would if it existed. Devices may be shared.
fn is_same_file(a: &Path, b: &Path) -> bool {
    if is_dash(a) || is_dash(b) {
        return is_dash(a) && is_dash(b);
    }
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) if !a.is_file() && !b.is_file() => false,
        #[cfg(unix)]
        (Ok(a), Ok(b)) => {
            use std::os::unix::fs::MetadataExt;
            (a.dev(), a.ino()) == (b.dev(), b.ino())
        }
        _ => destination(a) == destination(b),
    }
}

/// Where a path leads: links are followed, also to a file that does not exist yet.
fn destination(path: &Path) -> PathBuf {
    // As many as the operating system follows.
    const LINKS_MAX: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if let Ok(found) = fs::canonicalize(&path) {
            return found;
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        path = match (fs::read_link(&path), path.file_name()) {
            (Ok(target), _) => folder.join(target),
            (Err(_), Some(name)) => return folder.join(name),
            (Err(_), None) => return path,
        };
    }
    path
}

/// Creates a file of a random name in the folder of `path`. It is new, so no link is followed.
fn create_beside(path: &Path) -> io::Result<Destination> {
    // Only files of that very name are in the way; more than a few would be no accident.
    const TRIES: usize = 8;
    let mut last_error = None;
    for _ in 0..TRIES {
        let mut name = OsString::from(path.file_name().unwrap_or_default());
        name.push(format!(".{:016x}.partial", RandomState::new().hash_one(std::process::id())));
        let partial = path.with_file_name(name);
        let doomed = partial.clone();
        // Before there is a file, so that no signal comes between.
        let _removal = AtOnce::register(move || {
            let _ = fs::remove_file(doomed);
        });
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(file) => return Ok(Destination::Partial { file, path: partial, _removal }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last_error = Some(error),
            Err(error) => return Err(error),
        }
    }
    Err(last_error.unwrap_or_else(|| io::Error::other("no name is free")))
}

/// Opens a device or a pipe. A pipe without a reader is an error: waiting for one might never end.
fn open_in_place(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    {
        use nix::errno::Errno;
        use nix::fcntl::{FcntlArg, OFlag, fcntl};
        use std::os::unix::fs::OpenOptionsExt;
        let opened = options.custom_flags(OFlag::O_NONBLOCK.bits()).open(path);
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(number) if number == Errno::ENXIO as i32 => {
                io::Error::other("nothing reads that pipe; start its reader first")
            }
            _ => error,
        })?;
        fcntl(&file, FcntlArg::F_SETFL(OFlag::empty()))?;
        Ok(file)
    }
    #[cfg(not(unix))]
    options.open(path)
}

/// Which of some formats the extension of `path` asks for.
pub(super) fn format_of<T: Copy>(path: &Path, formats: &[(&str, T)]) -> Result<T, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let found = formats.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension));
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<String> = formats.iter().map(|(name, _)| format!("`.{name}`")).collect();
        Failure::bad_input(format_args!(
            "--out: {} says not what to write; use a name that ends in {}",
            shown(path),
            names.join(" or ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(path: &Path, input: &Path) -> Result<Output, Failure> {
        Output::begin("--out", path, &[("to read", input)])
    }

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (path, input) = (folder.path().join("a.csv"), folder.path().join("in.anr"));
        fs::write(&path, "old").unwrap();
        let output = begin(&path, &input).unwrap();
        output.writer().unwrap().write_all(b"half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what is not kept is removed");
        let output = begin(&path, &input).unwrap();
        output.writer().unwrap().write_all(b"new").unwrap();
        output.keep().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_read_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        fs::write(&path, "input").unwrap();
        let other_name = folder.path().join(".").join("a.csv");
        let Err(failure) = begin(&path, &other_name) else { panic!("it was taken") };
        assert!(failure.to_string().contains("that is the file to read"), "{failure}");
        assert!(begin(folder.path(), &path).is_err());
        assert!(begin(&folder.path().join("missing/a.csv"), &path).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn one_file_has_many_names() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "x").unwrap();
        fs::create_dir(at("sub")).unwrap();
        fs::hard_link(at("file"), at("hard")).unwrap();
        symlink("file", at("soft")).unwrap();
        symlink("new", at("to-new")).unwrap();
        symlink(at("to-new"), at("sub/to-new")).unwrap();
        symlink("loop", at("loop")).unwrap();
        for (a, b) in [
            ("file", "hard"),
            ("file", "soft"),
            ("hard", "soft"),
            ("new", "to-new"),
            ("new", "sub/to-new"),
            ("sub/../new", "new"),
            ("new", "new"),
        ] {
            assert!(is_same_file(&at(a), &at(b)) && is_same_file(&at(b), &at(a)), "{a} and {b}");
        }
        for (a, b) in [("file", "new"), ("sub/new", "new"), ("loop", "file"), ("sub", "file")] {
            assert!(!is_same_file(&at(a), &at(b)), "{a} and {b}");
        }
        assert!(!is_same_file(Path::new("/dev/null"), Path::new("/dev/null")), "a device may be shared");
    }

    #[test]
    fn the_extension_decides_in_any_case() {
        let formats = [("csv", 1), ("glb", 2)];
        assert_eq!(format_of(Path::new("a.GLB"), &formats).unwrap(), 2);
        for wrong in ["a", "a.obj", "csv", "a.csv.gz"] {
            assert!(
                format_of(Path::new(wrong), &formats).unwrap_err().to_string().contains("`.csv` or `.glb`")
            );
        }
    }
}
