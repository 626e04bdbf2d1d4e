package door

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/manifest/strictjson"
	"github.com/latchwire/latchwire/pkg/wire"
)

// Body reads the whole body of a request, which must be declared as JSON and
// not be over the contract's 256 KiB. It returns UnsupportedMediaType or
// PayloadTooLarge (contract section 9).
func Body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if !isJSON(r.Header) {
		return nil, invocation.Refusef(invocation.UnsupportedMediaType, "the body must be sent as application/json, not compressed")
	}
	tooLarge := invocation.Refusef(invocation.PayloadTooLarge, "the body must NOT be larger than %d bytes", invocation.MaxBody)
	if r.ContentLength > invocation.MaxBody {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, invocation.MaxBody))
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return nil, tooLarge
	}
	if err != nil { // the caller stopped sending
		return nil, invocation.Wrap(invocation.MalformedRequest, err)
	}
	return body, nil
}

// isJSON reports whether the headers declare plain JSON in UTF-8 (SEC-38).
func isJSON(h http.Header) bool {
	for _, coding := range h.Values("Content-Encoding") {
		if coding != "" && !strings.EqualFold(coding, "identity") {
			return false
		}
	}
	kind, params, err := mime.ParseMediaType(wire.Single(h, "Content-Type"))
	if err != nil || kind != "application/json" {
		return false
	}
	for name, value := range params {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// Object reads a body that is a JSON object. Data names the member, if any,
// that holds the caller's own data: input or payload. It may be nested as deep
// as the contract allows, and what is too much in it is invalid-input, while
// everything else that is wrong with a body is a malformed-request.
func Object(w http.ResponseWriter, r *http.Request, data string) (*Fields, error) {
	body, err := Body(w, r)
	if err != nil {
		return nil, err
	}
	return ParseObject(body, data)
}

// OptionalObject is Object for a body that may be left out.
func OptionalObject(w http.ResponseWriter, r *http.Request) (*Fields, error) {
	if r.ContentLength == 0 {
		return newFields(nil, ""), nil
	}
	return Object(w, r, "")
}

// ParseObject is Object for a body that has been read.
func ParseObject(body []byte, data string) (*Fields, error) {
	var members map[string]json.RawMessage
	limits := strictjson.Limits{Depth: invocation.MaxNesting + 1} // the body around the data
	if err := strictjson.Decode(body, &members, limits); err != nil {
		return nil, refused(err, body, data)
	}
	return newFields(members, ""), nil
}

// refused turns a refusal of the JSON reader into ours.
func refused(err error, body []byte, data string) error {
	e, ok := errors.AsType[*strictjson.Error](err)
	if !ok {
		return err
	}
	out := &invocation.Error{Code: invocation.MalformedRequest}
	problem := invocation.Problem{InstancePath: e.Path, Message: e.Error()}
	switch e.Reason {
	case strictjson.TooDeep:
		problem.InstancePath = deepMember(body)
		problem.Message = "must NOT be nested more than 64 levels deep"
	case strictjson.TooManyValues:
		problem.InstancePath = dataPath(data)
	case strictjson.NumberOutOfRange, strictjson.Malformed, strictjson.DuplicateName, strictjson.TooLarge, strictjson.WrongType:
	}
	switch e.Reason {
	case strictjson.TooDeep, strictjson.NumberOutOfRange, strictjson.TooManyValues:
		if data != "" && within(problem.InstancePath, dataPath(data)) {
			out.Code = invocation.InvalidInput
		}
	case strictjson.Malformed, strictjson.DuplicateName, strictjson.TooLarge, strictjson.WrongType:
	}
	out.Problems = []invocation.Problem{problem}
	return out
}

func dataPath(data string) string {
	if data == "" {
		return ""
	}
	return "/" + data
}

func within(path, parent string) bool { return path == parent || strings.HasPrefix(path, parent+"/") }

// deepMember returns the path of the body's member that is nested too deep, or
// nothing if the body is no object.
func deepMember(body []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		if _, err := d.ReadToken(); err != nil {
			return ""
		}
		if d.StackDepth() > invocation.MaxNesting+1 {
			break
		}
	}
	if kind, _ := d.StackIndex(1); kind != '{' {
		return ""
	}
	for token := range d.StackPointer().Tokens() {
		return string(jsontext.Pointer("").AppendToken(token))
	}
	return ""
}
