//! A state as one number of 128 bits: equal for states that have the same future, whatever their past.

use xxhash_rust::xxh3::xxh3_128;

use crate::base::time::Tick;
use crate::protocol::Ticket;
use crate::protocol::{EntityId, Message, Named, Painter};
use crate::verify::config::Setting;
use crate::verify::state::{Effect, Mail, Play, Seat, order};
use crate::verify::toy_model::{Act, Course, Deed, Numbers, Tiny};

/// Takes down numbers one after another; those that are only compared are filled in at the end.
#[derive(Default)]
pub(super) struct Sketch {
    bytes: Vec<u8>,
    names: Vec<(Named, usize)>,
}

impl Sketch {
    /// Numbers the names in their order, for each owner by itself, and makes one number of everything.
    fn print(mut self) -> u128 {
        self.names.sort_unstable();
        let mut last: Option<Named> = None;
        let mut rank = 0u64;
        for (name, at) in &self.names {
            rank = match last {
                Some(same) if same == *name => rank,
                Some(other) if owner(&other) == owner(name) => rank + 1,
                _ => 0,
            };
            last = Some(*name);
            self.bytes[*at..*at + 8].copy_from_slice(&rank.to_le_bytes());
        }
        xxh3_128(&self.bytes)
    }

    fn course(&mut self, course: &Course) {
        self.number(course.since);
        self.number(course.at as u64);
        self.number(course.speed as u64);
        self.number(course.number);
    }

    fn act(&mut self, act: &Act) {
        self.number(u64::from(act.body));
        match &act.deed {
            Deed::Stir(number) => {
                self.number(0);
                self.number(*number);
            }
            Deed::Appear(course) => {
                self.number(1);
                self.course(course);
            }
            Deed::Vanish => self.number(2),
        }
    }

    fn seat(&mut self, seat: Seat) {
        self.number(match seat {
            Seat::Entity(id) => u64::from(id.0),
            Seat::Bucket(number) => 1 << 32 | u64::from(number),
            Seat::Outside => 2 << 32,
            Seat::Clerk => 3 << 32,
        });
    }

    fn mail(&mut self, play: &Play, from: Seat, to: Seat, mail: &Mail) {
        match mail {
            Mail::Letter(letter) => {
                self.number(0);
                letter.portray(id_of(from), id_of(to), self);
                if let Message::Answer { serial, .. } = letter {
                    play.entities[id_of(to).0 as usize].portray_owed(*serial, self);
                }
            }
            Mail::Act { held, tick, number, act } => {
                self.number(1);
                self.number(*held);
                self.number(*tick);
                self.number(*number);
                self.act(act);
            }
            Mail::Ticket(ticket) => {
                self.number(2);
                play.portray_ticket(ticket, self);
            }
            Mail::Answer(plan, written) => {
                self.number(3);
                play.entities[plan.entity.0 as usize].portray_plan(plan, self);
                written.portray(self);
            }
            Mail::LetGo => self.number(4),
            Mail::Count(from, to) => {
                self.number(5);
                self.maybe(*from);
                self.maybe(*to);
            }
        }
    }
}

fn owner(name: &Named) -> EntityId {
    let Named::Version(id, _) = name;
    *id
}

fn id_of(seat: Seat) -> EntityId {
    match seat {
        Seat::Entity(id) => id,
        _ => EntityId(u32::MAX),
    }
}

impl Painter<Tiny> for Sketch {
    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn named(&mut self, named: Named) {
        self.names.push((named, self.bytes.len()));
        self.number(0);
    }

    fn flight(&mut self, flight: &Course) {
        self.course(flight);
    }

    fn memory(&mut self, memory: &u64) {
        self.number(*memory);
    }

    fn standing(&mut self, standing: &Numbers) {
        self.number(u64::from(standing.touches));
        standing.after.iter().for_each(|number| self.number(*number));
    }

    fn action(&mut self, action: &Act) {
        self.act(action);
    }
}

impl Play {
    /// The state as one number.
    pub fn print(&self, setting: &Setting) -> u128 {
        let mut sketch = Sketch { bytes: Vec::with_capacity(4096), names: Vec::with_capacity(64) };
        let gvt = self.counters.gvt();
        sketch.number(gvt);
        sketch.number(self.counters.now().floor);
        let top = gvt + setting.limits.window + setting.history + 1;
        (gvt..=top).for_each(|tick| sketch.number(u64::from(self.counters.at(tick))));
        sketch.number(self.cued as u64);
        sketch.number(self.let_in);
        sketch.many(self.entities.len());
        for (at, entity) in self.entities.iter().enumerate() {
            entity.portray(&setting.limits, &mut sketch);
            sketch.number(u64::from(self.ready[at]));
            sketch.maybe(self.waiting[at]);
            sketch.number(u64::from(self.plans[at].is_some()));
            if let Some(planned) = &self.plans[at] {
                entity.portray_plan(&planned.0, &mut sketch);
                sketch.number(planned.1);
            }
            sketch.many(self.effects[at].len());
            for effect in &self.effects[at] {
                self.portray_effect(EntityId(at as u32), effect, &mut sketch);
            }
        }
        for keeper in &self.keepers {
            sketch.number(u64::from(keeper.is_held()));
            sketch.many(keeper.queue().len());
            for ticket in keeper.queue() {
                self.portray_ticket(ticket, &mut sketch);
            }
            // As it will be put in order before anybody looks.
            let alive = |end: Tick, first: Tick| end > gvt && end > first;
            let entries = keeper.bucket.entries().iter().map(|entry| (entry.cell(), &entry.track));
            let mut entries: Vec<_> = entries.filter(|(_, track)| alive(track.end(), track.first)).collect();
            entries.sort_by_key(|(cell, track)| (**cell, order(track)));
            sketch.many(entries.len());
            for (cell, track) in entries {
                sketch.number(u64::from(cell.level()));
                cell.coordinates().iter().for_each(|c| sketch.number(*c as u64));
                track.portray(&mut sketch);
            }
        }
        for ((from, to), mails) in &self.channels {
            sketch.seat(*from);
            sketch.seat(*to);
            sketch.many(mails.len());
            mails.iter().for_each(|mail| sketch.mail(self, *from, *to, mail));
        }
        for courses in &self.log {
            sketch.many(courses.len());
            for (tick, course) in courses.iter() {
                sketch.number(*tick);
                sketch.number(u64::from(course.is_some()));
                if let Some(course) = course {
                    sketch.course(course);
                }
            }
        }
        sketch.number(u64::from(self.broken.is_some()));
        sketch.print()
    }

    fn portray_ticket(&self, ticket: &Ticket<Tiny>, sketch: &mut Sketch) {
        self.entities[ticket.plan().entity.0 as usize].portray_plan(ticket.plan(), sketch);
        ticket.portray(sketch);
    }

    fn portray_effect(&self, id: EntityId, effect: &Effect, sketch: &mut Sketch) {
        match effect {
            Effect::Enter(tick) => sketch.number(tick << 2),
            Effect::Leave(tick) => sketch.number(tick << 2 | 1),
            Effect::Send(to, mail) => {
                sketch.number(2);
                sketch.seat(*to);
                sketch.mail(self, Seat::Entity(id), *to, mail);
            }
            Effect::Advance => sketch.number(3),
        }
    }
}
