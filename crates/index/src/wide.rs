//! Loops that wider registers make faster. Each is compiled twice: for newer processors, and for
//! all.

/// Defines a function with a second version compiled for AVX2 and earlier bit instructions. That
/// version runs if the processor supports them.
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
