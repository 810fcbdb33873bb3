class Account < ApplicationRecord
  # Nil for an unknown id.
  def self.find_in_memory(account_id)
    @by_id[account_id]
  end

  # The thread that starts the server keeps no connection.
  def self.load_into_memory
    @by_id = connection_pool.with_connection { all.index_by(&:account_id) }
  end
end
