//! One compiled plugin as the cache writes it down: how long it is, a MAC, the code.
//!
//! Knows bytes and no files.

use std::cmp::Ordering;
use std::io;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::compile::Artefact;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;

const MAGIC: &[u8; 8] = b"gmcache1";
const MAC_BYTES: usize = 32;
const HEAD_BYTES: usize = MAGIC.len() + 8 + MAC_BYTES;

/// What signs entries. Printed nowhere.
pub(super) struct Key([u8; BLOCK_BYTES]);

/// HMAC fills a key with zeroes up to a block of its hash.
const BLOCK_BYTES: usize = 64;

impl Key {
    /// The key in a file of [`KEY_BYTES`].
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let mut key = [0; BLOCK_BYTES];
        key.get_mut(..bytes.len())?.copy_from_slice(bytes);
        (bytes.len() == KEY_BYTES).then_some(Self(key))
    }
}

/// Why an entry is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    /// Too short.
    #[error("it is cut short")]
    Short,
    /// Of another version, or no entry at all.
    #[error("it is no entry of this version")]
    Unknown,
    /// The MAC is wrong.
    #[error("its MAC is wrong: it was changed, renamed, or comes from another folder")]
    Forged,
    /// No file of ours.
    #[error("it is no private file of this user")]
    Foreign,
    /// Larger than any entry.
    #[error("it is larger than any entry may be")]
    Large,
    /// The system refuses.
    #[error("it cannot be read: {0}")]
    System(#[from] io::Error),
}

/// What stands before the code.
pub(super) fn head(key: &Key, name: &str, code: &[u8]) -> Vec<u8> {
    let length = (code.len() as u64).to_le_bytes();
    let mac = mac(key, name, code).finalize().into_bytes();
    [&MAGIC[..], &length, &mac].concat()
}

/// The code of an entry, if it is the entry that was written under this name with this key.
pub(super) fn open(key: &Key, name: &str, bytes: Vec<u8>) -> Result<Artefact, Misfit> {
    let begins = bytes.get(..MAGIC.len()).ok_or(Misfit::Short)?;
    if begins != MAGIC {
        return Err(Misfit::Unknown);
    }
    let head = bytes.get(MAGIC.len()..HEAD_BYTES).ok_or(Misfit::Short)?;
    let (length, signed) = head.split_at(8);
    let length = u64::from_le_bytes(length.try_into().map_err(|_| Misfit::Short)?);
    let code = &bytes[HEAD_BYTES..];
    match (code.len() as u64).cmp(&length) {
        Ordering::Less => return Err(Misfit::Short),
        Ordering::Greater => return Err(Misfit::Forged),
        Ordering::Equal => {}
    }
    mac(key, name, code).verify_slice(signed).map_err(|_| Misfit::Forged)?;
    Ok(Artefact { bytes, begins: HEAD_BYTES })
}

/// Over the name as well, with its length before it: an entry under another's name is none.
fn mac(key: &Key, name: &str, code: &[u8]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new(&key.0.into());
    mac.update(&(name.len() as u64).to_le_bytes());
    mac.update(name.as_bytes());
    mac.update(code);
    mac
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key::of(&[byte; KEY_BYTES]).unwrap()
    }

    fn written(name: &str) -> Vec<u8> {
        [&head(&key(1), name, b"some code")[..], b"some code"].concat()
    }

    #[test]
    fn an_entry_opens_under_its_name_and_its_key_only() {
        assert_eq!(open(&key(1), "a", written("a")).unwrap().code(), b"some code");
        assert!(matches!(open(&key(1), "b", written("a")), Err(Misfit::Forged)));
        assert!(matches!(open(&key(2), "a", written("a")), Err(Misfit::Forged)));
    }

    /// B32: whatever becomes of the bytes, they are not used.
    #[test]
    fn an_entry_that_is_cut_or_changed_anywhere_does_not_open() {
        let whole = written("a");
        for length in 0..whole.len() {
            assert!(matches!(open(&key(1), "a", whole[..length].to_vec()), Err(Misfit::Short)), "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            assert!(open(&key(1), "a", changed).is_err(), "byte {at}");
        }
        assert!(open(&key(1), "a", [&whole[..], b"more"].concat()).is_err(), "something behind it");
    }

    #[test]
    fn a_key_of_another_length_is_none() {
        assert!(Key::of(&[1; 31]).is_none() && Key::of(&[1; 33]).is_none() && Key::of(&[1; 65]).is_none());
    }
}
