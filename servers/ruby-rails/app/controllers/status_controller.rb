class StatusController < ApplicationController
  def ready
    ActiveRecord::Base.connection_pool.with_connection { |connection| connection.select_value("SELECT 1") }
    head :no_content
  end

  def ping
    answer(JSON.generate(ok: true, message: "OK"))
  end

  def time
    answer(JSON.generate(serverTime: Time.now.to_i))
  end
end
