//! Durations and sizes as people write them.

use std::time::Duration;

/// A duration: seconds as a bare number, or parts such as `1d`, `2h30m`, `1.5s`, `500ms`.
///
/// # Errors
/// A text that says what is understood.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration; write seconds, or 1d, 2h30m, 500ms");
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<f64>() {
        return seconds_to_duration(seconds).ok_or_else(wrong);
    }
    let mut sum = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_number(rest).ok_or_else(wrong)?;
        let unit_len = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at_checked(unit_len).ok_or_else(wrong)?;
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" | "min" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return Err(wrong()),
        };
        sum += number * seconds;
        rest = next.trim_start();
    }
    if text.trim().is_empty() {
        return Err(wrong());
    }
    seconds_to_duration(sum).ok_or_else(wrong)
}

/// A number of bytes: a bare number, or one with `k`, `M`, `G`, `T` (powers of 1000) or `Ki`, `Mi`, `Gi`, `Ti` (powers of
/// 1024), with or without a `B` after it.
///
/// # Errors
/// A text that says what is understood.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let wrong = || format!("{text:?} is no number of bytes; write 1000000, 512MiB, 2GB");
    let (number, unit) = split_number(text.trim()).ok_or_else(wrong)?;
    let unit = unit.trim_start();
    let factor: f64 = match unit.strip_suffix('B').unwrap_or(unit) {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => 1024.0,
        "Mi" => 1_048_576.0,
        "Gi" => 1_073_741_824.0,
        "Ti" => 1_099_511_627_776.0,
        _ => return Err(wrong()),
    };
    let value = number * factor;
    // Beyond 2^53 the product is not exact, and no machine has as much.
    if value.is_finite() && value <= 9_007_199_254_740_992.0 { Ok(value as usize) } else { Err(wrong()) }
}

/// A number of bytes for people: three digits and a unit.
pub(crate) fn show_bytes(bytes: usize) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1e3;
        unit += 1;
    }
    let unit = units.get(unit).copied().unwrap_or("B");
    if unit == "B" || value >= 99.95 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

fn split_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest))
}

fn seconds_to_duration(seconds: f64) -> Option<Duration> {
    // A hundred years: beyond it a limit is none.
    (0.0..=3.2e9).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people write is understood; what is not says so.
    #[test]
    fn durations() {
        for (text, millis) in [
            ("0", 0),
            ("90", 90_000),
            ("1d", 86_400_000),
            ("2h30m", 9_000_000),
            ("1.5s", 1_500),
            ("1h 500ms", 3_600_500),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", " ", "d", "1x", "-1", "1e99", "nan", "1d-", "1.2.3s"] {
            assert!(duration(text).unwrap_err().contains("no duration"), "{text}");
        }
    }

    /// Sizes in both kinds of units, and back for people.
    #[test]
    fn sizes() {
        for (text, value) in [("0", 0), ("100", 100), ("1k", 1000), ("2 GB", 2_000_000_000), ("512MiB", 536_870_912)] {
            assert_eq!(bytes(text), Ok(value), "{text}");
        }
        for text in ["", "GB", "-1", "1e3", "1 elephant", "99999999999TB"] {
            assert!(bytes(text).unwrap_err().contains("no number of bytes"), "{text}");
        }
        for (value, text) in [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (123_456, "123 kB"), (999_600, "1.0 MB")] {
            assert_eq!(show_bytes(value), text);
        }
    }
}
