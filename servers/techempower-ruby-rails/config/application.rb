require_relative "boot"

require "rails"
# Pick the frameworks you want:
require "active_model/railtie"
require "active_record/railtie"
require "action_controller/railtie"
require "action_view/railtie"

module Fairground
  class Application < Rails::Application
    config.load_defaults 6.1
    config.session_store :disabled
    config.action_dispatch.default_headers["Server"] = "Puma"

    # Puma would send an HTTP/1.0 client that keeps its connection an answer without an end.
    config.middleware.use Rack::ContentLength
  end
end
