//! How long to wait before the next attempt (R5). Pure arithmetic; chance comes in as a seed.

use std::time::Duration;

use crate::policy::Backoff;

/// The wait after the `attempt`-th failure (1 = the first), in `[1 − j, 1 + j] · min(max, initial · 2^(attempt − 1))`.
///
/// Never overflows, whatever the attempt: the cap is applied before the multiplication could exceed it.
#[must_use]
pub(crate) fn delay(backoff: &Backoff, attempt: u32, seed: u64) -> Duration {
    let initial = micros(backoff.initial);
    let max = micros(backoff.max);
    let doublings = attempt.saturating_sub(1).min(63);
    let base = if initial > (max >> doublings) { max } else { initial << doublings };
    let span = (u128::from(base) * u128::from(backoff.jitter_permille.min(1000)) / 1000) as u64;
    if span == 0 {
        return Duration::from_micros(base);
    }
    let low = base - span;
    let width = span.saturating_mul(2).saturating_add(1);
    Duration::from_micros(low.saturating_add(mix(seed ^ u64::from(attempt)) % width))
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// A well-spread function of its argument (the finaliser of splitmix64), so that neighbouring seeds give unlike jitter.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backoff(initial_ms: u64, max_ms: u64, jitter_permille: u32) -> Backoff {
        Backoff { initial: Duration::from_millis(initial_ms), max: Duration::from_millis(max_ms), jitter_permille }
    }

    #[test]
    fn r5_delay_doubles_up_to_the_cap() {
        let plain = backoff(100, 1_000, 0);
        let waits: Vec<u64> = (1..=6).map(|k| delay(&plain, k, 7).as_millis() as u64).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1_000, 1_000]);
    }

    #[test]
    fn r5_b57_delay_keeps_its_bounds_after_any_number_of_attempts() {
        let jittered = backoff(100, 30_000, 200);
        for attempt in (1..=200).chain([u32::MAX - 1, u32::MAX]) {
            let base = (100u64 << (attempt - 1).min(20)).min(30_000);
            let wait = delay(&jittered, attempt, 42).as_micros() as u64;
            assert!(wait >= base * 800 && wait <= base * 1_200, "attempt {attempt}: {wait} µs around {base} ms");
        }
    }

    #[test]
    fn r5_jitter_differs_between_seeds() {
        let jittered = backoff(1_000, 30_000, 500);
        let waits: std::collections::BTreeSet<Duration> = (0..50).map(|seed| delay(&jittered, 3, seed)).collect();
        assert!(waits.len() > 40, "only {} different waits", waits.len());
    }

    #[test]
    fn r5_longest_durations_do_not_overflow() {
        let longest = Backoff { initial: Duration::MAX, max: Duration::MAX, jitter_permille: 1000 };
        assert!(delay(&longest, u32::MAX, 1) > Duration::ZERO);
    }
}
