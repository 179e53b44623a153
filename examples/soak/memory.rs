//! Memory of this process over time: what is allocated, and what is resident.
#![allow(unsafe_code, reason = "an allocator that counts cannot be written without")]

use std::alloc::{GlobalAlloc, Layout};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mimalloc::MiMalloc;

/// The program's allocator, which counts here what is allocated and not freed.
pub struct Counting;

/// Bytes that are allocated and not freed.
static LIVE_BYTES: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is handed on, and every block comes from there.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE_BYTES.fetch_add(layout.size() as u64, Relaxed);
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        LIVE_BYTES.fetch_add(bytes as u64, Relaxed);
        LIVE_BYTES.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller upholds the contract of `realloc`.
        unsafe { MiMalloc.realloc(block, layout, bytes) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE_BYTES.fetch_sub(layout.size() as u64, Relaxed);
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { MiMalloc.dealloc(block, layout) }
    }
}

/// How often memory is read.
const PAUSE: Duration = Duration::from_millis(100);
/// Memory at a moment is the median over this share of all time before it.
const SHARE: f64 = 0.05;

/// Memory at a moment, bytes.
#[derive(Clone, Copy)]
pub struct Sample {
    pub live: u64,
    pub resident: u64,
}

/// Resident memory now, bytes; nothing where the operating system does not say.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let amount = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = amount.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Reads memory now and then until the time is over.
pub struct Watch {
    begun: Instant,
    total: Duration,
    read: Option<Instant>,
    /// With the seconds since the beginning.
    samples: Vec<(f64, Sample)>,
}

impl Watch {
    pub fn over(total: Duration) -> Self {
        // Room for all samples from the start: the watch must not be what grows.
        let samples = Vec::with_capacity((total.as_secs_f64() / PAUSE.as_secs_f64()) as usize + 2);
        Watch { begun: Instant::now(), total, read: None, samples }
    }

    /// Reads memory if it is time to. Says whether all time is over.
    pub fn look(&mut self) -> bool {
        let now = Instant::now();
        if self.read.is_none_or(|read| now - read >= PAUSE) {
            self.read = Some(now);
            let since = (now - self.begun).as_secs_f64();
            let sample = |resident| (since, Sample { live: LIVE_BYTES.load(Relaxed), resident });
            self.samples.extend(resident_bytes().map(sample));
        }
        now - self.begun >= self.total
    }

    /// Memory after a share of all time: the medians of the time before. Nothing if it was not read then.
    pub fn at(&self, share: f64) -> Option<Sample> {
        let total_s = self.total.as_secs_f64();
        let (from, to) = ((share - SHARE) * total_s, share * total_s);
        let near: Vec<Sample> = self
            .samples
            .iter()
            .filter(|(at, _)| (from..=to).contains(at))
            .map(|(_, sample)| *sample)
            .collect();
        let median = |of: fn(&Sample) -> u64| {
            let mut bytes: Vec<u64> = near.iter().map(of).collect();
            bytes.sort_unstable();
            bytes.get(bytes.len() / 2).copied()
        };
        Some(Sample { live: median(|sample| sample.live)?, resident: median(|sample| sample.resident)? })
    }
}
