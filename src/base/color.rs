//! Colours: reading them, and palettes by number and by share.

/// Red, green and blue, 0 to 255.
pub type Rgb = [u8; 3];

/// Reads `#rrggbb`.
pub fn parse_color(text: &str) -> Option<Rgb> {
    let hex = text.strip_prefix('#').filter(|hex| hex.len() == 6 && hex.is_ascii())?;
    let channel = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).ok();
    Some([channel(0)?, channel(2)?, channel(4)?])
}

/// A colour that differs clearly from those of neighbouring numbers.
pub fn color_by_number(number: u32) -> Rgb {
    // The golden ratio spreads hues evenly however many numbers there are.
    let hue = (f64::from(number) * 0.618_033_988_749_895).fract();
    hsv(hue, 0.62, 0.93)
}

/// Blue for slow over green and yellow to red for fast; `share` from 0 to 1.
pub fn color_by_share(share: f64) -> Rgb {
    hsv(0.66 * (1.0 - share.clamp(0.0, 1.0)), 0.75, 0.95)
}

fn hsv(hue: f64, saturation: f64, value: f64) -> Rgb {
    let channel = |offset: f64| {
        let k = (offset + hue * 6.0) % 6.0;
        let c = value - value * saturation * k.min(4.0 - k).clamp(0.0, 1.0);
        (c * 255.0).round() as u8
    };
    [channel(5.0), channel(3.0), channel(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_as_written() {
        assert_eq!(parse_color("#ff8000"), Some([255, 128, 0]));
        for wrong in ["ff8000", "#ff80", "#gg0000", "#ff80001", "#é8000"] {
            assert_eq!(parse_color(wrong), None, "{wrong}");
        }
    }
}
