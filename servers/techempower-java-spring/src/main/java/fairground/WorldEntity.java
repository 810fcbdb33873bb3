package fairground;

import jakarta.persistence.Column;
import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** One row of `world`. */
@Entity
@Table(name = "world")
class WorldEntity {
    @Id
    private int id;

    @Column(name = "randomnumber")
    private int randomNumber;

    void setRandomNumber(int randomNumber) {
        this.randomNumber = randomNumber;
    }

    World toWorld() {
        return new World(id, randomNumber);
    }
}
