package fairground;

import com.fasterxml.jackson.annotation.JsonFormat;
import java.time.OffsetDateTime;

/** One element of `GET /users`. */
record User(
    int id,
    String username,
    String name,
    String sex,
    String address,
    String mail,
    @JsonFormat(pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSX", timezone = "UTC") OffsetDateTime birthdate
) {
    /** The same with the letters of its address rotated by 14 inside their case. */
    User ciphered() {
        StringBuilder text = new StringBuilder(address.length());
        for (char letter : address.toCharArray()) {
            text.append(rotated(letter));
        }
        return new User(id, username, name, sex, text.toString(), mail, birthdate);
    }

    private static char rotated(char letter) {
        if (letter >= 'a' && letter <= 'z') {
            return (char) ('a' + (letter - 'a' + 14) % 26);
        }
        return letter >= 'A' && letter <= 'Z' ? (char) ('A' + (letter - 'A' + 14) % 26) : letter;
    }
}
