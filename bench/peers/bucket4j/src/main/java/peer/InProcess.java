// What a decision of bucket4j costs, in the scenarios of in_process.py: one line "NAME nanoseconds" for each, in
// processor time of the threads that decide, once the compiler has seen the loop.
package peer;

import io.github.bucket4j.Bandwidth;
import io.github.bucket4j.Bucket;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntPredicate;

public final class InProcess {
  private static final int HOT_DECISIONS = 2_000_000;
  private static final int KEYS = 1_000_000;
  private static final int WARM_ROUNDS = 3;
  private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
  private static volatile int admitted;

  private static double measure(int decisions, IntPredicate decide) {
    double ns = 0;
    for (int round = 0; round <= WARM_ROUNDS; ++round) {
      int count = 0;
      final long started = THREADS.getCurrentThreadCpuTime();
      for (int i = 0; i < decisions; ++i) {
        if (decide.test(i)) ++count;
      }
      ns = (double) (THREADS.getCurrentThreadCpuTime() - started) / decisions;
      admitted = count;
    }
    return ns;
  }

  private static void print(String name, double ns) {
    System.out.printf(Locale.ROOT, "%s %.2f%n", name, ns);
  }

  // Admits everything that is asked here; and denies everything but the first. Its time is that of nanoTime: the wall
  // clock that it has by default counts milliseconds.
  private static Bucket wide() {
    return Bucket.builder().withNanosecondPrecision()
        .addLimit(Bandwidth.builder().capacity(1_000_000_000).refillGreedy(1_000_000_000, Duration.ofSeconds(1)).build())
        .build();
  }

  private static Bucket narrow() {
    return Bucket.builder().withNanosecondPrecision()
        .addLimit(Bandwidth.builder().capacity(1).refillGreedy(1, Duration.ofHours(1)).build())
        .build();
  }

  private static void hot(String name, Bucket bucket) {
    bucket.tryConsume(1);
    print("direct/" + name, measure(HOT_DECISIONS, i -> bucket.tryConsume(1)));
    final ConcurrentHashMap<String, Bucket> keyed = new ConcurrentHashMap<>();
    final String key = "user:00000000000042";
    keyed.put(key, bucket);
    print("hot_key/" + name, measure(HOT_DECISIONS, i -> keyed.get(key).tryConsume(1)));
  }

  private static void twoThreads() throws Exception {
    final ConcurrentHashMap<String, Bucket> keyed = new ConcurrentHashMap<>();
    final String[] keys = {"user:00000000000001", "user:00000000000002"};
    for (final String key : keys) keyed.put(key, wide());
    print("threads/one", measure(HOT_DECISIONS, i -> keyed.get(keys[0]).tryConsume(1)));
    final CyclicBarrier start = new CyclicBarrier(keys.length);
    final double[] ns = new double[keys.length];
    final Thread[] running = new Thread[keys.length];
    for (int thread = 0; thread < keys.length; ++thread) {
      final int number = thread;
      running[thread] = new Thread(() -> {
        try {
          start.await();
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
        ns[number] = measure(HOT_DECISIONS, i -> keyed.get(keys[number]).tryConsume(1));
      });
      running[thread].start();
    }
    for (final Thread thread : running) thread.join();
    print("threads/two", (ns[0] + ns[1]) / 2);
  }

  private static void manyKeys() {
    final ConcurrentHashMap<String, Bucket> keyed = new ConcurrentHashMap<>(2 * KEYS);
    final String[] keys = new String[KEYS];
    for (long i = 0; i < KEYS; ++i) keys[(int) i] = String.format("user:%014d", i * 7_368_787 % KEYS);
    for (long i = 0; i < KEYS; ++i) keyed.put(keys[(int) (i * 387_420_489 % KEYS)], wide());
    print("keys_1M", measure(KEYS, i -> keyed.get(keys[i]).tryConsume(1)));
  }

  public static void main(String[] arguments) throws Exception {
    hot("admitted", wide());
    hot("denied", narrow());
    twoThreads();
    manyKeys();
  }
}
