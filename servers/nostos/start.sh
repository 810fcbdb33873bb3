# Nostos does not let its threads be chosen, but tokio, which it runs on, reads this.
export TOKIO_WORKER_THREADS="$WORKERS"
exec nostos main.nos
