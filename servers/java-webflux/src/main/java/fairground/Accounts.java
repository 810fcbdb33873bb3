package fairground;

import java.util.Map;
import org.springframework.context.SmartLifecycle;
import org.springframework.stereotype.Component;

/** The rows of `accounts` by their ids, loaded before anything listens. */
@Component
class Accounts implements SmartLifecycle {
    private static final int BEFORE_THE_WEB_SERVER = 0;

    private final Store store;
    private volatile Map<String, Account> byId = Map.of();

    Accounts(Store store) {
        this.store = store;
    }

    /** Null for an unknown id. */
    Account find(String id) {
        return byId.get(id);
    }

    @Override
    public void start() {
        byId = store.accounts().block();
    }

    @Override
    public void stop() {
        byId = Map.of();
    }

    @Override
    public boolean isRunning() {
        return !byId.isEmpty();
    }

    @Override
    public int getPhase() {
        return BEFORE_THE_WEB_SERVER;
    }
}
