//! `Lines`: the events of a watch as they come, one on each line.

use std::time::Duration;

use futures::StreamExt;
use http_body_util::BodyStream;
use tokio::time::Instant;

use crate::{
    call::{DEADLINE, Large, OBJECT_LIMIT, SMALL, Ticket},
    dial::Content,
    error::CallError,
};

/// Bookmarks come every minute; silence for this long means that the connection is dead without having said so.
pub(crate) const SILENCE: Duration = Duration::from_secs(150);

/// The lines of a body, each bounded in length, with an end to silence.
pub(crate) struct Lines {
    body: BodyStream<Content>,
    /// For the right to read a long line.
    large: Large,
    buffer: Vec<u8>,
    /// Where the line that was handed out last ends, its newline included; what is before is taken.
    taken: usize,
    /// Held while the buffer is long, and until when the line has to end.
    ticket: Option<(Ticket, Instant)>,
}

impl Lines {
    pub(crate) fn new(body: Content, large: Large) -> Self {
        Self { body: BodyStream::new(body), large, buffer: Vec::new(), taken: 0, ticket: None }
    }

    fn make_room(&mut self) {
        self.buffer.drain(..std::mem::take(&mut self.taken));
        if self.buffer.is_empty() {
            // Most watches hear nothing for minutes, and there are many.
            self.buffer = Vec::new();
        } else if self.buffer.len() <= SMALL {
            self.buffer.shrink_to(SMALL);
        }
    }

    pub(crate) async fn next(&mut self) -> Result<Option<&[u8]>, CallError> {
        // Each long line has its own turn: a stream of them must not keep others from theirs.
        self.ticket = None;
        if self.taken > SMALL {
            self.make_room();
        }
        let mut searched = self.taken;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[searched..]) {
                let (start, end) = (self.taken, searched + at);
                self.taken = end + 1;
                return Ok(Some(&self.buffer[start..end]));
            }
            // Lines come many at a time: they make room when all of them are taken.
            self.make_room();
            searched = self.buffer.len();
            if searched > OBJECT_LIMIT {
                return Err(CallError::TooLarge(format!("a watch event is longer than {OBJECT_LIMIT} bytes")));
            }
            if searched > SMALL && self.ticket.is_none() {
                let ticket = self.large.ticket().await?;
                self.ticket = Some((ticket, Instant::now() + DEADLINE));
            }
            let end = self.ticket.as_ref().map_or_else(|| Instant::now() + SILENCE, |(_, end)| *end);
            match tokio::time::timeout_at(end, self.body.next()).await {
                Err(_) if self.ticket.is_some() => {
                    let within = DEADLINE.as_secs();
                    return Err(CallError::TooLarge(format!("a watch event did not end within {within} s")));
                }
                Err(_) => return Err(CallError::UnknownOutcome(format!("silent for {} s", SILENCE.as_secs()))),
                Ok(None) => return Ok(None),
                Ok(Some(Err(error))) => return Err(CallError::UnknownOutcome(format!("the watch broke off: {error}"))),
                Ok(Some(Ok(frame))) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    fn content(text: &'static [u8]) -> Content {
        Full::from(text).map_err(Into::into).boxed_unsync()
    }

    #[tokio::test]
    async fn lines_come_whole_however_they_are_cut() {
        for pieces in [&["one\ntw", "o\nth", "ree\n"][..], &["one\n", "two\nthree\n"], &["o", "ne\ntwo\nthree\nx"]] {
            let mut lines = Lines::new(content(&[]), Large::default());
            let mut whole = Vec::new();
            for piece in pieces {
                lines.buffer.extend_from_slice(piece.as_bytes());
                while let Some(line) = lines.next().await.unwrap() {
                    whole.push(String::from_utf8_lossy(line).into_owned());
                }
            }
            assert_eq!(whole, ["one", "two", "three"], "{pieces:?}");
        }
    }

    #[tokio::test]
    async fn a_long_line_makes_room_when_it_is_taken() {
        let mut lines = Lines::new(content(&[]), Large::default());
        lines.buffer = vec![b'x'; 2 * SMALL];
        lines.buffer.extend_from_slice(b"\nnext\n");
        assert_eq!(lines.next().await.unwrap().unwrap().len(), 2 * SMALL);
        assert_eq!(lines.next().await.unwrap(), Some(&b"next"[..]));
        assert!(lines.buffer.capacity() <= SMALL, "{}", lines.buffer.capacity());
        assert_eq!(lines.next().await.unwrap(), None);
        assert_eq!(lines.buffer.capacity(), 0, "whoever waits holds none");
    }

    #[tokio::test]
    async fn lines_come_whole_however_the_bytes_arrive() {
        let mut lines = Lines::new(content(b"one\ntwo\nrest"), Large::default());
        assert_eq!(lines.next().await.unwrap(), Some(&b"one"[..]));
        assert_eq!(lines.next().await.unwrap(), Some(&b"two"[..]));
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
