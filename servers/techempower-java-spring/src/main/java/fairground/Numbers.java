package fairground;

import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.ThreadLocalRandom;

/** The random numbers of the contract. */
final class Numbers {
    private static final int WORLDS = 10_000;

    private Numbers() {}

    static int random() {
        return ThreadLocalRandom.current().nextInt(1, WORLDS + 1);
    }

    /** Different ones in order, so that two requests that update the same rows wait for each other and do not deadlock. */
    static SortedSet<Integer> different(int count) {
        SortedSet<Integer> numbers = new TreeSet<>();
        while (numbers.size() < count) {
            numbers.add(random());
        }
        return numbers;
    }
}
