//! A random case in one line: scene, tuning and order, to be drawn, shrunk, printed and read back.

use std::fmt;
use std::str::FromStr;

use anachron::internals::executor::single_thread::Order;
use anachron::internals::protocol::Stats;
use anachron::internals::runtime::shared::Tuning;
use anachron::internals::tvht::Lane;
use proptest::prelude::*;

use crate::random_scenes::{KINDS, Kind, scene};
use crate::same_bits::Reference;

/// Everything that defines a case.
#[derive(Clone, Debug)]
pub struct Recipe {
    pub kind: Kind,
    /// Seed of the scene.
    pub seed: u64,
    pub bodies: u32,
    /// Length of the run.
    pub ticks: u32,
    pub tuning: Tuning,
    pub order: Order,
}

impl Recipe {
    /// Runs the case by speculation and compares it with the reference.
    #[allow(dead_code)]
    pub fn check(&self) -> Result<Stats, String> {
        Reference::new(&scene(self.kind, self.seed, self.bodies, self.ticks))
            .compare(&self.tuning, self.order)
    }
}

/// Any recipe. It shrinks towards few bodies, few ticks and small numbers.
pub fn any_recipe() -> impl Strategy<Value = Recipe> {
    let scene = (prop::sample::select(&KINDS[..]), any::<u64>().no_shrink(), 2..=40u32, 1..=120u32);
    let window = prop_oneof![1..=4u64, 5..=40u64, 41..=200u64];
    let contact_window = prop::option::of(prop_oneof![Just(0u64), 1..=2u64, 3..=30u64]);
    let buckets = prop::sample::select(&[1u32, 7, 64, 4096][..]);
    let cells = prop_oneof![Just(0.5), 0.5..8.0];
    let order = prop_oneof![1 => Just(Order::Sensible), 1 => Just(Order::Twice), 4 => any::<u64>().no_shrink().prop_map(Order::Adversarial)];
    let tuning = (window, contact_window, buckets, cells, any::<bool>());
    (scene, tuning, order).prop_map(|(scene, tuning, order)| {
        let (kind, seed, bodies, ticks) = scene;
        let (window, contact_window, buckets, cell_scale, adaptive) = tuning;
        let tuning = Tuning {
            window_ticks: window,
            contact_window_ticks: contact_window,
            buckets,
            cell_scale,
            adaptive,
            history_ticks: 0,
            lane: Lane::Shared,
            ..Tuning::default()
        };
        Recipe { kind, seed, bodies, ticks, tuning, order }
    })
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recipe { kind, seed, bodies, ticks, tuning, order } = self;
        let Tuning {
            window_ticks: window,
            contact_window_ticks: contact_window,
            buckets,
            cell_scale,
            adaptive,
            ..
        } = tuning;
        let contact_window = contact_window.map_or("none".to_owned(), |ticks| ticks.to_string());
        write!(f, "{kind:?} {seed} {bodies} {ticks} {window} {contact_window} {buckets} {cell_scale:?} ")?;
        write!(f, "{adaptive} ")?;
        match order {
            Order::Sensible => f.write_str("sensible"),
            Order::Twice => f.write_str("twice"),
            Order::Adversarial(seed) => write!(f, "{seed}"),
        }
    }
}

impl FromStr for Recipe {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let word = |at: usize| words.get(at).copied().ok_or(format!("word {at} is missing"));
        let number = |at: usize| word(at)?.parse::<u64>().map_err(|error| format!("word {at}: {error}"));
        let kind = word(0)?;
        Ok(Recipe {
            kind: *KINDS.iter().find(|known| format!("{known:?}") == kind).ok_or("no such kind")?,
            seed: number(1)?,
            bodies: number(2)? as u32,
            ticks: number(3)? as u32,
            tuning: Tuning {
                window_ticks: number(4)?,
                contact_window_ticks: if word(5)? == "none" { None } else { Some(number(5)?) },
                buckets: number(6)? as u32,
                cell_scale: word(7)?.parse().map_err(|error| format!("word 7: {error}"))?,
                adaptive: word(8)? == "true",
                history_ticks: 0,
                lane: Lane::Shared,
                ..Tuning::default()
            },
            order: match word(9)? {
                "sensible" => Order::Sensible,
                "twice" => Order::Twice,
                _ => Order::Adversarial(number(9)?),
            },
        })
    }
}
