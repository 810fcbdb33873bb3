package fairground;

import org.springframework.data.jpa.repository.JpaRepository;

interface FortuneRepository extends JpaRepository<FortuneEntity, Integer> {}
