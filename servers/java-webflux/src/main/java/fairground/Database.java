package fairground;

import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.COMPATIBILITY_MODE;
import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.FORCE_BINARY;
import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.LOOP_RESOURCES;
import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.PREPARED_STATEMENT_CACHE_QUERIES;
import static io.r2dbc.spi.ConnectionFactoryOptions.CONNECT_TIMEOUT;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.spi.Connection;
import io.r2dbc.spi.ConnectionFactories;
import io.r2dbc.spi.ConnectionFactoryOptions;
import io.r2dbc.spi.ValidationDepth;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.core.publisher.Mono;

/** The pool of connections, with up to POOL_SIZE of them. */
@Configuration(proxyBeanMethods = false)
class Database {
    private static final Duration CONNECT = Duration.ofSeconds(3);

    /**
     * Connections are dealt out to the event loops of the web server. Rows are binary. In its compatibility mode the driver
     * fetches all rows in one round trip when a fetch size is given outside a transaction.
     */
    @Bean(destroyMethod = "dispose")
    ConnectionPool pool(
        ReactorResourceFactory reactor,
        @Value("${fairground.database-url}") String url,
        @Value("${fairground.pool-size}") int size,
        @Value("${fairground.prepared}") String prepared
    ) {
        ConnectionFactoryOptions.Builder options = ConnectionFactoryOptions.parse("r2dbc:" + url).mutate()
            .option(CONNECT_TIMEOUT, CONNECT)
            .option(LOOP_RESOURCES, reactor.getLoopResources())
            .option(FORCE_BINARY, true)
            .option(COMPATIBILITY_MODE, true);
        if (prepared.equals("off")) {
            options.option(PREPARED_STATEMENT_CACHE_QUERIES, 0);
        }
        return new ConnectionPool(ConnectionPoolConfiguration.builder(ConnectionFactories.get(options.build()))
            .initialSize(0)
            .maxSize(size)
            .maxCreateConnectionTime(CONNECT)
            .customizer(pool -> pool.evictionPredicate((connection, metadata) -> !isOpen(connection)))
            .build());
    }

    /** Known at once, without asking the database: the driver notices when the other side closes. */
    private static boolean isOpen(Connection connection) {
        return Boolean.TRUE.equals(Mono.from(connection.validate(ValidationDepth.LOCAL)).block());
    }
}
