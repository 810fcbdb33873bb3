package fairground;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.CannotCreateTransactionException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.server.ResponseStatusException;

/** Every error as the contract's object. */
@RestControllerAdvice
class Errors {
    private static final Logger LOG = LoggerFactory.getLogger(Errors.class);

    /** What Spring refuses by itself is of this kind, too. */
    @ExceptionHandler
    ResponseEntity<Message> refused(ResponseStatusException refusal) {
        return answer(refusal.getStatusCode(), refusal.getMessage());
    }

    /** No connection, for a statement or for a transaction. */
    @ExceptionHandler({DataAccessResourceFailureException.class, CannotCreateTransactionException.class})
    ResponseEntity<Message> unavailable() {
        return ResponseEntity.status(HttpStatus.SERVICE_UNAVAILABLE)
            .header(HttpHeaders.RETRY_AFTER, "1")
            .body(new Message(false, "no connection to the database"));
    }

    @ExceptionHandler
    ResponseEntity<Message> failed(Exception error) {
        LOG.error("a request failed: {}", error.toString());
        return answer(HttpStatus.INTERNAL_SERVER_ERROR, "the request failed");
    }

    private static ResponseEntity<Message> answer(HttpStatusCode status, String message) {
        return ResponseEntity.status(status).body(new Message(false, message));
    }
}
