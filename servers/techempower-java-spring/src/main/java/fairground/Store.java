package fairground;

import java.util.List;
import java.util.SortedSet;

/** The database as the routes see it. */
interface Store {
    World world(int id);

    List<Fortune> fortunes();

    /** Reads the rows, gives each another number and writes it, all in one transaction. */
    List<World> update(SortedSet<Integer> ids);
}
