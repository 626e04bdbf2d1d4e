module github.com/latchwire/latchwire/services/latchwire

go 1.26

require github.com/latchwire/latchwire/pkg v0.0.0
require github.com/latchwire/latchwire/contracts v0.0.0
require github.com/latchwire/latchwire/services/edge-api v0.0.0
require github.com/latchwire/latchwire/services/dispatcher v0.0.0
require github.com/latchwire/latchwire/services/webhook-worker v0.0.0

replace github.com/latchwire/latchwire/pkg => ../../pkg
replace github.com/latchwire/latchwire/contracts => ../../contracts
replace github.com/latchwire/latchwire/services/edge-api => ../../services/edge-api
replace github.com/latchwire/latchwire/services/dispatcher => ../../services/dispatcher
replace github.com/latchwire/latchwire/services/webhook-worker => ../../services/webhook-worker
