Rails.application.routes.draw do
  scope format: false do
    get "/ready", to: "status#ready"
    get "/ping", to: "status#ping"
    get "/time", to: "status#time"
    get "/db/ping", to: "database#ping"
    get "/db/time", to: "database#time"
    get "/users", to: "users#index"
    post "/tx", to: "bank#tx"
    post "/transfer", to: "bank#transfer"
    post "/lookup", to: "accounts#lookup"
    match "(*path)", to: "application#no_route", via: :all
  end
end
