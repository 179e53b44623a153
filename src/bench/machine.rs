//! The machine that a measurement was made on, as far as the operating system describes it.

use std::fs;
use std::process::Command;

use serde::Serialize;

/// Description of a machine, to be shown beside every measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Model of the processor, as the operating system names it.
    pub processor: String,
    /// Number of cores that this process may use.
    pub cores: usize,
    /// Main memory, GiB, rounded; nothing if unknown.
    pub memory_gib: Option<u64>,
    /// Operating system and architecture.
    pub system: String,
    /// Load average of the last minute when the measurement began; nothing if unknown.
    pub load: Option<f64>,
    /// Name and version of this program.
    pub program: String,
    /// The commit of the source that the program lies in, if it does; with `+` if files differ from it.
    pub commit: Option<String>,
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").ok();
        Machine {
            processor: value(&cpuinfo, "model name").unwrap_or_else(|| "unknown processor".into()),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: value(&meminfo, "MemTotal").and_then(|text| gib(&text)),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            load: load.and_then(|text| text.split_whitespace().next()?.parse().ok()),
            program: format!("anachron {}", env!("CARGO_PKG_VERSION")),
            commit: commit(),
        }
    }

    /// A name for a folder: small letters, digits and hyphens.
    pub fn slug(&self) -> String {
        let text = format!("{} {} cores", self.processor, self.cores).to_lowercase();
        let mut slug = String::new();
        for letter in text.chars() {
            if letter.is_ascii_alphanumeric() {
                slug.push(letter);
            } else if !slug.is_empty() && !slug.ends_with('-') {
                slug.push('-');
            }
        }
        slug.trim_end_matches('-').to_owned()
    }

    /// One line for the terminal.
    pub fn text(&self) -> String {
        let memory = self.memory_gib.map_or(String::new(), |gib| format!(", {gib} GiB"));
        let load = self.load.map_or(String::new(), |load| format!(", load {load:.2} at the start"));
        let commit = self.commit.as_ref().map_or(String::new(), |commit| format!(" at {commit}"));
        let Machine { processor, cores, system, program, .. } = self;
        format!("{processor}, {cores} cores{memory}, {system}, {program}{commit}{load}")
    }
}

/// Asks git, in the folder of the program.
fn commit() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let git = |arguments: &[&str]| {
        let done = Command::new("git").arg("-C").arg(program.parent()?).args(arguments).output().ok()?;
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let is_changed = !git(&["status", "--porcelain", "--untracked-files=no", "--", ":/src"])?.is_empty();
    Some(if is_changed { format!("{commit}+") } else { commit })
}

fn value(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn gib(text: &str) -> Option<u64> {
    let kib: f64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    Some((kib / f64::from(1 << 20)).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines_are_names_of_folders() {
        let machine =
            Machine { processor: "Maker(R) Chip 9V74 @ 2.6GHz".into(), cores: 2, ..Machine::here() };
        assert_eq!(machine.slug(), "maker-r-chip-9v74-2-6ghz-2-cores");
        assert!(machine.text().contains("2 cores"));
    }

    #[test]
    fn files_of_the_system_are_parsed() {
        assert_eq!(value("a\t: 1\nmodel name\t: X 1\n", "model name"), Some("X 1".into()));
        assert_eq!(gib("16389076 kB"), Some(16));
        assert_eq!(gib("many"), None);
    }
}
