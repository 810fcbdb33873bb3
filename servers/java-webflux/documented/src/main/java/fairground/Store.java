package fairground;

import org.springframework.http.HttpStatus;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The statements of the contract. */
@Component
class Store {
    private final DatabaseClient client;

    Store(DatabaseClient client) {
        this.client = client;
    }

    Flux<Account> accounts() {
        return client.sql("SELECT * FROM accounts").mapProperties(Account.class).all();
    }

    Mono<Void> ready() {
        return client.sql("SELECT 1").then();
    }

    Mono<String> ping() {
        return client.sql("SELECT json_build_object('ok', true, 'message', 'OK')::text").mapValue(String.class).one();
    }

    Mono<String> time() {
        return client.sql("SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text")
            .mapValue(String.class)
            .one();
    }

    Flux<User> users() {
        return client.sql("SELECT id, username, name, sex, address, mail, birthdate FROM users ORDER BY id")
            .mapProperties(User.class)
            .all()
            .map(User::ciphered);
    }

    Mono<Void> tx(long aid, long tid, long bid, int delta) {
        return client.sql("SELECT pgbench_tx(:aid, :tid, :bid, :delta)")
            .bind("aid", aid)
            .bind("tid", tid)
            .bind("bid", bid)
            .bind("delta", delta)
            .then();
    }

    /** Error: 404 where one of the two is unknown; nothing is changed then. */
    @Transactional
    public Mono<Void> transfer(int from, int to, int amount) {
        return move("UPDATE web_users SET credits = credits - :amount WHERE id = :id", amount, from)
            .then(move("UPDATE web_users SET credits = credits + :amount WHERE id = :id", amount, to));
    }

    private Mono<Void> move(String sql, int amount, int id) {
        return client.sql(sql).bind("amount", amount).bind("id", id).fetch().rowsUpdated()
            .flatMap(rows -> rows == 0
                ? Mono.error(new ResponseStatusException(HttpStatus.NOT_FOUND, "no such account"))
                : Mono.empty());
    }
}
