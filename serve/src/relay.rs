//! Connections that the thread of an answer goes on with.
//!
//! A connection waits for the answer to its request as a task of the async runtime. When a thread has found the answer,
//! it would wake a thread of the runtime, which writes it: tens of microseconds on a machine that sleeps. Instead, the
//! thread polls the connection itself, which writes the answer and reads on as far as it can without waiting.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::task::AtomicWaker;
use tokio::runtime::Handle;

/// A future that is polled where [`go_on_here`] wakes it, and by its task otherwise.
pub struct Relayed<F: Future<Output = ()> + Send + 'static>(Arc<Relay<F>>);

struct Relay<F> {
    /// None at its end. Whoever has made the state `RUNS` has the lock.
    future: Mutex<Option<Pin<Box<F>>>>,
    state: AtomicU8,
    task: AtomicWaker,
    runtime: Handle,
}

/// Nobody polls the future.
const WAITS: u8 = 0;
/// A thread polls it.
const RUNS: u8 = 1;
/// A thread polls it, and it was woken meanwhile.
const RUNS_AND_WOKEN: u8 = 2;

trait Run: Send + Sync {
    /// Polls the future unless another thread does; its task polls it again if it was woken meanwhile.
    fn run(self: Arc<Self>) -> Poll<()>;
}

thread_local! {
    /// The futures woken by [`go_on_here`] on this thread.
    static WOKEN: RefCell<Option<Vec<Arc<dyn Run>>>> = const { RefCell::new(None) };
}

/// Calls `wake`, and polls the futures that it wakes on this thread.
pub fn go_on_here(wake: impl FnOnce()) {
    WOKEN.with_borrow_mut(|woken| *woken = Some(Vec::new()));
    // The list must not outlive this call.
    let done = catch_unwind(AssertUnwindSafe(wake));
    let woken = WOKEN.with_borrow_mut(Option::take).unwrap_or_default();
    for relay in woken {
        // The task learns of the end by its waker.
        let _ = relay.run();
    }
    if let Err(panic) = done {
        std::panic::resume_unwind(panic);
    }
}

impl<F: Future<Output = ()> + Send + 'static> Relayed<F> {
    /// A future for a task of the runtime of this thread.
    pub fn new(future: F) -> Self {
        Relayed(Arc::new(Relay {
            future: Mutex::new(Some(Box::pin(future))),
            state: AtomicU8::new(WAITS),
            task: AtomicWaker::new(),
            runtime: Handle::current(),
        }))
    }
}

impl<F: Future<Output = ()> + Send + 'static> Future for Relayed<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.task.register(context.waker());
        Arc::clone(&self.0).run()
    }
}

/// The future has its own wakers, and ends with its task.
impl<F: Future<Output = ()> + Send + 'static> Drop for Relayed<F> {
    fn drop(&mut self) {
        let future = self.0.take();
        drop(future);
    }
}

impl<F> Relay<F> {
    fn take(&self) -> Option<Pin<Box<F>>> {
        let future = self.future.lock();
        future.unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<F: Future<Output = ()> + Send + 'static> Run for Relay<F> {
    fn run(self: Arc<Self>) -> Poll<()> {
        let woken = |state| match state {
            WAITS => Some(RUNS),
            _ => Some(RUNS_AND_WOKEN),
        };
        let order = Ordering::AcqRel;
        let before = self.state.fetch_update(order, Ordering::Acquire, woken);
        if before != Ok(WAITS) {
            return Poll::Pending;
        }
        let waker = Waker::from(Arc::clone(&self));
        let polled = {
            let _inside = self.runtime.enter();
            let mut future = self.future.lock().unwrap_or_else(PoisonError::into_inner);
            let poll = |future: &mut Pin<Box<F>>| {
                let mut context = Context::from_waker(&waker);
                // A panic, which its hook has reported, ends the connection.
                let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context)));
                polled.unwrap_or(Poll::Ready(()))
            };
            let polled = future.as_mut().map_or(Poll::Ready(()), poll);
            if polled.is_ready() {
                *future = None;
            }
            polled
        };
        let was_woken = self.state.swap(WAITS, order) == RUNS_AND_WOKEN;
        if was_woken || polled.is_ready() {
            self.task.wake();
        }
        polled
    }
}

impl<F: Future<Output = ()> + Send + 'static> Wake for Relay<F> {
    fn wake(self: Arc<Self>) {
        let rest = WOKEN.with_borrow_mut(|woken| match woken {
            Some(woken) => {
                woken.push(self);
                None
            }
            None => Some(self),
        });
        if let Some(relay) = rest {
            relay.task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use tokio::sync::oneshot;

    use super::*;

    fn runtime() -> tokio::runtime::Runtime {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(1).build().unwrap()
    }

    #[test]
    fn the_thread_that_wakes_goes_on() {
        let runtime = runtime();
        let here = std::thread::current().id();
        let (begun, has_begun) = oneshot::channel();
        let (told, thread) = oneshot::channel();
        let (first, message) = oneshot::channel::<()>();
        let (second, next_message) = oneshot::channel::<()>();
        let relay = {
            let _inside = runtime.enter();
            let relayed = Relayed::new(async move {
                begun.send(()).unwrap();
                message.await.unwrap();
                let first_thread = std::thread::current().id();
                next_message.await.unwrap();
                told.send([first_thread, std::thread::current().id()])
                    .unwrap();
            });
            let relay = Arc::clone(&relayed.0);
            runtime.spawn(relayed);
            relay
        };
        runtime.block_on(has_begun).unwrap();
        while relay.state.load(Ordering::Acquire) != WAITS {
            std::thread::yield_now();
        }
        go_on_here(|| first.send(()).unwrap());
        second.send(()).unwrap();
        let [first, second] = runtime.block_on(thread).unwrap();
        assert_eq!(first, here);
        assert_ne!(second, here);
    }

    #[test]
    fn wakers_of_many_threads_lose_no_message() {
        let runtime = runtime();
        let heard = Arc::new(AtomicUsize::new(0));
        let (messages, mut inbox) = tokio::sync::mpsc::unbounded_channel::<()>();
        let ended = {
            let (heard, _inside) = (Arc::clone(&heard), runtime.enter());
            runtime.spawn(Relayed::new(async move {
                while inbox.recv().await.is_some() {
                    heard.fetch_add(1, Ordering::Relaxed);
                }
            }))
        };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let messages = messages.clone();
                scope.spawn(move || {
                    for number in 0..10_000 {
                        let send = || messages.send(()).unwrap();
                        match (number + thread) % 2 {
                            0 => go_on_here(send),
                            _ => send(),
                        }
                    }
                });
            }
        });
        drop(messages);
        runtime.block_on(ended).unwrap();
        assert_eq!(heard.load(Ordering::Relaxed), 40_000);
    }

    #[test]
    fn a_future_ends_with_its_task_or_its_panic() {
        struct Alive(Arc<AtomicUsize>);
        impl Drop for Alive {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        let alive = Arc::new(AtomicUsize::new(2));
        let runtime = runtime();
        let (panics, message) = oneshot::channel::<()>();
        let ended = {
            let (guard, _inside) = (Alive(Arc::clone(&alive)), runtime.enter());
            runtime.spawn(Relayed::new(async move {
                let _guard = guard;
                let _ = message.await;
                panic!("expected in this test");
            }))
        };
        go_on_here(|| panics.send(()).unwrap());
        runtime.block_on(ended).unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 1);
        let (never, message) = oneshot::channel::<()>();
        let guard = Alive(Arc::clone(&alive));
        {
            let _inside = runtime.enter();
            runtime.spawn(Relayed::new(async move {
                let _guard = guard;
                let _ = message.await;
            }));
        }
        drop(runtime);
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        drop(never);
    }
}
