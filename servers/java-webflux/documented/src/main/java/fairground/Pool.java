package fairground;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.pool.PoolMetrics;
import io.r2dbc.spi.Connection;
import io.r2dbc.spi.R2dbcTimeoutException;
import java.time.Duration;
import reactor.core.publisher.Mono;

/**
 * The pool under POOL_WAIT_MS, which is timed where all connections are taken: the pool's own `maxAcquireTime` also covers the
 * making of a connection and its way to an event loop.
 */
class Pool extends ConnectionPool {
    private final int size;
    private final Duration wait;

    /** `wait`: null waits without a limit. */
    Pool(ConnectionPoolConfiguration configuration, Duration wait) {
        super(configuration);
        this.size = getMetrics().map(PoolMetrics::getMaxAllocatedSize).orElseThrow();
        this.wait = wait;
    }

    @Override
    public Mono<Connection> create() {
        Mono<Connection> connection = super.create();
        if (wait == null) {
            return connection;
        }
        Mono<Connection> busy = Mono.error(() -> new R2dbcTimeoutException("no connection in time"));
        return Mono.defer(() -> !isFull() ? connection : wait.isZero() ? busy : connection.timeout(wait, busy));
    }

    private boolean isFull() {
        return getMetrics().map(PoolMetrics::acquiredSize).orElseThrow() >= size;
    }
}
