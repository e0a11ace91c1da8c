//! What gRPC says in headers and trailers: statuses with their payloads, and deadlines.

use http::{HeaderMap, HeaderName, HeaderValue};
use runstep::wire::{self, GrpcPayloadContainer};
use runstep::{Code, Status};

pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
pub(crate) const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
pub(crate) const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");
pub(crate) const GRPC_ENCODING: HeaderName = HeaderName::from_static("grpc-encoding");
pub(crate) const GRPC_ACCEPT_ENCODING: HeaderName = HeaderName::from_static("grpc-accept-encoding");
/// A deadline in milliseconds that `grpc-timeout` cannot say exactly, between runstep's own ends.
pub(crate) const TIMEOUT_MS: HeaderName = HeaderName::from_static("runstep-timeout-ms");
/// Payloads as TensorFlow attaches them, which are no `google.rpc.Status`.
const DETAILS: HeaderName = HeaderName::from_static("grpc-status-details-bin");
pub(crate) const CONTENT_TYPE: HeaderValue = HeaderValue::from_static("application/grpc");

/// Bytes of a message beyond which TensorFlow cuts it, so that clients with small header tables can read it.
const MESSAGE_LEN_MAX: usize = 3072;
const CUT: &str = " ... [truncated]";
/// Bytes of payloads that are attached; more would not fit the headers that stock clients accept.
const DETAILS_LEN_MAX: usize = 4096;

/// Writes a status.
pub(crate) fn put_status(headers: &mut HeaderMap, status: &Status) {
    headers.insert(GRPC_STATUS, HeaderValue::from(status.code() as u16));
    let text = percent_encoded(status.message());
    if let Ok(text) = HeaderValue::try_from(text) {
        headers.insert(GRPC_MESSAGE, text);
    }
    let payloads = status.payloads().map(|(url, bytes)| (url.to_owned(), bytes.to_vec().into())).collect();
    let details = GrpcPayloadContainer { payloads };
    if !details.payloads.is_empty() && wire::encoded_len(&details) <= DETAILS_LEN_MAX {
        let text = base64(&wire::encode(&details));
        if let Ok(text) = HeaderValue::try_from(text) {
            headers.insert(DETAILS, text);
        }
    }
}

/// Reads a status; `None` where there is none.
pub(crate) fn status(headers: &HeaderMap) -> Option<Result<(), Status>> {
    let number = headers.get(GRPC_STATUS)?.to_str().ok()?.parse().unwrap_or(Code::Unknown as i32);
    let code = Code::from_i32(number);
    if code == Code::Ok {
        return Some(Ok(()));
    }
    let message = headers.get(GRPC_MESSAGE).map_or(String::new(), |text| percent_decoded(text.as_bytes()));
    let mut status = Status::from_parts(code, &message, marked_node(&message));
    let details = headers.get(DETAILS).and_then(|text| from_base64(text.as_bytes()));
    let details =
        details.and_then(|bytes| wire::decode::<GrpcPayloadContainer>(bytes.into(), &wire::Limits::default()).ok());
    for (url, bytes) in details.unwrap_or_default().payloads {
        status = status.with_payload(&url, &bytes);
    }
    Some(Err(status))
}

/// The node that a message marks as TensorFlow does.
fn marked_node(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("{{node ")?;
    rest.split_once("}}").map(|(node, _)| node)
}

/// As gRPC writes messages: bytes that are no visible ASCII, and percent signs, as `%XX`.
fn percent_encoded(message: &str) -> String {
    let mut end = message.len().min(MESSAGE_LEN_MAX);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let (message, cut) = (message.get(..end).unwrap_or_default(), if end < message.len() { CUT } else { "" });
    let mut text = String::with_capacity(message.len() + 16);
    for byte in message.bytes().chain(cut.bytes()) {
        match byte {
            b' '..=b'~' if byte != b'%' => text.push(char::from(byte)),
            other => {
                text.push('%');
                text.extend([other >> 4, other & 15].map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])));
            }
        }
    }
    text
}

fn percent_decoded(text: &[u8]) -> String {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = match (byte, after) {
            (b'%', [high, low, ..]) => digit(*high).zip(digit(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Without padding, as gRPC wants it.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for i in 0..=chunk.len() {
            text.push(char::from(BASE64[(word >> (18 - 6 * i)) as usize & 63]));
        }
    }
    text
}

/// With padding or without; `None` for what is no base64.
fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.split(|byte| *byte == b'=').next().unwrap_or_default();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for chunk in text.chunks(4) {
        let mut word = 0_u32;
        for byte in chunk {
            word = word << 6 | u32::try_from(BASE64.iter().position(|known| known == byte)?).ok()?;
        }
        let word = word << (6 * (4 - chunk.len()));
        let [_, first, second, third] = word.to_be_bytes();
        bytes.extend([first, second, third].iter().take(chunk.len() * 3 / 4));
    }
    Some(bytes)
}

/// The milliseconds of a `grpc-timeout`, rounded up.
///
/// # Errors
/// INVALID_ARGUMENT for what is none.
pub(crate) fn timeout_ms(headers: &HeaderMap) -> Result<Option<u64>, Status> {
    if let Some(ms) = headers.get(TIMEOUT_MS).and_then(|text| text.to_str().ok()?.parse().ok()) {
        return Ok(Some(ms));
    }
    let Some(text) = headers.get(GRPC_TIMEOUT) else { return Ok(None) };
    let wrong = || Status::invalid_argument(format_args!("{text:?} is no grpc-timeout"));
    let (unit, digits) = text.as_bytes().split_last().ok_or_else(wrong)?;
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() <= 8 && !digits.starts_with('+'));
    let value: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or_else(wrong)?;
    Ok(Some(match unit {
        b'H' => value * 3_600_000,
        b'M' => value * 60_000,
        b'S' => value * 1000,
        b'm' => value,
        b'u' => value.div_ceil(1000),
        b'n' => value.div_ceil(1_000_000),
        _ => return Err(wrong()),
    }))
}

/// Writes a timeout: in milliseconds where those have at most eight digits, else in seconds or hours, never less.
pub(crate) fn put_timeout(headers: &mut HeaderMap, ms: u64) {
    const DIGITS_END: u64 = 100_000_000;
    let text = if ms < DIGITS_END {
        format!("{ms}m")
    } else if ms.div_ceil(1000) < DIGITS_END {
        format!("{}S", ms.div_ceil(1000))
    } else {
        format!("{}H", ms.div_ceil(3_600_000).min(DIGITS_END - 1))
    };
    if let Ok(text) = HeaderValue::try_from(text) {
        headers.insert(GRPC_TIMEOUT, text);
    }
    if ms >= DIGITS_END {
        headers.insert(TIMEOUT_MS, HeaderValue::from(ms));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code, text, node and payloads survive; a text is as gRPC wants it.
    #[test]
    fn statuses() {
        let whole = Status::aborted("50% of é\nlost").at_node("a/b").with_payload("url", b"\0\xff1");
        let mut headers = HeaderMap::new();
        put_status(&mut headers, &whole);
        assert_eq!(headers[GRPC_STATUS], "10");
        assert_eq!(headers[GRPC_MESSAGE], "50%25 of %C3%A9%0Alost%0A%09 [[{{node a/b}}]]");
        let back = status(&headers).and_then(Result::err);
        assert_eq!(back, Some(whole.clone()));
        let back = back.unwrap_or(Status::internal("none"));
        assert_eq!((back.node(), back.payloads().collect::<Vec<_>>()), (Some("a/b"), vec![("url", &b"\0\xff1"[..])]));

        let long = Status::internal("é".repeat(3000));
        put_status(&mut headers, &long);
        let back = status(&headers).and_then(Result::err).map(|back| back.message().to_owned()).unwrap_or_default();
        assert!(back.len() < 3100 && back.ends_with("é ... [truncated]"), "{back}");

        headers.clear();
        assert_eq!(status(&headers), None);
        headers.insert(GRPC_STATUS, HeaderValue::from_static("0"));
        assert_eq!(status(&headers), Some(Ok(())));
        headers.insert(GRPC_STATUS, HeaderValue::from_static("no number"));
        headers.insert(GRPC_MESSAGE, HeaderValue::from_static("%4 %zz %41"));
        assert_eq!(status(&headers), Some(Err(Status::unknown("%4 %zz A"))));
    }

    #[test]
    fn base64_both_ways() {
        for (bytes, text) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("\u{7f}~", "f34")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(from_base64(text.as_bytes()).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(from_base64(b"Zg==").as_deref(), Some(&b"f"[..]));
        assert_eq!(from_base64(b"Z*"), None);
    }

    #[test]
    fn timeouts() {
        let read = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(GRPC_TIMEOUT, HeaderValue::from_static(text));
            timeout_ms(&headers)
        };
        for (text, ms) in
            [("501m", 501), ("2S", 2000), ("1H", 3_600_000), ("3M", 180_000), ("1u", 1), ("1000001n", 2), ("0m", 0)]
        {
            assert_eq!(read(text), Ok(Some(ms)), "{text}");
        }
        for wrong in ["", "m", "1", "1x", "-1m", "+1m", "123456789m", "1 m", "1.5S"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for ms in [0, 1, 99_999_999, 100_000_000, u64::from(u32::MAX), u64::MAX] {
            let mut headers = HeaderMap::new();
            put_timeout(&mut headers, ms);
            assert_eq!(timeout_ms(&headers), Ok(Some(ms)));
            headers.remove(TIMEOUT_MS);
            assert!(timeout_ms(&headers).is_ok_and(|read| read.is_some_and(|read| read >= ms || ms > 1 << 48)));
        }
    }
}
