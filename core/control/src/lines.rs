//! Turns bytes into lines, each bounded. Does no I/O, so that the blocking client and an asynchronous server share it.

use thiserror::Error;

/// The largest message in bytes, without its line end. A status of 1,000 mounts with long names is about 0.6 MiB.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Bytes received and not yet taken as lines. Holds at most [`MESSAGE_BYTES_MAX`] and the last piece pushed, provided that
/// the lines are taken after each push.
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// No line end lies before this offset.
    searched: usize,
}

/// Why a stream of lines cannot go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LineError {
    /// A line exceeds the bound.
    #[error("a message is longer than {MESSAGE_BYTES_MAX} bytes")]
    TooLong,
    /// The stream ended inside a line.
    #[error("the connection ended inside a message")]
    Half,
}

impl Lines {
    /// Adds what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole line without its end (`\n`, or `\r\n`), or `None` if more bytes are needed.
    pub fn take(&mut self) -> Result<Option<Vec<u8>>, LineError> {
        let Some(end) = self.buffer[self.searched..].iter().position(|&byte| byte == b'\n') else {
            self.searched = self.buffer.len();
            return if self.searched > MESSAGE_BYTES_MAX { Err(LineError::TooLong) } else { Ok(None) };
        };
        let end = self.searched + end;
        self.searched = 0;
        if end > MESSAGE_BYTES_MAX {
            return Err(LineError::TooLong);
        }
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }

    /// What the end of the stream means here: fine between lines, an error inside one.
    pub fn end(&self) -> Result<(), LineError> {
        if self.buffer.is_empty() { Ok(()) } else { Err(LineError::Half) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(pieces: &[&[u8]]) -> (Vec<Vec<u8>>, Result<(), LineError>) {
        let mut lines = Lines::default();
        let mut taken = Vec::new();
        for piece in pieces {
            lines.push(piece);
            loop {
                match lines.take() {
                    Ok(Some(line)) => taken.push(line),
                    Ok(None) => break,
                    Err(error) => return (taken, Err(error)),
                }
            }
        }
        (taken, lines.end())
    }

    #[test]
    fn lines_come_out_whole_however_the_bytes_arrive() {
        #[track_caller]
        fn check(pieces: &[&[u8]], lines: &[&[u8]], end: Result<(), LineError>) {
            let (taken, ended) = all(pieces);
            assert_eq!(taken, lines);
            assert_eq!(ended, end);
        }
        check(&[], &[], Ok(()));
        check(&[b"a\n"], &[b"a"], Ok(()));
        check(&[b"a\r\nb\n"], &[b"a", b"b"], Ok(()));
        check(&[b"a", b"b", b"\n", b"\n"], &[b"ab", b""], Ok(()));
        check(&[b"a\nb"], &[b"a"], Err(LineError::Half));
        check(&[b"\x00\xff\n"], &[b"\x00\xff"], Ok(()));
    }

    #[test]
    fn a_line_may_be_as_long_as_the_bound_and_no_longer() {
        let longest = vec![b'x'; MESSAGE_BYTES_MAX];
        assert_eq!(all(&[&longest, b"\n"]).0, std::slice::from_ref(&longest));
        assert_eq!(all(&[&longest, b"x"]).1, Err(LineError::TooLong));
        assert_eq!(all(&[&longest, b"x\n"]).1, Err(LineError::TooLong));
    }
}
