//! Jobs that count texts: a count of 1 for each text, and an output from the sum of each distinct text.

/// Implements [`Job`](crate::Job) by the texts of a record, and by the output of a text and its count. Counts are added
/// up as early as possible.
macro_rules! count_texts {
    (
        $job:ty, $input:ty => <$a:lifetime> $output:ty,
        |$record:ident, $emit:ident| $map:expr,
        |$text:ident, $count:ident, $write:ident| $reduce:expr
    ) => {
        impl $crate::Job for $job {
            type Input = $input;
            type Key<$a> = &$a str;
            type Value = u64;
            type Note = ();
            type Output<$a> = $output;

            fn map(&self, $record: $crate::Record<'_, Self>, $emit: &mut $crate::Emitter<Self>) {
                $map;
            }

            fn reduce(
                &self,
                $text: &str,
                counts: impl Iterator<Item = u64>,
                $write: &mut impl FnMut(Self::Output<'_>),
            ) -> tokapi_storage::error::Result<()> {
                let $count: u64 = counts.sum();
                $reduce;
                Ok(())
            }

            fn combiner(&self) -> Option<$crate::Combine<u64>> {
                Some(|sum, count| *sum += count)
            }

            fn prefix(text: &&str) -> u64 {
                $crate::prefix(text)
            }
        }
    };
}

pub(super) use count_texts;
