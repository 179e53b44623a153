//! A state as one number of 128 bits: equal for states that have the same future, whatever their past.

use xxhash_rust::xxh3::xxh3_128;

use crate::base::time::Tick;
use crate::protocol::GvtService;
use crate::protocol::TableRequest;
use crate::protocol::{EntityId, Message, Named, Painter};
use crate::verify::config::ModelConfig;
use crate::verify::state::{Effect, Endpoint, Envelope, ModelState, order};
use crate::verify::toy_model::{ToyGhost, ToyInput, ToyInputKind, ToyModel, ToyPath};

/// Takes down numbers one after another; those that are only compared are filled in at the end.
#[derive(Default)]
pub(super) struct FingerprintWriter {
    bytes: Vec<u8>,
    names: Vec<(Named, usize)>,
}

impl FingerprintWriter {
    /// ToyGhost the names in their order, for each owner by itself, and makes one number of everything.
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

    fn path(&mut self, path: &ToyPath) {
        self.number(path.since);
        self.number(path.at as u64);
        self.number(path.speed as u64);
        self.number(path.number);
    }

    fn act(&mut self, act: &ToyInput) {
        self.number(u64::from(act.body));
        match &act.deed {
            ToyInputKind::Mix(number) => {
                self.number(0);
                self.number(*number);
            }
            ToyInputKind::Spawn(path) => {
                self.number(1);
                self.path(path);
            }
            ToyInputKind::Despawn => self.number(2),
        }
    }

    fn endpoint(&mut self, endpoint: Endpoint) {
        self.number(match endpoint {
            Endpoint::Entity(id) => u64::from(id.0),
            Endpoint::Bucket(number) => 1 << 32 | u64::from(number),
            Endpoint::Outside => 2 << 32,
            Endpoint::Counter => 3 << 32,
        });
    }

    fn mail(&mut self, state: &ModelState, from: Endpoint, to: Endpoint, mail: &Envelope) {
        match mail {
            Envelope::Message(message) => {
                self.number(0);
                message.portray(id_of(from), id_of(to), self);
                if let Message::Ack { serial, .. } = message {
                    state.drivers[id_of(to).0 as usize].entity().portray_pending(*serial, self);
                }
            }
            Envelope::ToyInput { held, tick, number, act } => {
                self.number(1);
                self.number(*held);
                self.number(*tick);
                self.number(*number);
                self.act(act);
            }
            Envelope::Request(request) => {
                self.number(2);
                state.portray_ticket(request, self);
            }
            Envelope::Reply(plan, written) => {
                self.number(3);
                state.drivers[plan.entity.0 as usize].entity().portray_plan(plan, self);
                written.portray(self);
            }
            Envelope::Unlock => self.number(4),
            Envelope::Count(from, to) => {
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

fn id_of(endpoint: Endpoint) -> EntityId {
    match endpoint {
        Endpoint::Entity(id) => id,
        _ => EntityId(u32::MAX),
    }
}

impl Painter<ToyModel> for FingerprintWriter {
    fn number(&mut self, number: u64) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }

    fn named(&mut self, named: Named) {
        self.names.push((named, self.bytes.len()));
        self.number(0);
    }

    fn flight(&mut self, flight: &ToyPath) {
        self.path(flight);
    }

    fn memory(&mut self, memory: &u64) {
        self.number(*memory);
    }

    fn ghost(&mut self, ghost: &ToyGhost) {
        self.number(u64::from(ghost.touches));
        ghost.after.iter().for_each(|number| self.number(*number));
    }

    fn action(&mut self, action: &ToyInput) {
        self.act(action);
    }
}

impl ModelState {
    /// The state as one number.
    pub fn print(&self, config: &ModelConfig) -> u128 {
        let mut sketch = FingerprintWriter { bytes: Vec::with_capacity(4096), names: Vec::with_capacity(64) };
        let gvt = self.lvt_histogram.gvt();
        sketch.number(gvt);
        sketch.number(self.lvt_histogram.times().lvt_min);
        let top = gvt + config.limits.window + config.history + 1;
        (gvt..=top).for_each(|tick| sketch.number(u64::from(self.lvt_histogram.at(tick))));
        sketch.number(self.inputs_used as u64);
        sketch.number(self.let_in);
        sketch.many(self.drivers.len());
        for (at, entity) in self.drivers.iter().map(|driver| driver.entity()).enumerate() {
            entity.portray(&config.limits, &mut sketch);
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
        for bucket_queue in &self.bucket_queues {
            sketch.number(u64::from(bucket_queue.is_held()));
            sketch.many(bucket_queue.queue().len());
            for request in bucket_queue.queue() {
                self.portray_ticket(request, &mut sketch);
            }
            // As it will be put in order before anybody looks.
            let alive = |end: Tick, first: Tick| end > gvt && end > first;
            let entries = bucket_queue.bucket.entries().iter().map(|entry| (entry.cell(), &entry.track));
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
            sketch.endpoint(*from);
            sketch.endpoint(*to);
            sketch.many(mails.len());
            mails.iter().for_each(|mail| sketch.mail(self, *from, *to, mail));
        }
        for paths in &self.log {
            sketch.many(paths.len());
            for (tick, path) in paths.iter() {
                sketch.number(*tick);
                sketch.number(u64::from(path.is_some()));
                if let Some(path) = path {
                    sketch.path(path);
                }
            }
        }
        sketch.number(u64::from(self.violation.is_some()));
        sketch.print()
    }

    fn portray_ticket(&self, request: &TableRequest<ToyModel>, sketch: &mut FingerprintWriter) {
        self.drivers[request.plan().entity.0 as usize].entity().portray_plan(request.plan(), sketch);
        request.portray(sketch);
    }

    fn portray_effect(&self, id: EntityId, effect: &Effect, sketch: &mut FingerprintWriter) {
        match effect {
            Effect::Enter(tick) => sketch.number(tick << 2),
            Effect::Leave(tick) => sketch.number(tick << 2 | 1),
            Effect::Send(to, mail) => {
                sketch.number(2);
                sketch.endpoint(*to);
                sketch.mail(self, Endpoint::Entity(id), *to, mail);
            }
            Effect::Advance => sketch.number(3),
        }
    }
}
