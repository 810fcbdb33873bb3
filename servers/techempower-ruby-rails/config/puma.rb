# As `rails new` writes it: five threads in each process, unless RAILS_MAX_THREADS says otherwise.
max_threads_count = ENV.fetch("RAILS_MAX_THREADS") { 5 }
min_threads_count = ENV.fetch("RAILS_MIN_THREADS") { max_threads_count }
threads min_threads_count, max_threads_count

host = ENV.fetch("HOST")
host = "[#{host}]" if host.include?(":")
bind "tcp://#{host}:#{ENV.fetch("PORT")}?backlog=4096"
environment ENV.fetch("RAILS_ENV") { "development" }

pool_size = Integer(ENV.fetch("POOL_SIZE"))
worker_count = Integer(ENV.fetch("WORKERS")).clamp(1, pool_size)
ENV["POOL_SHARE"] = (pool_size / worker_count).to_s
if worker_count > 1
  workers worker_count
  preload_app!
  before_fork { ActiveRecord::Base.connection_pool.disconnect! }
  worker_shutdown_timeout 4
end

# The contract gives five seconds.
force_shutdown_after 2

# Puma's own refusals do not say that the connection ends with them.
refusals = Puma::Const::ERROR_RESPONSE.transform_values do |text|
  text.match?(/^connection:/i) ? text : text.sub("\r\n", "\r\nconnection: close\r\n")
end
Puma::Client.const_set(:ERROR_RESPONSE, refusals)
