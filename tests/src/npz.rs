//! NumPy's `.npz` files as native tensors: the recorded feeds and results of models.
//!
//! An `.npz` file is a zip archive of `.npy` files. What NumPy writes is read: stored or deflated members, arrays in C
//! order of bool, integers from 8 to 64 bits and floats of 16 to 64 bits. The crates that read all of both formats bring
//! some sixty others and C code.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use runstep::tensor::{DType, Shape, Tensor};

/// All arrays of a file, by name.
///
/// # Errors
/// A text naming the file and what is wrong with it.
pub fn load(path: &Path) -> Result<BTreeMap<String, Tensor>, String> {
    let said = |e: String| format!("{}: {e}", path.display());
    let file = std::fs::read(path).map_err(|e| said(e.to_string()))?;
    let mut arrays = BTreeMap::new();
    for member in members(&file).map_err(said)? {
        let name = member.name.strip_suffix(".npy").unwrap_or(&member.name).to_owned();
        let tensor = npy(&member.data).map_err(|e| said(format!("{name}: {e}")))?;
        arrays.insert(name, tensor);
    }
    Ok(arrays)
}

struct Member {
    name: String,
    data: Vec<u8>,
}

const END_OF_DIRECTORY: [u8; 4] = *b"PK\x05\x06";
const DIRECTORY_ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL_HEADER: [u8; 4] = *b"PK\x03\x04";
const STORED: usize = 0;
const DEFLATED: usize = 8;

/// The members of a zip archive, as its directory at the end lists them; sizes there are right even where NumPy
/// streamed the member and left them open in front of it.
fn members(file: &[u8]) -> Result<Vec<Member>, String> {
    let end = file.windows(4).rposition(|w| w == END_OF_DIRECTORY).ok_or("not a zip archive")?;
    let count = number(file, end + 10, 2)?;
    let mut at = number(file, end + 16, 4)?;
    let mut found = Vec::new();
    for _ in 0..count {
        if part(file, at, 4)? != DIRECTORY_ENTRY {
            return Err("no directory entry where one should be".to_owned());
        }
        let field = |offset, size| number(file, at + offset, size);
        let (method, packed, size) = (field(10, 2)?, field(20, 4)?, field(24, 4)?);
        let (name_len, extra_len, comment_len, local) = (field(28, 2)?, field(30, 2)?, field(32, 2)?, field(42, 4)?);
        let name = String::from_utf8_lossy(part(file, at + 46, name_len)?).into_owned();
        if part(file, local, 4)? != LOCAL_HEADER {
            return Err(format!("no member {name} where it should be"));
        }
        let start = local + 30 + number(file, local + 26, 2)? + number(file, local + 28, 2)?;
        let raw = part(file, start, packed)?;
        let data = match method {
            STORED => raw.to_vec(),
            DEFLATED => decompress_to_vec_with_limit(raw, size).map_err(|e| format!("{name}: {e}"))?,
            other => return Err(format!("{name}: packed by method {other}")),
        };
        found.push(Member { name, data });
        at += 46 + name_len + extra_len + comment_len;
    }
    Ok(found)
}

/// An `.npy` file: magic, version, header length, a Python dictionary as text, the elements.
fn npy(file: &[u8]) -> Result<Tensor, String> {
    if part(file, 0, 6)? != *b"\x93NUMPY" {
        return Err("not an .npy file".to_owned());
    }
    let wide = part(file, 6, 1)? != [1];
    let (start, len) = if wide { (12, number(file, 8, 4)?) } else { (10, number(file, 8, 2)?) };
    let header = String::from_utf8_lossy(part(file, start, len)?).into_owned();
    if entry(&header, "fortran_order")?.starts_with("True") {
        return Err("not in C order".to_owned());
    }
    let descr = entry(&header, "descr")?.trim_start_matches('\'');
    let dtype = dtype(descr.get(..descr.find('\'').unwrap_or(0)).unwrap_or_default())?;
    let shape = entry(&header, "shape")?.trim_start_matches('(');
    let dims: Result<Vec<usize>, _> = shape
        .split(')')
        .next()
        .unwrap_or_default()
        .split(',')
        .map(str::trim)
        .filter(|d| !d.is_empty())
        .map(str::parse)
        .collect();
    let shape = Shape::new(&dims.map_err(|e| e.to_string())?).map_err(|e| format!("{e:?}"))?;
    let data = Bytes::copy_from_slice(file.get(start + len..).unwrap_or_default());
    Tensor::from_bytes(dtype, shape, data, None).map_err(|e| e.to_string())
}

/// The text of a dictionary's value and all that follows it.
fn entry<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("no {key} in the header");
    let (_, rest) = header.split_once(&format!("'{key}'")).ok_or_else(missing)?;
    Ok(rest.trim_start_matches([':', ' ']))
}

fn dtype(descr: &str) -> Result<DType, String> {
    Ok(match descr.trim_start_matches(['<', '|', '=']) {
        "b1" => DType::Bool,
        "i1" => DType::Int8,
        "i2" => DType::Int16,
        "i4" => DType::Int32,
        "i8" => DType::Int64,
        "u1" => DType::Uint8,
        "u2" => DType::Uint16,
        "u4" => DType::Uint32,
        "u8" => DType::Uint64,
        "f2" => DType::Half,
        "f4" => DType::Float,
        "f8" => DType::Double,
        _ => return Err(format!("elements of type {descr}")),
    })
}

fn part(file: &[u8], at: usize, len: usize) -> Result<&[u8], String> {
    at.checked_add(len).and_then(|end| file.get(at..end)).ok_or_else(|| format!("ends before byte {at} + {len}"))
}

fn number(file: &[u8], at: usize, len: usize) -> Result<usize, String> {
    Ok(part(file, at, len)?.iter().rev().fold(0, |n, &b| n << 8 | usize::from(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits: 1797 images of 64 pixels from 0 to 16, and a label each.
    #[test]
    fn digits() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models/digits.npz");
        let arrays = load(&path).unwrap();
        let (x, y) = (&arrays["x"], &arrays["y"]);
        assert_eq!((x.dtype(), x.shape().dims()), (DType::Uint8, &[1797, 64][..]));
        assert_eq!((y.dtype(), y.shape().dims()), (DType::Uint8, &[1797][..]));
        assert_eq!(x.as_slice::<u8>().unwrap().iter().max(), Some(&16));
        assert_eq!(y.as_slice::<u8>().unwrap()[..4], [0, 1, 2, 3]);
    }

    /// Every truncation of an archive is an error with a text.
    #[test]
    fn truncated() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/models/mlp_tiny.npz");
        let file = std::fs::read(path).unwrap();
        assert!(members(&file).is_ok());
        for len in (0..file.len()).step_by(97) {
            assert!(members(&file[..len]).is_err(), "{len} of {} bytes were read", file.len());
        }
    }
}
