class AccountsController < ApplicationController
  def lookup
    # Puma up to 6.4 forgets what a client has sent behind a body, so it had better close the connection.
    request.set_header("HTTP_CONNECTION", "close") if request.get_header("rack.input").size > request.raw_post.bytesize
    account_id = params[:account_id]
    raise Refused, "`account_id` must be a string in a JSON object" unless account_id.is_a?(String)

    account = Account.find_in_memory(account_id)
    account ? render(json: account) : render_error("no such account", 404)
  end
end
