package fairground;

import java.util.Map;
import java.util.Optional;
import org.springframework.stereotype.Component;

/** The rows of `accounts` by their ids, loaded before anything listens. */
@Component
class Accounts {
    private final Map<String, Account> byId;

    Accounts(Store store) {
        byId = store.accounts().collectMap(Account::accountId).block();
    }

    Optional<Account> find(String id) {
        return Optional.ofNullable(byId.get(id));
    }
}
