//! Where threads begin.

/// Moves the calling thread to the core with this number of those it may use, and lets it go again. Threads that are
/// always busy and happen to begin on one core may share it for a tenth of a second before the system parts them.
#[cfg(target_os = "linux")]
pub(crate) fn pin_briefly(number: usize) {
    use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
    use nix::unistd::Pid;

    let me = Pid::from_raw(0);
    let Ok(allowed) = sched_getaffinity(me) else { return };
    let cores: Vec<usize> =
        (0..CpuSet::count()).filter(|core| allowed.is_set(*core).unwrap_or(false)).collect();
    let mut only = CpuSet::new();
    let chosen = number.checked_rem(cores.len()).map(|at| cores[at]);
    if chosen.is_some_and(|core| only.set(core).is_ok()) && sched_setaffinity(me, &only).is_ok() {
        let _ = sched_setaffinity(me, &allowed);
    }
}

/// Elsewhere threads are left where they are.
#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_briefly(_: usize) {}
