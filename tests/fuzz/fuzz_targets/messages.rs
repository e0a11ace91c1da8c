//! Messages of the ten calls: scanned, decoded and converted; what was taken can be sent again and comes back the same.
//!
//! The first byte is the method, plus 16 for a response and 32 for payloads beside the message; the rest is the message.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use runstep::service::Method;
use runstep::tensor::Budget;
use runstep::wire::{
    Allowance, Encoded, Layout, Limits, decode_request, decode_response, encode_request, encode_response,
};

fuzz_target!(|data: &[u8]| {
    let Some((&first, message)) = data.split_first() else { return };
    let Some(method) = Method::from_number(first & 15) else { return };
    let layout = if first & 32 == 0 { Layout::Whole } else { Layout::Apart };
    let budget = Budget::new("fuzz", 1 << 23);
    let limits = Limits { decoded_bytes_max: 1 << 22, ..Limits::default() };
    let encoded = Encoded { message: Bytes::copy_from_slice(message), payloads: Vec::new() };
    if first & 16 == 0 {
        let Ok(request) = decode_request(method, encoded, layout, &allowed(limits, &budget)) else { return };
        let Ok(sent) = encode_request(&request, Layout::Apart) else { return };
        let Ok(again) = decode_request(method, sent.clone(), Layout::Apart, &generous(&limits)) else {
            panic!("what was taken is refused when it is sent on: {request:?}");
        };
        assert_eq!(encode_request(&again, Layout::Apart).as_ref(), Ok(&sent), "{request:?}");
    } else {
        let Ok(response) = decode_response(method, encoded, layout, &allowed(limits, &budget)) else { return };
        let Ok(sent) = encode_response(&response, Layout::Apart) else { return };
        let Ok(again) = decode_response(method, sent.clone(), Layout::Apart, &generous(&limits)) else {
            panic!("what was taken is refused when it is sent on: {response:?}");
        };
        assert_eq!(encode_response(&again, Layout::Apart).as_ref(), Ok(&sent), "{response:?}");
    }
});

fn allowed(limits: Limits, budget: &Budget) -> Allowance<'_> {
    Allowance { limits, budget: Some(budget) }
}

/// For what is known to fit.
fn generous(limits: &Limits) -> Allowance<'static> {
    Allowance { limits: Limits { decoded_bytes_max: 1 << 30, ..*limits }, budget: None }
}
