//! What becomes of memory that was freed: it is kept for the next that asks, and not given back to the system at once.
//!
//! Decides for the whole process, librdkafka's part included. Knows nothing of who asks.

/// Below this size malloc takes memory from what it keeps; what is larger comes from the system and goes back there. Above what one
/// fetch, one chunk and most batches take.
const KEPT_PIECE_BYTES: i32 = 16 << 20;
/// What malloc keeps free at the end of each of its arenas.
const KEPT_FREE_BYTES: i32 = 16 << 20;

/// Has the allocator keep what is freed. Answers of brokers, chunks and packed batches are megabytes, made and freed many times a
/// second; each page of them costs a fault when it comes fresh from the system. malloc learns this by itself in time, from the sizes
/// that it sees, and forgets it where they differ. False where the allocator is none that can be told.
pub fn keep_freed_memory() -> bool {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes two numbers, and its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, KEPT_PIECE_BYTES) == 1
            && libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT_FREE_BYTES) == 1
    }
    #[cfg(not(target_env = "gnu"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, behind_name) = stat.rsplit_once(") ").unwrap();
        behind_name.split(' ').nth(7).unwrap().parse().unwrap()
    }

    /// Takes as much as a batch of large records, and gives it back; tells how many pages had to come from the system for it.
    fn faults_of_a_batch() -> u64 {
        let before = faults();
        std::hint::black_box(vec![1_u8; 8 << 20]);
        faults() - before
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn what_was_freed_costs_no_page_faults_when_it_is_taken_again() {
        assert!(keep_freed_memory());
        faults_of_a_batch();
        let again = faults_of_a_batch();
        assert!(again < 100, "{again} page faults for memory that was there");
    }
}
