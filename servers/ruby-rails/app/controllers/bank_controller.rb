class BankController < ApplicationController
  OK = '{"ok":true}'.freeze

  def tx
    Bank.tx(integer("aid", 1), integer("tid", 1), integer("bid", 1), integer("delta", -INT4_MAX - 1))
    answer(OK)
  end

  def transfer
    from, to, amount = integer("from", 1), integer("to", 1), integer("amount", 1)
    raise Refused, "`from` and `to` must differ" if from == to

    Bank.transfer(from, to, amount) ? answer(OK) : answer_error(404, "no such account")
  end
end
