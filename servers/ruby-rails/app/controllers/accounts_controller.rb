class AccountsController < ApplicationController
  def lookup
    # Puma up to 6.4 forgets what a client has sent behind a body, so it had better close the connection.
    request.set_header("HTTP_CONNECTION", "close") if request.get_header("rack.input").size > request.raw_post.bytesize
    account = Account.find_in_memory(account_id)
    account ? answer(JSON.generate(account)) : answer_error(404, "no such account")
  end

  private

  def account_id
    body = JSON.parse(request.raw_post.dup.force_encoding(Encoding::UTF_8))
    account_id = body["account_id"] if body.is_a?(Hash)
    return account_id if account_id.is_a?(String)

    raise Refused, "`account_id` must be a string in a JSON object"
  rescue JSON::ParserError, EncodingError
    raise Refused, "the body is not JSON"
  end
end
