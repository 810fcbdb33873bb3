class ApplicationController < ActionController::API
  INT4_MAX = 2_147_483_647
  class Refused < StandardError; end

  # Of several that match the last counts.
  rescue_from("ActiveRecord::ActiveRecordError", "PG::Error") { render_error "the database failed", 500 }
  rescue_from("ActiveRecord::ConnectionNotEstablished") do
    headers["Retry-After"] = "1"
    render_error "no connection in time", 503
  end
  rescue_from(Refused) { |error| render_error error.message, 400 }

  private

  def render_error(message, status)
    render json: { ok: false, message: message }, status: status
  end

  def integer(name, least = 1)
    value = Integer(params[name], 10, exception: false)
    return value if value&.between?(least, INT4_MAX)

    raise Refused, "`#{name}` must be an integer in range"
  end
end
