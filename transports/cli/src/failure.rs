//! Why the program ends without success: one line for people, and an exit code for scripts.

use std::fmt::{self, Display};
use std::process::ExitCode;

use runstep::Status;

/// A failure and whose it is.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Arguments that cannot be; exit code 2, as for arguments that do not parse.
    Usage(String),
    /// Everything else; exit code 1.
    Failed(String),
    /// Nobody reads what is printed any more; ends quietly.
    NoReader,
}

impl Failure {
    /// A failure at a file or an address.
    pub(crate) fn at(place: impl Display, what: impl Display) -> Failure {
        Failure::Failed(format!("{place}: {what}"))
    }

    /// The exit code of the process.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::FAILURE,
            Failure::NoReader => ExitCode::SUCCESS,
        }
    }

    /// What to print on stderr: one line, whatever a peer or a file put into it.
    pub(crate) fn line(&self) -> Option<String> {
        let text = match self {
            Failure::Usage(text) | Failure::Failed(text) => text,
            Failure::NoReader => return None,
        };
        Some(text.split(['\n', '\r']).map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; "))
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Failure {
        Failure::Failed(status.to_string())
    }
}

/// Of writing to stdout.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::NoReader,
            _ => Failure::Failed(format!("writing the output: {error}")),
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A failure is one line, and names the code of a status.
    #[test]
    fn one_line() {
        let failure = Failure::from(Status::not_found("no\nsuch\r\n\n thing"));
        assert_eq!(failure.to_string(), "NOT_FOUND: no; such; thing");
        assert!(Failure::NoReader.line().is_none());
    }
}
