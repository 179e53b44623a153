//! What makes files last.

use std::fs::File;
use std::path::Path;

/// Makes a new name of a file last. Not every file system can; then the file system decides when it does.
pub fn sync_folder(path: &Path) {
    let folder =
        path.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    if let Some(folder) = folder {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}
