class DatabaseController < ApplicationController
  PING = "SELECT json_build_object('ok', true, 'message', 'OK')::text".freeze
  TIME = "SELECT json_build_object('serverTime', extract(epoch from now())::integer)::text".freeze

  def ping
    render json: ActiveRecord::Base.connection.select_value(PING)
  end

  def time
    render json: ActiveRecord::Base.connection.select_value(TIME)
  end
end
