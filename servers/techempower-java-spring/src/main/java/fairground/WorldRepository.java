package fairground;

import org.springframework.data.jpa.repository.JpaRepository;

interface WorldRepository extends JpaRepository<WorldEntity, Integer> {}
