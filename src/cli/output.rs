//! Files that a command writes: a file gets its name only when it is complete, so that a failure replaces nothing.
//!
//! Recordings are written in place: a recording is of use before it is complete.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::cli::failure::Failure;

/// A file that is being written.
pub(super) struct Output {
    /// Final name.
    path: PathBuf,
    /// Name until the file is complete; nothing where it cannot be renamed, such as a device.
    partial: Option<PathBuf>,
}

impl Output {
    /// Starts a file that will be called `path` and is not the `input`.
    pub(super) fn begin(path: &Path, input: &Path) -> Result<Self, Failure> {
        Self::begin_for("--out", path, &[input])
    }

    /// The same for the flag that asks for it; `taken` are files it must not be.
    pub(super) fn begin_for(flag: &str, path: &Path, taken: &[&Path]) -> Result<Self, Failure> {
        let refused = |reason: &dyn std::fmt::Display| {
            Failure::bad_input(format_args!("{flag}: cannot create {}: {reason}", path.display()))
        };
        // Links are followed: the target of a link is to be replaced.
        let found = fs::canonicalize(path).ok();
        if found.is_some() && taken.iter().any(|taken| found == fs::canonicalize(taken).ok()) {
            return Err(refused(&"that is the file to read; choose another name"));
        }
        let output = match (&found, fs::metadata(path)) {
            (Some(_), Ok(file)) if file.is_dir() => {
                return Err(refused(&"that is a folder; name a file in it"));
            }
            (Some(_), Ok(file)) if !file.is_file() => Output { path: path.to_owned(), partial: None },
            _ => {
                let path = found.unwrap_or_else(|| path.to_owned());
                let mut partial = OsString::from(&path);
                partial.push(".partial");
                Output { path, partial: Some(partial.into()) }
            }
        };
        File::create(output.writable()).map_err(|error| refused(&error))?;
        Ok(output)
    }

    /// Where to write. It exists, and is empty.
    pub(super) fn writable(&self) -> &Path {
        self.partial.as_deref().unwrap_or(&self.path)
    }

    /// The file is complete: gives it its name.
    pub(super) fn keep(mut self) -> Result<(), Failure> {
        let Some(partial) = self.partial.take() else { return Ok(()) };
        fs::rename(&partial, &self.path).map_err(|error| {
            let (from, to) = (partial.display(), self.path.display());
            Failure::failed(format_args!("cannot rename {from} to {to}: {error}"))
        })
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // An incomplete file is of no use; if it cannot be removed, it does no harm.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Which of some formats the extension of `path` asks for.
pub(super) fn format_of<T: Copy>(path: &Path, formats: &[(&str, T)]) -> Result<T, Failure> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
    let found = formats.iter().find(|(name, _)| name.eq_ignore_ascii_case(extension));
    found.map(|(_, format)| *format).ok_or_else(|| {
        let names: Vec<String> = formats.iter().map(|(name, _)| format!("`.{name}`")).collect();
        Failure::bad_input(format_args!(
            "--out: {} says not what to write; use a name that ends in {}",
            path.display(),
            names.join(" or ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let (path, input) = (folder.path().join("a.csv"), folder.path().join("in.anr"));
        fs::write(&path, "old").unwrap();
        let output = Output::begin(&path, &input).unwrap();
        fs::write(output.writable(), "half").unwrap();
        drop(output);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "what is not kept is removed");
        let output = Output::begin(&path, &input).unwrap();
        fs::write(output.writable(), "new").unwrap();
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
        let Err(failure) = Output::begin(&path, &other_name) else { panic!("it was taken") };
        assert!(failure.to_string().contains("that is the file to read"), "{failure}");
        assert!(Output::begin(folder.path(), &path).is_err());
        assert!(Output::begin(&folder.path().join("missing/a.csv"), &path).is_err());
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
