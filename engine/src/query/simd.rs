//! The loops that gain from wide registers, compiled for AVX2 beside what every processor has.

use super::windows::WINDOW;

/// Defines a function that runs as compiled for AVX2 where there is AVX2.
macro_rules! wide {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[inline]
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn plain($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($argument: $type),*) {
                    plain($($argument),*);
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has AVX2.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            plain($($argument),*);
        }
    };
}

wide! {
    /// Adds to every sum a weight so many times.
    pub(super) fn add_times(sums: &mut [f32; WINDOW], weights: &[f32; WINDOW], times: f32) {
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum += weight * times;
        }
    }
}

wide! {
    /// Keeps only the bits of sums that are not below `enough`.
    pub(super) fn not_below(sums: &[f32; WINDOW], enough: f32, bits: &mut [u64; WINDOW / 64]) {
        let (chunks, _) = sums.as_chunks::<64>();
        for (word, sums) in bits.iter_mut().zip(chunks) {
            let mut mask = 0;
            for (place, &sum) in sums.iter().enumerate() {
                mask |= u64::from(sum >= enough) << place;
            }
            *word &= mask;
        }
    }
}

pub(super) use wide;
