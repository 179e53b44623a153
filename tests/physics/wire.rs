//! What messages carry survives `postcard` bit for bit: states, flights and inputs.

use anachron::internals::base::math::{Vec3, quat_raw};
use anachron::internals::base::state::BodyState;
use anachron::internals::physics::{BodyInput, Flight, InputKind};
use proptest::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Zeros of both signs, subnormal numbers and infinities too. The payload of a NaN is not kept for certain.
fn number() -> impl Strategy<Value = f64> {
    use prop::num::f64;
    f64::POSITIVE | f64::NEGATIVE | f64::NORMAL | f64::SUBNORMAL | f64::ZERO | f64::INFINITE
}

fn vector() -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(number()).prop_map(Vec3::from)
}

/// Quaternions are not normalised on the way: any four numbers must arrive.
fn state() -> impl Strategy<Value = BodyState> {
    (vector(), prop::array::uniform4(number()), vector(), vector())
        .prop_map(|(x, [i, j, k, w], v, spin)| BodyState { x, q: quat_raw(i, j, k, w), v, w: spin })
}

fn kind() -> impl Strategy<Value = InputKind> {
    prop_oneof![
        (vector(), vector()).prop_map(|(impulse, turn)| InputKind::Push { impulse, turn }),
        (prop::option::of(vector()), prop::option::of(vector()))
            .prop_map(|(v, w)| InputKind::SetVelocity { v, w }),
        state().prop_map(InputKind::Spawn),
        Just(InputKind::Despawn),
    ]
}

fn round_trip<T: Serialize + DeserializeOwned>(value: &T) -> T {
    let bytes = postcard::to_stdvec(value).expect("there is memory for a message");
    postcard::from_bytes(&bytes).expect("what was written can be read")
}

fn bits_of(vector: Vec3) -> [u64; 3] {
    [vector.x, vector.y, vector.z].map(f64::to_bits)
}

fn bits(state: &BodyState) -> [u64; 13] {
    state.to_array().map(f64::to_bits)
}

/// Number of a variant, the bits of its vectors and those of its state.
type InputBits = (u8, Vec<Option<[u64; 3]>>, Option<[u64; 13]>);

fn input_bits(kind: &InputKind) -> InputBits {
    match kind {
        InputKind::Push { impulse, turn } => (0, vec![Some(bits_of(*impulse)), Some(bits_of(*turn))], None),
        InputKind::SetVelocity { v, w } => (1, vec![v.map(bits_of), w.map(bits_of)], None),
        InputKind::Spawn(state) => (2, Vec::new(), Some(bits(state))),
        InputKind::Despawn => (3, Vec::new(), None),
    }
}

proptest! {
    #[test]
    fn states_keep_their_bits(state in state()) {
        prop_assert_eq!(bits(&round_trip(&state)), bits(&state));
    }

    #[test]
    fn flights_keep_their_bits(since in any::<u64>(), origin in state()) {
        let flight = Flight { since, origin };
        let read = round_trip(&flight);
        prop_assert_eq!((read.since, bits(&read.origin)), (since, bits(&origin)));
    }

    #[test]
    fn inputs_keep_their_bits(body in any::<u32>(), kind in kind()) {
        let input = BodyInput { body, kind };
        let read = round_trip(&input);
        prop_assert_eq!((read.body, input_bits(&read.kind)), (body, input_bits(&kind)));
    }
}

/// Thirteen numbers of eight bytes and nothing else: no names, no lengths.
#[test]
fn a_state_takes_as_many_bytes_as_its_numbers() {
    let state = BodyState::at_rest(Vec3::new(1.0, -0.0, f64::MIN_POSITIVE));
    assert_eq!(postcard::to_stdvec(&state).expect("there is memory for a message").len(), 13 * 8);
}
