class Account < ApplicationRecord
  RETRY_S = 0.2

  class << self
    # The row of an account as a hash, or nil; from memory.
    def find_in_memory(account_id)
      @by_id[account_id]
    end

    # Before the database answers there is nothing to serve, so this waits for it.
    def load_into_memory
      @by_id = connection_pool.with_connection { |connection| connection.select_all(all).index_by { |row| row["account_id"] } }
    rescue ActiveRecord::ConnectionNotEstablished, ActiveRecord::StatementInvalid
      sleep RETRY_S
      retry
    end
  end
end
