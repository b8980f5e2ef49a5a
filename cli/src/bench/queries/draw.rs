//! Queries drawn from an index: terms as often as documents have them.

use tokapi::Error;
use tokapi::Index;

use super::Args;

/// Terms of each query.
pub fn queries(index: &Index, args: &Args) -> Result<Vec<Vec<String>>, Error> {
    let most = (args.largest_share * index.statistics().documents as f64) as u64;
    let mut sums = Vec::new();
    let mut terms = Vec::new();
    let mut sum = 0u64;
    index.each_term(|term, df| {
        if df <= most
            && let Ok(term) = std::str::from_utf8(term)
        {
            sum += df;
            sums.push(sum);
            terms.push(term.to_owned());
        }
    })?;
    let mut state = args.seed;
    let mut random = move || {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let (least, most) = (args.terms[0], args.terms[1]);
    let mut queries = Vec::with_capacity(args.count);
    for _ in 0..args.count {
        let count = least + random() as usize % (most - least + 1);
        let mut query: Vec<String> = Vec::with_capacity(count);
        while query.len() < count {
            let drawn = random() % sum;
            let place = sums.partition_point(|&end| end <= drawn);
            if !query.contains(&terms[place]) {
                query.push(terms[place].clone());
            }
        }
        queries.push(query);
    }
    Ok(queries)
}
