# Puma up to 6 lets a thread wait for the next request of the connection that it has just served, and accepts nothing while
# all threads are busy. So a few clients that ask without a pause keep out all others, unless keep-alive is cut short after
# `max_fast_inline` requests. As Puma 7 does by itself, each connection here queues anew for its next request.
module TakeTurns
  def reset(*)
    super(false)
  end
end

module AcceptWhileBusy
  def wait_until_not_full; end
end

Puma::Client.prepend(TakeTurns)
Puma::ThreadPool.prepend(AcceptWhileBusy)
