//! Plots as SVG: lines with their spread, ranges to compare with, and stacked bars.

use std::fmt::Write;

use super::sheet::escape;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 55.0;

/// Colours that can be distinguished with any kind of colour vision.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f3b08", "#444444"];

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Measured: a line with points.
    Line,
    /// Projected: a dashed line.
    Dashed,
    /// Published: bars from least to greatest.
    Range,
}

/// A value with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Horizontal coordinate.
    pub x: f64,
    /// Vertical coordinate: the median.
    pub y: f64,
    /// The least measured.
    pub low: f64,
    /// The greatest measured.
    pub high: f64,
}

/// Values that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Label in the legend.
    pub name: String,
    /// How the series is drawn.
    pub style: Style,
    /// Points of the series, in order.
    pub points: Vec<Point>,
}

/// Content of a plot.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Lines(Vec<Series>),
    /// Names of the bars, and the parts of each with their share.
    Bars {
        bars: Vec<String>,
        parts: Vec<(String, Vec<f64>)>,
    },
}

/// A plot with title and axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    title: String,
    x: String,
    y: String,
    is_log: (bool, bool),
    kind: Kind,
}

impl Plot {
    /// Lines over a linear plane.
    pub fn lines(title: &str, x: &str, y: &str) -> Self {
        let kind = Kind::Lines(Vec::new());
        Plot { title: title.into(), x: x.into(), y: y.into(), is_log: (false, false), kind }
    }

    /// Bars of parts that add up to one.
    pub fn bars(title: &str, bars: Vec<String>, parts: Vec<(String, Vec<f64>)>) -> Self {
        let kind = Kind::Bars { bars, parts };
        Plot {
            title: title.into(),
            x: String::new(),
            y: "share of time".into(),
            is_log: (false, false),
            kind,
        }
    }

    /// The same with logarithmic axes.
    pub fn log(mut self, x: bool, y: bool) -> Self {
        self.is_log = (x, y);
        self
    }

    /// One more series. Bars take none.
    pub fn add(&mut self, name: &str, style: Style, points: Vec<Point>) {
        if let Kind::Lines(series) = &mut self.kind {
            series.push(Series { name: name.into(), style, points });
        }
    }

    /// The plot as an SVG element.
    pub fn svg(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"system-ui,sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
        );
        text(&mut out, (WIDTH - RIGHT + LEFT) / 2.0, 22.0, "middle", &self.title, 15);
        match &self.kind {
            Kind::Lines(series) => self.draw_lines(&mut out, series),
            Kind::Bars { bars, parts } => draw_bars(&mut out, bars, parts),
        }
        text(&mut out, (WIDTH - RIGHT + LEFT) / 2.0, HEIGHT - 12.0, "middle", &self.x, 12);
        let middle = (TOP + HEIGHT - BOTTOM) / 2.0;
        let _ = writeln!(
            out,
            "<text x=\"16\" y=\"{middle}\" text-anchor=\"middle\" transform=\"rotate(-90 16 {middle})\">{}</text>",
            escape(&self.y)
        );
        out.push_str("</svg>\n");
        out
    }

    fn draw_lines(&self, out: &mut String, series: &[Series]) {
        let points = || series.iter().flat_map(|series| &series.points);
        let x = Axis::over(points().map(|p| p.x), self.is_log.0, (LEFT, WIDTH - RIGHT));
        let y =
            Axis::over(points().flat_map(|p| [p.low, p.high, p.y]), self.is_log.1, (HEIGHT - BOTTOM, TOP));
        grid(out, &x, &y);
        for (at, series) in series.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let dash = if series.style == Style::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let mut path = String::new();
            for p in series.points.iter().filter(|p| p.x.is_finite() && p.y.is_finite()) {
                let (px, py) = (x.at(p.x), y.at(p.y));
                let _ = write!(path, "{}{px:.1} {py:.1}", if path.is_empty() { "M" } else { "L" });
                let (low, high) = (y.at(p.low), y.at(p.high));
                let width = if series.style == Style::Range { 7.0 } else { 1.2 };
                let _ = writeln!(
                    out,
                    "<line x1=\"{px:.1}\" y1=\"{low:.1}\" x2=\"{px:.1}\" y2=\"{high:.1}\" stroke=\"{colour}\" \
                     stroke-width=\"{width}\" stroke-linecap=\"round\" opacity=\"0.6\"/>"
                );
                if series.style != Style::Dashed {
                    let _ =
                        writeln!(out, "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3\" fill=\"{colour}\"/>");
                }
            }
            if series.style != Style::Range {
                let _ = writeln!(
                    out,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\"{dash}/>"
                );
            }
            legend(out, at, &series.name, colour, dash);
        }
    }
}

/// A scale along a line of pixels.
struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
    pixels: (f64, f64),
}

impl Axis {
    fn over(values: impl Iterator<Item = f64>, is_log: bool, pixels: (f64, f64)) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!is_log || *value > 0.0)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (1.0, 10.0);
        }
        if is_log {
            low = libm::exp10(libm::log10(low).floor());
            high = libm::exp10(libm::log10(high).ceil()).max(low * 10.0);
        } else {
            low = low.min(0.0);
            high = if high > low { high * 1.05 } else { low + 1.0 };
        }
        Axis { low, high, is_log, pixels }
    }

    fn share(&self, value: f64) -> f64 {
        if self.is_log {
            let value = libm::log10(value.max(self.low));
            (value - libm::log10(self.low)) / (libm::log10(self.high) - libm::log10(self.low))
        } else {
            (value - self.low) / (self.high - self.low)
        }
    }

    fn at(&self, value: f64) -> f64 {
        self.pixels.0 + self.share(value).clamp(0.0, 1.0) * (self.pixels.1 - self.pixels.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let (first, last) = (libm::log10(self.low).round() as i32, libm::log10(self.high).round() as i32);
            return (first..=last).map(|power| libm::exp10(f64::from(power))).collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let power = libm::exp10(libm::log10(rough).floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|n| n * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let count = ((self.high - self.low) / step).floor() as i32;
        (0..=count).map(|n| self.low + f64::from(n) * step).collect()
    }
}

fn grid(out: &mut String, x: &Axis, y: &Axis) {
    for tick in y.ticks() {
        let at = y.at(tick);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>",
            WIDTH - RIGHT
        );
        text(out, LEFT - 8.0, at + 4.0, "end", &number(tick), 12);
    }
    for tick in x.ticks() {
        let at = x.at(tick);
        let bottom = HEIGHT - BOTTOM;
        let _ = writeln!(
            out,
            "<line x1=\"{at:.1}\" y1=\"{bottom}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#888\"/>",
            bottom + 5.0
        );
        text(out, at, bottom + 19.0, "middle", &number(tick), 12);
    }
}

fn draw_bars(out: &mut String, bars: &[String], parts: &[(String, Vec<f64>)]) {
    let width = (WIDTH - RIGHT - LEFT) / bars.len().max(1) as f64;
    let y = Axis { low: 0.0, high: 1.0, is_log: false, pixels: (HEIGHT - BOTTOM, TOP) };
    for tick in [0.0, 0.25, 0.5, 0.75, 1.0] {
        text(out, LEFT - 8.0, y.at(tick) + 4.0, "end", &format!("{:.0} %", tick * 100.0), 12);
    }
    for (at, name) in bars.iter().enumerate() {
        let left = LEFT + width * (at as f64 + 0.15);
        let mut sum = 0.0;
        for (part, (_, shares)) in parts.iter().enumerate() {
            let share = shares.get(at).copied().filter(|share| share.is_finite()).unwrap_or(0.0);
            let (bottom, top) = (y.at(sum), y.at(sum + share));
            let colour = COLOURS[part % COLOURS.len()];
            let _ = writeln!(
                out,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                width * 0.7,
                (bottom - top).max(0.0)
            );
            sum += share;
        }
        text(out, left + width * 0.35, HEIGHT - BOTTOM + 19.0, "middle", name, 12);
    }
    for (at, (name, _)) in parts.iter().enumerate() {
        legend(out, at, name, COLOURS[at % COLOURS.len()], "");
    }
}

fn legend(out: &mut String, row: usize, name: &str, colour: &str, dash: &str) {
    let (x, y) = (WIDTH - RIGHT + 14.0, TOP + 10.0 + 19.0 * row as f64);
    let _ = writeln!(
        out,
        "<line x1=\"{x}\" y1=\"{y}\" x2=\"{}\" y2=\"{y}\" stroke=\"{colour}\" stroke-width=\"3\"{dash}/>",
        x + 20.0
    );
    text(out, x + 26.0, y + 4.0, "start", name, 11);
}

fn text(out: &mut String, x: f64, y: f64, anchor: &str, words: &str, size: u32) {
    let _ = writeln!(
        out,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{}</text>",
        escape(words)
    );
}

fn number(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.0e}");
    }
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Point {
        Point { x, y, low: y, high: y }
    }

    #[test]
    fn all_points_lie_inside_the_plot() {
        let mut plot = Plot::lines("a < b", "x", "y").log(true, true);
        plot.add("measured", Style::Line, vec![point(1.0, 0.003), point(64.0, 12.0), point(f64::NAN, 1.0)]);
        plot.add("projected", Style::Dashed, vec![point(1.0, 1.0)]);
        let svg = plot.svg();
        assert!(svg.contains("a &lt; b") && svg.contains("stroke-dasharray"), "{svg}");
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        for part in svg.split("cx=\"").skip(1) {
            let x: f64 = part.split('"').next().unwrap().parse().unwrap();
            assert!((LEFT..=WIDTH - RIGHT).contains(&x), "{x}");
        }
    }

    #[test]
    fn plots_of_no_values_and_of_equal_values_are_valid() {
        for points in [vec![], vec![point(0.0, 0.0)], vec![point(2.0, 5.0), point(2.0, 5.0)]] {
            let mut plot = Plot::lines("t", "x", "y");
            plot.add("s", Style::Line, points);
            let svg = plot.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        let bars =
            Plot::bars("t", vec!["1".into()], vec![("a".into(), vec![0.4]), ("b".into(), vec![f64::NAN])]);
        assert!(!bars.svg().contains("NaN"));
    }

    #[test]
    fn ticks_are_round() {
        let axis = Axis::over([0.0, 6.5].into_iter(), false, (0.0, 1.0));
        assert_eq!(axis.ticks(), [0.0, 2.0, 4.0, 6.0]);
        let axis = Axis::over([3.0, 700.0].into_iter(), true, (0.0, 1.0));
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
    }
}
