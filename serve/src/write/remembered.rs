//! The answers to requests that had a name, for clients that repeat a request.

use std::collections::{HashMap, VecDeque};

/// Requests whose answers are kept.
const MOST: usize = 10_000;

/// The answers to the last requests that had a name.
pub struct Remembered<A> {
    answers: HashMap<String, A>,
    order: VecDeque<String>,
}

impl<A> Default for Remembered<A> {
    fn default() -> Self {
        Remembered {
            answers: HashMap::new(),
            order: VecDeque::new(),
        }
    }
}

impl<A: Clone> Remembered<A> {
    /// The answer to the request of this name.
    pub fn get(&self, key: &str) -> Option<A> {
        self.answers.get(key).cloned()
    }

    /// Keeps the answer to the request of this name.
    pub fn put(&mut self, key: String, answer: A) {
        if self.answers.insert(key.clone(), answer).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > MOST
            && let Some(oldest) = self.order.pop_front()
        {
            self.answers.remove(&oldest);
        }
    }
}
