package fairground;

import com.fasterxml.jackson.annotation.JsonProperty;
import jakarta.validation.constraints.NotNull;

/** The body of `POST /lookup`. */
record Lookup(@NotNull @JsonProperty("account_id") String accountId) {}
