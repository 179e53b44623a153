//! Which core a thread begins on.

/// Moves the calling thread to one of the cores that it may use, and then allows all of them again. Busy threads that
/// happen to begin on the same core may share it for a tenth of a second before the system separates them.
#[cfg(target_os = "linux")]
pub(crate) fn pin_briefly(number: usize) {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let this_thread = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(this_thread) else { return };
    let cores: Vec<usize> =
        (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect();
    let mut only = CpuSet::new();
    let chosen = number.checked_rem(cores.len()).map(|index| cores[index]);
    if chosen.is_some_and(|core| only.set(core).is_ok()) && sched_setaffinity(this_thread, &only).is_ok() {
        let _ = sched_setaffinity(this_thread, &allowed);
    }
}

/// Other systems: threads stay on the core that the system chooses.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_briefly(_: usize) {}
