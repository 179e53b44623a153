//! Processor time, memory and threads of this process.

use crate::cli::failure::Failure;
use crate::executor::RunError;

/// Processor time of all threads so far, seconds.
#[cfg(unix)]
pub(super) fn cpu_s() -> Option<f64> {
    use nix::sys::resource::{UsageWho, getrusage};
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    Some(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Processor time of all threads so far, seconds.
#[cfg(not(unix))]
pub(super) fn cpu_s() -> Option<f64> {
    None
}

/// The most memory this process has held at once, bytes.
pub(super) fn peak_rss_bytes() -> Option<u64> {
    // Not from getrusage, which on Linux may tell of the process that started this one.
    bytes_of(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The memory this process holds now, bytes.
pub(super) fn rss_bytes() -> Option<u64> {
    bytes_of(&std::fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

fn bytes_of(status: &str, label: &str) -> Option<u64> {
    let amount = status.lines().find_map(|line| line.strip_prefix(label))?;
    let kib: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Starts the threads that share the loops of pictures and checks, one per core. To be called once, before the first loop.
pub(super) fn start_helpers() -> Result<(), Failure> {
    let pool = rayon::ThreadPoolBuilder::new().thread_name(|number| format!("helper-{number}"));
    Ok(pool.build_global().map_err(RunError::no_thread)?)
}

/// Number of cores that this process may use; one if unknown.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let status = "VmPeak:\t  999 kB\nVmHWM:\t   12 kB\nVmRSS:\t 3 kB\n";
        assert_eq!(bytes_of(status, "VmHWM:"), Some(12 * 1024));
        assert_eq!(bytes_of(status, "VmRSS:"), Some(3 * 1024));
        assert_eq!(bytes_of("VmRSS:\t 3 kB\n", "VmHWM:"), None);
        assert_eq!(bytes_of("VmHWM:\t x kB\n", "VmHWM:"), None);
    }

    #[cfg(unix)]
    #[test]
    fn processor_time_grows_with_work() {
        let before = cpu_s().unwrap();
        let mut number = 1_u64;
        while cpu_s().unwrap() == before {
            number = std::hint::black_box(number.wrapping_mul(3));
        }
        assert!(cpu_s().unwrap() > before);
    }
}
