# As many threads in each process as its share of the pool: the author's Puma has 5 processes of 5 threads, and 25 connections.
# Where waiting has a limit, as it had not there, five more can tell those who wait that there is no connection.
share = [Integer(ENV.fetch("POOL_SIZE")) / Integer(ENV.fetch("WORKERS")), 1].max
ENV["RAILS_MAX_THREADS"] = (ENV["POOL_WAIT_MS"].to_s.empty? ? share : share + 5).to_s

instance_eval File.read(File.expand_path("../documented/config/puma.rb", __dir__))
