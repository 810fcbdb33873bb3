# Without a request log its listeners have nothing to write, but would cost each request and statement an event.
Rails.application.config.after_initialize do
  ActionController::LogSubscriber.detach_from(:action_controller)
  ActiveRecord::LogSubscriber.detach_from(:active_record)
end

# `POST /lookup` reads its body itself, as JSON whatever its content type; nothing else has one.
ActionDispatch::Request.parameter_parsers = {}
