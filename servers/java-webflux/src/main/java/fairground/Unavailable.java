package fairground;

/** No connection to the database for this request. */
class Unavailable extends RuntimeException {
    Unavailable(Throwable cause) {
        super(cause.getMessage(), cause, false, false);
    }
}
