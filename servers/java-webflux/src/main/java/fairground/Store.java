package fairground;

import io.r2dbc.pool.ConnectionPool;
import io.r2dbc.spi.Connection;
import io.r2dbc.spi.Readable;
import io.r2dbc.spi.Result;
import io.r2dbc.spi.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.springframework.stereotype.Component;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** The statements of the contract. Errors: `Unavailable` without a connection, `R2dbcException` with one. */
@Component
class Store {
    private static final Duration RETRY = Duration.ofMillis(200);
    /** Without a fetch size the driver would send a statement that has no parameters by the simple protocol. */
    private static final int ALL_ROWS = Integer.MAX_VALUE;

    private final ConnectionPool pool;
    private final Slots slots;

    Store(ConnectionPool pool, Slots slots) {
        this.pool = pool;
        this.slots = slots;
    }

    /** All accounts by their ids; tries until the database answers. */
    Mono<Map<String, Account>> accounts() {
        return rows("SELECT " + Account.COLUMNS + " FROM accounts", Account::of)
            .flatMapIterable(accounts -> accounts)
            .collectMap(Account::accountId)
            .retryWhen(Retry.fixedDelay(Long.MAX_VALUE, RETRY).filter(Unavailable.class::isInstance));
    }

    Mono<Void> ready() {
        return text("SELECT 'ready'").then();
    }

    Mono<String> ping() {
        return text("SELECT json_build_object('ok', true, 'message', 'OK')::text");
    }

    Mono<String> time() {
        return text("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text");
    }

    Mono<List<User>> users() {
        return rows("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id", User::of);
    }

    Mono<Void> tx(int aid, int tid, int bid, int delta) {
        return withConnection(connection -> rowCount(connection.createStatement("SELECT pgbench_tx($1, $2, $3, $4)")
            .bind(0, (long) aid).bind(1, (long) tid).bind(2, (long) bid).bind(3, delta))).then();
    }

    /** False when one of the two does not exist; nothing is changed then. */
    Mono<Boolean> transfer(int from, int to, int amount) {
        return withConnection(connection -> Mono.usingWhen(
            Mono.from(connection.beginTransaction()).thenReturn(connection),
            begun -> move(begun, "UPDATE web_users SET credits = credits - $1 WHERE id = $2", amount, from)
                .then(move(begun, "UPDATE web_users SET credits = credits + $1 WHERE id = $2", amount, to))
                .thenReturn(true),
            Connection::commitTransaction,
            (begun, error) -> begun.rollbackTransaction(),
            Connection::rollbackTransaction))
            .onErrorReturn(UnknownUser.class, false);
    }

    private static Mono<Void> move(Connection connection, String sql, int amount, int id) {
        return Mono.defer(() -> rowCount(connection.createStatement(sql).bind(0, amount).bind(1, id)))
            .flatMap(count -> count == 0 ? Mono.error(new UnknownUser()) : Mono.empty());
    }

    private static Mono<Long> rowCount(Statement statement) {
        return Flux.from(statement.execute()).flatMap(Result::getRowsUpdated).single();
    }

    private Mono<String> text(String sql) {
        return rows(sql, row -> row.get(0, String.class)).map(texts -> texts.get(0));
    }

    private <T> Mono<List<T>> rows(String sql, Function<Readable, T> of) {
        return withConnection(connection -> Flux.from(connection.createStatement(sql).fetchSize(ALL_ROWS).execute())
            .flatMap(result -> result.map(of))
            .collectList());
    }

    /**
     * The connection goes back to the pool before the result is passed on. A client that hangs up cancels nothing: the driver does
     * not roll back a transaction that is cancelled while it begins, and whoever got the connection next would be inside it.
     */
    private <T> Mono<T> withConnection(Function<Connection, Mono<T>> use) {
        Mono<T> work = slots.hold(Mono.usingWhen(pool.create().onErrorMap(Unavailable::new), use, Connection::close));
        return Mono.defer(() -> Mono.fromFuture(work.toFuture(), true));
    }

    private static class UnknownUser extends RuntimeException {
        UnknownUser() {
            super(null, null, false, false);
        }
    }
}
