package fairground;

import jakarta.validation.Valid;
import jakarta.validation.constraints.Min;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/** The routes of the contract. */
@RestController
class Routes {
    private final Store store;
    private final Accounts accounts;

    Routes(Store store, Accounts accounts) {
        this.store = store;
        this.accounts = accounts;
    }

    @GetMapping("/ready")
    @ResponseStatus(HttpStatus.NO_CONTENT)
    Mono<Void> ready() {
        return store.ready();
    }

    @GetMapping("/ping")
    Message ping() {
        return new Message(true, "OK");
    }

    @GetMapping("/time")
    Map<String, Long> time() {
        return Map.of("serverTime", Instant.now().getEpochSecond());
    }

    /** What the statement returns is JSON already. */
    @GetMapping(path = "/db/ping", produces = MediaType.APPLICATION_JSON_VALUE)
    Mono<String> databasePing() {
        return store.ping();
    }

    @GetMapping(path = "/db/time", produces = MediaType.APPLICATION_JSON_VALUE)
    Mono<String> databaseTime() {
        return store.time();
    }

    /** As a list, and so with a length: HTTP/1.0 knows no chunks, and a stream would have some. */
    @GetMapping("/users")
    Mono<List<User>> users() {
        return store.users().collectList();
    }

    @PostMapping("/tx")
    Mono<Done> tx(
        @RequestParam @Min(1) int aid, @RequestParam @Min(1) int tid, @RequestParam @Min(1) int bid, @RequestParam int delta
    ) {
        return store.tx(aid, tid, bid, delta).thenReturn(new Done(true));
    }

    @PostMapping("/transfer")
    Mono<Done> transfer(
        @RequestParam @Min(1) int from, @RequestParam @Min(1) int to, @RequestParam @Min(1) int amount
    ) {
        if (from == to) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "`from` and `to` must differ");
        }
        return store.transfer(from, to, amount).thenReturn(new Done(true));
    }

    @PostMapping("/lookup")
    Account lookup(@Valid @RequestBody Lookup asked) {
        return accounts.find(asked.accountId())
            .orElseThrow(() -> new ResponseStatusException(HttpStatus.NOT_FOUND, "no such account"));
    }

    record Done(boolean ok) {}
}
