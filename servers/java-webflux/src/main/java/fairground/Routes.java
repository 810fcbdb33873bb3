package fairground;

import static org.springframework.web.reactive.function.server.RequestPredicates.all;
import static org.springframework.web.reactive.function.server.RouterFunctions.route;

import io.r2dbc.spi.R2dbcException;
import java.io.IOException;
import java.io.InputStream;
import java.time.Instant;
import java.util.List;
import java.util.regex.Pattern;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.ParameterizedTypeReference;
import org.springframework.core.io.buffer.DataBuffer;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;
import tools.jackson.core.JacksonException;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.StringNode;

/** The routes of the contract. */
@Configuration(proxyBeanMethods = false)
class Routes {
    private static final Logger LOG = LoggerFactory.getLogger(Routes.class);
    private static final String JSON = "application/json; charset=utf-8";
    private static final int BODY_LIMIT = 65_536;
    private static final Pattern DECIMAL = Pattern.compile("-?[0-9]+");
    private static final JsonMapper PLAIN_JSON = new JsonMapper(
        JsonFactory.builder().disable(JsonFactory.Feature.CHARSET_DETECTION).build());
    private static final ParameterizedTypeReference<List<User>> USERS = new ParameterizedTypeReference<>() {};

    private final Store store;
    private final Accounts accounts;

    Routes(Store store, Accounts accounts) {
        this.store = store;
        this.accounts = accounts;
    }

    @Bean
    RouterFunction<ServerResponse> router() {
        return route()
            .GET("/ready", request -> store.ready().then(ServerResponse.noContent().build()))
            .GET("/ping", request -> text("{\"ok\":true,\"message\":\"OK\"}"))
            .GET("/time", request -> text("{\"serverTime\":" + Instant.now().getEpochSecond() + "}"))
            .GET("/db/ping", request -> store.ping().flatMap(Routes::text))
            .GET("/db/time", request -> store.time().flatMap(Routes::text))
            .GET("/users", request -> json(HttpStatus.OK).body(store.users(), USERS))
            .POST("/tx", this::tx)
            .POST("/transfer", this::transfer)
            .POST("/lookup", this::lookup)
            .route(all(), request -> fail(HttpStatus.NOT_FOUND, "no such route"))
            .filter((request, next) -> Mono.defer(() -> next.handle(request)).onErrorResume(Routes::answer))
            .build();
    }

    private Mono<ServerResponse> tx(ServerRequest request) {
        int delta = integer(request, "delta", Integer.MIN_VALUE);
        return store.tx(id(request, "aid"), id(request, "tid"), id(request, "bid"), delta).then(done());
    }

    private Mono<ServerResponse> transfer(ServerRequest request) {
        int from = id(request, "from");
        int to = id(request, "to");
        int amount = id(request, "amount");
        if (from == to) {
            throw refusal("`from` and `to` must differ");
        }
        return store.transfer(from, to, amount)
            .flatMap(known -> known ? done() : fail(HttpStatus.NOT_FOUND, "no such user"));
    }

    private Mono<ServerResponse> lookup(ServerRequest request) {
        return DataBufferUtils.join(request.body((message, context) -> message.getBody()), BODY_LIMIT)
            .map(Routes::accountId)
            .switchIfEmpty(Mono.error(() -> refusal("the body is empty")))
            .flatMap(id -> {
                Account account = accounts.find(id);
                return account == null ? fail(HttpStatus.NOT_FOUND, "no such account") : json(HttpStatus.OK).bodyValue(account);
            });
    }

    private static Mono<ServerResponse> answer(Throwable error) {
        if (error instanceof ResponseStatusException refusal) {
            return fail(refusal.getStatusCode(), refusal.getReason());
        }
        if (error instanceof DataBufferLimitException) {
            return fail(HttpStatus.CONTENT_TOO_LARGE, "the body is too long");
        }
        if (error instanceof Unavailable) {
            return unavailable();
        }
        if (error instanceof R2dbcException) {
            return failed("the database failed");
        }
        if (!(error instanceof AbortedException)) {
            LOG.error("a request failed", error);
        }
        return failed("the server failed");
    }

    private static String accountId(DataBuffer body) {
        try (InputStream bytes = body.asInputStream(true)) {
            if (PLAIN_JSON.readTree(bytes).path("account_id") instanceof StringNode id) {
                return id.stringValue();
            }
        } catch (JacksonException | IOException error) {
            throw refusal("the body is not JSON");
        }
        throw refusal("`account_id` must be a string in a JSON object");
    }

    private static int id(ServerRequest request, String name) {
        return integer(request, name, 1);
    }

    private static int integer(ServerRequest request, String name, int min) {
        String text = request.queryParams().getFirst(name);
        if (text == null || !DECIMAL.matcher(text).matches()) {
            throw refusal("`" + name + "` must be a decimal integer");
        }
        try {
            int value = Integer.parseInt(text);
            if (value >= min) {
                return value;
            }
        } catch (NumberFormatException tooLong) {
            // falls through to the same answer
        }
        throw refusal("`" + name + "` is out of range");
    }

    private static ResponseStatusException refusal(String message) {
        return new ResponseStatusException(HttpStatus.BAD_REQUEST, message);
    }

    private static Mono<ServerResponse> done() {
        return text("{\"ok\":true}");
    }

    private static Mono<ServerResponse> unavailable() {
        return json(HttpStatus.SERVICE_UNAVAILABLE).header(HttpHeaders.RETRY_AFTER, "1")
            .bodyValue(new Failure(false, "no connection to the database"));
    }

    private static Mono<ServerResponse> failed(String message) {
        return fail(HttpStatus.INTERNAL_SERVER_ERROR, message);
    }

    private static Mono<ServerResponse> fail(HttpStatusCode status, String message) {
        return json(status).bodyValue(new Failure(false, message));
    }

    /** `text` is JSON already. */
    private static Mono<ServerResponse> text(String text) {
        return json(HttpStatus.OK).bodyValue(text);
    }

    private static ServerResponse.BodyBuilder json(HttpStatusCode status) {
        return ServerResponse.status(status).header(HttpHeaders.CONTENT_TYPE, JSON);
    }

    private record Failure(boolean ok, String message) {}
}
