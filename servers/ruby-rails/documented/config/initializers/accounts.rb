# In memory before the first request, and before Puma forks its workers.
Rails.application.config.after_initialize { Account.load_into_memory }
