//! What a Confluent serializer puts in front of a datum: a zero, the id of the schema, and for Protobuf the place of the message in it.
//!
//! It does not know what an id stands for. The newer framing, which begins with a one or keeps a GUID in a header, is not read.

/// The number under which a registry keeps a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SchemaId(pub(crate) u32);

/// The zero that comes first.
const MAGIC: u8 = 0;

/// The zero and the id.
const PREFIX_BYTES: usize = 5;

/// How deeply a message can be nested in a schema; the compiler of schemas has the same limit.
const NESTING_MAX: usize = 32;

/// Splits a payload into the id of its schema and the rest.
///
/// # Errors
/// Says what stands there instead.
pub(crate) fn split(payload: &[u8]) -> Result<(SchemaId, &[u8]), String> {
    let Some((prefix, rest)) = payload.split_first_chunk::<PREFIX_BYTES>() else {
        return Err(format!("it has {} bytes, too few for a zero and the id of a schema", payload.len()));
    };
    let [magic, id @ ..] = *prefix;
    if magic != MAGIC {
        let text = "it does not begin with a zero and the id of a schema; was it written without a registry?";
        return Err(text.to_owned());
    }
    Ok((SchemaId(u32::from_be_bytes(id)), rest))
}

/// Splits what follows the id into the place of the message in its file, outermost first, and the message.
///
/// # Errors
/// Says what is wrong with the list.
pub(crate) fn split_message_indexes(bytes: &[u8]) -> Result<(Vec<usize>, &[u8]), String> {
    let (count, mut rest) = split_index(bytes)?;
    // The short form: the first message of the file.
    if count == 0 {
        return Ok((vec![0], rest));
    }
    if count > NESTING_MAX {
        return Err(format!("the place of its message has {count} levels; more than {NESTING_MAX} there are not"));
    }
    let mut indexes = Vec::with_capacity(count);
    for _ in 0..count {
        let (index, behind) = split_index(rest)?;
        indexes.push(index);
        rest = behind;
    }
    Ok((indexes, rest))
}

/// True for what looks as if it had an id in front, and something behind it.
pub(crate) fn may_be_framed(payload: &[u8]) -> bool {
    payload.len() > PREFIX_BYTES && payload.first() == Some(&MAGIC)
}

fn split_index(bytes: &[u8]) -> Result<(usize, &[u8]), String> {
    let (value, rest) = split_zigzag(bytes).ok_or("the list with the place of its message is cut off")?;
    let index = usize::try_from(value).map_err(|_| format!("the place of its message has the index {value}"))?;
    Ok((index, rest))
}

/// Splits off a number of variable length, in the zigzag form that Avro and Confluent use. Nothing when it is cut off, or needs more
/// than 64 bits.
pub(crate) fn split_zigzag(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        // The tenth byte has room for one bit.
        if at == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            let magnitude = i64::try_from(value >> 1).ok()?;
            return Some((magnitude ^ -i64::from(value & 1 == 1), &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_four_bytes_big_endian_after_a_zero() {
        assert_eq!(split(&[0, 0, 0, 1, 2, b'x']), Ok((SchemaId(258), b"x".as_slice())));
        assert_eq!(split(&[0, 255, 255, 255, 255]), Ok((SchemaId(u32::MAX), b"".as_slice())));
    }

    #[test]
    fn a_wrong_first_byte_and_too_few_bytes_are_told_apart() {
        assert!(split(b"{\"a\":1}").unwrap_err().contains("does not begin with a zero"));
        assert!(split(&[0, 0, 0, 1]).unwrap_err().contains("4 bytes"));
        assert!(split(b"").unwrap_err().contains("0 bytes"));
    }

    #[test]
    fn message_indexes_are_read_in_both_forms() {
        assert_eq!(split_message_indexes(&[0, 9]), Ok((vec![0], [9].as_slice())));
        assert_eq!(split_message_indexes(&[2, 0, 9]), Ok((vec![0], [9].as_slice())));
        assert_eq!(split_message_indexes(&[4, 2, 0x80, 1]), Ok((vec![1, 64], [].as_slice())));
    }

    #[test]
    fn message_indexes_that_cannot_be_are_refused() {
        assert!(split_message_indexes(&[]).unwrap_err().contains("cut off"));
        assert!(split_message_indexes(&[4, 2]).unwrap_err().contains("cut off"));
        assert!(split_message_indexes(&[1]).unwrap_err().contains("index -1"));
        assert!(split_message_indexes(&[0x80, 0x80, 1]).unwrap_err().contains("8192 levels"));
    }

    #[test]
    fn numbers_of_variable_length_keep_their_sign_and_their_limits() {
        let read = |bytes: &[u8]| split_zigzag(bytes).map(|(value, _)| value);
        assert_eq!((read(&[0]), read(&[1]), read(&[2]), read(&[3])), (Some(0), Some(-1), Some(1), Some(-2)));
        let largest = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let smallest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!((read(&largest), read(&smallest)), (Some(i64::MAX), Some(i64::MIN)));
        assert_eq!(read(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), None);
        assert_eq!(read(&[0x80; 11]), None);
        assert_eq!(read(&[0x80]), None);
    }
}
