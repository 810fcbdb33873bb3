class ApplicationController < ActionController::API
  INT4_MAX = 2_147_483_647
  DECIMAL = /\A-?[0-9]+\z/
  class Refused < StandardError; end

  # Of several that match the last counts; where none does, Rails looks at the error's cause.
  rescue_from(Refused) { |error| answer_error(400, error.message) }
  rescue_from(PG::Error) { answer_error(500, "the database failed") }
  rescue_from(ActiveRecord::ConnectionNotEstablished, PG::ConnectionBad, PG::UnableToSend, PG::AdminShutdown,
              PG::CrashShutdown, PG::CannotConnectNow) do
    answer_unavailable("the database is away")
  end
  rescue_from(ActiveRecord::ConnectionTimeoutError) { answer_unavailable("no free connection") }

  def no_route
    answer_error(404, "no such route")
  end

  private

  def answer(text, status: 200)
    headers["content-length"] = text.bytesize.to_s
    render json: text, status: status
  end

  def answer_error(status, message)
    answer(JSON.generate(ok: false, message: message), status: status)
  end

  def answer_unavailable(message)
    headers["retry-after"] = "1"
    answer_error(503, message)
  end

  def integer(name, least)
    text = request.query_parameters[name]
    value = text.to_i if text.is_a?(String) && DECIMAL.match?(text)
    return value if value&.between?(least, INT4_MAX)

    raise Refused, "`#{name}` must be a decimal integer in range"
  end
end
