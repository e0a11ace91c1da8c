//! The scanner's bound holds: decoding never has more heap memory in use than the scan of the same bytes said.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use prost::Message as _;
use runstep::wire::{self, Limits, Message};

/// The system's allocator, counting what each thread has in use and the most it had.
struct Counting;

thread_local! {
    static USED: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let used = USED.get() + bytes;
    USED.set(used);
    PEAK.set(PEAK.get().max(used));
}

// SAFETY: every call goes to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller's promises are the system allocator's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller's promises are the system allocator's.
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }

    // SAFETY: the caller's promises are the system allocator's.
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Old and new may both exist for a moment.
        count(size as isize);
        // SAFETY: as above.
        let moved = unsafe { System.realloc(at, layout, size) };
        count(-(layout.size() as isize));
        moved
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that decoding `bytes` had in use beside them, successful or not.
fn peak<M: Message>(bytes: &[u8]) -> u64 {
    let bytes = bytes::Bytes::copy_from_slice(bytes);
    let before = USED.get();
    PEAK.set(before);
    let decoded = M::decode(bytes);
    let peak = PEAK.get() - before;
    drop(decoded);
    u64::try_from(peak).unwrap()
}

fn check<M: Message>(name: &str, bytes: &[u8]) -> (u64, u64) {
    let unlimited = Limits { decoded_bytes_max: u64::MAX, ..Limits::default() };
    let Ok(scan) = wire::scan::<M>(bytes, &unlimited) else { return (0, 0) };
    let peak = peak::<M>(bytes);
    assert!(peak <= scan.decoded_bytes_max, "{name}: {peak} bytes in use, bound {}", scan.decoded_bytes_max);
    (peak, scan.decoded_bytes_max)
}

/// A small generator of numbers: the cases are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

fn delimited(number: u64, content: &[u8], to: &mut Vec<u8>) {
    prost::encoding::encode_varint(number << 3 | 2, to);
    prost::encoding::encode_varint(content.len() as u64, to);
    to.extend_from_slice(content);
}

/// Bytes that mostly parse: fields of low numbers, any wire type, with content that is again such a message.
fn message(random: &mut Random, depth: u32) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..random.below(12) {
        let number = 1 + random.below(12);
        match random.below(8) {
            0 => {
                prost::encoding::encode_varint(number << 3, &mut out);
                prost::encoding::encode_varint(random.below(1 << 20), &mut out);
            }
            1 => {
                prost::encoding::encode_varint(number << 3 | 5, &mut out);
                out.extend([0; 4]);
            }
            2 => delimited(number, &b"a name of some length"[..random.below(20) as usize], &mut out),
            _ if depth == 0 => delimited(number, &[], &mut out),
            _ => {
                let inner = message(random, depth - 1);
                // Again and again, so that vectors and maps grow.
                for _ in 0..1 + random.below(3) * random.below(6) {
                    delimited(number, &inner, &mut out);
                }
            }
        }
    }
    out
}

/// Random messages of every shape; those that prost refuses half way are bounded as well.
#[test]
fn random_messages_stay_within_the_bound() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut decoded = 0;
    for case in 0..4000 {
        let bytes = message(&mut random, 3);
        let name = format!("case {case}");
        let used = [
            check::<wire::GraphDef>(&name, &bytes),
            check::<wire::RunStepRequest>(&name, &bytes),
            check::<wire::CreateSessionRequest>(&name, &bytes),
            check::<wire::RunMetadata>(&name, &bytes),
            check::<wire::MetaGraphDef>(&name, &bytes),
            check::<wire::TensorProto>(&name, &bytes),
            check::<wire::NameAttrList>(&name, &bytes),
        ];
        decoded += used.iter().filter(|(peak, _)| *peak > 0).count();
    }
    assert!(decoded > 1000, "only {decoded} messages used memory");
}

/// Vectors and maps at every size around their steps of growth, and texts that come again and again.
#[test]
fn growth_stays_within_the_bound() {
    for count in 0..300_u64 {
        let (mut nodes, mut map, mut texts, mut inputs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for i in 0..count {
            delimited(1, &[], &mut nodes);
            let mut entry = Vec::new();
            // Ascending, descending and mixed keys split a tree's nodes at different places.
            let key = [i, 1000 - i, (i * 7919) % 1000][(count % 3) as usize];
            delimited(1, format!("{key:04}").as_bytes(), &mut entry);
            delimited(2, &[0x18, 1], &mut entry);
            delimited(5, &entry, &mut map);
            delimited(1, &vec![b'x'; i as usize * 3 % 256], &mut texts);
            delimited(3, b"input:0", &mut inputs);
        }
        check::<wire::GraphDef>("nodes", &nodes);
        check::<wire::NodeDef>("attributes", &map);
        check::<wire::NodeDef>("a name again", &texts);
        check::<wire::NodeDef>("inputs", &inputs);
        let packed = wire::TensorProto { bool_val: vec![true; count as usize], ..Default::default() };
        check::<wire::TensorProto>("bools", &packed.encode_to_vec());
        let packed = wire::TensorProto { double_val: vec![1.0; count as usize], ..Default::default() };
        check::<wire::TensorProto>("doubles", &packed.encode_to_vec());
    }
}

/// Real graphs: the bound is near enough to the truth that a budget meant for them does not refuse them.
#[test]
fn models_are_bounded_closely() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models");
    let mut seen = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let (peak, bound) = check::<wire::GraphDef>(&path.display().to_string(), &bytes);
        assert!(peak > 0 && bound < 4 * peak, "{}: {peak} bytes in use, bound {bound}", path.display());
        seen += 1;
    }
    assert!(seen > 3);
}
