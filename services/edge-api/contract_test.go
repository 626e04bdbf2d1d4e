package edgeapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/go-chi/chi/v5"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// The contract's document and its paths, read once.
var (
	document = sync.OnceValues(func() (*openapi3.T, error) {
		loader := openapi3.NewLoader()
		loader.IsExternalRefsAllowed = true
		return loader.LoadFromFile("../../contracts/openapi.yaml")
	})
	paths = sync.OnceValues(func() (routers.Router, error) {
		doc, err := document()
		if err != nil {
			return nil, err
		}
		return gorillamux.NewRouter(doc)
	})
)

func openAPI(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := document()
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// checkContract fails the test if an answer is none that the contract allows.
func checkContract(t *testing.T, req *http.Request, a answer) {
	t.Helper()
	router, err := paths()
	if err != nil {
		t.Fatal(err)
	}
	route, params, err := router.FindRoute(req)
	older := err == nil && slices.Contains(route.Operation.Tags, "Older") // they refuse in a form of their own
	if !older && (a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed) {
		checkResponse(t, map[int]string{404: "NotFound", 405: "MethodNotAllowed"}[a.status], a)
	}
	if err != nil {
		if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s answered %d and is not in the contract", req.Method, req.URL.Path, a.status)
		}
		return
	}
	err = openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 a.status, Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	})
	if err != nil {
		t.Errorf("%s %s: %v\n%s", req.Method, req.URL.Path, err, a.body)
	}
}

// checkResponse judges an answer by a named response of the contract.
func checkResponse(t *testing.T, name string, a answer) {
	t.Helper()
	r := openAPI(t).Components.Responses[name].Value
	var body any
	if err := json.Unmarshal(a.body, &body); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	if err := r.Content.Get("application/json").Schema.Value.VisitJSON(body, openapi3.EnableJSONSchema2020()); err != nil {
		t.Errorf("%s: %v", a.body, err)
	}
	for header, ref := range r.Headers {
		if ref.Value.Required && a.header.Get(header) == "" {
			t.Errorf("got no %s", header)
		}
	}
}

func TestTheContractCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	router, err := paths()
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/api/admin/locks", nil)
	if err != nil {
		t.Fatal(err)
	}
	route, params, err := router.FindRoute(req)
	if err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"a list that is null":   `{"items":null,"next":null}`,
		"a lock without its id": `{"items":[{"status":"active"}],"next":null}`,
		"a member too many":     `{"items":[],"next":null,"more":1}`,
	} {
		err := openapi3filter.ValidateResponse(t.Context(), &openapi3filter.ResponseValidationInput{
			RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
			Status:                 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		})
		if err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestEveryRouteIsInTheContractAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	var want, got []string
	for path, item := range openAPI(t).Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+path)
		}
	}
	mux, ok := shared.server.Config.Handler.(chi.Routes)
	if !ok {
		t.Fatalf("got a %T, want a router", shared.server.Config.Handler)
	}
	err := chi.Walk(mux, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		got = append(got, method+" "+route)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestCodesAreTheContracts(t *testing.T) {
	t.Parallel()
	raw, err := contracts.Schema("problem")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties struct {
			Code struct{ Enum []invocation.Code }
		}
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(slices.Values(invocation.Codes())), slices.Sorted(slices.Values(schema.Properties.Code.Enum))
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// The examples of every request body are sent to their endpoint: what the
// schema takes is not refused for its body, and what it refuses is.
func TestBodiesAreTakenAndRefusedAsTheirSchemasSay(t *testing.T) {
	t.Parallel()
	// What is changed here is nothing that another example stands on.
	s, publisher, patched, rotating := shared.newSession(t), shared.newExtension(t), shared.newExtension(t), shared.newExtension(t)
	admin, developer := shared.admin(t), shared.client(t, s.token)
	type endpoint struct {
		client       client
		method, path string
	}
	endpoints := map[string]endpoint{
		"invocation-request":            {developer, http.MethodPost, s.action("echo")},
		"emit-request":                  {developer, http.MethodPost, s.path("/events")},
		"manifest-request":              {shared.client(t, publisher.token), http.MethodPut, "/api/extensions/" + publisher.slug + "/manifest"},
		"replay-request":                {admin, http.MethodPost, "/api/admin/replays"},
		"endpoint-patch":                {shared.client(t, patched.token), http.MethodPatch, "/api/extensions/" + patched.slug + "/endpoint"},
		"admin-extension-request":       {admin, http.MethodPost, "/api/admin/extensions"},
		"admin-extension-patch":         {admin, http.MethodPatch, "/api/admin/extensions/" + patched.slug},
		"admin-signing-secret-request":  {admin, http.MethodPost, "/api/admin/extensions/" + rotating.slug + "/signing-secrets"},
		"admin-developer-token-request": {admin, http.MethodPost, "/api/admin/extensions/" + s.slug + "/tokens"},
		"admin-token-request":           {admin, http.MethodPost, "/api/admin/tokens"},
		"admin-lock-request":            {admin, http.MethodPost, "/api/admin/locks"},
		"admin-act-request":             {admin, http.MethodPost, "/api/admin/locks/" + s.lock + "/acts"},
		"admin-session-request":         {admin, http.MethodPost, "/api/admin/locks/" + s.lock + "/sessions"},
		"admin-main-token-request":      {admin, http.MethodPost, "/api/admin/sessions/" + s.id + "/main-tokens"},
	}
	own := regexp.MustCompile(`"my-ext\.`)
	for _, e := range contracts.Examples() {
		to, found := endpoints[e.Schema]
		if !found {
			if strings.HasSuffix(e.Schema, "-request") || strings.HasSuffix(e.Schema, "-patch") {
				t.Errorf("%s: no endpoint takes it", e.File)
			}
			continue
		}
		t.Run(e.File, func(t *testing.T) {
			t.Parallel()
			to.client.t = t
			slug := map[string]string{"manifest-request": publisher.slug, "emit-request": s.slug}[e.Schema]
			body := later(string(e.JSON))
			if slug != "" {
				body = own.ReplaceAllString(body, `"`+slug+".")
			}
			a := to.client.do(to.method, to.path, body)
			if refused := bodyRefused(a); a.status >= 500 || refused == e.Valid {
				t.Errorf("got %d %s for %s", a.status, a.body, e.JSON)
			}
		})
	}
}

// later moves the years of an example from the one it was written in to the
// next, so that what lay ahead then lies ahead still.
func later(body string) string {
	const written = 2026
	for year := written + 5; year >= written; year-- {
		body = strings.ReplaceAll(body, fmt.Sprintf(`"%d-`, year), fmt.Sprintf(`"%d-`, year+time.Now().Year()-written+1))
	}
	return body
}

// bodyRefused reports whether an answer refuses what every schema would: not
// what is wrong only here and now.
func bodyRefused(a answer) bool {
	for _, here := range []string{"invalid-causation", "public host"} {
		if bytes.Contains(a.body, []byte(here)) {
			return false
		}
	}
	return a.status == http.StatusBadRequest || bytes.Contains(a.body, []byte("unknown-event"))
}
