//! Device names, the constraints that nodes put on them, and what a device says of itself; plain values.
//!
//! A full name is `/job:J/replica:R/task:T/device:TYPE:ID`. A constraint ([`DeviceSpec`]) is the same with any part
//! absent. The old spellings `/cpu:0` and `/gpu:*` are read as `/device:CPU:0` and `/device:GPU:*`.

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

use crate::Status;

/// What a device tells about itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceAttributes {
    /// The full name, for example `/job:worker/replica:0/task:0/device:CPU:0`.
    pub name: String,
    /// The type, for example `CPU`.
    pub device_type: String,
    /// Memory in bytes that the device says it has.
    pub memory_limit: i64,
    /// A number that changes whenever the device's process starts anew; never 0.
    pub incarnation: u64,
}

/// A device name of which parts may be absent, which means: any.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceSpec {
    /// The job.
    pub job: Option<Arc<str>>,
    /// The replica; always 0 in what servers offer.
    pub replica: Option<u32>,
    /// The task of the job.
    pub task: Option<u32>,
    /// The type, for example `CPU`.
    pub device_type: Option<Arc<str>>,
    /// Which device of the type.
    pub id: Option<u32>,
}

impl DeviceSpec {
    /// The full name of a CPU device of a task.
    pub fn cpu(job: &str, task: u32, id: u32) -> DeviceSpec {
        DeviceSpec {
            job: Some(job.into()),
            replica: Some(0),
            task: Some(task),
            device_type: Some("CPU".into()),
            id: Some(id),
        }
    }

    /// Reads a full or partial name. `None` when anything is left over; the empty string and `/` constrain nothing.
    ///
    /// ```
    /// use runstep::device::DeviceSpec;
    ///
    /// let spec = DeviceSpec::parse("/job:worker/task:1/cpu:0").unwrap();
    /// assert_eq!(spec.to_string(), "/job:worker/task:1/device:CPU:0");
    /// ```
    pub fn parse(text: &str) -> Option<DeviceSpec> {
        let mut spec = DeviceSpec::default();
        if text == "/" {
            return Some(spec);
        }
        let mut rest = text;
        while !rest.is_empty() {
            let (key, value) = rest.strip_prefix('/')?.split_once(':')?;
            rest = match key {
                "job" => word(value, &mut spec.job)?,
                "replica" => number(value, &mut spec.replica)?,
                "task" => number(value, &mut spec.task)?,
                "device" => {
                    let rest = word(value, &mut spec.device_type)?;
                    match rest.strip_prefix(':') {
                        Some(id) => number(id, &mut spec.id)?,
                        None => {
                            spec.id = None;
                            rest
                        }
                    }
                }
                "cpu" | "CPU" | "gpu" | "GPU" => {
                    spec.device_type = Some(if key.eq_ignore_ascii_case("cpu") { "CPU" } else { "GPU" }.into());
                    number(value, &mut spec.id)?
                }
                _ => return None,
            };
        }
        Some(spec)
    }

    /// Reads a name within a task, `CPU:0`. `None` for anything else.
    pub fn parse_local(text: &str) -> Option<DeviceSpec> {
        let mut spec = DeviceSpec::default();
        let rest = word(text, &mut spec.device_type)?.strip_prefix(':')?;
        let rest = number(rest, &mut spec.id)?;
        (rest.is_empty() && spec.device_type.is_some() && spec.id.is_some()).then_some(spec)
    }

    /// Whether every part is given.
    pub fn is_full(&self) -> bool {
        self.job.is_some()
            && self.replica.is_some()
            && self.task.is_some()
            && self.device_type.is_some()
            && self.id.is_some()
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == DeviceSpec::default()
    }

    /// Whether some device meets both this and `other`: no part that both have differs.
    pub fn is_compatible(&self, other: &DeviceSpec) -> bool {
        agree(&self.job, &other.job)
            && agree(&self.replica, &other.replica)
            && agree(&self.task, &other.task)
            && agree(&self.device_type, &other.device_type)
            && agree(&self.id, &other.id)
    }

    /// Whether the device of the full name `name` meets this.
    pub fn admits(&self, name: &DeviceSpec) -> bool {
        fn met<T: PartialEq>(wanted: &Option<T>, has: &Option<T>) -> bool {
            wanted.is_none() || wanted == has
        }
        met(&self.job, &name.job)
            && met(&self.replica, &name.replica)
            && met(&self.task, &name.task)
            && met(&self.device_type, &name.device_type)
            && met(&self.id, &name.id)
    }

    /// Both constraints in one. With `soft`, a conflict of type or id is solved by dropping type and id, or only the id.
    ///
    /// # Errors
    /// INVALID_ARGUMENT naming both for a conflict of job, replica or task, and without `soft` of type or id.
    pub fn merged(&self, other: &DeviceSpec, soft: bool) -> Result<DeviceSpec, Status> {
        let conflict = |part: &str| {
            Err(Status::invalid_argument(format_args!(
                "Cannot merge devices with incompatible {part}: '{self}' and '{other}'"
            )))
        };
        if !agree(&self.job, &other.job) {
            return conflict("jobs");
        }
        if !agree(&self.replica, &other.replica) {
            return conflict("replicas");
        }
        if !agree(&self.task, &other.task) {
            return conflict("tasks");
        }
        let mut merged = DeviceSpec {
            job: self.job.clone().or_else(|| other.job.clone()),
            replica: self.replica.or(other.replica),
            task: self.task.or(other.task),
            device_type: self.device_type.clone().or_else(|| other.device_type.clone()),
            id: self.id.or(other.id),
        };
        if !agree(&self.device_type, &other.device_type) {
            if !soft {
                return conflict("types");
            }
            merged.device_type = None;
            merged.id = None;
        } else if !agree(&self.id, &other.id) {
            if !soft {
                return conflict("ids");
            }
            merged.id = None;
        }
        Ok(merged)
    }

    /// This constraint made at least as narrow as `other`: parts that `other` has replace those here.
    #[must_use]
    pub fn narrowed_to(&self, other: &DeviceSpec) -> DeviceSpec {
        DeviceSpec {
            job: other.job.clone().or_else(|| self.job.clone()),
            replica: other.replica.or(self.replica),
            task: other.task.or(self.task),
            device_type: other.device_type.clone().or_else(|| self.device_type.clone()),
            id: other.id.or(self.id),
        }
    }

    /// The same task, any device.
    #[must_use]
    pub fn task_only(&self) -> DeviceSpec {
        DeviceSpec { device_type: None, id: None, ..self.clone() }
    }

    /// Whether two full names are of one task.
    pub fn is_same_task(&self, other: &DeviceSpec) -> bool {
        self.job == other.job && self.replica == other.replica && self.task == other.task
    }

    /// The name within the task, `CPU:0`; absent parts are `*`.
    pub fn local_name(&self) -> String {
        let device_type = self.device_type.as_deref().unwrap_or("*");
        match self.id {
            Some(id) => alloc::format!("{device_type}:{id}"),
            None => alloc::format!("{device_type}:*"),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(job) = &self.job {
            write!(f, "/job:{job}")?;
        }
        if let Some(replica) = self.replica {
            write!(f, "/replica:{replica}")?;
        }
        if let Some(task) = self.task {
            write!(f, "/task:{task}")?;
        }
        if self.device_type.is_some() || self.id.is_some() {
            write!(f, "/device:{}", self.local_name())?;
        }
        Ok(())
    }
}

fn agree<T: PartialEq>(a: &Option<T>, b: &Option<T>) -> bool {
    a.is_none() || b.is_none() || a == b
}

/// Takes a job or a type, or `*`, off the front; answers what follows.
fn word<'a>(text: &'a str, into: &mut Option<Arc<str>>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('*') {
        *into = None;
        return Some(rest);
    }
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    *into = Some(name.into());
    Some(rest)
}

/// Takes a number, or `*`, off the front; answers what follows.
fn number<'a>(text: &'a str, into: &mut Option<u32>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix('*') {
        *into = None;
        return Some(rest);
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *into = Some(digits.parse().ok()?);
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Code;
    use alloc::string::ToString;

    fn parse(text: &str) -> DeviceSpec {
        DeviceSpec::parse(text).unwrap()
    }

    /// Every spelling reads as the one that is printed.
    #[test]
    fn spellings() {
        let cases = [
            ("", ""),
            ("/", ""),
            ("/job:worker/replica:0/task:3/device:CPU:1", "/job:worker/replica:0/task:3/device:CPU:1"),
            ("/task:1/job:a", "/job:a/task:1"),
            ("/job:*/replica:*/task:*/device:*:*", ""),
            ("/cpu:0", "/device:CPU:0"),
            ("/CPU:0", "/device:CPU:0"),
            ("/gpu:2", "/device:GPU:2"),
            ("/GPU:*", "/device:GPU:*"),
            ("/device:CPU", "/device:CPU:*"),
            ("/device:*:3", "/device:*:3"),
            ("/device:cpu:0", "/device:cpu:0"),
            ("/job:a_9/cpu:1", "/job:a_9/device:CPU:1"),
            ("/device:GPU:1/job:a/device:CPU", "/job:a/device:CPU:*"),
        ];
        for (text, printed) in cases {
            assert_eq!(parse(text).to_string(), printed, "{text}");
            assert_eq!(parse(printed), parse(text), "{text}");
        }
    }

    /// Whatever is left over makes a name invalid.
    #[test]
    fn malformed() {
        let cases = [
            "nonsense",
            "//",
            "/job:",
            "/job:9",
            "/job:a b",
            "/task:x",
            "/task:-1",
            "/task:4294967296",
            "/cpu:",
            "/cpu",
            "/device:",
            "/device:CPU:0x",
            "/device:CPU:0/",
            "/job:a/",
            "/tpu:0",
            "CPU:0",
            "/job:é",
            "/replica:0task:1",
        ];
        for text in cases {
            assert_eq!(DeviceSpec::parse(text), None, "{text}");
        }
    }

    /// Names within a task.
    #[test]
    fn local_names() {
        assert_eq!(DeviceSpec::parse_local("CPU:0").unwrap().local_name(), "CPU:0");
        for text in ["", "CPU", "CPU:", "CPU:*", "*:0", "/CPU:0", "CPU:0:1", "0:0"] {
            assert_eq!(DeviceSpec::parse_local(text), None, "{text}");
        }
        let full = DeviceSpec::cpu("w", 2, 1);
        assert!(full.is_full() && full.to_string() == "/job:w/replica:0/task:2/device:CPU:1");
    }

    /// Tasks never give way; types and ids do with soft placement.
    #[test]
    fn merging() {
        let hard = Err(Code::InvalidArgument);
        let cases = [
            ("/job:a", "/task:1", Ok("/job:a/task:1"), Ok("/job:a/task:1")),
            ("/job:a", "/job:b", hard, hard),
            ("/replica:0", "/replica:1", hard, hard),
            ("/task:0/cpu:0", "/task:1/cpu:0", hard, hard),
            ("/task:0/cpu:0", "/task:0/gpu:0", hard, Ok("/task:0")),
            ("/cpu:0", "/cpu:1", hard, Ok("/device:CPU:*")),
            ("/cpu:0", "/device:CPU", Ok("/device:CPU:0"), Ok("/device:CPU:0")),
        ];
        for (a, b, without, with) in cases {
            for (soft, wanted) in [(false, without), (true, with)] {
                for (x, y) in [(a, b), (b, a)] {
                    let got = parse(x).merged(&parse(y), soft);
                    assert_eq!(
                        got.map(|s| s.to_string()).map_err(|e| e.code()),
                        wanted.map(ToString::to_string),
                        "{x} {y}"
                    );
                }
            }
        }
        assert!(parse("/cpu:0").is_compatible(&parse("/task:1")) && !parse("/cpu:0").is_compatible(&parse("/gpu:*")));
        assert!(
            parse("/cpu:0").admits(&DeviceSpec::cpu("w", 0, 0)) && !parse("/cpu:1").admits(&DeviceSpec::cpu("w", 0, 0))
        );
    }
}
