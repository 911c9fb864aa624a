// What a decision of governor costs, in the scenarios of in_process.py: one line "NAME nanoseconds" for each, in
// processor time of the threads that decide.

use governor::{Quota, RateLimiter};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Barrier;

const HOT_KEY: &str = "user:00000000000042";
const HOT_DECISIONS: usize = 2_000_000;
const KEYS: usize = 1_000_000;

fn thread_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn measure(decisions: usize, mut decide: impl FnMut(usize)) -> f64 {
    let started = thread_ns();
    for i in 0..decisions {
        decide(i);
    }
    (thread_ns() - started) / decisions as f64
}

// Admits everything that is asked here; and denies everything but the first.
fn wide() -> Quota {
    Quota::per_second(NonZeroU32::new(1_000_000_000).unwrap())
}
fn narrow() -> Quota {
    Quota::per_hour(NonZeroU32::new(1).unwrap())
}

fn hot(name: &str, quota: Quota) {
    let direct = RateLimiter::direct(quota);
    let _ = direct.check();
    println!("direct/{name} {:.2}", measure(HOT_DECISIONS, |_| { black_box(direct.check().is_ok()); }));
    let keyed = RateLimiter::dashmap(quota);
    let key = HOT_KEY.to_string();
    let _ = keyed.check_key(&key);
    println!("hot_key/{name} {:.2}", measure(HOT_DECISIONS, |_| { black_box(keyed.check_key(&key).is_ok()); }));
}

// Each thread on a key of its own: nanoseconds of each thread, and those of one thread alone.
fn two_threads() {
    let keyed = RateLimiter::dashmap(wide());
    let keys = ["user:00000000000001".to_string(), "user:00000000000002".to_string()];
    let decide = |thread: usize| measure(HOT_DECISIONS, |_| { black_box(keyed.check_key(&keys[thread]).is_ok()); });
    println!("threads/one {:.2}", decide(0));
    let start = Barrier::new(2);
    let both: f64 = std::thread::scope(|scope| {
        let running: Vec<_> = (0..2).map(|thread| {
            let (start, decide) = (&start, &decide);
            scope.spawn(move || { start.wait(); decide(thread) })
        }).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    println!("threads/two {:.2}", both / 2.0);
}

fn many_keys() {
    // A walk by a step that has no divisor in common with their number meets every key once, in no order.
    let keys: Vec<String> = (0..KEYS).map(|i| format!("user:{:014}", i * 7_368_787 % KEYS)).collect();
    let keyed = RateLimiter::dashmap(wide());
    let step = |i: usize| &keys[i * 387_420_489 % KEYS];
    for i in 0..KEYS {
        let _ = keyed.check_key(step(i));
    }
    println!("keys_1M {:.2}", measure(KEYS, |i| { black_box(keyed.check_key(&keys[i]).is_ok()); }));
}

fn main() {
    hot("admitted", wide());
    hot("denied", narrow());
    two_threads();
    many_keys();
}
