package fairground;

import java.util.List;
import java.util.SortedSet;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** Spring Data JPA: entities are found by their key, changed and saved. */
@Service
@Profile("jpa")
class JpaStore implements Store {
    private final WorldRepository worlds;
    private final FortuneRepository fortunes;

    JpaStore(WorldRepository worlds, FortuneRepository fortunes) {
        this.worlds = worlds;
        this.fortunes = fortunes;
    }

    @Override
    public World world(int id) {
        return worlds.findById(id).orElseThrow().toWorld();
    }

    @Override
    public List<Fortune> fortunes() {
        return fortunes.findAll().stream().map(FortuneEntity::toFortune).toList();
    }

    @Override
    @Transactional
    public List<World> update(SortedSet<Integer> ids) {
        List<WorldEntity> found = ids.stream().map(id -> worlds.findById(id).orElseThrow()).toList();
        found.forEach(world -> world.setRandomNumber(Numbers.random()));
        return worlds.saveAll(found).stream().map(WorldEntity::toWorld).toList();
    }
}
