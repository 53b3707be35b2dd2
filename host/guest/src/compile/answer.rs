//! What the compile worker writes to its standard output: one answer, whole or not at all.
//!
//! A worker may die at any byte, and other programs print what they like. An answer therefore says how long it is and ends with its
//! own digest. That guards against accidents; who could forge it holds the pipe, and that is the worker.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

const MAGIC: &[u8; 8] = b"gmcode1\n";

/// Magic, kind, length.
const HEAD_BYTES: usize = MAGIC.len() + 1 + 8;

const DIGEST_BYTES: usize = 32;

/// What an answer has beside the code itself.
pub(super) const OVERHEAD_BYTES: u64 = (HEAD_BYTES + DIGEST_BYTES) as u64;

/// What the worker found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer<B> {
    /// Code.
    Code(B),
    /// The component does not validate; why.
    Invalid(B),
    /// The compiler refuses it; why.
    Refused(B),
    /// There was no memory left.
    NoMemory,
}

impl<B: AsRef<[u8]>> Answer<B> {
    fn parts(&self) -> (u8, &[u8]) {
        match self {
            Self::Code(code) => (b'c', code.as_ref()),
            Self::Invalid(detail) => (b'i', detail.as_ref()),
            Self::Refused(detail) => (b'r', detail.as_ref()),
            Self::NoMemory => (b'm', &[]),
        }
    }

    /// Writes it.
    ///
    /// # Errors
    ///
    /// Nobody reads it any more.
    pub(super) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let (kind, body) = self.parts();
        let mut digest = Sha256::new();
        for part in [&MAGIC[..], &[kind], &(body.len() as u64).to_le_bytes(), body] {
            digest.update(part);
            to.write_all(part)?;
        }
        to.write_all(&digest.finalize())?;
        to.flush()
    }
}

/// Reads an answer out of all that a worker wrote. `None`: it is not one, or not whole.
pub(super) fn read(mut bytes: Vec<u8>) -> Option<Answer<Vec<u8>>> {
    let end = bytes.len().checked_sub(DIGEST_BYTES)?;
    let head = bytes[..end].get(..HEAD_BYTES)?;
    let (magic, rest) = head.split_at(MAGIC.len());
    let length = u64::from_le_bytes(rest[1..].try_into().ok()?);
    if magic != MAGIC || length != (end - HEAD_BYTES) as u64 || *Sha256::digest(&bytes[..end]) != bytes[end..] {
        return None;
    }
    let kind = rest[0];
    bytes.truncate(end);
    bytes.drain(..HEAD_BYTES);
    match kind {
        b'c' => Some(Answer::Code(bytes)),
        b'i' => Some(Answer::Invalid(bytes)),
        b'r' => Some(Answer::Refused(bytes)),
        b'm' => Some(Answer::NoMemory),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(answer: &Answer<&[u8]>) -> Vec<u8> {
        let mut bytes = Vec::new();
        answer.write(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(read(written(&Answer::Code(b"code"))), Some(Answer::Code(b"code".to_vec())));
        assert_eq!(read(written(&Answer::Invalid(b"why"))), Some(Answer::Invalid(b"why".to_vec())));
        assert_eq!(read(written(&Answer::Refused(b""))), Some(Answer::Refused(Vec::new())));
        assert_eq!(read(written(&Answer::NoMemory)), Some(Answer::NoMemory));
        assert_eq!(written(&Answer::Code(b"code")).len() as u64, 4 + OVERHEAD_BYTES);
    }

    /// T-22: a worker may die at any byte.
    #[test]
    fn an_answer_that_is_not_whole_is_none() {
        let whole = written(&Answer::Code(b"some code"));
        for length in 0..whole.len() {
            assert_eq!(read(whole[..length].to_vec()), None, "{length} bytes");
        }
        assert_eq!(read([&whole[..], b"\n"].concat()), None, "something behind it");
    }

    #[test]
    fn an_answer_with_a_changed_byte_is_none() {
        let whole = written(&Answer::Code(b"some code"));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert_eq!(read(changed), None, "byte {at}");
        }
    }
}
