//! Four numbers at a time. Code is written once, for any [`Lanes`], and compiled twice: for plain arrays, and for the
//! vector registers of processors with AVX2, which is looked up at run time. Every operation rounds each lane as scalar
//! code does, and none is fused with another, so the results are the same to the bit.
//!
//! A function that uses lanes must be `#[inline(always)]`, and so must everything that it calls with them: otherwise it is
//! compiled without the registers. Closures are not inlined reliably.
#![allow(unsafe_code, reason = "instructions that not every processor has")]

use std::ops::{Add, Div, Mul, Sub};

use crate::base::math::Vec3;

/// Four numbers, or four answers: a mask is all ones where the answer is yes, and all zeros where it is no.
pub(crate) trait Lanes:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    fn splat(x: f64) -> Self;
    fn load(from: &[f64; 4]) -> Self;
    fn store(self, to: &mut [f64; 4]);
    fn sqrt(self) -> Self;
    /// The larger one; the other where either is not a number.
    fn max(self, other: Self) -> Self;
    fn abs(self) -> Self;
    fn negated(self) -> Self;
    fn lt(self, other: Self) -> Self;
    fn le(self, other: Self) -> Self;
    fn eq(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    /// `yes` where the mask says so, else `no`.
    fn select(mask: Self, yes: Self, no: Self) -> Self;
    /// A bit for every lane of a mask, the lowest for the first lane.
    fn bits(self) -> u32;
    /// Rows to columns.
    fn transpose(rows: [Self; 4]) -> [Self; 4];

    /// Four numbers from the front of a list, which has as many.
    #[inline(always)]
    fn front(list: &[f64]) -> Self {
        match list.first_chunk() {
            Some(four) => Self::load(four),
            None => unreachable!("lists are padded to whole fours"),
        }
    }

    #[inline(always)]
    fn to_array(self) -> [f64; 4] {
        let mut array = [0.0; 4];
        self.store(&mut array);
        array
    }
}

/// The lanes of a plain array.
#[derive(Clone, Copy)]
#[repr(align(32))]
struct Plain([f64; 4]);

/// Work that uses lanes.
pub(crate) trait Work {
    type Output;
    /// Must be `#[inline(always)]`.
    fn run<L: Lanes>(self) -> Self::Output;
}

/// Which lanes work uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneChoice {
    has_avx2: bool,
}

impl LaneChoice {
    /// The best that this processor has.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        let has_avx2 = std::arch::is_x86_feature_detected!("avx2");
        #[cfg(not(target_arch = "x86_64"))]
        let has_avx2 = false;
        LaneChoice { has_avx2 }
    }

    /// Those of plain arrays, which every processor has.
    pub fn plain() -> Self {
        LaneChoice { has_avx2: false }
    }

    /// Does some work with these lanes.
    #[inline]
    pub fn run<W: Work>(self, work: W) -> W::Output {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: only `best` sets this, on processors with AVX2.
            return unsafe { avx2::run(work) };
        }
        work.run::<Plain>()
    }
}

macro_rules! each_lane {
    ($a:expr, $b:expr, $f:expr) => {{
        let (a, b, f) = ($a.0, $b.0, $f);
        Plain([f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])])
    }};
}

macro_rules! plain_operator {
    ($name:ident, $method:ident, $f:expr) => {
        impl $name for Plain {
            type Output = Plain;
            #[inline(always)]
            fn $method(self, other: Plain) -> Plain {
                each_lane!(self, other, $f)
            }
        }
    };
}

plain_operator!(Add, add, |a: f64, b: f64| a + b);
plain_operator!(Sub, sub, |a: f64, b: f64| a - b);
plain_operator!(Mul, mul, |a: f64, b: f64| a * b);
plain_operator!(Div, div, |a: f64, b: f64| a / b);

/// A lane of a mask.
#[inline(always)]
fn answer(is_so: bool) -> f64 {
    f64::from_bits(if is_so { u64::MAX } else { 0 })
}

impl Lanes for Plain {
    #[inline(always)]
    fn splat(x: f64) -> Self {
        Plain([x; 4])
    }
    #[inline(always)]
    fn load(from: &[f64; 4]) -> Self {
        Plain(*from)
    }
    #[inline(always)]
    fn store(self, to: &mut [f64; 4]) {
        *to = self.0;
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        each_lane!(self, self, |a: f64, _: f64| a.sqrt())
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| if a > b { a } else { b })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        each_lane!(self, self, |a: f64, _: f64| a.abs())
    }
    #[inline(always)]
    fn negated(self) -> Self {
        each_lane!(self, self, |a: f64, _: f64| -a)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| answer(a < b))
    }
    #[inline(always)]
    fn le(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| answer(a <= b))
    }
    #[inline(always)]
    fn eq(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| answer(a == b))
    }
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| f64::from_bits(a.to_bits() & b.to_bits()))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        each_lane!(self, other, |a: f64, b: f64| f64::from_bits(a.to_bits() | b.to_bits()))
    }
    #[inline(always)]
    fn select(mask: Self, yes: Self, no: Self) -> Self {
        let (m, y, n) = (mask.0, yes.0, no.0);
        let pick = |at: usize| if m[at].to_bits() >> 63 == 1 { y[at] } else { n[at] };
        Plain([pick(0), pick(1), pick(2), pick(3)])
    }
    #[inline(always)]
    fn bits(self) -> u32 {
        let bit = |at: usize| ((self.0[at].to_bits() >> 63) as u32) << at;
        bit(0) | bit(1) | bit(2) | bit(3)
    }
    #[inline(always)]
    fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
        let column = |at: usize| Plain([a.0[at], b.0[at], c.0[at], d.0[at]]);
        [column(0), column(1), column(2), column(3)]
    }
}

/// Registers of four numbers.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;
    use std::ops::{Add, Div, Mul, Sub};

    use super::{Lanes, Work};

    /// Exists only within [`run`], which needs AVX2: that is what makes its operations safe.
    #[derive(Clone, Copy)]
    struct Avx2(__m256d);

    /// Does some work in registers.
    #[target_feature(enable = "avx2")]
    pub(super) fn run<W: Work>(work: W) -> W::Output {
        work.run::<Avx2>()
    }

    macro_rules! operator {
        ($name:ident, $method:ident, $f:ident) => {
            impl $name for Avx2 {
                type Output = Avx2;
                #[inline(always)]
                fn $method(self, other: Avx2) -> Avx2 {
                    // SAFETY: see `Avx2`.
                    unsafe { Avx2($f(self.0, other.0)) }
                }
            }
        };
    }

    operator!(Add, add, _mm256_add_pd);
    operator!(Sub, sub, _mm256_sub_pd);
    operator!(Mul, mul, _mm256_mul_pd);
    operator!(Div, div, _mm256_div_pd);

    // SAFETY of all that follows: see `Avx2`; pointers are those of arrays of four.
    impl Lanes for Avx2 {
        #[inline(always)]
        fn splat(x: f64) -> Self {
            unsafe { Avx2(_mm256_set1_pd(x)) }
        }
        #[inline(always)]
        fn load(from: &[f64; 4]) -> Self {
            unsafe { Avx2(_mm256_loadu_pd(from.as_ptr())) }
        }
        #[inline(always)]
        fn store(self, to: &mut [f64; 4]) {
            unsafe { _mm256_storeu_pd(to.as_mut_ptr(), self.0) }
        }
        #[inline(always)]
        fn sqrt(self) -> Self {
            unsafe { Avx2(_mm256_sqrt_pd(self.0)) }
        }
        #[inline(always)]
        fn max(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_max_pd(self.0, other.0)) }
        }
        #[inline(always)]
        fn abs(self) -> Self {
            unsafe { Avx2(_mm256_andnot_pd(_mm256_set1_pd(-0.0), self.0)) }
        }
        #[inline(always)]
        fn negated(self) -> Self {
            unsafe { Avx2(_mm256_xor_pd(_mm256_set1_pd(-0.0), self.0)) }
        }
        #[inline(always)]
        fn lt(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0)) }
        }
        #[inline(always)]
        fn le(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0)) }
        }
        #[inline(always)]
        fn eq(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, other.0)) }
        }
        #[inline(always)]
        fn and(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_and_pd(self.0, other.0)) }
        }
        #[inline(always)]
        fn or(self, other: Self) -> Self {
            unsafe { Avx2(_mm256_or_pd(self.0, other.0)) }
        }
        #[inline(always)]
        fn select(mask: Self, yes: Self, no: Self) -> Self {
            unsafe { Avx2(_mm256_blendv_pd(no.0, yes.0, mask.0)) }
        }
        #[inline(always)]
        fn bits(self) -> u32 {
            unsafe { _mm256_movemask_pd(self.0) as u32 }
        }
        #[inline(always)]
        fn transpose([a, b, c, d]: [Self; 4]) -> [Self; 4] {
            unsafe {
                let (ab_even, ab_odd) = (_mm256_unpacklo_pd(a.0, b.0), _mm256_unpackhi_pd(a.0, b.0));
                let (cd_even, cd_odd) = (_mm256_unpacklo_pd(c.0, d.0), _mm256_unpackhi_pd(c.0, d.0));
                [
                    Avx2(_mm256_permute2f128_pd::<0x20>(ab_even, cd_even)),
                    Avx2(_mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd)),
                    Avx2(_mm256_permute2f128_pd::<0x31>(ab_even, cd_even)),
                    Avx2(_mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd)),
                ]
            }
        }
    }
}

/// Four vectors, component by component.
#[derive(Clone, Copy)]
pub(crate) struct Vec3Lanes<L>(pub L, pub L, pub L);

impl<L: Lanes> Vec3Lanes<L> {
    #[inline(always)]
    pub fn zero() -> Self {
        let zero = L::splat(0.0);
        Vec3Lanes(zero, zero, zero)
    }

    #[inline(always)]
    pub fn splat(v: Vec3) -> Self {
        Vec3Lanes(L::splat(v.x), L::splat(v.y), L::splat(v.z))
    }

    #[inline(always)]
    pub fn load(from: &[[f64; 4]; 3]) -> Self {
        Vec3Lanes(L::load(&from[0]), L::load(&from[1]), L::load(&from[2]))
    }

    #[inline(always)]
    pub fn store(self, to: &mut [[f64; 4]; 3]) {
        self.0.store(&mut to[0]);
        self.1.store(&mut to[1]);
        self.2.store(&mut to[2]);
    }

    /// Four rows of three components and something else.
    #[inline(always)]
    pub fn gather(rows: [&[f64; 4]; 4]) -> (Self, L) {
        let [a, b, c, d] = rows;
        let [x, y, z, rest] = L::transpose([L::load(a), L::load(b), L::load(c), L::load(d)]);
        (Vec3Lanes(x, y, z), rest)
    }

    /// The opposite of [`gather`](Self::gather).
    #[inline(always)]
    pub fn rows(self, rest: L) -> [L; 4] {
        L::transpose([self.0, self.1, self.2, rest])
    }

    #[inline(always)]
    pub fn plus(self, other: Self) -> Self {
        Vec3Lanes(self.0 + other.0, self.1 + other.1, self.2 + other.2)
    }

    #[inline(always)]
    pub fn minus(self, other: Self) -> Self {
        Vec3Lanes(self.0 - other.0, self.1 - other.1, self.2 - other.2)
    }

    #[inline(always)]
    pub fn times(self, by: L) -> Self {
        Vec3Lanes(self.0 * by, self.1 * by, self.2 * by)
    }

    #[inline(always)]
    pub fn over(self, by: L) -> Self {
        Vec3Lanes(self.0 / by, self.1 / by, self.2 / by)
    }

    #[inline(always)]
    pub fn dot(self, other: Self) -> L {
        self.0 * other.0 + self.1 * other.1 + self.2 * other.2
    }

    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Vec3Lanes(
            self.1 * other.2 - self.2 * other.1,
            self.2 * other.0 - self.0 * other.2,
            self.0 * other.1 - self.1 * other.0,
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All operations on two fours, as bits.
    struct All([f64; 4], [f64; 4]);

    impl Work for All {
        type Output = Vec<[u64; 4]>;
        #[inline(always)]
        fn run<L: Lanes>(self) -> Self::Output {
            let (a, b) = (L::load(&self.0), L::load(&self.1));
            let (va, vb) = (Vec3Lanes(a, b, a - b), Vec3Lanes(b, a, b.abs()));
            let cross = va.cross(vb);
            let masks = [a.lt(b), a.le(b), a.eq(b), a.lt(b).and(a.eq(a)), a.lt(b).or(b.lt(a))];
            let mut found = vec![
                a + b,
                a - b,
                a * b,
                a / b,
                a.abs().sqrt(),
                a.max(b),
                a.negated(),
                L::select(a.lt(b), a, b),
                va.dot(vb),
                cross.0,
                cross.1,
                cross.2,
            ];
            found.extend(masks);
            found.extend(L::transpose([a, b, a + b, a * b]));
            let mut bits: Vec<[u64; 4]> = found.iter().map(|lanes| lanes.to_array().map(bits_of)).collect();
            bits.push(masks[..4].iter().fold([0; 4], |mut all, mask| {
                all.rotate_left(1);
                all[0] = u64::from(mask.bits());
                all
            }));
            bits
        }
    }

    /// Its bits, but for the sign and content of what is not a number.
    fn bits_of(x: f64) -> u64 {
        // Masks of ones are not numbers either; they are looked at as bits.
        if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
    }

    fn numbers() -> impl Strategy<Value = f64> {
        let special = vec![0.0, -0.0, 1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, f64::MAX];
        prop_oneof![3 => any::<f64>(), 3 => -2.0..2.0f64, 1 => prop::sample::select(special)]
    }

    proptest! {
        #[test]
        fn registers_and_arrays_give_the_same_bits(
            a in prop::array::uniform4(numbers()),
            b in prop::array::uniform4(numbers()),
        ) {
            let plain = LaneChoice::plain().run(All(a, b));
            prop_assert_eq!(&LaneChoice::best().run(All(a, b)), &plain);
            prop_assert_eq!(plain[0], std::array::from_fn(|at| bits_of(a[at] + b[at])));
            prop_assert_eq!(plain[3], std::array::from_fn(|at| bits_of(a[at] / b[at])));
        }
    }
}
