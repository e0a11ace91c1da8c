//! Walks an encoded message before prost decodes it, and bounds the memory that decoding will take.
//!
//! prost trusts its input with memory: two bytes can ask for a struct of hundreds, and vectors and maps grow as the
//! input says. The scanner reads the same bytes first, with the message's table at hand, keeps its place in an array of
//! [`DEPTH_MAX`] frames instead of the stack, allocates nothing, and stops at the first thing that prost would refuse or
//! that goes beyond the limit.

use core::fmt;

use bytes::Bytes;

/// Messages nested deeper than this are refused; prost itself stops at 100.
pub const DEPTH_MAX: usize = 64;

/// What allocators add to a block, in bytes: header and rounding.
const BLOCK: u64 = 16;

/// What decoding takes whatever the message: the count of owners of the received buffer, allocated when the first byte
/// field shares it, and the error that a field which is no text makes.
const BASE: u64 = 24 * BLOCK;

/// What that error takes more for each level, in whose field it lies.
const LEVEL: u64 = 96;

/// A message type whose encoding can be scanned.
pub trait Scanned {
    /// The fields that the type decodes.
    const MESSAGE: &'static Message;
}

/// The fields of a message, by ascending number; others are skipped.
#[derive(Debug)]
pub struct Message {
    /// At most 64, as they are marked in one word.
    pub(super) fields: &'static [Field],
}

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) kind: Kind,
}

/// What a field holds, with the size in memory of what each occurrence adds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Scalar(Wire),
    Scalars(Wire, usize),
    Text,
    Texts,
    /// Bytes that stay in the received buffer.
    Blob,
    Blobs,
    /// Lies inside its parent.
    One(&'static Message),
    Boxed(&'static Message, usize),
    Many(&'static Message, usize),
    /// The message is the entry, the size that of key and value.
    Map(&'static Message, usize),
}

/// How a scalar is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Varint,
    Fixed32,
    Fixed64,
}

/// How much a message may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory that decoding may take beside the received buffer.
    pub decoded_bytes_max: u64,
    /// Levels of messages inside messages, at most [`DEPTH_MAX`]; a map's entry is a level.
    pub depth_max: usize,
}

impl Default for Limits {
    /// 1 GiB, and the deepest nesting there is.
    fn default() -> Self {
        Self { decoded_bytes_max: 1 << 30, depth_max: DEPTH_MAX }
    }
}

/// What a well-formed message holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scan {
    /// No less than the heap memory in use at any moment of decoding, where byte fields share the received buffer.
    pub decoded_bytes_max: u64,
    /// Fields of all messages in it, unknown ones too; a packed list is one.
    pub fields: u64,
    /// Levels of messages; 1 for one that holds no others.
    pub depth: usize,
}

/// Why a message is refused, and at which byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// What is wrong.
    pub kind: ScanErrorKind,
    /// Where, counted from the start of the message.
    pub offset: usize,
}

/// What can be wrong with an encoded message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScanErrorKind {
    /// The message ends inside a field.
    Truncated,
    /// A varint has more than 64 bits.
    Varint,
    /// A field goes beyond the end of the message it is part of.
    Length,
    /// A field number is 0 or above 2^29 - 1.
    FieldNumber,
    /// A field has another encoding than its type, or one that no field has.
    WireType,
    /// A packed list does not end with one of its elements.
    Packed,
    /// More levels than the limit.
    TooDeep,
    /// Decoding takes more memory than the limit.
    TooLarge,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            ScanErrorKind::Truncated => "the message ends inside a field",
            ScanErrorKind::Varint => "a number has more than 64 bits",
            ScanErrorKind::Length => "a field is longer than the message around it",
            ScanErrorKind::FieldNumber => "a field number is out of range",
            ScanErrorKind::WireType => "a field is encoded as its type is not",
            ScanErrorKind::Packed => "a packed list ends inside an element",
            ScanErrorKind::TooDeep => "messages are nested too deeply",
            ScanErrorKind::TooLarge => "the decoded message would exceed its memory limit",
        };
        write!(f, "{what}, at byte {}", self.offset)
    }
}

impl core::error::Error for ScanError {}

/// Checks an encoded `M` and bounds the memory that decoding it takes. Linear in the bytes; allocates nothing.
///
/// # Errors
/// The first malformed field, or the first that exceeds a limit.
pub fn scan<M: Scanned>(bytes: &[u8], limits: &Limits) -> Result<Scan, ScanError> {
    scan_message(bytes, M::MESSAGE, limits)
}

/// A message that the scanner is inside of.
#[derive(Clone, Copy)]
struct Frame {
    message: &'static Message,
    end: usize,
    /// One bit for each field met.
    seen: u64,
}

fn scan_message(bytes: &[u8], message: &'static Message, limits: &Limits) -> Result<Scan, ScanError> {
    let depth_max = limits.depth_max.min(DEPTH_MAX);
    let mut frames = [Frame { message, end: bytes.len(), seen: 0 }; DEPTH_MAX];
    let mut found = Scan { decoded_bytes_max: BASE + LEVEL, fields: 0, depth: 1 };
    let mut cursor = Cursor { bytes, at: 0 };
    let mut depth = 1_usize;
    loop {
        let start = cursor.at;
        let fail = |kind| ScanError { kind, offset: start };
        let Some(frame) = depth.checked_sub(1).and_then(|top| frames.get_mut(top)) else { return Ok(found) };
        if start == frame.end {
            depth -= 1;
            continue;
        }
        let key = cursor.varint(frame.end)?;
        let number = u32::try_from(key >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let number = number.ok_or_else(|| fail(ScanErrorKind::FieldNumber))?;
        found.fields += 1;
        let body = cursor.body(key & 7, frame.end)?;
        let Ok(index) = frame.message.fields.binary_search_by_key(&number, |field| field.number) else { continue };
        let Some(field) = frame.message.fields.get(index) else { continue };
        let bit = 1_u64.checked_shl(index as u32).unwrap_or(0);
        let first = frame.seen & bit == 0;
        frame.seen |= bit;
        let cost = cost(field.kind, body, first).map_err(fail)?;
        found.decoded_bytes_max = found.decoded_bytes_max.saturating_add(cost);
        if found.decoded_bytes_max > limits.decoded_bytes_max {
            return Err(fail(ScanErrorKind::TooLarge));
        }
        let (Kind::One(inner) | Kind::Boxed(inner, _) | Kind::Many(inner, _) | Kind::Map(inner, _)) = field.kind else {
            continue;
        };
        let Body::Bytes(content) = body else { continue };
        if depth >= depth_max {
            return Err(fail(ScanErrorKind::TooDeep));
        }
        let Some(next) = frames.get_mut(depth) else { return Err(fail(ScanErrorKind::TooDeep)) };
        *next = Frame { message: inner, end: cursor.at, seen: 0 };
        // Go back over the content, field by field.
        cursor.at -= content.len();
        depth += 1;
        if depth > found.depth {
            found.depth = depth;
            found.decoded_bytes_max = found.decoded_bytes_max.saturating_add(LEVEL);
        }
    }
}

/// What follows a field's key.
#[derive(Clone, Copy)]
enum Body<'a> {
    Scalar(Wire),
    Bytes(&'a [u8]),
}

/// The memory that one occurrence of a field takes, or why it cannot be one.
fn cost(kind: Kind, body: Body<'_>, first: bool) -> Result<u64, ScanErrorKind> {
    Ok(match (kind, body) {
        (Kind::Scalar(wire), Body::Scalar(found)) if wire == found => 0,
        (Kind::Scalars(wire, size), Body::Scalar(found)) if wire == found => elements(1, size, first),
        (Kind::Scalars(wire, size), Body::Bytes(packed)) => elements(packed_len(wire, packed)?, size, first),
        (Kind::Text, Body::Bytes(text)) => block(text.len(), !first),
        (Kind::Texts, Body::Bytes(text)) => {
            elements(1, size_of::<alloc::string::String>(), first).saturating_add(block(text.len(), false))
        }
        (Kind::Blob, Body::Bytes(_)) => 0,
        (Kind::Blobs, Body::Bytes(_)) => elements(1, size_of::<Bytes>(), first),
        (Kind::One(_), Body::Bytes(_)) => 0,
        (Kind::Boxed(_, size), Body::Bytes(_)) => BLOCK + size as u64,
        (Kind::Many(_, size), Body::Bytes(_)) => elements(1, size, first),
        (Kind::Map(_, size), Body::Bytes(_)) => map_entry(size, first),
        _ => return Err(ScanErrorKind::WireType),
    })
}

/// A text's memory. A field that comes again grows the buffer it has, which may double; old and new then live at once.
fn block(len: usize, again: bool) -> u64 {
    let len = len as u64;
    BLOCK + 8 + if again { len.saturating_mul(2) } else { len }
}

/// What `count` more elements of a vector take. It starts with room for 4 (8 of a byte each) and doubles; while it
/// moves, old and new live at once: three times the elements at most.
fn elements(count: usize, size: usize, first: bool) -> u64 {
    let (count, size) = (count as u64, size as u64);
    let start = if first && count > 0 { 2 * BLOCK + 8 + 4 * size } else { 0 };
    start.saturating_add(count.saturating_mul(3).saturating_mul(size))
}

/// What one more entry of a `BTreeMap` takes. A node has room for 11 entries and 12 children, and but for the root
/// holds 5 at least: one leaf for every 5 entries, and one parent for every 6 leaves, make less than a node for 4.
fn map_entry(size: usize, first: bool) -> u64 {
    let node = (size as u64).saturating_mul(11).saturating_add(12 * 8 + 16 + 2 * BLOCK);
    if first { node } else { node.div_ceil(4) }
}

fn packed_len(wire: Wire, bytes: &[u8]) -> Result<usize, ScanErrorKind> {
    let fixed =
        |size| if bytes.len().is_multiple_of(size) { Ok(bytes.len() / size) } else { Err(ScanErrorKind::Packed) };
    match wire {
        Wire::Fixed32 => fixed(4),
        Wire::Fixed64 => fixed(8),
        Wire::Varint => {
            if bytes.last().is_some_and(|last| last & 0x80 != 0) {
                return Err(ScanErrorKind::Packed);
            }
            // Over-long elements are left to prost: they only make the count smaller than the bytes.
            Ok(bytes.iter().filter(|byte| **byte & 0x80 == 0).count())
        }
    }
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn varint(&mut self, end: usize) -> Result<u64, ScanError> {
        let start = self.at;
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let Some(byte) = self.bytes.get(self.at).filter(|_| self.at < end) else { return Err(self.short(end)) };
            self.at += 1;
            if shift == 63 && *byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(ScanError { kind: ScanErrorKind::Varint, offset: start })
    }

    /// Passes over what follows a key with this wire type.
    fn body(&mut self, wire_type: u64, end: usize) -> Result<Body<'a>, ScanError> {
        let start = self.at;
        match wire_type {
            0 => self.varint(end).map(|_| Body::Scalar(Wire::Varint)),
            1 => self.take(8, end).map(|_| Body::Scalar(Wire::Fixed64)),
            2 => {
                let len = self.varint(end)?;
                self.take(len, end).map(Body::Bytes)
            }
            5 => self.take(4, end).map(|_| Body::Scalar(Wire::Fixed32)),
            // 3 and 4 are groups, which no message of ours has.
            _ => Err(ScanError { kind: ScanErrorKind::WireType, offset: start }),
        }
    }

    fn take(&mut self, len: u64, end: usize) -> Result<&'a [u8], ScanError> {
        let stop = usize::try_from(len).ok().and_then(|len| self.at.checked_add(len)).filter(|stop| *stop <= end);
        match stop.and_then(|stop| Some((stop, self.bytes.get(self.at..stop)?))) {
            Some((stop, taken)) => {
                self.at = stop;
                Ok(taken)
            }
            None => Err(self.short(end)),
        }
    }

    fn short(&self, end: usize) -> ScanError {
        let kind = if end == self.bytes.len() { ScanErrorKind::Truncated } else { ScanErrorKind::Length };
        ScanError { kind, offset: self.at }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

    use prost::Message as _;

    use super::super::generated as g;
    use super::*;

    fn kind<M: Scanned>(bytes: &[u8]) -> Result<Scan, ScanErrorKind> {
        scan::<M>(bytes, &Limits::default()).map_err(|error| error.kind)
    }

    fn graph() -> g::GraphDef {
        let tensor = g::TensorProto {
            dtype: g::DataType::DtFloat as i32,
            tensor_shape: Some(g::TensorShapeProto {
                dim: vec![g::tensor_shape_proto::Dim { size: -1, name: "batch".into() }],
                unknown_rank: false,
            }),
            float_val: vec![1.0, 2.0, 3.0],
            int_val: vec![1, -1, 300],
            string_val: vec![Bytes::from_static(b"text")],
            ..Default::default()
        };
        let value = |value| g::AttrValue { value: Some(value) };
        let node = g::NodeDef {
            name: "c".into(),
            op: "Const".into(),
            input: vec!["^a".into()],
            attr: [
                ("value".into(), value(g::attr_value::Value::Tensor(tensor.into()))),
                ("dtype".into(), value(g::attr_value::Value::Type(1))),
            ]
            .into(),
            ..Default::default()
        };
        g::GraphDef {
            node: vec![node; 3],
            versions: Some(g::VersionDef { producer: 9, ..Default::default() }),
            ..Default::default()
        }
    }

    /// A field of length-delimited content, as an encoder writes it.
    fn delimited(number: u8, content: &[u8]) -> Vec<u8> {
        let mut out = vec![number << 3 | 2];
        prost::encoding::encode_varint(content.len() as u64, &mut out);
        out.extend_from_slice(content);
        out
    }

    /// What prost encodes is accepted, and its parts are counted.
    #[test]
    fn accepts_what_is_well_formed() {
        let bytes = graph().encode_to_vec();
        let found = kind::<g::GraphDef>(&bytes).unwrap();
        // GraphDef, NodeDef, the map's entry, AttrValue, TensorProto, TensorShapeProto, Dim.
        assert_eq!(found.depth, 7);
        assert!(found.decoded_bytes_max > 3 * size_of::<g::NodeDef>() as u64);
        assert_eq!(kind::<g::GraphDef>(b"").unwrap(), Scan { decoded_bytes_max: BASE + LEVEL, fields: 0, depth: 1 });
    }

    /// Cut anywhere, the scanner accepts a message only where prost does.
    #[test]
    fn agrees_with_prost_on_truncation() {
        let bytes = graph().encode_to_vec();
        for len in 0..bytes.len() {
            let cut = &bytes[..len];
            assert_eq!(kind::<g::GraphDef>(cut).is_ok(), g::GraphDef::decode(cut).is_ok(), "cut at {len}");
        }
    }

    /// Every single flipped bit: whatever the scanner refuses, but for depth and groups, prost refuses.
    #[test]
    fn refuses_nothing_that_prost_takes() {
        let bytes = graph().encode_to_vec();
        for at in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[at / 8] ^= 1 << (at % 8);
            if let Err(kind) = kind::<g::GraphDef>(&flipped) {
                let group = kind == ScanErrorKind::WireType;
                assert!(group || g::GraphDef::decode(&flipped[..]).is_err(), "bit {at}: {kind:?}");
            }
        }
    }

    #[test]
    fn refuses_lengths_beyond_the_message() {
        let mut huge = vec![0x0a];
        prost::encoding::encode_varint(1 << 60, &mut huge);
        huge.extend([0; 16]);
        assert_eq!(kind::<g::GraphDef>(&huge), Err(ScanErrorKind::Truncated));
        // A node of 2 bytes that claims a name of 5: what follows belongs to others.
        let inner = [0x0a, 2, 0x0a, 5, 0x0a, 0, 0x0a, 0];
        assert_eq!(kind::<g::GraphDef>(&inner), Err(ScanErrorKind::Length));
    }

    #[test]
    fn refuses_malformed_keys_and_numbers() {
        let cases: [(&str, &[u8], ScanErrorKind); 9] = [
            ("field 0", &[0x02, 0], ScanErrorKind::FieldNumber),
            ("field 2^29", &[0x80, 0x80, 0x80, 0x80, 0x10, 0], ScanErrorKind::FieldNumber),
            ("key of 11 bytes", &[0x80; 11], ScanErrorKind::Varint),
            ("65 bits", &[0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], ScanErrorKind::Varint),
            ("endless varint", &[0x18, 0xff], ScanErrorKind::Truncated),
            ("group", &[0x0b, 0x0c], ScanErrorKind::WireType),
            ("wire type 7", &[0x0f], ScanErrorKind::WireType),
            ("node as a number", &[0x08, 1], ScanErrorKind::WireType),
            ("version as a message", &[0x1a, 0], ScanErrorKind::WireType),
        ];
        for (name, bytes, expected) in cases {
            assert_eq!(kind::<g::GraphDef>(bytes), Err(expected), "{name}");
        }
    }

    #[test]
    fn checks_packed_lists() {
        assert!(kind::<g::TensorProto>(&[0x2a, 8, 0, 0, 0, 0, 0, 0, 0, 0]).is_ok());
        assert_eq!(kind::<g::TensorProto>(&[0x2a, 3, 0, 0, 0]), Err(ScanErrorKind::Packed));
        assert_eq!(kind::<g::TensorProto>(&[0x3a, 2, 1, 0x80]), Err(ScanErrorKind::Packed));
    }

    /// Ten thousand levels are refused without using the stack.
    #[test]
    fn refuses_deep_nesting() {
        let mut bytes = Vec::new();
        for _ in 0..10_000 {
            bytes = delimited(2, &bytes);
        }
        assert_eq!(kind::<g::FullTypeDef>(&bytes), Err(ScanErrorKind::TooDeep));
        let mut bytes = Vec::new();
        for _ in 0..DEPTH_MAX - 1 {
            bytes = delimited(2, &bytes);
        }
        assert_eq!(kind::<g::FullTypeDef>(&bytes).unwrap().depth, DEPTH_MAX);
        assert!(g::FullTypeDef::decode(&bytes[..]).is_ok());
        let shallow = Limits { depth_max: 5, ..Limits::default() };
        assert_eq!(scan::<g::FullTypeDef>(&bytes, &shallow).unwrap_err().kind, ScanErrorKind::TooDeep);
    }

    /// Two bytes an element, hundreds in memory: counted as what they become.
    #[test]
    fn counts_bombs_of_empty_messages() {
        let bomb: Vec<u8> = [0x1a, 0].repeat(1000);
        let found = kind::<g::RunCallableRequest>(&bomb).unwrap();
        assert!(found.decoded_bytes_max >= 2 * 1000 * size_of::<g::TensorProto>() as u64);
        let limits = Limits { decoded_bytes_max: 100_000, ..Limits::default() };
        let error = scan::<g::RunCallableRequest>(&bomb, &limits).unwrap_err();
        assert_eq!(error.kind, ScanErrorKind::TooLarge);
        assert!(error.offset < 200);
        assert!(alloc::format!("{error}").contains("memory limit"));
    }

    /// Content of byte fields stays where it is and costs nothing.
    #[test]
    fn shared_bytes_are_free() {
        let message = g::TensorProto { tensor_content: vec![7; 1 << 20].into(), ..Default::default() };
        assert!(kind::<g::TensorProto>(&message.encode_to_vec()).unwrap().decoded_bytes_max < 2000);
        let text = g::NodeDef { name: String::from_utf8(vec![b'n'; 1 << 20]).unwrap(), ..Default::default() };
        assert!(kind::<g::NodeDef>(&text.encode_to_vec()).unwrap().decoded_bytes_max > 1 << 20);
    }

    /// Fields that a later version may add are passed over.
    #[test]
    fn skips_unknown_fields() {
        let mut bytes = graph().encode_to_vec();
        bytes.extend(delimited(15, &[0xff; 40]));
        bytes.extend([0x78, 1, 0x7d, 0, 0, 0, 0, 0x79, 0, 0, 0, 0, 0, 0, 0, 0]);
        let known = kind::<g::GraphDef>(&graph().encode_to_vec()).unwrap();
        let found = kind::<g::GraphDef>(&bytes).unwrap();
        assert_eq!(found.decoded_bytes_max, known.decoded_bytes_max);
        assert_eq!(found.fields, known.fields + 4);
    }
}
