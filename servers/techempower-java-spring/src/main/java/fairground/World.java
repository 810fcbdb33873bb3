package fairground;

/** One row of numbers, as it is answered. */
record World(int id, int randomNumber) {}
