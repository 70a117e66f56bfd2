//! Files as the store uses them, so that tests can have a disk that fails, fills up or loses its power. Never decides what
//! is written.

#[cfg(not(unix))]
mod other;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use self::other as system;
#[cfg(unix)]
use self::unix as system;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How exact the time of use is: noting each read would make the disk write for every one of them.
const TOUCH_EVERY: Duration = Duration::from_secs(30);

/// How much room a file system has for this user; what a platform tells.
pub type FreeSpace = fn(&Path) -> io::Result<u64>;

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileFacts {
    /// Bytes that it takes on the disk; holes take none.
    pub(crate) allocated: u64,
    /// When it was last used, by [`DiskFile::touch`] or a write.
    pub(crate) used: SystemTime,
}

/// A file system.
pub(crate) trait Disk: Debug + Send + Sync + 'static {
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file for reading and writing; makes it, and the folders to it, if it is not there.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file like [`Disk::create`], once no other process has it open this way.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;
    /// What is known of a file that is one: a folder or a link is [`io::ErrorKind::NotFound`].
    fn facts(&self, path: &Path) -> io::Result<FileFacts>;
    /// Removes a file; one that is not there is none to remove.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a folder if it is empty.
    fn remove_folder(&self, path: &Path) -> io::Result<()>;
    /// Names in a folder; none if it is not there.
    fn list(&self, folder: &Path) -> io::Result<Vec<String>>;
    /// Makes the names in a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
    /// Room for this user; [`io::ErrorKind::Unsupported`] where nobody can say.
    fn free_bytes(&self, folder: &Path) -> io::Result<u64>;
}

/// An open file.
pub(crate) trait DiskFile: Send + Sync {
    /// Reads at `offset` until `into` is full or the file ends; says how much it read.
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all of it at `offset`; what is skipped is a hole.
    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()>;
    /// Makes what was written durable.
    fn sync(&self) -> io::Result<()>;
    /// What is known of it.
    fn facts(&self) -> io::Result<FileFacts>;
    /// Notes that it is used now; that may not be possible.
    fn touch(&self);
}

/// Opens a file of this machine for reading, which may be others'.
pub(super) fn open_file(path: &Path) -> io::Result<Box<dyn DiskFile>> {
    Ok(Box::new(RealFile(File::open(path)?)))
}

/// The disk of this machine.
#[derive(Debug)]
pub(crate) struct RealDisk {
    pub(crate) free_space: FreeSpace,
}

impl Disk for RealDisk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(system::open(path)?)))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = match system::create(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                system::create_folder(path.parent().unwrap_or(Path::new(".")))?;
                system::create(path)?
            }
            other => other?,
        };
        Ok(Box::new(RealFile(file)))
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        system::create_folder(path.parent().unwrap_or(Path::new(".")))?;
        let file = system::create(path)?;
        file.lock()?;
        Ok(Box::new(RealFile(file)))
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        let meta = fs::symlink_metadata(path)?;
        if meta.is_file() { system::facts(&meta) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<String>> {
        let listed = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other?,
        };
        let mut names = Vec::new();
        for entry in listed {
            // A name that is no text is none of ours.
            names.extend(entry?.file_name().into_string());
        }
        Ok(names)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        system::sync_folder(folder)
    }

    fn free_bytes(&self, folder: &Path) -> io::Result<u64> {
        (self.free_space)(folder)
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut read = 0;
        while read < into.len() {
            match system::read_at(&self.0, &mut into[read..], offset + read as u64) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    fn write_at(&self, content: &[u8], offset: u64) -> io::Result<()> {
        let mut written = 0;
        while written < content.len() {
            match system::write_at(&self.0, &content[written..], offset + written as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => written += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn facts(&self) -> io::Result<FileFacts> {
        system::facts(&self.0.metadata()?)
    }

    fn touch(&self) {
        #[expect(clippy::disallowed_methods, reason = "the wall clock is what all processes of the user share")]
        let now = SystemTime::now();
        let noted = self.0.metadata().and_then(|meta| meta.modified());
        if noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|since| since >= TOUCH_EVERY)) {
            let _ = self.0.set_modified(now);
        }
    }
}
