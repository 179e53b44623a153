//! Reduces the colours of a picture to the few that a GIF frame may have.
//!
//! Colours are counted on a coarse grid, the grid is split where colours vary most, and the means are refined
//! by a few rounds of regrouping. A fixed pattern of small offsets hides the steps that remain, so that a
//! pixel's colour depends on its position and its own value only and does not flicker.

use rayon::prelude::*;

use crate::base::color::Rgb;

/// Bits per channel of the grid.
const BITS: u32 = 6;
const CELLS: usize = 1 << (3 * BITS);
/// Rounds of regrouping.
const ROUNDS: usize = 3;
/// Strength of the pattern of offsets, in steps of eight-bit colours.
const DITHER: i32 = 4;
/// The pattern: every number from 0 to 63, neighbours far apart.
const BAYER: [[i32; 8]; 8] = [
    [0, 32, 8, 40, 2, 34, 10, 42],
    [48, 16, 56, 24, 50, 18, 58, 26],
    [12, 44, 4, 36, 14, 46, 6, 38],
    [60, 28, 52, 20, 62, 30, 54, 22],
    [3, 35, 11, 43, 1, 33, 9, 41],
    [51, 19, 59, 27, 49, 17, 57, 25],
    [15, 47, 7, 39, 13, 45, 5, 37],
    [63, 31, 55, 23, 61, 29, 53, 21],
];

/// A colour that occurs, and how much it counts.
#[derive(Clone, Copy)]
struct Spot {
    color: [f32; 3],
    weight: f32,
}

/// A few colours that represent many.
pub(super) struct Palette {
    colors: Vec<Rgb>,
    /// Index of the nearest colour for each cell of the grid, computed on first use.
    nearest: Vec<Option<u8>>,
}

impl Palette {
    /// At most `size` (1 to 256) colours for these pixels.
    pub fn new(pixels: impl Iterator<Item = Rgb>, size: usize) -> Self {
        let spots = count(pixels);
        let mut means = split(spots.clone(), size);
        for _ in 0..ROUNDS {
            means = regroup(&spots, &means);
        }
        let colors = means.iter().map(|mean| mean.map(|c| c.round().clamp(0.0, 255.0) as u8)).collect();
        Palette { colors, nearest: vec![None; CELLS] }
    }

    /// Red, green and blue of all colours.
    pub fn bytes(&self) -> Vec<u8> {
        self.colors.concat()
    }

    /// The index of the colour that represents `color` at a pixel of the picture.
    pub fn index(&mut self, color: Rgb, column: u32, row: u32) -> u8 {
        let offset = (BAYER[(row % 8) as usize][(column % 8) as usize] * 2 - 63) * DITHER / 64;
        let color = color.map(|c| (i32::from(c) + offset).clamp(0, 255) as u8);
        self.nearest(color)
    }

    /// Mean square of the distance between these pixels and the colours that represent them.
    pub fn misfit(&mut self, pixels: impl Iterator<Item = Rgb>) -> f64 {
        let (mut sum, mut count) = (0u64, 0u64);
        for color in pixels {
            let index = self.nearest(color);
            let chosen = self.colors[usize::from(index)];
            sum += color.iter().zip(chosen).map(|(a, b)| u64::from(a.abs_diff(b)).pow(2)).sum::<u64>();
            count += 1;
        }
        sum as f64 / count.max(1) as f64
    }

    fn nearest(&mut self, color: Rgb) -> u8 {
        let cell = cell_of(color);
        if let Some(index) = self.nearest[cell] {
            return index;
        }
        let index = nearest(&self.colors, color);
        self.nearest[cell] = Some(index);
        index
    }
}

fn cell_of(color: Rgb) -> usize {
    color.iter().fold(0, |cell, c| cell << BITS | usize::from(c >> (8 - BITS)))
}

fn nearest(colors: &[Rgb], color: Rgb) -> u8 {
    // The middle of the cell, so that the result does not depend on which colour comes first.
    let middle = color.map(|c| i32::from(c >> (8 - BITS) << (8 - BITS)) + (1 << (7 - BITS)));
    let distance = |other: &Rgb| {
        (0..3).map(|k| (middle[k] - i32::from(other[k])) * (middle[k] - i32::from(other[k]))).sum::<i32>()
    };
    let best = colors.iter().enumerate().min_by_key(|(_, other)| distance(other));
    best.map_or(0, |(index, _)| index as u8)
}

/// The colours that occur, averaged within each cell of the grid.
fn count(pixels: impl Iterator<Item = Rgb>) -> Vec<Spot> {
    let mut sums = vec![[0u64; 4]; CELLS];
    for color in pixels {
        let sum = &mut sums[cell_of(color)];
        for k in 0..3 {
            sum[k] += u64::from(color[k]);
        }
        sum[3] += 1;
    }
    let spots = sums.iter().filter(|sum| sum[3] > 0).map(|sum| {
        let n = sum[3] as f32;
        // The root keeps large backgrounds from taking all colours.
        Spot { color: [sum[0] as f32 / n, sum[1] as f32 / n, sum[2] as f32 / n], weight: n.sqrt() }
    });
    spots.collect()
}

/// The mean of some spots, and the spread around it along each channel, times their weight.
fn spread(spots: &[Spot]) -> ([f32; 3], [f32; 3]) {
    let (mut weight, mut sum, mut squares) = (0.0, [0.0_f64; 3], [0.0_f64; 3]);
    for spot in spots {
        let w = f64::from(spot.weight);
        weight += w;
        for k in 0..3 {
            let c = f64::from(spot.color[k]);
            sum[k] += w * c;
            squares[k] += w * c * c;
        }
    }
    let mean = sum.map(|sum| sum / weight);
    let spread = std::array::from_fn(|k| (squares[k] - sum[k] * mean[k]).max(0.0) as f32);
    (mean.map(|c| c as f32), spread)
}

/// Splits the spots into at most `size` groups, always the one that varies most, and returns their means.
fn split(spots: Vec<Spot>, size: usize) -> Vec<[f32; 3]> {
    let measured = |spots: Vec<Spot>| {
        let (mean, spread) = spread(&spots);
        (spread.iter().sum::<f32>(), spots, mean, spread)
    };
    if spots.is_empty() {
        return vec![[0.0; 3]];
    }
    let mut groups = vec![measured(spots)];
    while groups.len() < size {
        let widest = groups.iter().enumerate().filter(|(_, group)| group.1.len() > 1);
        let Some((at, _)) = widest.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) else { break };
        let (_, spots, mean, spread) = groups.swap_remove(at);
        let axis = (0..3).max_by(|a, b| spread[*a].total_cmp(&spread[*b])).unwrap_or(0);
        let (low, high): (Vec<Spot>, Vec<Spot>) =
            spots.iter().partition(|spot| spot.color[axis] < mean[axis]);
        if low.is_empty() || high.is_empty() {
            // All the same to the last digit: nothing to split.
            groups.push((0.0, vec![spots[0]], mean, [0.0; 3]));
            continue;
        }
        groups.push(measured(low));
        groups.push(measured(high));
    }
    groups.into_iter().map(|(_, _, mean, _)| mean).collect()
}

/// Gives every spot to its nearest mean and returns the means of what each was given.
fn regroup(spots: &[Spot], means: &[[f32; 3]]) -> Vec<[f32; 3]> {
    let nearest: Vec<usize> = spots
        .par_iter()
        .map(|spot| {
            let distance = |mean: &[f32; 3]| {
                let d: [f32; 3] = std::array::from_fn(|k| mean[k] - spot.color[k]);
                d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
            };
            let mut best = (f32::INFINITY, 0);
            for (index, mean) in means.iter().enumerate() {
                let far = distance(mean);
                if far < best.0 {
                    best = (far, index);
                }
            }
            best.1
        })
        .collect();
    let mut sums = vec![[0.0_f64; 4]; means.len()];
    for (spot, index) in spots.iter().zip(nearest) {
        let [red, green, blue] = spot.color;
        for (sum, part) in sums[index].iter_mut().zip([red, green, blue, 1.0]) {
            *sum += f64::from(spot.weight * part);
        }
    }
    let mean = |(sum, old): (&[f64; 4], &[f32; 3])| match sum[3] > 0.0 {
        true => std::array::from_fn(|k| (sum[k] / sum[3]) as f32),
        false => *old,
    };
    sums.iter().zip(means).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pixels: &[Rgb], palette: &mut Palette) -> f64 {
        let colors = palette.colors.clone();
        let sum: f64 = pixels
            .iter()
            .map(|pixel| {
                let chosen = colors[usize::from(palette.index(*pixel, 3, 3))];
                (0..3).map(|k| f64::from(pixel[k].abs_diff(chosen[k]))).sum::<f64>() / 3.0
            })
            .sum();
        sum / pixels.len() as f64
    }

    #[test]
    fn few_colours_are_kept_as_they_are() {
        let pixels = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [250, 250, 250]];
        let mut palette = Palette::new(pixels.into_iter().cycle().take(1000), 255);
        assert_eq!(palette.colors.len(), 4);
        for pixel in pixels {
            let index = usize::from(palette.index(pixel, 0, 0));
            let near = palette.colors[index].iter().zip(pixel).all(|(a, b)| a.abs_diff(b) <= 1);
            assert!(near, "{pixel:?} became {:?}", palette.colors[index]);
        }
    }

    #[test]
    fn many_colours_are_met_closely() {
        let pixels: Vec<Rgb> = (0..40_000u32)
            .map(|i| {
                let (hue, shade) = (i % 200, i / 200);
                [(55 + hue) as u8, (shade + 20) as u8, (255 - hue / 2 - shade / 2) as u8]
            })
            .collect();
        let mut palette = Palette::new(pixels.iter().copied(), 255);
        assert!(palette.colors.len() <= 255);
        assert!(error(&pixels, &mut palette) < 7.0, "{}", error(&pixels, &mut palette));
        let mut coarse = Palette::new(pixels.iter().copied(), 16);
        assert!(error(&pixels, &mut coarse) > error(&pixels, &mut palette));
    }

    #[test]
    fn nothing_and_one_colour_have_a_palette() {
        assert_eq!(Palette::new(std::iter::empty(), 255).colors.len(), 1);
        assert_eq!(Palette::new([[7, 8, 9]].into_iter(), 255).colors, [[7, 8, 9]]);
    }
}
