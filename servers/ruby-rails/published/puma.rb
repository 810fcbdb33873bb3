# As many threads in each process as its share of the pool: the author's Puma has 5 processes of 5 threads, and 25 connections.
ENV["RAILS_MAX_THREADS"] = [Integer(ENV.fetch("POOL_SIZE")) / Integer(ENV.fetch("WORKERS")), 1].max.to_s

instance_eval File.read(File.expand_path("../documented/config/puma.rb", __dir__))
