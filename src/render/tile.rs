//! One tile of a picture: find what each pixel shows, gather its light, smooth the light, smooth the edges.
//!
//! Tiles know nothing of each other and use no random numbers, so a picture is the same however many
//! threads make it.

use crate::base::color::Rgb;
use crate::render::camera::View;
use crate::render::ray_scene::{Light, RayScene, Sight};
use crate::render::shade::{Color, Gamma, Paint};
use crate::render::solid::Ray;

/// Edge length of a tile, pixels.
pub(super) const TILE: u32 = 64;
/// Pixels around a tile that are needed to smooth it: two for light, one for edges.
const APRON: i64 = 3;
/// Neighbours on each side over which light is averaged: with half weight for the outermost, the average
/// covers each of the four by four patterns of rays exactly once.
const SMOOTH: i64 = 2;
/// Rays through a pixel on an edge, as offsets from its middle.
const EDGE_RAYS: [(f64, f64); 8] = [
    (-0.4375, 0.0625),
    (-0.3125, -0.3125),
    (-0.1875, 0.4375),
    (-0.0625, -0.0625),
    (0.0625, 0.3125),
    (0.1875, -0.4375),
    (0.3125, 0.1875),
    (0.4375, -0.1875),
];

/// What one pixel shows.
#[derive(Clone, Copy)]
struct Pixel {
    ray: Ray,
    sight: Option<Sight>,
    light: Light,
}

/// All that is needed to make the tiles of one picture.
pub(super) struct Painter<'a> {
    pub view: &'a View,
    pub ray_scene: &'a RayScene<'a>,
    pub paint: &'a Paint,
    pub gamma: &'a Gamma,
}

/// The pixels of a tile and its apron, row by row.
struct Grid {
    pixels: Vec<Pixel>,
    left: i64,
    top: i64,
    width: i64,
    height: i64,
}

impl Grid {
    fn at(&self, column: i64, row: i64) -> Option<&Pixel> {
        let (x, y) = (column - self.left, row - self.top);
        let inside = x >= 0 && y >= 0 && x < self.width && y < self.height;
        inside.then(|| &self.pixels[(y * self.width + x) as usize])
    }

    /// The pixels at most `reach` away in each direction, with their offsets.
    fn around(&self, column: i64, row: i64, reach: i64) -> impl Iterator<Item = (i64, i64, &Pixel)> {
        let offsets = (-reach..=reach).flat_map(move |y| (-reach..=reach).map(move |x| (x, y)));
        offsets.filter_map(move |(x, y)| Some((x, y, self.at(column + x, row + y)?)))
    }
}

impl Painter<'_> {
    /// The colours of the tile with its top left pixel at (`left`, `top`), row by row.
    pub fn tile(&self, left: u32, top: u32) -> Vec<Rgb> {
        let right = (left + TILE).min(self.view.width);
        let bottom = (top + TILE).min(self.view.height);
        let mut grid = self.look(left, top, right, bottom);
        self.gather_light(&mut grid);
        let mut colors = Vec::with_capacity(((right - left) * (bottom - top)) as usize);
        for row in top..bottom {
            for column in left..right {
                let color = self.pixel(&grid, i64::from(column), i64::from(row));
                colors.push(self.gamma.encode(&color, dither(column, row)));
            }
        }
        colors
    }

    fn look(&self, left: u32, top: u32, right: u32, bottom: u32) -> Grid {
        let first = |edge: u32| (i64::from(edge) - APRON).max(0);
        let last = |edge: u32, size: u32| (i64::from(edge) + APRON).min(i64::from(size));
        let (left, top) = (first(left), first(top));
        let (right, bottom) = (last(right, self.view.width), last(bottom, self.view.height));
        let mut pixels = Vec::with_capacity(((right - left) * (bottom - top)) as usize);
        for row in top..bottom {
            for column in left..right {
                let ray = self.view.ray(column as f64 + 0.5, row as f64 + 0.5);
                pixels.push(Pixel { ray, sight: self.ray_scene.look(&ray), light: Light::default() });
            }
        }
        Grid { pixels, left, top, width: right - left, height: bottom - top }
    }

    fn gather_light(&self, grid: &mut Grid) {
        for (index, pixel) in grid.pixels.iter_mut().enumerate() {
            let Some(sight) = &pixel.sight else { continue };
            let column = grid.left + index as i64 % grid.width;
            let row = grid.top + index as i64 / grid.width;
            let p = pixel.ray.at(sight.t);
            pixel.light = self.ray_scene.light(p, sight.normal, column as u32, row as u32);
        }
    }

    fn pixel(&self, grid: &Grid, column: i64, row: i64) -> Color {
        let Some(pixel) = grid.at(column, row) else { return Color::zeros() };
        let is_edge = grid.around(column, row, 1).any(|(_, _, other)| !alike(pixel, other));
        if !is_edge {
            let light = self.smooth_light(grid, column, row, pixel);
            return self.color(&pixel.ray, pixel.sight.as_ref(), light);
        }
        let sum: Color = EDGE_RAYS
            .iter()
            .map(|(x, y)| {
                let ray = self.view.ray(column as f64 + 0.5 + x, row as f64 + 0.5 + y);
                let sight = self.ray_scene.look(&ray);
                let light =
                    sight.map_or(Light::default(), |sight| self.light_near(grid, column, row, &ray, &sight));
                self.color(&ray, sight.as_ref(), light)
            })
            .sum();
        sum / EDGE_RAYS.len() as f64
    }

    /// The light at a point within a pixel: that of a neighbour on the same surface, if there is one.
    fn light_near(&self, grid: &Grid, column: i64, row: i64, ray: &Ray, sight: &Sight) -> Light {
        let alike = |pixel: &Pixel| {
            let other = pixel.sight.filter(|other| other.thing == sight.thing)?;
            Some(other.normal.dot(&sight.normal)).filter(|likeness| *likeness > 0.8)
        };
        let candidates =
            grid.around(column, row, 1).filter_map(|(x, y, pixel)| Some((alike(pixel)?, x, y, pixel)));
        match candidates.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((_, x, y, pixel)) => self.smooth_light(grid, column + x, row + y, pixel),
            None => self.ray_scene.light(ray.at(sight.t), sight.normal, column as u32, row as u32),
        }
    }

    /// The average light of the pixels around that show the same surface.
    fn smooth_light(&self, grid: &Grid, column: i64, row: i64, pixel: &Pixel) -> Light {
        let Some(sight) = &pixel.sight else { return Light::default() };
        let p = pixel.ray.at(sight.t);
        let depth_slack = 4.0 * sight.t * self.view.pixel_size();
        let (mut sum, mut weights) = (Light::default(), 0.0);
        for (x, y, other) in grid.around(column, row, SMOOTH) {
            let Some(seen) = &other.sight else { continue };
            let off_plane = (other.ray.at(seen.t) - p).dot(&sight.normal).abs();
            if seen.thing != sight.thing || seen.normal.dot(&sight.normal) < 0.85 || off_plane > depth_slack {
                continue;
            }
            let outer = |offset: i64| if offset.abs() == SMOOTH { 0.5 } else { 1.0 };
            let weight = outer(x) * outer(y);
            sum.sun += weight * other.light.sun;
            sum.sky += weight * other.light.sky;
            weights += weight;
        }
        if weights == 0.0 { pixel.light } else { Light { sun: sum.sun / weights, sky: sum.sky / weights } }
    }

    fn color(&self, ray: &Ray, sight: Option<&Sight>, light: Light) -> Color {
        match sight {
            Some(sight) => {
                self.paint.surface(self.ray_scene, ray, sight, light, sight.t * self.view.pixel_size())
            }
            None => self.paint.backdrop(&ray.dir),
        }
    }
}

/// Whether two pixels show the same smooth surface.
fn alike(a: &Pixel, b: &Pixel) -> bool {
    match (&a.sight, &b.sight) {
        (Some(a), Some(b)) => a.thing == b.thing && a.normal.dot(&b.normal) > 0.8,
        (None, None) => true,
        _ => false,
    }
}

/// Half a step of noise that depends on the position only.
fn dither(column: u32, row: u32) -> f32 {
    let noise = (0.067_110_56 * f64::from(column) + 0.005_837_15 * f64::from(row)).fract() * 52.982_918_9;
    (noise.fract() - 0.5) as f32
}
