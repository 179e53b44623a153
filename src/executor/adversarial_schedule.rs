//! An adversarial scheduler: chooses which of the possible actions comes next, by a seed.
//!
//! Channels or entities have ranks, and the action of the highest rank comes next; now and then all ranks change. If they
//! change with every action, any order can occur. If they change rarely, some entities starve while others run
//! far ahead, and then lost updates show. The seed decides how often ranks change, and what is ranked.

use crate::protocol::EntityId;

/// An action that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The oldest message of a channel is delivered.
    Deliver {
        /// The sender.
        from: EntityId,
        /// The receiver.
        to: EntityId,
        /// Whether it is an acknowledgement.
        is_ack: bool,
    },
    /// An entity is polled.
    Step(EntityId),
}

/// What is ranked: actions of one rank are favoured or starved together.
#[derive(Clone, Copy, Debug)]
enum Ranked {
    /// Every channel, and every entity that is polled.
    Each,
    /// Entities, with all messages to them.
    Receivers,
    /// Entities, with all messages from them.
    Senders,
    /// Kinds of actions: polls, acknowledgements, other messages.
    Kinds,
}

/// An adversarial scheduler.
#[derive(Clone, Debug)]
pub struct AdversarialSchedule {
    random: u64,
    /// Seed of the ranks until they change.
    ranks: u64,
    ranked: Ranked,
    /// Ranks change about once in `rank_actions` actions.
    rank_actions: u64,
}

impl AdversarialSchedule {
    /// The scheduler of this seed.
    pub fn new(seed: u64) -> Self {
        let random = stir(seed, 0x243f_6a88_85a3_08d3);
        let ranked = [Ranked::Each, Ranked::Each, Ranked::Receivers, Ranked::Senders, Ranked::Kinds];
        let rank_actions = [1, 1, 5, 30, 300];
        AdversarialSchedule {
            random,
            ranks: random,
            ranked: ranked[(random >> 20) as usize % ranked.len()],
            rank_actions: rank_actions[(random >> 40) as usize % rank_actions.len()],
        }
    }

    /// Chooses one of several actions. The order in which they are given does not matter.
    pub fn choose(&mut self, actions: impl Iterator<Item = Choice>) -> Option<Choice> {
        self.random = stir(self.random, 1);
        if self.random.is_multiple_of(self.rank_actions) {
            self.ranks = self.random;
        }
        actions.max_by_key(|action| self.rank(action))
    }

    /// The rank of an action, and a random number that decides among equal ranks.
    fn rank(&self, action: &Choice) -> (u64, u64) {
        let (group, each) = match *action {
            Choice::Deliver { from, to, is_ack } => {
                let each = u64::from(from.0) << 32 | u64::from(to.0);
                let group = match self.ranked {
                    Ranked::Each => each,
                    Ranked::Receivers => u64::from(to.0),
                    Ranked::Senders => u64::from(from.0),
                    Ranked::Kinds => u64::from(is_ack),
                };
                (group, each)
            }
            Choice::Step(id) => {
                let each = u64::from(id.0) << 32 | u64::from(id.0);
                let group = match self.ranked {
                    Ranked::Each => each,
                    Ranked::Receivers | Ranked::Senders => u64::from(id.0),
                    Ranked::Kinds => 2,
                };
                (group, each)
            }
        };
        (stir(self.ranks, group), stir(self.random, each))
    }
}

/// Mixes two numbers well.
pub(super) fn stir(a: u64, b: u64) -> u64 {
    let mut z = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the seed, nothing waits for ever: every one of a few actions is chosen at some time.
    #[test]
    fn every_action_is_chosen_at_some_time() {
        let deliver = |from, to, is_ack| Choice::Deliver { from: EntityId(from), to: EntityId(to), is_ack };
        let actions =
            [deliver(0, 1, false), deliver(1, 0, true), deliver(2, 1, true), Choice::Step(EntityId(3))];
        for seed in 0..200 {
            let mut schedule = AdversarialSchedule::new(seed);
            let mut chosen = [false; 4];
            for _ in 0..20_000 {
                let action = schedule.choose(actions.iter().copied()).expect("there are some");
                chosen[actions.iter().position(|known| *known == action).expect("one of them")] = true;
            }
            assert_eq!(chosen, [true; 4], "seed {seed}");
        }
    }
}
