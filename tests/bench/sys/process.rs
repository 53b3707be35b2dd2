//! What the system tells of processes and processors: processor time to the nanosecond, and on which processors a thread may run.

use std::time::Duration;

/// User and system time of all threads of a process, those that have ended included. Nothing where there is no such process.
pub(crate) fn processor_time(process: u32) -> Duration {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let process = libc::pid_t::try_from(process).unwrap_or(-1);
    // SAFETY: both write only what they are given, and it outlives the calls.
    let known = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0 && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
    match (known, seconds, nanoseconds) {
        (true, Ok(seconds), Ok(nanoseconds)) => Duration::new(seconds, nanoseconds),
        _ => Duration::ZERO,
    }
}

/// The processors that this thread may run on.
pub(crate) fn processors() -> Vec<usize> {
    let mut set = empty();
    // SAFETY: the set is as large as is said.
    let known = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) } == 0;
    // SAFETY: the numbers are those that a set has room for.
    let is_in = |processor: &usize| known && unsafe { libc::CPU_ISSET(*processor, &set) };
    (0..PROCESSORS_MAX).filter(is_in).collect()
}

/// Keeps this thread, and all that it starts from now on, on these processors. Returns whether the system did so.
pub(crate) fn stay_on(processors: &[usize]) -> bool {
    let mut set = empty();
    for processor in processors.iter().filter(|processor| **processor < PROCESSORS_MAX) {
        // SAFETY: the number is one that a set has room for.
        unsafe { libc::CPU_SET(*processor, &mut set) };
    }
    // SAFETY: the set is as large as is said.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) == 0 }
}

/// How many processors a set has room for.
const PROCESSORS_MAX: usize = size_of::<libc::cpu_set_t>() * 8;

fn empty() -> libc::cpu_set_t {
    // SAFETY: a set is bits; none of them means that it is empty.
    unsafe { std::mem::zeroed() }
}
