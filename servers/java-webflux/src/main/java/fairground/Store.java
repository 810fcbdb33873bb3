package fairground;

import io.r2dbc.spi.ConnectionFactory;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** The statements of the contract. */
@Component
class Store {
    private static final Duration RETRY = Duration.ofMillis(200);

    private final DatabaseClient client;
    private final TransactionalOperator transaction;

    Store(ConnectionFactory pool, TransactionalOperator transaction) {
        this.client = DatabaseClient.builder().connectionFactory(pool).namedParameters(false).build();
        this.transaction = transaction;
    }

    /** Tries until the database answers. */
    Mono<Map<String, Account>> accounts() {
        return client.sql("SELECT " + Account.COLUMNS + " FROM accounts").map(Account::of).all()
            .collectMap(Account::accountId)
            .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, RETRY).filter(DataAccessResourceFailureException.class::isInstance));
    }

    Mono<Void> ready() {
        return client.sql("SELECT 1").then();
    }

    Mono<String> ping() {
        return text("SELECT json_build_object('ok', true, 'message', 'OK')::text");
    }

    Mono<String> time() {
        return text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text");
    }

    Mono<List<User>> users() {
        return client.sql("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
            .map(User::of).all().collectList();
    }

    Mono<Void> tx(int aid, int tid, int bid, int delta) {
        return client.sql("SELECT pgbench_tx($1, $2, $3, $4)")
            .bind(0, (long) aid).bind(1, (long) tid).bind(2, (long) bid).bind(3, delta)
            .then();
    }

    /** False when one of the two does not exist; nothing is changed then. */
    Mono<Boolean> transfer(int from, int to, int amount) {
        return transaction.execute(status ->
            move("UPDATE web_users SET credits = credits - $1 WHERE id = $2", amount, from)
                .flatMap(done -> done ? move("UPDATE web_users SET credits = credits + $1 WHERE id = $2", amount, to) : Mono.just(false))
                .doOnNext(done -> {
                    if (!done) status.setRollbackOnly();
                })).single();
    }

    private Mono<Boolean> move(String sql, int amount, int id) {
        return client.sql(sql).bind(0, amount).bind(1, id).fetch().rowsUpdated().map(count -> count == 1);
    }

    private Mono<String> text(String sql) {
        return client.sql(sql).map(row -> row.get(0, String.class)).one();
    }
}
