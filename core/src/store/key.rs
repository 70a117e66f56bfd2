//! What a kept content is called: its hash, as the Hub that it comes from says it. Never the account's view: see
//! `docs/decisions/0007-local-store.md`.

use crate::transport::Source;
use std::fmt::Write;

/// Name of a content in the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlobKey(pub(crate) [u8; 32]);

impl BlobKey {
    /// 64 hex digits: the name of its folder.
    pub(crate) fn hex(self) -> String {
        self.0.iter().fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Reads [`BlobKey::hex`].
    pub(crate) fn parse(hex: &str) -> Option<Self> {
        let mut key = [0; 32];
        decode(hex, &mut key)?;
        Some(BlobKey(key))
    }
}

/// What the Hub says that a content's bytes amount to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ContentHash {
    /// Of the bytes.
    Sha256([u8; 32]),
    /// Of `blob SIZE\0` and the bytes, by sha1.
    GitBlob([u8; 20]),
}

/// A content that can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Blob {
    pub(crate) key: BlobKey,
    pub(crate) size: u64,
    pub(crate) hash: ContentHash,
}

impl Blob {
    /// The content of a file; `None` where the Hub says no hash of it.
    pub(crate) fn of(source: &Source) -> Option<Blob> {
        let file = &source.file;
        let hash = match &file.sha256 {
            Some(sha256) => {
                let mut hash = [0; 32];
                decode(sha256, &mut hash)?;
                ContentHash::Sha256(hash)
            }
            // The git id of a file in Xet storage is its pointer's.
            None if file.xet_hash.is_some() => return None,
            None => {
                let mut hash = [0; 20];
                decode(&file.git_oid, &mut hash)?;
                ContentHash::GitBlob(hash)
            }
        };
        Some(Blob::new(source.origin.address(), hash, file.size))
    }

    /// The content of this hash, as the Hub at `address` serves it. Another Hub's word is another content until somebody has
    /// read the whole of it: a Hub that lies about a hash must not decide what another's files hold.
    pub(crate) fn new(address: &str, hash: ContentHash, size: u64) -> Blob {
        let mut hasher = blake3::Hasher::new_derive_key("weightless store: content of a Hub");
        hasher.update(&(address.len() as u64).to_le_bytes());
        hasher.update(address.as_bytes());
        match &hash {
            ContentHash::Sha256(hash) => hasher.update(b"sha256").update(hash),
            ContentHash::GitBlob(hash) => hasher.update(b"git").update(hash),
        };
        Blob { key: BlobKey(*hasher.finalize().as_bytes()), size, hash }
    }
}

fn decode(hex: &str, into: &mut [u8]) -> Option<()> {
    let digits = hex.as_bytes();
    if digits.len() != into.len() * 2 {
        return None;
    }
    for (byte, pair) in into.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = (high * 16 + low) as u8;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_its_hubs_and_its_hashs_own() {
        let git = ContentHash::GitBlob([1; 20]);
        let keys = [
            Blob::new("https://a", ContentHash::Sha256([1; 32]), 1).key,
            Blob::new("https://b", ContentHash::Sha256([1; 32]), 1).key,
            Blob::new("https://a", ContentHash::Sha256([2; 32]), 1).key,
            Blob::new("https://a", git, 1).key,
        ];
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key));
            assert_eq!(BlobKey::parse(&key.hex()), Some(*key));
        }
        assert_eq!(Blob::new("https://a", git, 1).key, keys[3], "also in the next process");
        for wrong in ["", "00", &"0g".repeat(32), &"é".repeat(32)] {
            assert_eq!(BlobKey::parse(wrong), None, "{wrong}");
        }
    }
}
