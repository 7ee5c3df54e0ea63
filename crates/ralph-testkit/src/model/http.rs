//! Minimal HTTP: one request and one response per connection.

use std::fmt::Write as _;
use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

const MAX_HEADER_BYTES: u64 = 64 << 10;
const MAX_BODY_BYTES: u64 = 32 << 20;

pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) body: String,
}

/// How long a body is.
enum Length {
    Bytes(u64),
    /// Sent in chunks, each with its length.
    Chunked,
}

impl Request {
    /// Reads a request, or none if the peer sends nothing.
    pub(super) fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut header = reader.take(MAX_HEADER_BYTES);
        let mut first = String::new();
        header.read_line(&mut first)?;
        let mut words = first.split_whitespace().map(str::to_owned);
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let length = length(&mut header)?;
        let body = match length {
            Length::Bytes(length) if length > MAX_BODY_BYTES => return Err(too_long()),
            Length::Bytes(length) => {
                let mut body = Vec::new();
                reader.take(length).read_to_end(&mut body)?;
                body
            }
            Length::Chunked => chunks(reader)?,
        };
        Ok(Some(Self {
            method,
            target,
            body: String::from_utf8_lossy(&body).into_owned(),
        }))
    }
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the request is too long")
}

/// Reads the rest of the header and returns the length of the body.
fn length(header: &mut impl BufRead) -> io::Result<Length> {
    let mut length = Length::Bytes(0);
    loop {
        let mut line = String::new();
        if header.read_line(&mut line)? == 0 {
            return Err(too_long());
        }
        let line = line.trim_end();
        if line.is_empty() {
            return Ok(length);
        }
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = Length::Bytes(value.trim().parse().map_err(io::Error::other)?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") && value.to_ascii_lowercase().contains("chunked") {
            length = Length::Chunked;
        }
    }
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.take(MAX_HEADER_BYTES).read_line(&mut line)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(io::Error::other)?;
        if length + body.len() as u64 > MAX_BODY_BYTES {
            return Err(too_long());
        }
        reader.take(length).read_to_end(&mut body)?;
        reader.take(MAX_HEADER_BYTES).read_line(&mut line)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

#[derive(Debug, PartialEq)]
pub(super) enum Response {
    Whole {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    Stream(Vec<Event>),
    /// A stream without an end.
    Unfinished {
        events: Vec<Event>,
        cut: Cut,
    },
}

/// When an unfinished stream is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Now,
    Never,
}

/// An event of a stream.
#[derive(Debug, PartialEq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

impl Event {
    pub(super) fn new(data: &Value) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }

    /// An event named by its `type`.
    pub(super) fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    fn text(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n"));
        format!("{}data: {}\n\n", name.unwrap_or_default(), self.data)
    }
}

impl Response {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::Whole {
            status,
            headers: Vec::new(),
            body: body.to_string(),
        }
    }

    pub(super) fn is_cut(&self) -> bool {
        matches!(self, Self::Unfinished { cut: Cut::Now, .. })
    }

    pub(super) fn write(&self, method: &str, stream: &mut impl Write) -> io::Result<()> {
        let (events, end) = match self {
            Self::Whole { status, headers, body } => {
                let mut head = format!(
                    "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\n",
                    reason(*status)
                );
                for (name, value) in headers {
                    write!(head, "{name}: {value}\r\n").map_err(io::Error::other)?;
                }
                let length = body.len();
                let body = if method == "HEAD" { "" } else { body };
                write!(
                    stream,
                    "{head}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                )?;
                return stream.flush();
            }
            Self::Stream(events) => (events, "0\r\n\r\n"),
            Self::Unfinished { events, .. } => (events, ""),
        };
        // Chunked, so that a cut stream does not look complete.
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
             transfer-encoding: chunked\r\nconnection: close\r\n\r\n"
        )?;
        for event in events {
            let text = event.text();
            write!(stream, "{:x}\r\n{text}\r\n", text.len())?;
            stream.flush()?;
        }
        stream.write_all(end.as_bytes())?;
        stream.flush()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        404 => "Not Found",
        429 => "Too Many Requests",
        _ => "Internal Server Error",
    }
}
