package fairground;

import tools.jackson.databind.PropertyNamingStrategies.SnakeCaseStrategy;
import tools.jackson.databind.annotation.JsonNaming;

/** One row of `accounts`. */
@JsonNaming(SnakeCaseStrategy.class)
record Account(
    String accountId,
    String name,
    String email,
    String plan,
    String currency,
    long balanceCents,
    boolean active,
    String createdAt,
    String region,
    String note
) {}
