"""What the zoo's animals share: a PostgreSQL client, an HTTP server, and a healthy server to be spoiled."""
