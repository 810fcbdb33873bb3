package fairground;

import io.r2dbc.spi.Readable;

/** One row of `accounts`; the keys of its JSON are in snake case. */
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
) {
    static final String COLUMNS = "account_id, name, email, plan, currency, balance_cents, active, created_at, region, note";

    /** From a row of `COLUMNS`. */
    static Account of(Readable row) {
        return new Account(
            row.get(0, String.class),
            row.get(1, String.class),
            row.get(2, String.class),
            row.get(3, String.class),
            row.get(4, String.class),
            row.get(5, Long.class),
            row.get(6, Boolean.class),
            row.get(7, String.class),
            row.get(8, String.class),
            row.get(9, String.class));
    }
}
