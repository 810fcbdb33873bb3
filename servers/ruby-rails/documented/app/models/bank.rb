# The two workloads that write.
class Bank
  TX = "SELECT pgbench_tx($1, $2, $3, $4)".freeze
  DEBIT = "UPDATE web_users SET credits = credits - $1 WHERE id = $2".freeze
  CREDIT = "UPDATE web_users SET credits = credits + $1 WHERE id = $2".freeze

  def self.tx(aid, tid, bid, delta)
    connection = ActiveRecord::Base.connection
    connection.exec_query(TX, "tx", [aid, tid, bid, delta], prepare: connection.prepared_statements)
  end

  # Whether both accounts exist; else nothing is changed.
  def self.transfer(from, to, amount)
    connection = ActiveRecord::Base.connection
    connection.transaction do
      next true if connection.update(DEBIT, "debit", [amount, from]) == 1 &&
                   connection.update(CREDIT, "credit", [amount, to]) == 1
      raise ActiveRecord::Rollback
    rescue ActiveRecord::TransactionRollbackError => error
      # Left at that, Active Record up to 7.0 sends no ROLLBACK after a deadlock and throws the connection away.
      raise error.cause
    end
  end
end
