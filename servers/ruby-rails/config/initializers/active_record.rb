require "active_record/connection_adapters/postgresql_adapter"

ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(Module.new do
  # Active Record up to 7.2 asks this at every checkout and sends `SELECT 1` for it, a second statement for each request.
  # libpq already knows when a connection was lost: the request that finds out fails, and the next checkout reconnects.
  def active?
    connection = defined?(@raw_connection) ? @raw_connection : @connection
    connection&.status == PG::CONNECTION_OK
  rescue PG::Error
    false
  end

  private

  # A type that Active Record does not know it looks up in the catalogue, on each connection, and then warns.
  def initialize_type_map(map = type_map)
    map.register_type("void", ActiveRecord::Type::Value.new)
    super
  end
end)
