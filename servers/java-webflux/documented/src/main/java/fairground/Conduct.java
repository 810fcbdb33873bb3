package fairground;

import org.springframework.http.HttpHeaders;
import org.springframework.stereotype.Component;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/** What the contract demands of every answer, and no guide shows. */
@Component
class Conduct implements WebFilter {
    private static final String JSON = "application/json; charset=utf-8";

    /**
     * Spring writes a content type without the space before its charset. A client that hangs up cancels nothing: the driver does not
     * roll back a transaction that is cancelled while it begins, and whoever got the connection next would be inside it.
     */
    @Override
    public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
        HttpHeaders headers = exchange.getResponse().getHeaders();
        exchange.getResponse().beforeCommit(() -> Mono.fromRunnable(() -> {
            if (headers.getContentType() != null) {
                headers.set(HttpHeaders.CONTENT_TYPE, JSON);
            }
        }));
        return Mono.defer(() -> Mono.fromFuture(chain.filter(exchange).toFuture(), true));
    }
}
