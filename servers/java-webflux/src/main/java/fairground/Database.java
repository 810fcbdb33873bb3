package fairground;

import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.LOOP_RESOURCES;
import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.PREPARED_STATEMENT_CACHE_QUERIES;
import static io.r2dbc.spi.ConnectionFactoryOptions.CONNECT_TIMEOUT;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.spi.Connection;
import io.r2dbc.spi.ConnectionFactories;
import io.r2dbc.spi.ConnectionFactory;
import io.r2dbc.spi.ConnectionFactoryMetadata;
import io.r2dbc.spi.ConnectionFactoryOptions;
import io.r2dbc.spi.ValidationDepth;
import java.time.Duration;
import org.reactivestreams.Publisher;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.core.publisher.Mono;

/** The pool of connections, with up to POOL_SIZE of them. */
@Configuration(proxyBeanMethods = false)
class Database {
    private static final Duration CONNECT = Duration.ofSeconds(3);

    @Bean
    ConnectionFactory connectionFactory(
        ReactorResourceFactory reactor,
        @Value("${fairground.database-url}") String url,
        @Value("${fairground.pool-size}") int size,
        @Value("${fairground.pool-wait-ms}") Integer waitMs,
        @Value("${fairground.prepared}") String prepared
    ) {
        ConnectionFactoryOptions.Builder options = ConnectionFactoryOptions.parse("r2dbc:" + url).mutate()
            .option(LOOP_RESOURCES, reactor.getLoopResources())
            .option(CONNECT_TIMEOUT, CONNECT);
        if (prepared.equals("off")) {
            options.option(PREPARED_STATEMENT_CACHE_QUERIES, 0);
        }
        return new Pool(new ConnectionPool(configuration(ConnectionFactories.get(options.build()), size, waitMs)));
    }

    /** `waitMs`: longest wait for a connection; null waits without a limit, 0 does not wait. */
    private static ConnectionPoolConfiguration configuration(ConnectionFactory factory, int size, Integer waitMs) {
        ConnectionPoolConfiguration.Builder builder = ConnectionPoolConfiguration.builder(factory)
            .initialSize(0)
            .maxSize(size)
            .maxCreateConnectionTime(CONNECT)
            .acquireRetry(0);
        if (waitMs != null && waitMs > 0) {
            builder.maxAcquireTime(Duration.ofMillis(waitMs));
        }
        return builder.customizer(pool -> {
            pool.evictionPredicate((connection, metadata) -> !isOpen(connection));
            if (waitMs != null && waitMs == 0) {
                pool.maxPendingAcquire(0);
            }
        }).build();
    }

    /** Known without asking the database: the driver notices when the other side closes. */
    private static boolean isOpen(Connection connection) {
        return Boolean.TRUE.equals(Mono.from(connection.validate(ValidationDepth.LOCAL)).block());
    }

    /** Tells apart that there is no connection from all that can go wrong on one. */
    private record Pool(ConnectionPool pool) implements ConnectionFactory {
        @Override
        public Publisher<? extends Connection> create() {
            return pool.create().onErrorMap(Unavailable::new);
        }

        @Override
        public ConnectionFactoryMetadata getMetadata() {
            return pool.getMetadata();
        }
    }
}
