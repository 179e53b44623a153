//! A state as one number of 128 bits: equal for states that have the same future, whatever their past.
//!
//! The state is serialised by serde into a hash. Versions only ever grow, so no two states would be alike if they were
//! taken as they are; but they are only compared with each other, so the ranks of those that still occur are taken, for
//! each entity by itself. Serial numbers only say what an acknowledgement acknowledges, so they are replaced by the
//! pending message that they stand for.

use std::fmt;

use serde::ser::{self, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::base::time::Tick;
use crate::protocol::{EntityId, GvtService, Message, Plan, TableRequest, Version};
use crate::verify::config::ModelConfig;
use crate::verify::state::{Effect, Endpoint, Envelope, ModelState, order};
use crate::verify::toy_model::ToyModel;

/// Writes values one after another; ranks of versions are filled in at the end.
#[derive(Default)]
struct Canonical {
    bytes: Vec<u8>,
    /// Versions, and the offset in `bytes` where the rank of each belongs.
    versions: Vec<(Version, usize)>,
    /// The parts of a version that is being written.
    version: Option<Vec<u64>>,
}

impl Canonical {
    fn number(&mut self, number: u64) {
        match &mut self.version {
            Some(parts) => parts.push(number),
            None => self.bytes.extend_from_slice(&number.to_le_bytes()),
        }
    }

    fn add(&mut self, value: &(impl Serialize + ?Sized)) {
        value.serialize(&mut *self).expect("invariant: writing to memory does not fail");
    }

    /// Ranks versions in their order, for each entity by itself, and hashes everything.
    fn hash(mut self) -> u128 {
        self.versions.sort_unstable();
        let mut last: Option<Version> = None;
        let mut rank = 0u64;
        for (version, offset) in &self.versions {
            rank = match last {
                Some(same) if same == *version => rank,
                Some(other) if other.entity == version.entity => rank + 1,
                _ => 0,
            };
            last = Some(*version);
            self.bytes[*offset..*offset + 8].copy_from_slice(&rank.to_le_bytes());
        }
        xxh3_128(&self.bytes)
    }
}

/// Writing to memory does not fail.
#[derive(Debug)]
struct Impossible;

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("writing to memory failed")
    }
}

impl std::error::Error for Impossible {}

impl ser::Error for Impossible {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Impossible
    }
}

macro_rules! as_numbers {
    ($($method:ident: $kind:ty,)+) => {
        $(fn $method(self, value: $kind) -> Result<(), Impossible> {
            self.number(value as u64);
            Ok(())
        })+
    };
}

impl ser::Serializer for &mut Canonical {
    type Ok = ();
    type Error = Impossible;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    as_numbers! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
    }

    fn serialize_f32(self, value: f32) -> Result<(), Impossible> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<(), Impossible> {
        self.number(value.to_bits());
        Ok(())
    }

    fn serialize_str(self, value: &str) -> Result<(), Impossible> {
        self.serialize_bytes(value.as_bytes())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Impossible> {
        self.number(value.len() as u64);
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<(), Impossible> {
        self.number(0);
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Impossible> {
        self.number(1);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Impossible> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Impossible> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, index: u32, _: &'static str) -> Result<(), Impossible> {
        self.number(u64::from(index));
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Impossible> {
        match name {
            "Serial" => Ok(()),
            "Version" => {
                self.version = Some(Vec::with_capacity(2));
                value.serialize(&mut *self)?;
                let parts = self.version.take().unwrap_or_default();
                let version = Version { entity: EntityId(parts[0] as u32), number: parts[1] as u32 };
                self.versions.push((version, self.bytes.len()));
                self.number(0);
                Ok(())
            }
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Impossible> {
        self.number(u64::from(index));
        value.serialize(self)
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<Self, Impossible> {
        self.number(len.ok_or(Impossible)? as u64);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Impossible> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Impossible> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Impossible> {
        self.number(u64::from(index));
        Ok(self)
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self, Impossible> {
        self.serialize_seq(len)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Impossible> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Impossible> {
        self.number(u64::from(index));
        Ok(self)
    }
}

macro_rules! parts {
    ($($part:ident: $method:ident $(($key:ty))?,)+) => {
        $(impl ser::$part for &mut Canonical {
            type Ok = ();
            type Error = Impossible;

            fn $method<T: Serialize + ?Sized>(&mut self, $(_: $key,)? value: &T) -> Result<(), Impossible> {
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Impossible> {
                Ok(())
            }
        })+
    };
}

parts! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field,
    SerializeStruct: serialize_field(&'static str),
    SerializeStructVariant: serialize_field(&'static str),
}

impl ser::SerializeMap for &mut Canonical {
    type Ok = ();
    type Error = Impossible;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Impossible> {
        key.serialize(&mut **self)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Impossible> {
        value.serialize(&mut **self)
    }

    fn end(self) -> Result<(), Impossible> {
        Ok(())
    }
}

impl ModelState {
    /// The state as one number of 128 bits: equal for states that have the same future.
    pub fn fingerprint(&self, config: &ModelConfig) -> u128 {
        let mut all = Canonical { bytes: Vec::with_capacity(4096), ..Canonical::default() };
        let times = self.lvt_histogram.times();
        let top = times.gvt + config.limits.window + config.history_ticks + 1;
        let counts: Vec<u32> = (times.gvt..=top).map(|tick| self.lvt_histogram.at(tick)).collect();
        all.add(&(times.gvt, times.lvt_min, counts, self.inputs_used, self.admitted));
        all.add(&(self.decided, self.drivers.len()));
        for (index, driver) in self.drivers.iter().enumerate() {
            all.add(&driver.entity().future(&config.limits));
            all.add(&(self.ready[index], self.waiting[index], self.effects[index].len()));
            if let Some(planned) = &self.plans[index] {
                self.add_plan(&planned.0, &mut all);
                all.add(&planned.1);
            }
            for effect in &self.effects[index] {
                self.add_effect(EntityId(index as u32), effect, &mut all);
            }
        }
        for queue in &self.bucket_queues {
            all.add(&(queue.is_held(), queue.queue().len()));
            queue.queue().iter().for_each(|request| self.add_request(request, &mut all));
            // In the order in which `ModelState::after` sorts them before anything reads them.
            let is_alive = |end: Tick, first: Tick| end > times.gvt && end > first;
            let entries = queue.bucket.entries().iter().map(|entry| (entry.cell(), &entry.track));
            let mut entries: Vec<_> =
                entries.filter(|(_, track)| is_alive(track.end(), track.first)).collect();
            entries.sort_by_key(|(cell, track)| (**cell, order(track)));
            let cells = entries.iter().map(|(cell, track)| (cell.level(), cell.coordinates(), track));
            all.add(&cells.collect::<Vec<_>>());
        }
        for ((from, to), envelopes) in &self.channels {
            all.add(&(from, to, envelopes.len()));
            envelopes.iter().for_each(|envelope| self.add_envelope(*to, envelope, &mut all));
        }
        all.add(&self.log);
        all.add(&self.violation.is_some());
        all.hash()
    }

    fn add_plan(&self, plan: &Plan<ToyModel>, all: &mut Canonical) {
        let owner = self.drivers[plan.version.entity.0 as usize].entity();
        all.add(&(plan, owner.is_current(plan)));
    }

    fn add_request(&self, request: &TableRequest<ToyModel>, all: &mut Canonical) {
        self.add_plan(request.plan(), all);
        all.add(&request.search);
    }

    fn add_effect(&self, id: EntityId, effect: &Effect, all: &mut Canonical) {
        match effect {
            Effect::Enter(tick) => all.add(&(0, tick)),
            Effect::Leave(tick) => all.add(&(1, tick)),
            Effect::Send(to, envelope) => {
                all.add(&(2, id, to));
                self.add_envelope(*to, envelope, all);
            }
            Effect::Advance => all.add(&3),
        }
    }

    fn add_envelope(&self, to: Endpoint, envelope: &Envelope, all: &mut Canonical) {
        match envelope {
            Envelope::Message(message) => {
                all.add(&(0, message));
                if let (Message::Ack { serial, .. }, Endpoint::Entity(id)) = (message, to) {
                    all.add(&self.drivers[id.0 as usize].entity().pending_ack(*serial));
                }
            }
            Envelope::Input { pinned, tick, number, input } => all.add(&(1, pinned, tick, number, input)),
            Envelope::Request(request) => {
                all.add(&2);
                self.add_request(request, all);
            }
            Envelope::Reply(plan, reply) => {
                all.add(&3);
                self.add_plan(plan, all);
                all.add(reply);
            }
            Envelope::Unlock => all.add(&4),
            Envelope::Count(from, to) => all.add(&(5, from, to)),
        }
    }
}
