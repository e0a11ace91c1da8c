//! `runstep cert`: certificates for a quick start.

use std::fs;
use std::io::Write;
use std::path::Path;

use runstep_quic::{Authority, Identity};

use crate::args::Cert;
use crate::failure::Failure;

/// Makes an authority, a server's certificate for the names and a client's, and writes them with their keys.
///
/// # Errors
/// Names that no certificate can have; files that cannot be written. Files that exist are kept: a new authority would
/// make the certificates of the old one worthless.
pub(crate) fn cert(args: &Cert) -> Result<(), Failure> {
    let names: Vec<&str> = args.names.iter().map(String::as_str).collect();
    let authority = Authority::new("runstep quick start")?;
    let server = authority.issue(&names)?;
    let client = authority.issue(&["client"])?;
    fs::create_dir_all(&args.out).map_err(|e| Failure::at(args.out.display(), e))?;
    let mut stdout = std::io::stdout().lock();
    let mut save = |name: &str, text: &str, secret: bool| {
        let path = args.out.join(name);
        create(&path, text, secret).map_err(|e| Failure::at(path.display(), e))?;
        writeln!(stdout, "{}", path.display()).map_err(Failure::from)
    };
    save("ca.pem", authority.certificate_pem(), false)?;
    save("ca.key", authority.key_pem(), true)?;
    for (name, identity) in [("server", &server), ("client", &client)] {
        let (chain, key) = pem(identity)?;
        save(&format!("{name}.pem"), chain, false)?;
        save(&format!("{name}.key"), key, true)?;
    }
    Ok(())
}

fn pem(identity: &Identity) -> Result<(&str, &str), Failure> {
    identity.to_pem().ok_or_else(|| Failure::Failed("a certificate made here has no text".to_owned()))
}

/// A new file; a secret one is readable by its owner only.
fn create(path: &Path, text: &str, secret: bool) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, if secret { 0o600 } else { 0o644 });
    #[cfg(not(unix))]
    let _ = secret;
    options.open(path)?.write_all(text.as_bytes())
}
