package fairground;

import java.util.List;
import java.util.SortedSet;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Repository;
import org.springframework.transaction.annotation.Transactional;

/** JDBC with SQL by hand. */
@Repository
@Profile("jdbc")
class JdbcStore implements Store {
    private final JdbcClient client;
    private final JdbcTemplate template;

    JdbcStore(JdbcClient client, JdbcTemplate template) {
        this.client = client;
        this.template = template;
    }

    @Override
    public World world(int id) {
        return client.sql("SELECT id, randomnumber FROM world WHERE id = ?").param(id)
            .query((row, number) -> new World(row.getInt("id"), row.getInt("randomnumber")))
            .single();
    }

    @Override
    public List<Fortune> fortunes() {
        return client.sql("SELECT id, message FROM fortune").query(Fortune.class).list();
    }

    @Override
    @Transactional
    public List<World> update(SortedSet<Integer> ids) {
        List<World> worlds = ids.stream().map(id -> new World(world(id).id(), Numbers.random())).toList();
        template.batchUpdate("UPDATE world SET randomnumber = ? WHERE id = ?",
            worlds.stream().map(world -> new Object[] {world.randomNumber(), world.id()}).toList());
        return worlds;
    }
}
