//! NumPy's `.npy` files as tensors and back.
//!
//! | dtype | in a file |
//! | --- | --- |
//! | bool, integers, floats of 16 to 64 bits, complex | as NumPy writes them, read in either byte order and axis order |
//! | quantised and narrow integers | the integers in which they are kept |
//! | bfloat16, floats of 8 and 4 bits | `V2` and `V1`, as the `ml_dtypes` package writes them; `V2` is read as bfloat16 |
//! | string | `S`, padded with zero bytes to the longest; `U` is read as UTF-8 |

use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

use bytes::Bytes;
use npyz::{DType as NpyDType, Endianness, NpyHeader, Order, TypeChar, TypeStr, WriteOptions, WriterBuilder};
use runstep::tensor::{DType, Shape, Str, Tensor};

use crate::failure::Failure;

/// Reads a file.
///
/// # Errors
/// The file and what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<Tensor, Failure> {
    let file = File::open(path).map_err(|e| Failure::at(path.display(), e))?;
    from_reader(BufReader::new(file)).map_err(|e| Failure::at(path.display(), e))
}

/// Writes a file.
///
/// # Errors
/// The file and why it cannot be written; the dtype, when it has no form in such a file.
pub(crate) fn write(path: &Path, tensor: &Tensor) -> Result<(), Failure> {
    let bytes = to_vec(tensor).map_err(|e| Failure::at(path.display(), e))?;
    File::create(path).and_then(|mut file| file.write_all(&bytes)).map_err(|e| Failure::at(path.display(), e))
}

fn from_reader(mut reader: impl Read) -> Result<Tensor, String> {
    let header = NpyHeader::from_reader(&mut reader).map_err(|e| format!("no .npy file: {e}"))?;
    let NpyDType::Plain(element) = header.dtype() else {
        return Err("an array of records has no tensor form".to_owned());
    };
    let size = element.num_bytes().unwrap_or(0);
    let dims: Vec<i64> = header.shape().iter().map(|&d| i64::try_from(d).unwrap_or(-1)).collect();
    let shape = Shape::from_i64(&dims).map_err(|e| e.to_string())?;
    let len = shape.num_bytes(size).map_err(|e| e.to_string())?;
    // The file decides how much memory is taken, not its header.
    let mut raw = Vec::new();
    let wanted = u64::try_from(len).unwrap_or(u64::MAX);
    reader.take(wanted).read_to_end(&mut raw).map_err(|e| e.to_string())?;
    if raw.len() != len {
        return Err(format!("an array of shape {shape} needs {len} bytes, the file holds {}", raw.len()));
    }
    if header.order() == Order::Fortran {
        raw = to_row_major(&raw, shape.dims(), size);
    }
    if element.endianness() == Endianness::Big {
        let word = if element.type_char() == TypeChar::Complex { size / 2 } else { size };
        let word = if element.type_char() == TypeChar::UnicodeStr { 4 } else { word };
        raw.chunks_exact_mut(word.max(1)).for_each(<[u8]>::reverse);
    }
    let texts = |text: fn(&[u8]) -> Result<Str, String>| {
        let count = shape.num_elements();
        let strings = (0..count).map(|i| text(raw.get(i * size..(i + 1) * size).unwrap_or_default()));
        Tensor::from_strings(shape.clone(), strings.collect::<Result<_, _>>()?).map_err(|e| e.to_string())
    };
    match element.type_char() {
        TypeChar::ByteStr => texts(|raw| Ok(Str::copy_from_slice(without_padding(raw)))),
        TypeChar::UnicodeStr => texts(utf8),
        _ => {
            let dtype = dtype(&element).ok_or_else(|| format!("there is no dtype like {element}"))?;
            Tensor::from_bytes(dtype, shape, Bytes::from(raw), None).map_err(|e| e.to_string())
        }
    }
}

fn to_vec(tensor: &Tensor) -> Result<Vec<u8>, String> {
    let dtype = tensor.dtype();
    let code = match dtype {
        DType::Bool => "|b1".to_owned(),
        DType::Float => "<f4".to_owned(),
        DType::Double => "<f8".to_owned(),
        DType::Half => "<f2".to_owned(),
        DType::Complex64 => "<c8".to_owned(),
        DType::Complex128 => "<c16".to_owned(),
        DType::Int8 | DType::Qint8 | DType::Int4 | DType::Int2 => "|i1".to_owned(),
        DType::Uint8 | DType::Quint8 | DType::Uint4 | DType::Uint2 => "|u1".to_owned(),
        DType::Int16 | DType::Qint16 => "<i2".to_owned(),
        DType::Uint16 | DType::Quint16 => "<u2".to_owned(),
        DType::Int32 | DType::Qint32 => "<i4".to_owned(),
        DType::Uint32 => "<u4".to_owned(),
        DType::Int64 => "<i8".to_owned(),
        DType::Uint64 => "<u8".to_owned(),
        DType::Bfloat16 => "|V2".to_owned(),
        DType::String => {
            let longest = tensor.strings().map_err(|e| e.to_string())?.iter().map(Bytes::len).max();
            format!("|S{}", longest.unwrap_or(0).max(1))
        }
        DType::Resource | DType::Variant => return Err(format!("a {dtype} tensor has no form in an .npy file")),
        _ => "|V1".to_owned(),
    };
    let element: TypeStr = code.parse().map_err(|e| format!("{code}: {e}"))?;
    let width = element.num_bytes().unwrap_or(1);
    let dims: Vec<u64> = tensor.shape().dims().iter().map(|&d| u64::from(d)).collect();
    let mut file = Vec::new();
    let options = WriteOptions::new_header_only().dtype(NpyDType::Plain(element)).shape(&dims).writer(&mut file);
    options.write_header_only().map_err(|e| e.to_string())?;
    if dtype == DType::String {
        for text in tensor.strings().map_err(|e| e.to_string())? {
            let end = file.len() + width;
            file.extend_from_slice(text);
            file.resize(end, 0);
        }
    } else {
        file.extend_from_slice(&little_endian(tensor));
    }
    Ok(file)
}

/// The dtype of numbers that a file holds.
fn dtype(element: &TypeStr) -> Option<DType> {
    Some(match (element.type_char(), element.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Int, 1) => DType::Int8,
        (TypeChar::Int, 2) => DType::Int16,
        (TypeChar::Int, 4) => DType::Int32,
        (TypeChar::Int, 8) => DType::Int64,
        (TypeChar::Uint, 1) => DType::Uint8,
        (TypeChar::Uint, 2) => DType::Uint16,
        (TypeChar::Uint, 4) => DType::Uint32,
        (TypeChar::Uint, 8) => DType::Uint64,
        (TypeChar::Float, 2) => DType::Half,
        (TypeChar::Float, 4) => DType::Float,
        (TypeChar::Float, 8) => DType::Double,
        (TypeChar::Complex, 8) => DType::Complex64,
        (TypeChar::Complex, 16) => DType::Complex128,
        (TypeChar::RawData, 2) => DType::Bfloat16,
        _ => return None,
    })
}

fn without_padding(raw: &[u8]) -> &[u8] {
    let end = raw.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
    raw.get(..end).unwrap_or_default()
}

fn utf8(raw: &[u8]) -> Result<Str, String> {
    let mut text = String::new();
    for unit in raw.chunks_exact(4) {
        let unit = u32::from_le_bytes(unit.try_into().unwrap_or_default());
        text.push(char::from_u32(unit).ok_or_else(|| format!("{unit:#x} is no character"))?);
    }
    Ok(Str::from(text.trim_end_matches('\0').to_owned()))
}

fn little_endian(tensor: &Tensor) -> Vec<u8> {
    let mut raw = tensor.bytes().to_vec();
    if cfg!(target_endian = "big") {
        let dtype = tensor.dtype();
        let parts = if matches!(dtype, DType::Complex64 | DType::Complex128) { 2 } else { 1 };
        raw.chunks_exact_mut((dtype.size() / parts).max(1)).for_each(<[u8]>::reverse);
    }
    raw
}

/// Elements that lie with the first axis fastest, in the order with the last axis fastest.
fn to_row_major(raw: &[u8], dims: &[u32], size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let count = raw.len().checked_div(size).unwrap_or(0);
    let mut index = vec![0u32; dims.len()];
    for _ in 0..count {
        let mut at = 0;
        let mut stride = 1;
        for (&i, &dim) in index.iter().zip(dims) {
            at += i as usize * stride;
            stride *= dim as usize;
        }
        out.extend_from_slice(raw.get(at * size..(at + 1) * size).unwrap_or_default());
        for (i, &dim) in index.iter_mut().zip(dims).rev() {
            *i += 1;
            if *i < dim {
                break;
            }
            *i = 0;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(tensor: &Tensor) -> Tensor {
        from_reader(&to_vec(tensor).unwrap()[..]).unwrap()
    }

    /// A file by hand: version 1, header padded as NumPy pads it.
    fn file(descr: &str, order: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
        out.extend_from_slice(header.as_bytes());
        out.extend_from_slice(data);
        out
    }

    /// Every dtype that has a form comes back the same, or as the dtype in which it is kept.
    #[test]
    fn round_trips() {
        for &dtype in DType::ALL.iter().filter(|d| d.is_plain()) {
            let shape = Shape::new(&[3, 2]).unwrap();
            let bytes: Vec<u8> = (0..6 * dtype.size()).map(|i| u8::try_from(i % 2).unwrap()).collect();
            let tensor = Tensor::from_bytes(dtype, shape, bytes.clone().into(), None).unwrap();
            match to_vec(&tensor) {
                Ok(file) if dtype.name().starts_with("float8") || dtype == DType::Float4E2m1fn => {
                    assert!(from_reader(&file[..]).unwrap_err().contains("no dtype"), "{dtype}");
                }
                Ok(file) => {
                    let read = from_reader(&file[..]).unwrap();
                    assert_eq!((read.bytes(), read.shape()), (&bytes[..], tensor.shape()), "{dtype}");
                }
                Err(e) => panic!("{dtype}: {e}"),
            }
        }
        let scalar = back(&Tensor::scalar(2.5f64));
        assert_eq!(scalar.to_scalar::<f64>(), Ok(2.5));
        let empty = back(&Tensor::from_slice::<i32>(&[0, 4], &[]).unwrap());
        assert_eq!((empty.dtype(), empty.shape().dims()), (DType::Int32, &[0, 4][..]));
        assert_eq!(back(&Tensor::scalar(half::bf16::from_f32(1.5))).to_scalar(), Ok(half::bf16::from_f32(1.5)));
    }

    /// Strings are padded to the longest; none at all, and empty ones, work too.
    #[test]
    fn strings() {
        let words = vec![Str::from_static(b"one"), Str::new(), Str::from_static(b"three")];
        let tensor = Tensor::from_strings(Shape::new(&[3]).unwrap(), words.clone()).unwrap();
        assert_eq!(back(&tensor).strings().unwrap(), words);
        let none = Tensor::from_strings(Shape::new(&[0]).unwrap(), vec![]).unwrap();
        assert_eq!(back(&none).num_elements(), 0);
        let unicode: Vec<u8> = "hé".chars().flat_map(|c| u32::from(c).to_be_bytes()).collect();
        let read = from_reader(&file(">U2", "False", "(1,)", &unicode)[..]).unwrap();
        assert_eq!(read.strings().unwrap(), ["hé"]);
    }

    /// The other byte order and the other axis order are understood.
    #[test]
    fn orders() {
        let data: Vec<u8> = (0..6u16).flat_map(u16::to_be_bytes).collect();
        let read = from_reader(&file(">u2", "True", "(2, 3)", &data)[..]).unwrap();
        assert_eq!(read.as_slice::<u16>().unwrap(), [0, 2, 4, 1, 3, 5]);
    }

    /// Files that are none say so, and a header that promises much takes no memory.
    #[test]
    fn bad_files() {
        let huge = file("<f8", "False", "(1000000, 1000000)", &[0; 8]);
        for (bytes, said) in [
            (b"".to_vec(), "no .npy file"),
            (b"PK\x03\x04".to_vec(), "no .npy file"),
            (huge, "bytes"),
            (file("<f4", "False", "(3,)", &[0; 11]), "needs 12 bytes, the file holds 11"),
            (file("<M8[s]", "False", "(1,)", &[0; 8]), "no dtype"),
        ] {
            let error = from_reader(&bytes[..]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        assert!(to_vec(&Tensor::from_variants(Shape::scalar(), vec![Default::default()]).unwrap()).is_err());
    }
}
