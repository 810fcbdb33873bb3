pool_size = Integer(ENV.fetch("POOL_SIZE"))
worker_count = Integer(ENV.fetch("WORKERS")).clamp(1, pool_size)
host = ENV.fetch("HOST")
host = "[#{host}]" if host.include?(":")

environment "production"
$stdout.reopen(File::NULL) # Puma announces each step there; what goes wrong it says on standard error.
bind "tcp://#{host}:#{ENV.fetch("PORT")}?backlog=4096&low_latency=true"

# One for each connection to the database, and five that answer the rest, wait for a connection, or say that none is free.
thread_count = pool_size.fdiv(worker_count).ceil + 5
threads thread_count, thread_count

persistent_timeout 3600
force_shutdown_after 2
raise_exception_on_sigterm false
wait_for_less_busy_worker 0.005

if respond_to?(:max_keep_alive)
  max_keep_alive Float::INFINITY
else
  max_fast_inline Float::INFINITY
  require_relative "puma_before_7"
end

if worker_count > 1
  workers worker_count
  worker_shutdown_timeout 4
  preload_app!
  before_fork { ActiveRecord::Base.connection_pool.disconnect! }

  share_pool = lambda do |index|
    share = pool_size / worker_count + (index < pool_size % worker_count ? 1 : 0)
    config = ActiveRecord::Base.connection_db_config.configuration_hash
    ActiveRecord::Base.establish_connection(config.merge(pool: share))
  end
  respond_to?(:before_worker_boot) ? before_worker_boot(&share_pool) : on_worker_boot(&share_pool)
end

# Puma's own refusals do not say that the connection ends with them.
refusals = Puma::Const::ERROR_RESPONSE.transform_values do |text|
  text.match?(/^connection:/i) ? text : text.sub("\r\n", "\r\nconnection: close\r\n")
end
Puma::Client.const_set(:ERROR_RESPONSE, refusals)
