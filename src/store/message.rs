//! What regions tell each other. Everything in a message has a meaning in another address space.

use serde::{Deserialize, Serialize};

use crate::base::time::Tick;
use crate::physics::Flight;
use crate::physics::contact::PairCache;
use crate::physics::local_solver::GhostPart;
use crate::store::response::PairKey;

/// A message from one region to another about one body at one tick. It acts from the next tick on. A later message about
/// the same body and tick from the same region replaces it. [`Word::Parts`] are about many bodies: `body` has no meaning,
/// they act at an exchange of the tick, and later ones about the same tick and exchange replace them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Message {
    pub to: u8,
    pub from: u8,
    pub tick: Tick,
    pub body: u32,
    pub word: Word,
}

impl Message {
    /// The same with another number in it, if it has parts: what a region may say from a state that is wrong, until it
    /// knows better.
    pub fn mistaken(&self) -> Option<Message> {
        let mut mistaken = self.clone();
        let Word::Parts(_, parts) = &mut mistaken.word else { return None };
        parts.first_mut()?.1.velocity.v.y += 0.25;
        Some(mistaken)
    }
}

/// What a body publishes in one exchange.
pub(crate) type Part = (u32, GhostPart);

/// What is said of the body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// It has crossed into a cell that the receiver watches and did not watch before.
    Entered(Flight),
    /// It has a new flight, and its pairs keep this for the next tick. Counts more than [`Word::Entered`].
    Changed(Flight, Vec<(PairKey, PairCache)>),
    /// What was said is taken back: an antimessage.
    Cancelled,
    /// Bodies of the sender respond together with bodies of the receiver: what they publish in this exchange, in order of
    /// bodies.
    Parts(u32, Vec<Part>),
}

impl Word {
    /// The flight that is told.
    pub fn flight(&self) -> Option<&Flight> {
        match self {
            Word::Entered(flight) | Word::Changed(flight, _) => Some(flight),
            Word::Cancelled | Word::Parts(..) => None,
        }
    }

    /// Equal to the bit.
    pub fn same_bits(&self, other: &Word) -> bool {
        match (self, other) {
            (Word::Entered(a), Word::Entered(b)) => a.same_bits(b),
            (Word::Changed(a, of_a), Word::Changed(b, of_b)) => {
                let same = |(a, b): (&(PairKey, PairCache), &(PairKey, PairCache))| {
                    a.0 == b.0 && a.1.same_bits(&b.1)
                };
                a.same_bits(b) && of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(same)
            }
            (Word::Cancelled, Word::Cancelled) => true,
            (Word::Parts(a, of_a), Word::Parts(b, of_b)) => {
                let same = |(a, b): (&Part, &Part)| a.0 == b.0 && a.1.same_bits(&b.1);
                a == b && of_a.len() == of_b.len() && of_a.iter().zip(of_b).all(same)
            }
            (Word::Entered(_) | Word::Changed(..) | Word::Cancelled | Word::Parts(..), _) => false,
        }
    }
}
