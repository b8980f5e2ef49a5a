//! Loops that gain from what newer processors have, compiled for these beside what every processor has.

/// Defines a function that runs as compiled for AVX2 and the bit instructions that came before it, where the
/// processor has them.
macro_rules! wide {
    ($(#[$doc:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),*) $body:block) => {
        $(#[$doc])*
        #[inline]
        $visibility fn $name($($argument: $type),*) {
            #[inline(always)]
            fn plain($($argument: $type),*) $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2,popcnt")]
                fn with_avx2($($argument: $type),*) {
                    plain($($argument),*);
                }
                let has = std::arch::is_x86_feature_detected!("avx2")
                    && std::arch::is_x86_feature_detected!("popcnt");
                if has {
                    // SAFETY: the processor has AVX2 and POPCNT.
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            plain($($argument),*);
        }
    };
}

pub(crate) use wide;
