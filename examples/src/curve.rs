//! A curve drawn with characters.

use std::fmt::Write as _;

const WIDTH: usize = 60;
const HEIGHT: usize = 8;
/// Eighths of a character's height.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Draws `values` from left to right, the means of neighbours where there are many; the scale is at the left.
pub fn draw(values: &[f32]) -> String {
    let columns: Vec<f32> = means(values);
    let most = columns.iter().copied().filter(|v| v.is_finite()).fold(f32::MIN_POSITIVE, f32::max);
    let mut out = String::new();
    for row in (0..HEIGHT).rev() {
        let label = match row {
            _ if row + 1 == HEIGHT => format!("{most:.2}"),
            0 => "0".to_owned(),
            _ => String::new(),
        };
        let _ = write!(out, "{label:>7} │");
        for value in &columns {
            let eighths = (value.clamp(0.0, most) / most * (HEIGHT * 8) as f32).round() as usize;
            let here = eighths.saturating_sub(row * 8).min(8);
            out.push(BARS.get(here).copied().unwrap_or(' '));
        }
        out.push('\n');
    }
    let width = columns.len();
    let steps = format!("{} steps", values.len());
    let _ = writeln!(out, "{:>7} └{}\n{steps:>end$}", "", "─".repeat(width), end = (9 + width).max(9 + steps.len()));
    out
}

fn means(values: &[f32]) -> Vec<f32> {
    let columns = values.len().min(WIDTH);
    let bounds = |i: usize| i * values.len() / columns.max(1);
    let mean = |part: &[f32]| part.iter().sum::<f32>() / part.len().max(1) as f32;
    (0..columns).map(|i| values.get(bounds(i)..bounds(i + 1)).map_or(0.0, mean)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first column is full, the last empty, and the picture has its size whatever the values.
    #[test]
    fn shape_of_the_picture() {
        let falling: Vec<f32> = (0..120).map(|i| 2.0 - i as f32 / 60.0).collect();
        let text = draw(&falling);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), HEIGHT + 2);
        assert!(lines[0].starts_with("   1.99 │█"), "{text}");
        assert!(lines.iter().take(HEIGHT).all(|l| l.chars().count() == 9 + WIDTH));
        assert!(lines[HEIGHT + 1].ends_with("120 steps"));
        for odd in [&[][..], &[f32::NAN], &[0.0, 0.0], &[f32::INFINITY, 1.0], &[-1.0]] {
            assert_eq!(draw(odd).lines().count(), HEIGHT + 2);
        }
    }
}
