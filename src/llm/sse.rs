//! Streams cut into events: server-sent events (OpenAI, Anthropic) and JSON lines (Ollama), whatever the network's chunk borders.

use super::error::ModelError;

/// Incremental reader: bytes in, complete events out.
#[derive(Debug)]
pub struct EventReader {
    format: Format,
    line: Vec<u8>,
    data: String,
    has_data: bool,
    after_cr: bool,
    first: bool,
    line_limit: usize,
}

/// How events are framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `data:` lines ended by an empty line.
    ServerSent,
    /// One JSON object a line.
    JsonLines,
}

impl EventReader {
    /// A reader that refuses events larger than `limit` bytes.
    pub fn new(format: Format, limit: usize) -> Self {
        Self { format, line: Vec::new(), data: String::new(), has_data: false, after_cr: false, first: true, line_limit: limit }
    }

    /// Takes the next bytes and gives the events they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<Vec<String>, ModelError> {
        let mut events = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if self.after_cr => self.after_cr = false,
                b'\n' | b'\r' => {
                    self.after_cr = byte == b'\r';
                    self.end_line(&mut events)?;
                }
                _ => {
                    self.after_cr = false;
                    if self.line.len() + self.data.len() >= self.line_limit {
                        return Err(ModelError::TooLarge { limit: self.line_limit });
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(events)
    }

    /// The event still open at the end of the body. A JSON line may lack its line end; a server-sent event may lack its empty line.
    pub fn finish(mut self) -> Result<Vec<String>, ModelError> {
        let mut events = Vec::new();
        if !self.line.is_empty() {
            self.end_line(&mut events)?;
        }
        if self.has_data {
            events.push(std::mem::take(&mut self.data));
        }
        Ok(events)
    }

    fn end_line(&mut self, events: &mut Vec<String>) -> Result<(), ModelError> {
        let line = String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| ModelError::NotUtf8)?;
        let line = if std::mem::take(&mut self.first) { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        match self.format {
            Format::JsonLines => {
                if !line.trim().is_empty() {
                    events.push(line.trim().to_owned());
                }
            }
            Format::ServerSent if line.is_empty() => {
                if std::mem::take(&mut self.has_data) {
                    events.push(std::mem::take(&mut self.data));
                }
            }
            Format::ServerSent => {
                // Only `data` matters here: event names repeat the `type` inside the data, `id` and `retry` serve reconnection, a colon begins a comment.
                let (field, value) = line.split_once(':').unwrap_or((line, ""));
                if field == "data" {
                    if self.has_data {
                        self.data.push('\n');
                    }
                    self.data.push_str(value.strip_prefix(' ').unwrap_or(value));
                    self.has_data = true;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(format: Format, pieces: &[&[u8]]) -> Result<Vec<String>, ModelError> {
        let mut reader = EventReader::new(format, 10_000);
        let mut out = Vec::new();
        for piece in pieces {
            out.extend(reader.feed(piece)?);
        }
        out.extend(reader.finish()?);
        Ok(out)
    }

    #[test]
    fn events_survive_every_line_end_and_comment() {
        let text = b"\xef\xbb\xbfdata: a\r\n\r\n: ping\n\nevent: x\ndata:b\ndata:  c\r\rid: 3\n\ndata\n\ndata: last";
        assert_eq!(read(Format::ServerSent, &[text]).unwrap(), ["a", "b\n c", "", "last"]);
        assert_eq!(read(Format::JsonLines, &[b"{\"a\":1}\n\n {\"b\":2}"]).unwrap(), ["{\"a\":1}", "{\"b\":2}"]);
    }

    #[test]
    fn wrong_bytes_and_endless_lines_are_named() {
        assert_eq!(read(Format::ServerSent, &[b"data: \xff\n\n"]), Err(ModelError::NotUtf8));
        let mut reader = EventReader::new(Format::ServerSent, 8);
        assert_eq!(reader.feed(b"data: 123456789"), Err(ModelError::TooLarge { limit: 8 }));
        let mut reader = EventReader::new(Format::ServerSent, 16);
        let endless = (0..100).try_for_each(|_| reader.feed(b"data: xxxx\n").map(|_| ()));
        assert_eq!(endless, Err(ModelError::TooLarge { limit: 16 }));
    }

    proptest! {
        #[test]
        fn chunk_borders_do_not_matter(events in prop::collection::vec("[ -~äß€]{0,20}", 0..6), cuts in prop::collection::vec(0usize..200, 0..8)) {
            let text: String = events.iter().map(|e| format!("data: {e}\r\n\r\n")).collect();
            let bytes = text.as_bytes();
            let mut borders: Vec<usize> = cuts.iter().map(|c| c % (bytes.len() + 1)).collect();
            borders.extend([0, bytes.len()]);
            borders.sort_unstable();
            let pieces: Vec<&[u8]> = borders.windows(2).map(|w| &bytes[w[0]..w[1]]).collect();
            prop_assert_eq!(read(Format::ServerSent, &pieces).unwrap(), events);
        }
    }
}
