//! What a tensor that goes from one device to another is called within a step.
//!
//! A key is `SOURCE;INCARNATION;DESTINATION;NAME;FRAME:ITERATION`: full device names, the source device's incarnation as
//! 16 lower-case hexadecimal digits, the tensor's name, and the loop frame and iteration in decimal (`0:0` outside
//! loops). The format is TensorFlow's (`rendezvous.cc`, `sendrecv_ops.cc`), whose workers exchange these strings.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::Status;
use crate::device::DeviceSpec;

/// A path that tensors take from a device to another: a key without frame and iteration. Made once, shared by all keys.
#[derive(Clone, Debug)]
pub struct Route(Arc<RouteParts>);

#[derive(Debug)]
struct RouteParts {
    /// `SOURCE;INCARNATION;DESTINATION;NAME`.
    text: String,
    source: DeviceSpec,
    incarnation: u64,
    destination: DeviceSpec,
    /// Where the name begins in the text.
    name: usize,
    hash: u64,
}

/// The name of one tensor within a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    route: Route,
    frame: u64,
    iteration: u64,
}

impl Route {
    /// The route of the tensor `name` from a device, of which `incarnation` tells whether it restarted, to another.
    ///
    /// # Errors
    /// INVALID_ARGUMENT when a device is not a full name, or the name is empty or contains a semicolon.
    pub fn new(source: &str, incarnation: u64, destination: &str, name: &str) -> Result<Route, Status> {
        let wrong = |what: &str, text: &str| {
            let shown = text.get(..text.floor_char_boundary(256)).unwrap_or_default();
            Err(Status::invalid_argument(format_args!("Invalid rendezvous key: {what} '{}'", shown.escape_debug())))
        };
        let device = |text: &str| DeviceSpec::parse(text).filter(DeviceSpec::is_full);
        let Some(source_spec) = device(source) else { return wrong("source device", source) };
        let Some(destination_spec) = device(destination) else { return wrong("destination device", destination) };
        if name.is_empty() || name.contains(';') {
            return wrong("tensor name", name);
        }
        let text = format!("{source};{incarnation:016x};{destination};{name}");
        // FNV-1a (Fowler, Noll, Vo; public domain), 64 bits: computed once a route.
        let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let hash = text.as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, fnv);
        Ok(Route(Arc::new(RouteParts {
            name: text.len() - name.len(),
            text,
            source: source_spec,
            incarnation,
            destination: destination_spec,
            hash,
        })))
    }

    /// The key of the tensor in an iteration of a frame.
    pub fn at(&self, frame: u64, iteration: u64) -> Key {
        Key { route: self.clone(), frame, iteration }
    }

    /// The device that sends.
    pub fn source(&self) -> &DeviceSpec {
        &self.0.source
    }

    /// The incarnation that the sending device must have.
    pub fn incarnation(&self) -> u64 {
        self.0.incarnation
    }

    /// The device that receives.
    pub fn destination(&self) -> &DeviceSpec {
        &self.0.destination
    }

    /// The tensor's name.
    pub fn name(&self) -> &str {
        self.0.text.get(self.0.name..).unwrap_or_default()
    }
}

impl PartialEq for Route {
    fn eq(&self, other: &Route) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || (self.0.hash == other.0.hash && self.0.text == other.0.text)
    }
}

impl Eq for Route {}

impl Key {
    /// Reads a key.
    ///
    /// # Errors
    /// INVALID_ARGUMENT unless the text is five parts separated by semicolons, none of them empty, of the right form.
    pub fn parse(text: &str) -> Result<Key, Status> {
        let wrong = || {
            let shown = text.get(..text.floor_char_boundary(256)).unwrap_or_default();
            Status::invalid_argument(format_args!("Invalid rendezvous key: {}", shown.escape_debug()))
        };
        let mut parts = text.split(';');
        let mut next = || parts.next().filter(|part| !part.is_empty()).ok_or_else(wrong);
        let (source, incarnation, destination, name, place) = (next()?, next()?, next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(wrong());
        }
        let hexadecimal = incarnation.len() == 16 && incarnation.bytes().all(|b| b.is_ascii_hexdigit());
        let incarnation = hexadecimal.then(|| u64::from_str_radix(incarnation, 16).ok()).flatten().ok_or_else(wrong)?;
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let (frame, iteration) = place.split_once(':').ok_or_else(wrong)?;
        let (frame, iteration) = number(frame).zip(number(iteration)).ok_or_else(wrong)?;
        Ok(Route::new(source, incarnation, destination, name)?.at(frame, iteration))
    }

    /// The path that the tensor takes.
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// The number of the loop frame, 0 outside loops.
    pub fn frame(&self) -> u64 {
        self.frame
    }

    /// The iteration within the frame.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{};{}:{}", self.route.0.text, self.frame, self.iteration)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.route.0.hash, self.frame, self.iteration).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::string::ToString;

    const KEY: &str = "/job:ps/replica:0/task:1/device:CPU:0;00000000deadbeef;/job:w/replica:0/task:0/device:CPU:1;\
                       edge_5_a/b;9916786729512995348:3";

    /// A key reads and prints as TensorFlow writes it.
    #[test]
    fn round_trip() {
        let key = Key::parse(KEY).unwrap();
        assert_eq!(key.to_string(), KEY);
        assert_eq!((key.route().incarnation(), key.frame(), key.iteration()), (0xdead_beef, 9916786729512995348, 3));
        assert_eq!(key.route().name(), "edge_5_a/b");
        assert_eq!(key.route().source(), &DeviceSpec::cpu("ps", 1, 0));
        assert_eq!(key.route().destination(), &DeviceSpec::cpu("w", 0, 1));
        assert_eq!(key, Key::parse(KEY).unwrap());
        assert_ne!(key, key.route().at(0, 0));
    }

    /// Whatever is not a key is refused, with the key in the text.
    #[test]
    fn malformed() {
        let parts: alloc::vec::Vec<&str> = KEY.split(';').collect();
        let replaced = |at: usize, by: &str| {
            let mut parts = parts.clone();
            parts[at] = by;
            parts.join(";")
        };
        let mut cases = alloc::vec![
            String::new(),
            ";;;;".into(),
            parts[..4].join(";"),
            format!("{KEY};"),
            format!("{KEY};x"),
            replaced(1, "deadbeef"),
            replaced(1, "+0000000deadbeef"),
            replaced(1, "00000000deadbeeg"),
            replaced(4, "0"),
            replaced(4, "0:"),
            replaced(4, "-1:0"),
            replaced(4, "+1:0"),
            replaced(4, "0:18446744073709551616"),
            replaced(4, "0:0:0"),
            replaced(0, "/job:ps/device:CPU:0"),
            replaced(2, "CPU:0"),
        ];
        cases.extend((0..5).map(|at| replaced(at, "")));
        for text in cases {
            let error = Key::parse(&text).unwrap_err();
            assert_eq!(error.code(), Code::InvalidArgument, "{text}");
            assert!(error.message().contains("rendezvous key"), "{text}: {}", error.message());
        }
        let long = "é".repeat(1000);
        assert!(Key::parse(&long).unwrap_err().message().len() < 600);
    }
}
