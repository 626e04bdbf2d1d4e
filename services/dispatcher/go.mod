module github.com/latchwire/latchwire/services/dispatcher

go 1.26

require github.com/latchwire/latchwire/pkg v0.0.0
require github.com/latchwire/latchwire/contracts v0.0.0

replace github.com/latchwire/latchwire/pkg => ../../pkg
replace github.com/latchwire/latchwire/contracts => ../../contracts
