package fairground;

import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Mono;
import reactor.pool.Pool;
import reactor.pool.PoolBuilder;
import reactor.pool.PooledRef;

/**
 * Who may ask the pool for a connection, under POOL_WAIT_MS. r2dbc-pool's own `maxAcquireTime` goes on while it hands a free
 * connection over to that connection's event loop, which alone may take longer than a short wait.
 */
@Component
class Slots {
    private final Pool<Slots> slots;
    private final Integer waitMs;

    /** `waitMs`: longest wait; null waits without a limit, 0 does not wait. */
    Slots(@Value("${fairground.pool-size}") int size, @Value("${fairground.pool-wait-ms}") Integer waitMs) {
        PoolBuilder<Slots, ?> builder = PoolBuilder.from(Mono.just(this)).sizeBetween(0, size);
        this.slots = waitMs != null && waitMs == 0 ? builder.maxPendingAcquire(0).buildPool() : builder.buildPool();
        this.waitMs = waitMs;
    }

    /** `work`, once there is a slot for it. Error: `Unavailable`. */
    <T> Mono<T> hold(Mono<T> work) {
        if (waitMs == null) {
            return work;
        }
        return Mono.usingWhen(
            slots.acquire(Duration.ofMillis(waitMs)).onErrorMap(Unavailable::new), slot -> work, PooledRef::release);
    }
}
