class StatusController < ApplicationController
  def ready
    ActiveRecord::Base.connection.select_value("SELECT 1")
    head :no_content
  end

  def ping
    render json: { ok: true, message: "OK" }
  end

  def time
    render json: { serverTime: Time.now.to_i }
  end
end
