module github.com/latchwire/latchwire/services/edge-api

go 1.26.0

require github.com/latchwire/latchwire/pkg v0.0.0

require github.com/latchwire/latchwire/contracts v0.0.0

require (
	github.com/getkin/kin-openapi v0.153.0 // indirect
	github.com/go-chi/chi/v5 v5.5.0 // indirect
)

replace github.com/latchwire/latchwire/pkg => ../../pkg

replace github.com/latchwire/latchwire/contracts => ../../contracts
