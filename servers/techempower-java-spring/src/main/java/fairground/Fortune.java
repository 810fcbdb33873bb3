package fairground;

/** One fortune, as the page shows it. */
record Fortune(int id, String message) {}
