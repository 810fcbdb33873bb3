package fairground;

import static io.r2dbc.postgresql.PostgresqlConnectionFactoryProvider.PREPARED_STATEMENT_CACHE_QUERIES;

import io.r2dbc.pool.ConnectionPoolConfiguration;
import io.r2dbc.spi.ConnectionFactories;
import io.r2dbc.spi.ConnectionFactory;
import io.r2dbc.spi.ConnectionFactoryOptions;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.r2dbc.connection.R2dbcTransactionManager;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/** The pool of connections, with up to POOL_SIZE of them. */
@Configuration
@EnableTransactionManagement
class Database {
    /** `waitMs`: longest wait for a connection; null waits without a limit, 0 does not wait. */
    @Bean
    ConnectionFactory connectionFactory(
        @Value("${fairground.database-url}") String url,
        @Value("${fairground.pool-size}") int size,
        @Value("${fairground.pool-wait-ms}") Integer waitMs,
        @Value("${fairground.prepared}") String prepared
    ) {
        ConnectionFactoryOptions.Builder options = ConnectionFactoryOptions.parse("r2dbc:" + url).mutate();
        if (prepared.equals("off")) {
            options.option(PREPARED_STATEMENT_CACHE_QUERIES, 0);
        }
        // The default would open ten connections at once, whatever the most may be.
        return new Pool(
            ConnectionPoolConfiguration.builder(ConnectionFactories.get(options.build())).initialSize(0).maxSize(size).build(),
            waitMs == null ? null : Duration.ofMillis(waitMs));
    }

    @Bean
    DatabaseClient databaseClient(ConnectionFactory connections) {
        return DatabaseClient.create(connections);
    }

    @Bean
    ReactiveTransactionManager transactionManager(ConnectionFactory connections) {
        return new R2dbcTransactionManager(connections);
    }
}
