//! Hashes contents and stores them, each distinct content once. Never looks at rights or refs.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::Digest;

use super::{Entry, Storage, Stored};
use crate::Content;
use crate::xet::{READ_BYTES, XetFile, XetStore};

/// From this size on even text goes to Xet.
const GIT_BYTES_MAX: u64 = 10 << 20;

/// How much of a file tells text from other bytes.
const SAMPLE_BYTES: usize = 8 << 10;

/// Suffixes that the Hub's default `.gitattributes` sends to LFS.
const LARGE_SUFFIXES: [&str; 24] = [
    "7z",
    "arrow",
    "bin",
    "bz2",
    "ckpt",
    "gguf",
    "gz",
    "h5",
    "joblib",
    "model",
    "msgpack",
    "npy",
    "npz",
    "onnx",
    "parquet",
    "pb",
    "pickle",
    "pkl",
    "pt",
    "pth",
    "safetensors",
    "tflite",
    "xz",
    "zip",
];

/// What is known of a content once it is hashed.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) sha256: String,
    pub(crate) file: Option<Arc<XetFile>>,
}

/// Hashes and stores contents; remembers what it did.
#[derive(Debug)]
pub(crate) struct Preparer {
    store: Arc<XetStore>,
    /// Std: held for map operations alone.
    done: Mutex<HashMap<(Content, bool), Prepared>>,
}

impl Preparer {
    pub(crate) fn new(store: Arc<XetStore>) -> Self {
        Self { store, done: Mutex::default() }
    }

    /// A file as a tree holds it.
    pub(crate) fn entry(&self, content: &Content, storage: Storage, commit: usize) -> io::Result<Entry> {
        match storage {
            Storage::Git => git_entry(content, commit),
            Storage::Lfs => {
                let Prepared { sha256, .. } = self.prepare(content, false)?;
                Ok(large_entry(content.len(), Stored::Lfs { sha256, content: content.clone() }, commit))
            }
            Storage::Xet => {
                let Prepared { sha256, file } = self.prepare(content, true)?;
                let file = file.ok_or_else(|| io::Error::other("a Xet content without its file"))?;
                Ok(large_entry(content.len(), Stored::Xet { sha256, file, content: Some(content.clone()) }, commit))
            }
        }
    }

    fn prepare(&self, content: &Content, xet: bool) -> io::Result<Prepared> {
        let key = (content.clone(), xet);
        if let Some(done) = self.done.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(done.clone());
        }
        let prepared = std::thread::scope(|scope| {
            let sha256 = scope.spawn(|| sha256_of(content));
            let file = xet.then(|| self.store.ingest(content)).transpose()?;
            let sha256 = sha256.join().map_err(|_| io::Error::other("hashing panicked"))??;
            io::Result::Ok(Prepared { sha256, file })
        })?;
        if let Some(file) = &prepared.file {
            self.store.link_sha256(prepared.sha256.clone(), file);
        }
        self.done.lock().unwrap_or_else(PoisonError::into_inner).insert(key, prepared.clone());
        Ok(prepared)
    }
}

/// How the Hub would keep a file of this name and content.
pub(crate) fn default_storage(path: &str, content: &Content) -> io::Result<Storage> {
    let large = is_large(path, content.len(), &content.read(0, SAMPLE_BYTES)?);
    Ok(if large { Storage::Xet } else { Storage::Git })
}

/// Whether git should hold only a pointer of a file, given its first bytes.
pub(crate) fn is_large(path: &str, size: u64, sample: &[u8]) -> bool {
    let suffix = path.rsplit_once('.').map(|(_, suffix)| suffix.to_ascii_lowercase());
    let by_name = suffix.is_some_and(|suffix| LARGE_SUFFIXES.contains(&suffix.as_str()));
    size > 0 && (by_name || size > GIT_BYTES_MAX || !looks_like_text(sample))
}

/// Text has no zero byte and no invalid UTF-8 before its last characters.
fn looks_like_text(sample: &[u8]) -> bool {
    let utf8 = match std::str::from_utf8(sample) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    utf8 && !sample.contains(&0)
}

/// A file that git itself holds.
fn git_entry(content: &Content, commit: usize) -> io::Result<Entry> {
    let oid = git_blob_oid(&content.to_bytes()?);
    Ok(Entry { size: content.len(), oid, stored: Stored::Git(content.clone()), pointer_size: 0, commit })
}

/// A file of which git holds a pointer only.
pub(crate) fn large_entry(size: u64, stored: Stored, commit: usize) -> Entry {
    let sha256 = match &stored {
        Stored::Lfs { sha256, .. } | Stored::Xet { sha256, .. } => sha256.as_str(),
        Stored::Git(_) => "",
    };
    let pointer = pointer(sha256, size);
    Entry { size, oid: git_blob_oid(pointer.as_bytes()), stored, pointer_size: pointer.len(), commit }
}

/// The text git holds in place of a large file.
pub(crate) fn pointer(sha256: &str, size: u64) -> String {
    format!("version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n")
}

/// The id git gives to a blob of these bytes.
pub(crate) fn git_blob_oid(bytes: &[u8]) -> String {
    let mut digest = sha1::Sha1::new();
    digest.update(format!("blob {}\0", bytes.len()));
    digest.update(bytes);
    hex(&digest.finalize())
}

/// Contents whose hash takes seconds and is asked for often. Found with Python's hashlib.
fn known_sha256(content: &Content) -> Option<&'static str> {
    (*content == Content::repeating(1, 5 << 30))
        .then_some("7a30e7a6afbfe18cec6718d4a9b12ca75ee89fc695912ecbe818c13d783f7778")
}

fn sha256_of(content: &Content) -> io::Result<String> {
    known_sha256(content).map_or_else(|| hashed_sha256(content), |known| Ok(known.to_owned()))
}

fn hashed_sha256(content: &Content) -> io::Result<String> {
    let mut digest = sha2::Sha256::new();
    let mut offset = 0;
    while offset < content.len() {
        let block = content.read(offset, READ_BYTES)?;
        digest.update(&block);
        offset += block.len() as u64;
    }
    Ok(hex(&digest.finalize()))
}

/// Lowercase hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "hashes 5 GiB"]
    fn the_known_hash_is_right() {
        let content = Content::repeating(1, 5 << 30);
        assert_eq!(known_sha256(&content), Some(hashed_sha256(&content).unwrap().as_str()));
    }
}
