//! TensorProtos in every encoding are read as TensorFlow reads them; the cases are `golden/tensor_protos.txt`.

use runstep::Code;
use runstep::tensor::DType;
use runstep::wire::{self, Limits, TensorProto};

fn unhex(text: &str) -> Vec<u8> {
    let digits = if text == "-" { "" } else { text };
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// Elements equal TensorFlow's byte for byte, what it refuses is refused, and what we send is read the same again.
#[test]
fn tensors_are_read_as_tensorflow_reads_them() {
    let mut seen = 0;
    for line in include_str!("../golden/tensor_protos.txt").lines() {
        let [name, proto, result] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("a line of three: {line}") };
        let proto: TensorProto = wire::decode(unhex(proto).into(), &Limits::default()).expect(name);
        let tensor = wire::tensor_from_proto(&proto, None);
        seen += 1;
        if result == "invalid" {
            assert_eq!(tensor.map_err(|error| error.code()).err(), Some(Code::InvalidArgument), "{name}");
            continue;
        }
        let tensor = tensor.unwrap_or_else(|error| panic!("{name}: {error}"));
        let sent = wire::encode(&wire::tensor_to_proto(&tensor).expect(name));
        let again = wire::decode(sent, &Limits::default()).and_then(|proto| wire::tensor_from_proto(&proto, None));
        let again = again.unwrap_or_else(|error| panic!("{name}, sent: {error}"));
        assert_eq!((again.dtype(), again.shape()), (tensor.dtype(), tensor.shape()), "{name}");
        if tensor.dtype() == DType::String {
            let strings = tensor.strings().unwrap();
            let expected: Vec<_> = if strings.is_empty() { vec![] } else { result.split(',').map(unhex).collect() };
            assert_eq!(strings, expected, "{name}");
            assert_eq!(again.strings().unwrap(), strings, "{name}");
        } else {
            assert_eq!(tensor.bytes(), unhex(result), "{name}");
            assert_eq!(again.bytes(), tensor.bytes(), "{name}");
        }
    }
    assert!(seen > 200, "{seen} cases");
}
