package fairground;

import com.fasterxml.jackson.annotation.JsonPropertyOrder;

/** The answer of `GET /ping`, and that of every error. */
@JsonPropertyOrder({"ok", "message"})
record Message(boolean ok, String message) {}
