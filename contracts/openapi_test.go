package contracts_test

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/latchwire/latchwire/contracts"
)

// loadOpenAPI resolves every reference, files included, and validates. It
// leaves out the examples, which stand in files that kin-openapi does not read;
// they have a test of their own.
func loadOpenAPI(t *testing.T) *openapi3.T {
	t.Helper()
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	doc, err := loader.LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context(), openapi3.DisableExamplesValidation()); err != nil {
		t.Fatal(err)
	}
	return doc
}

// operations calls visit with every operation, as "GET /path".
func operations(doc *openapi3.T, visit func(name string, item *openapi3.PathItem, op *openapi3.Operation)) {
	for path, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			visit(method+" "+path, item, op)
		}
	}
}

func TestOpenAPIHasTheseOperations(t *testing.T) {
	t.Parallel()
	want := strings.Fields(strings.ReplaceAll(`
		DELETE·/api/admin/extensions/{slug}/signing-secrets/{secretId}
		DELETE·/api/admin/extensions/{slug}/tokens/{tokenId}
		DELETE·/api/admin/sessions/{sessionId}
		DELETE·/api/admin/sessions/{sessionId}/main-tokens/{tokenId}
		DELETE·/api/admin/tokens/{tokenId}
		DELETE·/api/extensions/{slug}/signing-secrets/{secretId}
		GET·/api/admin/audit
		GET·/api/admin/chains/{correlationId}
		GET·/api/admin/dead-messages
		GET·/api/admin/deliveries
		GET·/api/admin/deliveries/{deliveryId}
		GET·/api/admin/extensions
		GET·/api/admin/extensions/{slug}
		GET·/api/admin/extensions/{slug}/signing-secrets
		GET·/api/admin/extensions/{slug}/tokens
		GET·/api/admin/locks
		GET·/api/admin/locks/{lockId}
		GET·/api/admin/locks/{lockId}/history
		GET·/api/admin/locks/{lockId}/sessions
		GET·/api/admin/sessions/{sessionId}
		GET·/api/admin/sessions/{sessionId}/main-tokens
		GET·/api/admin/tokens
		GET·/api/extensions/sessions/{sessionId}/actions/{commandId}/options
		GET·/api/extensions/sessions/{sessionId}/capabilities
		GET·/api/extensions/sessions/{sessionId}/events
		GET·/api/extensions/sessions/{sessionId}/events/stream
		GET·/api/extensions/sessions/{sessionId}/invocations/{invocationId}
		GET·/api/extensions/sessions/{sessionId}/pillory/status
		GET·/api/extensions/{slug}/deliveries
		GET·/api/extensions/{slug}/deliveries/{deliveryId}
		GET·/api/extensions/{slug}/endpoint
		GET·/api/extensions/{slug}/manifest
		GET·/api/extensions/{slug}/signing-secrets
		GET·/healthz
		GET·/metrics
		GET·/readyz
		OPTIONS·/api/extensions/sessions/{sessionId}/capabilities
		PATCH·/api/admin/extensions/{slug}
		PATCH·/api/extensions/{slug}/endpoint
		POST·/api/admin/deliveries/{deliveryId}/replay
		POST·/api/admin/extensions
		POST·/api/admin/extensions/{slug}/signing-secrets
		POST·/api/admin/extensions/{slug}/tokens
		POST·/api/admin/locks
		POST·/api/admin/locks/{lockId}/acts
		POST·/api/admin/locks/{lockId}/finish
		POST·/api/admin/locks/{lockId}/sessions
		POST·/api/admin/replays
		POST·/api/admin/sessions/{sessionId}/main-tokens
		POST·/api/admin/tokens
		POST·/api/extensions/sessions/{sessionId}/action
		POST·/api/extensions/sessions/{sessionId}/actions/{commandId}
		POST·/api/extensions/sessions/{sessionId}/events
		POST·/api/extensions/sessions/{sessionId}/penalties/increment
		POST·/api/extensions/sessions/{sessionId}/penalties/time-limit/cancel
		POST·/api/extensions/sessions/{sessionId}/penalties/time-limit/create
		POST·/api/extensions/sessions/{sessionId}/tasks/assign
		POST·/api/extensions/sessions/{sessionId}/tasks/complete
		POST·/api/extensions/sessions/{sessionId}/tasks/start-timer
		POST·/api/extensions/sessions/{sessionId}/temporary-opening/open
		POST·/api/extensions/sessions/{sessionId}/verification-picture/request
		POST·/api/extensions/{slug}/deliveries/{deliveryId}/replay
		POST·/api/extensions/{slug}/endpoint/enable
		POST·/api/extensions/{slug}/replays
		POST·/api/extensions/{slug}/signing-secrets
		PUT·/api/extensions/{slug}/manifest`, "\t", ""))
	var got []string
	operations(loadOpenAPI(t), func(name string, _ *openapi3.PathItem, _ *openapi3.Operation) {
		got = append(got, strings.Replace(name, " ", "·", 1))
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestEveryRefusalIsAProblemOfItsOwnStatus(t *testing.T) {
	t.Parallel()
	seen := 0
	operations(loadOpenAPI(t), func(name string, _ *openapi3.PathItem, op *openapi3.Operation) {
		for status, response := range op.Responses.Map() {
			if status < "400" || name == "GET /readyz" || op.Tags[0] == "Older" {
				continue
			}
			seen++
			media := response.Value.Content.Get("application/json")
			if media == nil || len(media.Schema.Value.AllOf) != 2 || media.Schema.Value.AllOf[0].Ref != "./schemas/problem.json" {
				t.Errorf("%s %s is no problem", name, status)
				continue
			}
			body := map[string]any{"statusCode": 418.0}
			if err := media.Schema.Value.AllOf[1].Value.VisitJSON(body); err == nil {
				t.Errorf("%s %s takes a problem of another status", name, status)
			}
		}
	})
	if seen < 100 {
		t.Errorf("got %d refusals, want them all", seen)
	}
}

// TestEveryOperationTellsItsRefusals says which statuses follow from what an
// operation is: a credential, an id in its path, a body.
func TestEveryOperationTellsItsRefusals(t *testing.T) {
	t.Parallel()
	operations(loadOpenAPI(t), func(name string, item *openapi3.PathItem, op *openapi3.Operation) {
		var want []string
		if op.Security == nil {
			t.Errorf("%s does not say which credential it takes", name)
		} else if len(*op.Security) > 0 {
			want = append(want, "401", "403", "500", "503")
		}
		if len(item.Parameters) > 0 && op.OperationID != "preflightCapabilities" {
			want = append(want, "404")
		}
		if op.RequestBody != nil {
			want = append(want, "400", "413", "415")
		}
		if len(op.Parameters) > 0 {
			want = append(want, "400")
		}
		for _, status := range want {
			if op.Responses.Value(status) == nil {
				t.Errorf("%s does not tell of %s", name, status)
			}
		}
	})
}

func TestRefusalsCarryTheirHeaders(t *testing.T) {
	t.Parallel()
	doc := loadOpenAPI(t)
	for response, header := range map[string]string{
		"Unauthorized": "WWW-Authenticate", "MethodNotAllowed": "Allow", "RateLimited": "Retry-After", "ServiceUnavailable": "Retry-After",
	} {
		h := doc.Components.Responses[response].Value.Headers[header]
		if h == nil || !h.Value.Required {
			t.Errorf("%s does not require %s", response, header)
		}
	}
	operations(doc, func(name string, _ *openapi3.PathItem, op *openapi3.Operation) {
		if op.Tags[0] == "Operations" {
			return
		}
		for status, response := range op.Responses.Map() {
			if response.Value.Headers["X-Trace-Id"] == nil {
				t.Errorf("%s %s has no X-Trace-Id", name, status)
			}
		}
	})
}

func TestOpenAPIExamplesAreThere(t *testing.T) {
	t.Parallel()
	seen := 0
	for line := range strings.Lines(string(contracts.OpenAPI())) {
		_, rest, found := strings.Cut(line, "externalValue: './")
		if !found {
			continue
		}
		seen++
		path, _, _ := strings.Cut(rest, "'")
		if _, err := fs.Stat(contracts.FS(), path); err != nil {
			t.Error(err)
		}
	}
	if seen == 0 {
		t.Error("got no examples")
	}
}

func TestEverySchemaIsUsed(t *testing.T) {
	t.Parallel()
	all := slices.Concat(contracts.OpenAPI(), contracts.AsyncAPI())
	for _, name := range contracts.Schemas() {
		if !bytes.Contains(all, []byte("./schemas/"+name+".json")) {
			t.Errorf("%s is used by neither document", name)
		}
	}
}

func TestTheDocumentsAreThoseOfTheFolder(t *testing.T) {
	t.Parallel()
	for path, embedded := range map[string][]byte{"openapi.yaml": contracts.OpenAPI(), "asyncapi.yaml": contracts.AsyncAPI()} {
		onDisk, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(onDisk, embedded) {
			t.Errorf("%s: got another document embedded", path)
		}
	}
}
