package fairground;

import java.util.List;
import java.util.Map;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** The tests that answer text or JSON. */
@RestController
class Routes {
    private static final int MOST_QUERIES = 500;

    private final Store store;

    Routes(Store store) {
        this.store = store;
    }

    @GetMapping(path = "/plaintext", produces = MediaType.TEXT_PLAIN_VALUE)
    String plaintext() {
        return "Hello, World!";
    }

    @GetMapping("/json")
    Map<String, String> json() {
        return Map.of("message", "Hello, World!");
    }

    @GetMapping("/db")
    World single() {
        return store.world(Numbers.random());
    }

    @GetMapping("/queries")
    List<World> several(@RequestParam(required = false) String queries) {
        return Numbers.different(count(queries)).stream().map(store::world).toList();
    }

    @GetMapping("/updates")
    List<World> updates(@RequestParam(required = false) String queries) {
        return store.update(Numbers.different(count(queries)));
    }

    /** Within 1 and 500; what is no number is 1. */
    private static int count(String queries) {
        try {
            return Math.min(Math.max(Integer.parseInt(queries), 1), MOST_QUERIES);
        } catch (NumberFormatException none) {
            return 1;
        }
    }
}
