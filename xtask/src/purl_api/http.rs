//! As much of HTTP/1.1 and of JSON as one kind of request needs.
//!
//! It must not know what is asked.

use std::io::{Error, ErrorKind, Read, Result, Write as _};
use std::net::TcpStream;

/// A larger request than any test sends is somebody's mistake.
const REQUEST_BYTES_MAX: usize = 64 << 20;

/// A request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The method, in capitals.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The headers with their names in small letters, in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Asked {
    /// The value of a header, its name in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Reads a request; `None` when the other side is done. The length of a body has to be told before it comes.
pub(super) fn read(stream: &mut TcpStream) -> Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let head_ends = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if !read_more(stream, &mut bytes)? {
            return if bytes.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
        }
    };
    let mut asked = head(&String::from_utf8_lossy(&bytes[..head_ends])).ok_or(ErrorKind::InvalidData)?;
    if asked.header("transfer-encoding").is_some() {
        return Err(Error::new(ErrorKind::Unsupported, "a body without a length"));
    }
    let length = asked.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut body = bytes.split_off(head_ends + 4);
    while body.len() < length {
        if !read_more(stream, &mut body)? {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
    asked.body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(asked))
}

fn read_more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Result<bool> {
    let mut piece = [0; 16 << 10];
    let count = stream.read(&mut piece)?;
    bytes.extend_from_slice(&piece[..count]);
    if bytes.len() > REQUEST_BYTES_MAX { Err(ErrorKind::FileTooLarge.into()) } else { Ok(count > 0) }
}

fn head(text: &str) -> Option<Asked> {
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    };
    Some(Asked { method, path, headers: lines.filter_map(header).collect(), body: String::new() })
}

pub(super) fn write(stream: &mut TcpStream, answer: &str) -> Result<()> {
    stream.write_all(answer.as_bytes())
}

/// An answer with a body of JSON.
pub(super) fn json(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// The texts of a list that is a member of an object, without looking at anything else. `None` where there is no such list, or where
/// other things than texts are in it.
pub(super) fn strings(body: &str, member: &str) -> Option<Vec<String>> {
    let (_, rest) = body.split_once(&format!("\"{member}\""))?;
    let mut rest = rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('[')?.trim_start();
    let mut strings = Vec::new();
    while !rest.starts_with(']') {
        rest = rest.strip_prefix('"')?;
        let (string, behind) = rest.split_once('"')?;
        // No package URL needs an escape.
        strings.push((!string.contains('\\')).then(|| string.to_owned())?);
        rest = behind.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some(strings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_list_are_read() {
        let read = |body: &str| strings(body, "a").map(|strings| strings.join("|"));
        assert_eq!(read(r#"{ "b": 1, "a" : [ "x" , "y z"] }"#).as_deref(), Some("x|y z"));
        assert_eq!(read(r#"{"a":[]}"#).as_deref(), Some(""));
        for body in ["", "{}", r#"{"a":7}"#, r#"{"a":[7]}"#, r#"{"a":["x"#, r#"{"a":["\n"]}"#] {
            assert_eq!(read(body), None, "{body}");
        }
    }

    #[test]
    fn a_head_is_read() {
        let asked = head("POST /a?b HTTP/1.1\r\nHost: x:1\r\nX-Y:  z ").unwrap();
        assert_eq!((asked.method.as_str(), asked.path.as_str()), ("POST", "/a?b"));
        assert_eq!((asked.header("host"), asked.header("x-y"), asked.header("z")), (Some("x:1"), Some("z"), None));
        assert_eq!(head("POST"), None);
    }
}
