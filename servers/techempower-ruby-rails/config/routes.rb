Rails.application.routes.draw do
  get "/plaintext", to: "benchmark#plaintext"
  get "/json", to: "benchmark#message"
  get "/db", to: "benchmark#single"
  get "/queries", to: "benchmark#several"
  get "/updates", to: "benchmark#updates"
  get "/fortunes", to: "benchmark#fortunes"
end
