class DatabaseController < ApplicationController
  PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text".freeze
  TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text".freeze

  def ping
    answer(select(PING))
  end

  def time
    answer(select(TIME))
  end

  private

  def select(sql)
    ActiveRecord::Base.connection_pool.with_connection { |connection| connection.select_value(sql) }
  end
end
