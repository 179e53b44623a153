//! Memory that this process can still have, as the operating system reports it, and the end without any.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Bytes that this process may still take: what the machine has free, what its control groups allow, and what its own
/// limits allow. Nothing where the operating system does not say.
pub(crate) fn available_bytes() -> Option<u64> {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let machine = read(Path::new("/proc/meminfo")).and_then(|text| free_bytes(&text));
    let groups = read(Path::new("/proc/self/cgroup")).and_then(|text| groups_bytes(&text, &read));
    let process = read(Path::new("/proc/self/status")).and_then(|text| below_limits(&text));
    [machine, groups, process].into_iter().flatten().min()
}

/// The program's allocator has no `bytes` left: ends the program, with a message in place of an abort. Allocates nothing.
pub(crate) fn ran_out(bytes: usize) -> ! {
    static ENDING: AtomicBool = AtomicBool::new(false);
    if ENDING.swap(true, Relaxed) {
        // Another thread is writing the message, and will end the program. Unless it is this one, while it ends.
        std::thread::sleep(Duration::from_secs(10));
        std::process::abort();
    }
    let fix = "use fewer bodies or cores, or close other programs";
    let _ = writeln!(std::io::stderr(), "error: no memory is left, not even {bytes} bytes; {fix}");
    std::process::exit(1);
}

/// An amount for messages, in MiB or GiB.
pub(crate) fn shown(bytes: u64) -> String {
    let mib = bytes as f64 / f64::from(1 << 20);
    if mib < 1024.0 { format!("{:.0} MiB", mib.ceil()) } else { format!("{:.1} GiB", mib / 1024.0) }
}

/// The number of a line such as `MemAvailable:   123 kB`, in bytes.
fn line_bytes(text: &str, label: &str) -> Option<u64> {
    let amount = text.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(':'))?;
    let kib: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

fn free_bytes(meminfo: &str) -> Option<u64> {
    let swap = line_bytes(meminfo, "SwapFree").unwrap_or(0);
    Some(line_bytes(meminfo, "MemAvailable")?.saturating_add(swap))
}

/// What the control groups of this process leave: the least along the path of each.
fn groups_bytes(groups: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current", "inactive_file"]),
            _ if controllers.split(',').any(|one| one == "memory") => {
                let names = ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"];
                ("/sys/fs/cgroup/memory", names)
            }
            _ => continue,
        };
        for folder in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = Path::new(root).join(folder);
            if let Some(left) = group_bytes(&folder, names, read) {
                least = Some(least.map_or(left, |least: u64| least.min(left)));
            }
        }
    }
    least
}

/// What one control group leaves. Files in the cache give way.
fn group_bytes(folder: &Path, names: [&str; 3], read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let [limit, used, cached] = names;
    // A group without a limit says `max`, which is no number.
    let limit: u64 = read(&folder.join(limit))?.trim().parse().ok()?;
    let used: u64 = read(&folder.join(used))?.trim().parse().ok()?;
    let stat = read(&folder.join("memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix(cached)?.trim().parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cached)))
}

/// What the limits of the process itself leave (`ulimit -v`, `ulimit -d`).
#[cfg(unix)]
fn below_limits(status: &str) -> Option<u64> {
    use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};
    // An allocator holds more addresses than it has used, so that what is mapped says nothing.
    let used = line_bytes(status, "VmRSS")?;
    let limit =
        |resource| getrlimit(resource).ok().map(|(soft, _)| soft).filter(|soft| *soft != RLIM_INFINITY);
    let limits = [limit(Resource::RLIMIT_AS), limit(Resource::RLIMIT_DATA)];
    limits.into_iter().flatten().min().map(|limit| limit.saturating_sub(used))
}

#[cfg(not(unix))]
fn below_limits(_: &str) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_in_bytes() {
        let meminfo = "MemTotal: 9 kB\nMemAvailable:   7 kB\nSwapTotal: 9 kB\nSwapFree: 2 kB\n";
        assert_eq!(free_bytes(meminfo), Some(9 << 10));
        assert_eq!(free_bytes("MemAvailable: 7 kB\n"), Some(7 << 10));
        assert_eq!(free_bytes("MemTotal: 9 kB\n"), None);
        assert_eq!([shown(1), shown(5 << 20), shown(3 << 29)], ["1 MiB", "5 MiB", "1.5 GiB"]);
    }

    #[test]
    fn the_tightest_group_counts() {
        let files = [
            ("/sys/fs/cgroup/a/b/memory.max", "max\n"),
            ("/sys/fs/cgroup/a/b/memory.current", "10\n"),
            ("/sys/fs/cgroup/a/memory.max", "1000\n"),
            ("/sys/fs/cgroup/a/memory.current", "700\n"),
            ("/sys/fs/cgroup/a/memory.stat", "file 600\ninactive_file 500\n"),
            ("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "900\n"),
            ("/sys/fs/cgroup/memory/c/memory.usage_in_bytes", "200\n"),
        ];
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| path == Path::new(name));
            found.map(|(_, text)| (*text).to_owned())
        };
        assert_eq!(groups_bytes("0::/a/b\n", &read), Some(800));
        assert_eq!(groups_bytes("12:cpu,memory:/c\n5:cpu:/a\n0::/a/b\n", &read), Some(700));
        assert_eq!(groups_bytes("0::/\nodd\n", &read), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_some_memory_left() {
        let left = available_bytes().expect("Linux says so");
        assert!(left > 1 << 20 && left < 1 << 50, "{left}");
    }
}
