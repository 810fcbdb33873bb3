//! Seeded numbers by counter: the value at (seed, request, slot) needs no state and no order.
//!
//! The mixing function is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
//! Generators", OOPSLA 2014, variant 13 of Stafford's constants).

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Draws that belong to no slot of a template.
pub const MIX: u64 = u64::MAX;
pub const ARRIVAL: u64 = u64::MAX - 1;
pub const CHECK: u64 = u64::MAX - 2;
pub const KEPT: u64 = u64::MAX - 3;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// 64 random bits that depend on nothing but the three arguments.
pub fn bits(seed: u64, number: u64, stream: u64) -> u64 {
    let request =
        mix(mix(seed.wrapping_add(GOLDEN_GAMMA)).wrapping_add(number.wrapping_mul(GOLDEN_GAMMA)));
    mix(request ^ stream.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA))
}

/// A number in `0..span`, uniform up to a bias of `span / 2^64` (multiply and shift, after Lemire).
pub fn below(bits: u64, span: u64) -> u64 {
    ((u128::from(bits) * u128::from(span)) >> 64) as u64
}

/// A number in (0, 1].
pub fn unit(bits: u64) -> f64 {
    ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The stream is fixed for ever: a published seed gives the same requests in every later version.
    #[test]
    fn stream_is_pinned() {
        assert_eq!(bits(7, 0, 0), bits(7, 0, 0));
        let first: Vec<u64> = (0..3)
            .map(|number| below(bits(7, number, 0), 1000))
            .collect();
        assert_eq!(first, PINNED);
    }

    const PINNED: [u64; 3] = [996, 316, 959];

    /// Each value of a range is drawn about equally often, also from neighbouring requests.
    #[test]
    fn draws_are_uniform() {
        let mut counts = [0u32; 10];
        for number in 0..100_000 {
            counts[below(bits(1, number, 0), 10) as usize] += 1;
        }
        assert!(
            counts.iter().all(|count| (9_500..10_500).contains(count)),
            "{counts:?}"
        );
    }

    /// Slots of one request do not follow each other.
    #[test]
    fn slots_are_independent() {
        let equal = (0..10_000)
            .filter(|&number| below(bits(1, number, 0), 10) == below(bits(1, number, 1), 10))
            .count();
        assert!(
            (850..1150).contains(&equal),
            "{equal} of 10000 pairs are equal, 1000 expected"
        );
    }
}
