class ApplicationController < ActionController::Base
  before_action { response.date = Time.now }

  rescue_from(ActiveRecord::ConnectionNotEstablished) do
    headers["Retry-After"] = "1"
    render plain: "no connection in time", status: 503
  end
end
