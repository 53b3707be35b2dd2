//! Effects as packed bytes, on their way out of a guest.
//!
//! A hostile guest wrote them: everything is looked at before anything is copied, and what is copied is bounded however often the
//! rows name the same bytes.

use super::{DATA_MAGIC, HEAD_BYTES, HEADER_BYTES, NULL};
use crate::bindings::types::Rejection;
use crate::emitted::{EMITTED_HEADER_OVERHEAD_BYTES, EMITTED_RECORD_OVERHEAD_BYTES, EmittedHeader};
use crate::reply::{Wanted, WantedRecord};

const MAGIC: &[u8; 8] = b"gmeffec1";
const REJECTION_BYTES: usize = 16;
const EMITTED_BYTES: usize = 48;

/// What a rejection counts for beside its reason: what the host keeps for it.
const REJECTION_COUNTS_BYTES: u64 = 32;

/// The flags of an emitted record.
const HAS_PARTITION: u32 = 1;
const HAS_SOURCE: u32 = 2;

/// Reads effects that may take `bytes_max` in the host.
///
/// # Errors
///
/// What is not as the layout has it, with the numbers.
pub(crate) fn wanted(index: &[u8], data: &[u8], bytes_max: u64) -> Result<Wanted, String> {
    if index.is_empty() && data.is_empty() {
        return Ok(Wanted::default());
    }
    let rows = Rows::of(index, data)?;
    rows.check(bytes_max)?;
    let mut rejected = Vec::with_capacity(rows.rejections().len());
    for row in rows.rejections() {
        rejected.push(Rejection { index: row.number(0), reason: rows.reason(row)?.to_owned() });
    }
    let (mut emitted, mut headers) = (Vec::with_capacity(rows.emitted().len()), rows.headers());
    for row in rows.emitted() {
        emitted.push(rows.record(row, &mut headers)?);
    }
    Ok(Wanted { rejected, emitted })
}

/// A row, whose width is known.
#[derive(Clone, Copy)]
struct Row<'a>(&'a [u8]);

impl Row<'_> {
    /// The number at a place that lies within every row of its kind.
    fn number(self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    /// The span there.
    fn at(self, at: usize) -> Span {
        Span { at: self.number(at), length: self.number(at + 4) }
    }
}

#[derive(Clone, Copy)]
struct Span {
    at: u32,
    length: u32,
}

/// An index whose length is what its head says.
struct Rows<'a> {
    rejections: &'a [u8],
    emitted: &'a [u8],
    headers: &'a [u8],
    data: &'a [u8],
}

impl<'a> Rows<'a> {
    fn of(index: &'a [u8], data: &'a [u8]) -> Result<Self, String> {
        if index.len() < HEAD_BYTES || !index.starts_with(MAGIC) || !data.starts_with(DATA_MAGIC) {
            return Err("its packed effects do not begin as wit/raw.md has it".to_owned());
        }
        let head = Row(&index[..HEAD_BYTES]);
        let counts = [head.number(8), head.number(12), head.number(16)];
        let widths = [REJECTION_BYTES, EMITTED_BYTES, HEADER_BYTES];
        let sizes = counts.iter().zip(widths).map(|(count, width)| u64::from(*count) * width as u64);
        let wanted = HEAD_BYTES as u64 + sizes.sum::<u64>();
        if index.len() as u64 != wanted {
            return Err(format!(
                "its packed effects have an index of {} bytes; by its head it has {wanted}",
                index.len()
            ));
        }
        let (rejections, rest) = index[HEAD_BYTES..].split_at(counts[0] as usize * REJECTION_BYTES);
        let (emitted, headers) = rest.split_at(counts[1] as usize * EMITTED_BYTES);
        Ok(Self { rejections, emitted, headers, data })
    }

    fn rejections(&self) -> impl ExactSizeIterator<Item = Row<'a>> {
        self.rejections.chunks_exact(REJECTION_BYTES).map(Row)
    }

    fn emitted(&self) -> impl ExactSizeIterator<Item = Row<'a>> {
        self.emitted.chunks_exact(EMITTED_BYTES).map(Row)
    }

    fn headers(&self) -> impl ExactSizeIterator<Item = Row<'a>> + use<'a> {
        self.headers.chunks_exact(HEADER_BYTES).map(Row)
    }

    /// Looks at all of it: whether it can be read, whether each header belongs to one record, and what it takes in the host.
    fn check(&self, bytes_max: u64) -> Result<(), String> {
        let mut headers = 0;
        for (number, row) in self.emitted().enumerate() {
            let (flags, first) = (row.number(24), row.number(36));
            if flags > HAS_PARTITION | HAS_SOURCE {
                return Err(format!("its emitted record {number} has the flags {flags}, which mean nothing"));
            }
            if u64::from(first) != headers {
                return Err(format!(
                    "its emitted record {number} has its headers from row {first}; {headers} belong to those before"
                ));
            }
            headers += u64::from(row.number(40));
        }
        if headers != self.headers().len() as u64 {
            let rows = self.headers().len();
            return Err(format!("its emitted records have {headers} headers; there are rows for {rows}"));
        }
        let mut bytes = 0;
        for row in self.rejections() {
            bytes += REJECTION_COUNTS_BYTES + self.reason(row)?.len() as u64;
        }
        for row in self.emitted() {
            let parts = [self.sink(row)?.len(), length(self.bytes(row.at(8))?), length(self.bytes(row.at(16))?)];
            bytes += EMITTED_RECORD_OVERHEAD_BYTES + parts.iter().sum::<usize>() as u64;
        }
        for row in self.headers() {
            bytes += EMITTED_HEADER_OVERHEAD_BYTES + (self.name(row)?.len() + length(self.bytes(row.at(8))?)) as u64;
        }
        if bytes > bytes_max {
            return Err(format!("its packed effects take {bytes} bytes; an answer may take {bytes_max}"));
        }
        Ok(())
    }

    /// An emitted record, which takes its headers from those that are left.
    fn record(&self, row: Row<'_>, headers: &mut impl Iterator<Item = Row<'a>>) -> Result<WantedRecord, String> {
        let (flags, count) = (row.number(24), row.number(40) as usize);
        let mut own = Vec::with_capacity(count);
        for header in headers.take(count) {
            let (name, value) = (self.name(header)?.to_vec(), self.bytes(header.at(8))?.map(<[u8]>::to_vec));
            own.push(EmittedHeader { name, value });
        }
        Ok(WantedRecord {
            sink: self.sink(row)?.to_owned(),
            key: self.bytes(row.at(8))?.map(<[u8]>::to_vec),
            value: self.bytes(row.at(16))?.map(<[u8]>::to_vec),
            headers: own,
            partition: (flags & HAS_PARTITION != 0).then(|| row.number(28).cast_signed()),
            source: (flags & HAS_SOURCE != 0).then(|| row.number(32)),
        })
    }

    fn reason(&self, row: Row<'_>) -> Result<&'a str, String> {
        self.text(row.at(4), "the reason of a rejection")
    }

    fn sink(&self, row: Row<'_>) -> Result<&'a str, String> {
        self.text(row.at(0), "the sink of an emitted record")
    }

    fn name(&self, row: Row<'_>) -> Result<&'a [u8], String> {
        self.bytes(row.at(0))?.ok_or_else(|| "the name of a header is null".to_owned())
    }

    fn bytes(&self, Span { at, length }: Span) -> Result<Option<&'a [u8]>, String> {
        if length == NULL {
            return Ok(None);
        }
        let (from, length) = (at as usize, length as usize);
        let bytes = from.checked_add(length).and_then(|to| self.data.get(from..to));
        bytes.map(Some).ok_or_else(|| {
            format!("its packed effects name {length} bytes from {at} on; their data has {}", self.data.len())
        })
    }

    fn text(&self, span: Span, what: &str) -> Result<&'a str, String> {
        let bytes = self.bytes(span)?.ok_or_else(|| format!("{what} is null"))?;
        std::str::from_utf8(bytes).map_err(|_| format!("{what} is no UTF-8"))
    }
}

fn length(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rejection of record 1, and a record emitted from record 0 to partition 5 with a header.
    fn example() -> (Vec<u8>, Vec<u8>) {
        let mut index = MAGIC.to_vec();
        let data = b"gmbytes1whyoutkvh\xff".to_vec();
        let rows: [u32; 24] = [
            1, 1, 1, 0, // one of each
            1, 8, 3, 0, // record 1: "why"
            11, 3, 14, 1, 15, 1, 3, 5, 0, 0, 1,
            0, // to "out": "k", "v", partition 5, source 0, the first header, one
            16, 2, 0, NULL, // "h\xff" is null
        ];
        rows.iter().for_each(|number| index.extend_from_slice(&number.to_le_bytes()));
        (index, data)
    }

    /// The example with another number at a place of its index.
    fn refused(at: usize, number: u32) -> String {
        let (mut index, data) = example();
        index[at..at + 4].copy_from_slice(&number.to_le_bytes());
        wanted(&index, &data, 1_000).unwrap_err()
    }

    /// What the example counts for: a rejection, a record and a header, and the bytes of their spans.
    const EXAMPLE_TAKES: u64 = 32 + 3 + 128 + 5 + 64 + 2;

    const REJECTION: usize = HEAD_BYTES;
    const EMITTED: usize = REJECTION + REJECTION_BYTES;
    const HEADER: usize = EMITTED + EMITTED_BYTES;

    #[test]
    fn effects_are_read_as_the_layout_has_them() {
        let (index, data) = example();
        let Wanted { rejected, emitted } = wanted(&index, &data, EXAMPLE_TAKES).unwrap();
        assert_eq!((rejected[0].index, rejected[0].reason.as_str()), (1, "why"));
        let WantedRecord { sink, key, value, headers, partition, source } = &emitted[0];
        assert_eq!((sink.as_str(), key.as_deref(), value.as_deref()), ("out", Some(&b"k"[..]), Some(&b"v"[..])));
        assert_eq!(headers, &[EmittedHeader { name: b"h\xff".to_vec(), value: None }]);
        assert_eq!((*partition, *source), (Some(5), Some(0)));
        let nothing = wanted(&[], &[], 0).unwrap();
        assert!(nothing.rejected.is_empty() && nothing.emitted.is_empty());
    }

    #[test]
    fn what_is_not_as_the_layout_has_it_is_refused_with_its_numbers() {
        let (index, data) = example();
        let begin = "its packed effects do not begin as wit/raw.md has it";
        for (index, data) in [(&b"gmeffec1"[..], &data[..]), (&index, b""), (b"", &data), (&data, &index)] {
            assert_eq!(wanted(index, data, 1_000).unwrap_err(), begin);
        }
        let length = "its packed effects have an index of 104 bytes; by its head it has ";
        assert_eq!(refused(8, 2), format!("{length}120"));
        assert_eq!(refused(12, NULL), format!("{length}{}", 56 + 48 * u64::from(NULL)));
        let outside = "its packed effects name 3 bytes from 16 on; their data has 18";
        assert_eq!(refused(REJECTION + 4, 16), outside);
        assert_eq!(
            refused(REJECTION + 4, NULL),
            format!("its packed effects name 3 bytes from {NULL} on; their data has 18")
        );
        assert_eq!(refused(REJECTION + 8, NULL), "the reason of a rejection is null");
        assert_eq!(refused(EMITTED + 4, NULL), "the sink of an emitted record is null");
        assert_eq!(refused(EMITTED + 4, 7), "the sink of an emitted record is no UTF-8");
        assert_eq!(refused(EMITTED + 24, 4), "its emitted record 0 has the flags 4, which mean nothing");
        assert_eq!(
            refused(EMITTED + 36, 1),
            "its emitted record 0 has its headers from row 1; 0 belong to those before"
        );
        assert_eq!(
            refused(EMITTED + 40, NULL),
            format!("its emitted records have {NULL} headers; there are rows for 1")
        );
        assert_eq!(refused(HEADER + 4, NULL), "the name of a header is null");
    }

    /// However often rows name the same bytes, and however little they name.
    #[test]
    fn what_effects_take_has_a_bound_before_anything_is_copied() {
        let (index, data) = example();
        let words = format!("its packed effects take {EXAMPLE_TAKES} bytes; an answer may take {}", EXAMPLE_TAKES - 1);
        assert_eq!(wanted(&index, &data, EXAMPLE_TAKES - 1).unwrap_err(), words);
        assert!(size_of::<Rejection>() as u64 <= REJECTION_COUNTS_BYTES);
        let mut many = index[..EMITTED].to_vec();
        many[8..20].copy_from_slice(&[100, 0, 0].map(u32::to_le_bytes).concat());
        (0..99).for_each(|_| many.extend_from_slice(&index[REJECTION..EMITTED]));
        assert!(wanted(&many, &data, 100 * 35 - 1).unwrap_err().contains("take 3500 bytes"));
        assert_eq!(wanted(&many, &data, 100 * 35).unwrap().rejected.len(), 100);
    }

    /// Every number of the index in turn, with the numbers at which such things break.
    #[test]
    fn no_number_makes_the_host_panic_or_hold_more_than_it_allowed() {
        for at in (8..HEADER + HEADER_BYTES).step_by(4) {
            for number in [0, 1, 2, 3, 17, 18, 19, u32::MAX / 48, u32::MAX / 16, 1 << 31, NULL - 1, NULL] {
                let (mut index, data) = example();
                index[at..at + 4].copy_from_slice(&number.to_le_bytes());
                let Ok(Wanted { rejected, emitted }) = wanted(&index, &data, 1_000) else { continue };
                let of_rejected = rejected.iter().map(|rejection| rejection.reason.len());
                let of_emitted = emitted.iter().map(|record| {
                    let headers =
                        record.headers.iter().map(|header| header.name.len() + length(header.value.as_deref()));
                    record.sink.len()
                        + length(record.key.as_deref())
                        + length(record.value.as_deref())
                        + headers.sum::<usize>()
                });
                let held = of_rejected.chain(of_emitted).sum::<usize>();
                assert!(held <= 1_000, "{number} at {at}");
            }
        }
    }
}
