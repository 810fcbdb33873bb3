class World < ApplicationRecord
  self.table_name = "world"

  COUNT = 10_000

  def self.random_id
    Random.rand(COUNT) + 1
  end

  # Different ones in order, so that two requests that update the same rows wait for each other and do not deadlock.
  def self.random_ids(count)
    (1..COUNT).to_a.sample(count).sort
  end

  def as_json(*)
    { id: id, randomNumber: randomnumber }
  end
end
