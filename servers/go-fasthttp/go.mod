module fairground/servers/go-fasthttp

go 1.26.0

tool github.com/mailru/easyjson/easyjson

require (
	github.com/jackc/pgx/v5 v5.12.0
	github.com/mailru/easyjson v0.9.2
	github.com/valyala/fasthttp v1.74.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/josharian/intern v1.0.0 // indirect
	github.com/klauspost/compress v1.20.0 // indirect
	github.com/molecule-man/go-brrr v1.0.1 // indirect
	github.com/valyala/bytebufferpool v1.0.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)
