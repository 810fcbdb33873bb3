package fairground;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** One row of `fortune`. */
@Entity
@Table(name = "fortune")
class FortuneEntity {
    @Id
    private int id;

    private String message;

    Fortune toFortune() {
        return new Fortune(id, message);
    }
}
