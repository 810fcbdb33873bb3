class BankController < ApplicationController
  def tx
    Bank.tx(integer(:aid), integer(:tid), integer(:bid), integer(:delta, -INT4_MAX - 1))
    render json: { ok: true }
  end

  def transfer
    from, to, amount = integer(:from), integer(:to), integer(:amount)
    raise Refused, "`from` and `to` must differ" if from == to

    if Bank.transfer(from, to, amount)
      render json: { ok: true }
    else
      render_error "no such account", 404
    end
  end
end
