package fairground;

import io.r2dbc.spi.Readable;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;

/** One element of `GET /users`. */
record User(int id, String username, String name, String sex, String address, String mail, String birthdate) {
    private static final DateTimeFormatter MILLISECONDS = new DateTimeFormatterBuilder().appendInstant(3).toFormatter();
    private static final char[] ROTATED = rotated();

    static User of(Readable row) {
        return new User(
            row.get(0, Integer.class),
            row.get(1, String.class),
            row.get(2, String.class),
            row.get(3, String.class),
            caesar(row.get(4, String.class)),
            row.get(5, String.class),
            MILLISECONDS.format(row.get(6, Instant.class)));
    }

    private static String caesar(String text) {
        char[] letters = text.toCharArray();
        for (int i = 0; i < letters.length; i++) {
            if (letters[i] < ROTATED.length) {
                letters[i] = ROTATED[letters[i]];
            }
        }
        return new String(letters);
    }

    private static char[] rotated() {
        char[] table = new char[128];
        for (char letter = 0; letter < table.length; letter++) {
            table[letter] = letter;
        }
        for (int i = 0; i < 26; i++) {
            table['A' + i] = (char) ('A' + (i + 14) % 26);
            table['a' + i] = (char) ('a' + (i + 14) % 26);
        }
        return table;
    }
}
