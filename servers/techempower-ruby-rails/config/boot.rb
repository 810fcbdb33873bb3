require "logger" # Before Rails: its versions up to 7.0 forget it.
require "bundler/setup"
