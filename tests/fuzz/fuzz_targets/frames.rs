//! A peer's bytes as a transport reads them: prefixes, headers and bodies of several calls, and the messages in them.
#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use runstep::Status;
use runstep::service::Method;
use runstep::service::frame::{Assembly, Header, Kind, Limits, Outgoing, PREFIX_LEN, Prefix};
use runstep::tensor::Budget;
use runstep::wire::{Layout, decode_request, decode_response};

fuzz_target!(|data: &[u8]| {
    let mut limits = Limits::default();
    limits.frame_len_max = 1 << 20;
    limits.message_len_max = 1 << 18;
    limits.decoded_len_max = 1 << 22;
    limits.payload_len_max = 1 << 20;
    limits.bytes_in_flight_per_peer_max = 1 << 23;
    let budget = limits.budget();
    // Whatever stops the reading ends the connection.
    let _ = read(data, &limits, &budget);
    assert_eq!(budget.used(), 0, "bytes that nobody holds are still charged");
});

fn read(mut rest: &[u8], limits: &Limits, budget: &Budget) -> Option<()> {
    let mut arriving: HashMap<u64, (u8, bool, Assembly)> = HashMap::new();
    loop {
        let (prefix, after) = rest.split_first_chunk::<PREFIX_LEN>()?;
        let prefix = Prefix::parse(prefix, limits).ok()?;
        let (header, after) = after.split_at_checked(prefix.header_len)?;
        let header = Header::parse(header).ok()?;
        let again = header.to_bytes(prefix.body_len).ok()?;
        let (_, again) = again.split_at_checked(PREFIX_LEN)?;
        assert_eq!(Header::parse(again).as_ref(), Ok(&header), "a header comes back as it was");
        let body_len = usize::try_from(prefix.body_len).ok()?.min(after.len());
        let (body, after) = after.split_at_checked(body_len)?;
        rest = after;
        let (method, is_request, mut assembly) = match header.kind {
            Kind::Request { method, parts, .. } => (method, true, Assembly::new(&parts, limits, budget).ok()?),
            Kind::Reply { method, parts } => (method, false, Assembly::new(&parts, limits, budget).ok()?),
            Kind::More => arriving.remove(&header.call)?,
            Kind::Error(wrong) => {
                let status = Status::from(wrong);
                drop(Outgoing::error(header.call, &status));
                continue;
            }
            Kind::Cancel => {
                arriving.remove(&header.call);
                continue;
            }
            Kind::Ping | Kind::Pong | Kind::Goodbye => continue,
        };
        let fed = assembly.feed(body).ok()?;
        if fed < body.len() {
            return None;
        }
        if assembly.left() > 0 {
            arriving.insert(header.call, (method, is_request, assembly));
            continue;
        }
        let assembled = assembly.finish().ok()?;
        let allowed = limits.allowance(budget);
        let method = Method::from_number(method)?;
        match is_request {
            true => drop(decode_request(method, assembled.encoded, Layout::Apart, &allowed)),
            false => drop(decode_response(method, assembled.encoded, Layout::Apart, &allowed)),
        }
    }
}
