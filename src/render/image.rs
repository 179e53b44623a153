//! Pictures in memory, their size limits, and PNG files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::base::color::Rgb;
use crate::render::RenderError;

/// The largest width and height, pixels.
pub(crate) const SIDE_MAX: u32 = 16_384;
/// The largest number of pixels.
pub(crate) const PIXELS_MAX: u64 = 64 * 1024 * 1024;

/// A picture: red, green and blue of each pixel, row by row from the top left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Image {
    /// A black picture.
    pub fn new(width: u32, height: u32) -> Result<Self, RenderError> {
        check_size(width, height)?;
        Ok(Image { width, height, pixels: vec![0; width as usize * height as usize * 3] })
    }

    /// Width, pixels.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height, pixels.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Red, green, blue of each pixel, row by row.
    pub fn bytes(&self) -> &[u8] {
        &self.pixels
    }

    /// The colour of a pixel, if there is one.
    pub fn pixel(&self, column: u32, row: u32) -> Option<Rgb> {
        let at = self.offset(column, row)?;
        Some([self.pixels[at], self.pixels[at + 1], self.pixels[at + 2]])
    }

    /// Writes a rectangle of `width` pixels a row; what is outside of the picture is dropped.
    pub(super) fn put(&mut self, left: u32, top: u32, width: u32, colors: &[Rgb]) {
        for (row, line) in (top..).zip(colors.chunks(width as usize)) {
            for (column, color) in (left..).zip(line) {
                if let Some(at) = self.offset(column, row) {
                    self.pixels[at..at + 3].copy_from_slice(color);
                }
            }
        }
    }

    fn offset(&self, column: u32, row: u32) -> Option<usize> {
        let inside = column < self.width && row < self.height;
        inside.then(|| (row as usize * self.width as usize + column as usize) * 3)
    }

    /// Writes a PNG file.
    pub fn write_png(&self, path: &Path) -> Result<(), RenderError> {
        let file = File::create(path).map_err(|error| RenderError::file(path, error))?;
        self.write_png_to(file, path)
    }

    /// Writes a PNG file anywhere; errors call it by `path`.
    pub fn write_png_to(&self, sink: impl Write, path: &Path) -> Result<(), RenderError> {
        let mut file = BufWriter::new(sink);
        self.encode_png(&mut file).map_err(|error| RenderError::file(path, error))?;
        file.flush().map_err(|error| RenderError::file(path, error))
    }

    fn encode_png(&self, file: &mut impl Write) -> Result<(), png::EncodingError> {
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::High);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()
    }
}

/// Rejects sizes out of range.
pub(super) fn check_size(width: u32, height: u32) -> Result<(), RenderError> {
    let side = 1..=SIDE_MAX;
    let pixels = u64::from(width) * u64::from(height);
    if side.contains(&width) && side.contains(&height) && pixels <= PIXELS_MAX {
        Ok(())
    } else {
        Err(RenderError::Size { width, height })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_limits_and_the_message_names_them() {
        for (width, height) in [(1, 1), (16_384, 1), (16_384, 4096), (8192, 8192)] {
            assert!(check_size(width, height).is_ok(), "{width}x{height}");
        }
        for (width, height) in [(0, 5), (5, 0), (16_385, 1), (1, u32::MAX), (16_384, 4097)] {
            let message = check_size(width, height).unwrap_err().to_string();
            assert!(message.contains("16384") && message.contains(&format!("{width}x{height}")), "{message}");
        }
    }

    #[test]
    fn what_is_put_outside_is_dropped() {
        let mut image = Image::new(3, 2).unwrap();
        image.put(2, 1, 2, &[[1, 2, 3]; 4]);
        assert_eq!(image.pixel(2, 1), Some([1, 2, 3]));
        assert_eq!(image.bytes().iter().filter(|b| **b != 0).count(), 3);
        assert_eq!(image.pixel(3, 1), None);
    }
}
