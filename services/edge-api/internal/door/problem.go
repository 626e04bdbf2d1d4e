package door

import (
	"net/http"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/wire"
)

// A Problem is the body of a refusal (contract section 9).
type Problem struct {
	StatusCode int    `json:"statusCode"`
	Error      string `json:"error"`
	wire.Refusal
}

// problemOf is where a refusal becomes a problem.
func problemOf(e *invocation.Error) Problem {
	status := wire.Status(e.Code)
	return Problem{StatusCode: status, Error: http.StatusText(status), Refusal: wire.NewRefusal(e)}
}
