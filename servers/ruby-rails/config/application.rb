require "logger" # Before Rails: its versions up to 7.0 forget it.
require "bundler/setup"
require "rails"
require "active_record/railtie"
require "action_controller/railtie"

module Fairground
  class Application < Rails::Application
    config.load_defaults 6.1
    config.api_only = true
    config.cache_classes = true
    config.eager_load = true
    config.secret_key_base = "nothing is signed here"
    config.logger = ActiveSupport::Logger.new($stderr)
    config.log_level = :error
    config.public_file_server.enabled = false
    config.action_dispatch.default_headers = {}
    config.action_dispatch.ignore_accept_header = true
    config.active_record.time_zone_aware_attributes = false

    # These log, name, hash or guard, which nobody asked for. What is left wraps each request and catches its errors.
    config.cache_store = :null_store
    [
      ActionDispatch::ActionableExceptions, ActionDispatch::Callbacks, ActionDispatch::DebugExceptions,
      ActionDispatch::HostAuthorization, ActionDispatch::RemoteIp, ActionDispatch::RequestId, Rack::ConditionalGet, Rack::ETag,
      Rack::Head, Rack::Runtime, Rack::Sendfile, Rails::Rack::Logger
    ].each { |middleware| config.middleware.delete(middleware) }

    # What Rails itself refuses, such as broken percent-encoding: the path holds the status.
    config.exceptions_app = lambda do |env|
      status = env["PATH_INFO"].delete_prefix("/").to_i
      body = JSON.generate(ok: false, message: Rack::Utils::HTTP_STATUS_CODES.fetch(status, "Error"))
      [status, { "content-type" => "application/json; charset=utf-8", "content-length" => body.bytesize.to_s }, [body]]
    end
  end
end
