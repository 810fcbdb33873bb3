require "json"
require "pg"
require "puma"
require "rails"

yjit = defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled? ? " with YJIT" : ""
puts "ruby #{RUBY_VERSION}#{yjit}, rails #{Rails.version}, puma #{Puma::Const::VERSION}, pg #{PG::VERSION}, json #{JSON::VERSION}"
