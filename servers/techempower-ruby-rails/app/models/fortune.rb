class Fortune < ApplicationRecord
  self.table_name = "fortune"
end
