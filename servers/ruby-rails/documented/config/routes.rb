Rails.application.routes.draw do
  get "/ready", to: "status#ready"
  get "/ping", to: "status#ping"
  get "/time", to: "status#time"
  get "/db/ping", to: "database#ping"
  get "/db/time", to: "database#time"
  get "/users", to: "users#index"
  post "/tx", to: "bank#tx"
  post "/transfer", to: "bank#transfer"
  post "/lookup", to: "accounts#lookup"
end
