//! Puts a FUSE connection at its place: `mount(2)` for who may, else the set-user-id helper, which hands the device's
//! descriptor back over a socket. Serves nothing.
//!
//! Not fuser's own mounting: it shows root's mounts without their subtype, passes names to the helper unescaped, and what
//! it mounts it also unmounts by path, when that path may already be somebody else's.

use crate::mounts::{MountSource, SUBTYPE};
use crate::{Audience, driver};
use nix::cmsg_space;
use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
use nix::unistd::{getgid, getuid};
use std::fs::{File, OpenOptions};
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use weightless_core::{Error, ErrorKind, Result};

/// Mounts at `at` and gives the descriptor on which the kernel will ask.
pub(super) fn attach(at: &Path, source: &MountSource, audience: Audience) -> Result<OwnedFd> {
    match attach_directly(at, source, audience) {
        Err(Errno::EPERM | Errno::EACCES) => attach_by_helper(at, source, audience),
        Ok(device) => Ok(device),
        Err(errno) => Err(failed(at, errno.into())),
    }
}

fn failed(at: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::DriverMissing, at.display().to_string())
        .advise("The system refuses the mount. In a container, start it with --device /dev/fuse --cap-add SYS_ADMIN.")
        .because(cause)
}

fn attach_directly(at: &Path, source: &MountSource, audience: Audience) -> nix::Result<OwnedFd> {
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open(driver::DEVICE)
        .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    let (device_fd, uid, gid) = (device.as_raw_fd(), getuid(), getgid());
    let mut data = format!("fd={device_fd},rootmode=40000,user_id={uid},group_id={gid},default_permissions");
    if audience == Audience::Everyone {
        data.push_str(",allow_other");
    }
    let flags = MsFlags::MS_RDONLY | MsFlags::MS_NODEV | MsFlags::MS_NOSUID | MsFlags::MS_NOATIME;
    let file_system = format!("fuse.{SUBTYPE}");
    mount(Some(source.to_string().as_str()), at, Some(file_system.as_str()), flags, Some(data.as_str()))?;
    Ok(device.into())
}

/// The helper finds its end of the socket under this name.
const SOCKET_VARIABLE: &str = "_FUSE_COMMFD";

/// As an ordinary user does it; root can, too.
pub(super) fn attach_by_helper(at: &Path, source: &MountSource, audience: Audience) -> Result<OwnedFd> {
    let Some(helper) = driver::fusermount() else {
        // The driver was there a moment ago: this is root, without the right to mount.
        return Err(failed(at, io::ErrorKind::PermissionDenied.into()));
    };
    let mut options = format!("ro,nosuid,nodev,noatime,default_permissions,subtype={SUBTYPE},fsname={source}");
    if audience == Audience::Everyone {
        options.push_str(",allow_other");
    }
    let (ours, theirs) = UnixStream::pair().map_err(|error| failed(at, error))?;
    // As its standard input, the socket reaches the helper and no other child of this process.
    let mut child = Command::new(helper)
        .args(["-o", &options, "--"])
        .arg(at)
        .env(SOCKET_VARIABLE, "0")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(at, error))?;
    let received = receive_descriptor(&ours);
    let mut complaint = String::new();
    if let Some(stderr) = &mut child.stderr {
        // Its words are for the log only; a helper that says nothing readable has failed all the same.
        let _ = stderr.take(COMPLAINT_BYTES_MAX).read_to_string(&mut complaint);
    }
    let ended = child.wait();
    match received {
        Ok(device) => Ok(device),
        Err(error) if complaint.is_empty() => Err(failed(at, ended.err().unwrap_or(error))),
        Err(_) => Err(failed(at, io::Error::other(complaint.trim().to_owned()))),
    }
}

const COMPLAINT_BYTES_MAX: u64 = 4096;

/// One byte comes, with the descriptor beside it; the end of the socket without one means failure.
fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut byte = [0];
    let mut bytes = [IoSliceMut::new(&mut byte)];
    let mut space = cmsg_space!(RawFd);
    let message = loop {
        match recvmsg::<()>(socket.as_raw_fd(), &mut bytes, Some(&mut space), MsgFlags::MSG_CMSG_CLOEXEC) {
            Err(Errno::EINTR) => {}
            result => break result?,
        }
    };
    let descriptor = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
        _ => None,
    });
    let descriptor = descriptor.ok_or(io::ErrorKind::UnexpectedEof)?;
    // SAFETY: the kernel has just put this descriptor into our table for this message, and nobody else knows of it.
    Ok(unsafe { File::from_raw_fd(descriptor) }.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::socket::{ControlMessage, sendmsg};
    use std::io::{IoSlice, Write};

    #[test]
    fn a_descriptor_comes_over_the_socket_or_the_failure_shows() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (mut written, read) = UnixStream::pair().expect("another");
        let descriptors = [read.as_raw_fd()];
        let parts = [ControlMessage::ScmRights(&descriptors)];
        sendmsg::<()>(theirs.as_raw_fd(), &[IoSlice::new(b"\0")], &parts, MsgFlags::empty(), None).expect("sent");
        let received = receive_descriptor(&ours).expect("received");
        written.write_all(b"x").expect("written");
        let mut byte = [0];
        File::from(received).read_exact(&mut byte).expect("read");
        assert_eq!(&byte, b"x");

        drop(theirs);
        assert_eq!(receive_descriptor(&ours).map_err(|error| error.kind()).err(), Some(io::ErrorKind::UnexpectedEof));
    }
}
