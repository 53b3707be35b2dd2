//! What is known about ids: schemas that are ready, and ids without one.
//!
//! Bounds: so many schemas, of so many bytes of text; beyond it the one goes that was not used for longest. So many ids without a
//! schema; beyond it the oldest goes, but none that was asked for within the last second, since then it could be asked for again at
//! once. It does not know how schemas are fetched, and asks no clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::closure::Schema;
use crate::failure::Reason;
use crate::wire::SchemaId;

/// How long an unknown id is not asked for again.
const MISSING_PAUSE: Duration = Duration::from_secs(1);

/// How long a schema that cannot be used is not fetched again. A registry does not change what an id stands for, but it may let go of
/// what it refused to show.
const UNUSABLE_PAUSE: Duration = Duration::from_secs(60);

/// How many ids without a schema are kept in mind.
const WITHOUT_MAX: usize = 1000;

/// What is known about an id.
pub(super) enum Standing {
    /// Its schema.
    Known(Arc<Schema>),
    /// That there is none to use, and why.
    Refused(Reason),
    /// That somebody asks for it at the moment.
    Asked,
    /// That it had none a moment ago, and when it may be asked for again.
    TooEarly(Duration),
    /// Nothing.
    Unknown,
}

#[derive(Debug)]
enum Entry {
    Asked,
    Ready { schema: Arc<Schema>, bytes: usize, used: u64 },
    Without { reason: Reason, since: Instant, pause: Duration },
}

/// All that is known.
#[derive(Debug)]
pub(super) struct Shelf {
    entries: HashMap<SchemaId, Entry>,
    schemas_max: usize,
    bytes_max: usize,
    /// Counts uses, so that they have an order.
    uses: u64,
}

impl Shelf {
    /// An empty shelf. One schema fits always: the one that was fetched last.
    pub(super) fn new(schemas_max: usize, bytes_max: usize) -> Self {
        Self { entries: HashMap::new(), schemas_max: schemas_max.max(1), bytes_max, uses: 0 }
    }

    /// What is known about an id, to someone who read it at `read_at`.
    pub(super) fn standing(&mut self, id: SchemaId, read_at: Instant, now: Instant) -> Standing {
        match self.entries.get_mut(&id) {
            None => Standing::Unknown,
            Some(Entry::Asked) => Standing::Asked,
            Some(Entry::Ready { schema, used, .. }) => {
                self.uses += 1;
                *used = self.uses;
                Standing::Known(Arc::clone(schema))
            }
            Some(Entry::Without { reason, since, pause }) => {
                let rest = (*since + *pause).saturating_duration_since(now);
                // Whoever wrote a record had its schema registered before. So an answer that was asked for after the record was read
                // is about that schema, and an older one may be older than it:
                // 1. id 7 is asked for and unknown; 2. it is registered; 3. a record with it is written; 4. and read.
                // A schema that is there and cannot be used does not change.
                if *since >= read_at || (!rest.is_zero() && *pause > MISSING_PAUSE) {
                    Standing::Refused(reason.clone())
                } else if rest.is_zero() {
                    Standing::Unknown
                } else {
                    Standing::TooEarly(rest)
                }
            }
        }
    }

    /// Makes room for one more id without a schema.
    ///
    /// # Errors
    /// There is none, for so long.
    pub(super) fn make_room(&mut self, now: Instant) -> Result<(), Duration> {
        let without = self.entries.iter().filter_map(|(id, entry)| match entry {
            Entry::Asked => Some((*id, None)),
            Entry::Without { since, .. } => Some((*id, Some(*since))),
            Entry::Ready { .. } => None,
        });
        let all: Vec<_> = without.collect();
        if all.len() < WITHOUT_MAX {
            return Ok(());
        }
        let oldest = all.iter().filter_map(|(id, since)| since.map(|since| (since, *id))).min();
        let Some((since, id)) = oldest else { return Err(MISSING_PAUSE) };
        let rest = (since + MISSING_PAUSE).saturating_duration_since(now);
        if !rest.is_zero() {
            return Err(rest);
        }
        self.entries.remove(&id);
        Ok(())
    }

    /// Notes that somebody asks for an id.
    pub(super) fn begin(&mut self, id: SchemaId) {
        self.entries.insert(id, Entry::Asked);
    }

    /// Notes that nothing was learnt about it.
    pub(super) fn forget(&mut self, id: SchemaId) {
        self.entries.remove(&id);
    }

    /// Puts a schema there.
    pub(super) fn put(&mut self, id: SchemaId, schema: Arc<Schema>, bytes: usize) {
        self.uses += 1;
        self.entries.insert(id, Entry::Ready { schema, bytes, used: self.uses });
        while let Some(unused) = self.surplus().filter(|unused| *unused != id) {
            self.entries.remove(&unused);
        }
    }

    /// Notes that an id had no schema when it was asked for.
    pub(super) fn put_missing(&mut self, id: SchemaId, reason: Reason, asked_at: Instant) {
        self.entries.insert(id, Entry::Without { reason, since: asked_at, pause: MISSING_PAUSE });
    }

    /// Notes that the schema of an id cannot be used.
    pub(super) fn put_unusable(&mut self, id: SchemaId, reason: Reason, now: Instant) {
        self.entries.insert(id, Entry::Without { reason, since: now, pause: UNUSABLE_PAUSE });
    }

    /// The schema that was not used for longest, if there are too many.
    fn surplus(&self) -> Option<SchemaId> {
        let (mut count, mut sum, mut oldest) = (0, 0_usize, None);
        for (id, entry) in &self.entries {
            if let Entry::Ready { bytes, used, .. } = entry {
                count += 1;
                sum = sum.saturating_add(*bytes);
                oldest = oldest.min(Some((*used, *id))).or(Some((*used, *id)));
            }
        }
        oldest.map(|(_, id)| id).filter(|_| count > self.schemas_max || sum > self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::avro::AvroSchema;

    const SECOND: Duration = Duration::from_secs(1);

    fn schema() -> Arc<Schema> {
        Arc::new(Schema::Avro(AvroSchema::parse("\"int\"", &[]).unwrap()))
    }

    fn known(shelf: &mut Shelf, id: u32) -> bool {
        let now = Instant::now();
        matches!(shelf.standing(SchemaId(id), now, now), Standing::Known(_))
    }

    #[test]
    fn the_schema_that_was_not_used_for_longest_goes_first() {
        let mut shelf = Shelf::new(2, usize::MAX);
        shelf.put(SchemaId(1), schema(), 1);
        shelf.put(SchemaId(2), schema(), 1);
        assert!(known(&mut shelf, 1));
        shelf.put(SchemaId(3), schema(), 1);
        assert!(known(&mut shelf, 1) && !known(&mut shelf, 2) && known(&mut shelf, 3));
    }

    #[test]
    fn schemas_are_bounded_in_bytes_and_the_last_one_fits_always() {
        let mut shelf = Shelf::new(100, 10);
        shelf.put(SchemaId(1), schema(), 6);
        shelf.put(SchemaId(2), schema(), 4);
        assert!(known(&mut shelf, 1) && known(&mut shelf, 2));
        shelf.put(SchemaId(3), schema(), 11);
        assert!(!known(&mut shelf, 1) && !known(&mut shelf, 2) && known(&mut shelf, 3));
    }

    #[test]
    fn an_id_is_unknown_to_those_who_read_it_before_it_was_asked_for() {
        let (mut shelf, start) = (Shelf::new(1, 1), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        shelf.put_missing(SchemaId(7), Reason::new("404"), at(100));
        assert!(matches!(shelf.standing(SchemaId(7), at(50), at(200)), Standing::Refused(_)));
        assert!(matches!(shelf.standing(SchemaId(7), at(50), at(5000)), Standing::Refused(_)));
        // To those who read it later it may have been registered meanwhile.
        let standing = shelf.standing(SchemaId(7), at(150), at(200));
        assert!(matches!(standing, Standing::TooEarly(rest) if rest == Duration::from_millis(900)));
        assert!(matches!(shelf.standing(SchemaId(7), at(150), at(1100)), Standing::Unknown));
    }

    #[test]
    fn a_schema_that_cannot_be_used_is_looked_at_again_after_a_minute() {
        let (mut shelf, start) = (Shelf::new(1, 1), Instant::now());
        shelf.put_unusable(SchemaId(7), Reason::new("bad"), start);
        assert!(matches!(shelf.standing(SchemaId(7), start + SECOND, start + SECOND * 59), Standing::Refused(_)));
        assert!(matches!(shelf.standing(SchemaId(7), start + SECOND, start + SECOND * 60), Standing::Unknown));
    }

    #[test]
    fn ids_without_a_schema_are_bounded_and_none_is_forgotten_within_its_second() {
        let (mut shelf, start) = (Shelf::new(1, 1), Instant::now());
        for id in 0..u32::try_from(WITHOUT_MAX).unwrap() {
            assert_eq!(shelf.make_room(start), Ok(()));
            shelf.put_missing(SchemaId(id), Reason::new("404"), start);
        }
        assert_eq!(shelf.make_room(start + SECOND / 4), Err(SECOND * 3 / 4));
        assert_eq!(shelf.make_room(start + SECOND), Ok(()));
        assert_eq!(shelf.entries.len(), WITHOUT_MAX - 1);
    }
}
