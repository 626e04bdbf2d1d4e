package egress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

const chunkedAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// Whatever a target does once it has the request, the call ends soon, with one
// hit, and is known to have been sent.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do   answer
		want Kind
	}{
		"SEC-08 hangs":                        {waits(""), KindTimeout},
		"SEC-09 hangs in the header":          {waits("HTTP/1.1 200 OK\r\nA: b"), KindTimeout},
		"SEC-09 hangs in the body":            {waits("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), KindTimeout},
		"S-32 hangs in a chunk":               {waits(chunkedAnswer + "9\r\n{"), KindTimeout},
		"S-32 hangs before the trailer":       {waits(chunkedAnswer + "2\r\n{}\r\n0\r\n"), KindTimeout},
		"SEC-10 endless body":                 {repeats("HTTP/1.1 200 OK\r\n\r\n", strings.Repeat("a", 64<<10)), KindTooLarge},
		"SEC-10 endless chunks":               {repeats(chunkedAnswer, "4000\r\n"+strings.Repeat("a", 0x4000)+"\r\n"), KindTooLarge},
		"SEC-10 claims 300 MB":                {waits("HTTP/1.1 200 OK\r\nContent-Length: 314572800\r\n\r\n"), KindTooLarge},
		"SEC-11 gzip":                         {keeps("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}"), KindEncoding},
		"SEC-11 brotli after identity":        {keeps("HTTP/1.1 200 OK\r\nContent-Encoding: identity, br\r\nContent-Length: 2\r\n\r\n{}"), KindEncoding},
		"SEC-11 in a second field":            {keeps("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\nContent-Encoding: GZIP\r\nContent-Length: 2\r\n\r\n{}"), KindEncoding},
		"SEC-12 endless headers":              {repeats("HTTP/1.1 200 OK\r\n", "A: "+strings.Repeat("b", 1000)+"\r\n"), KindMalformed},
		"SEC-12 one endless header":           {repeats("HTTP/1.1 200 OK\r\nA: ", strings.Repeat("b", 1000)), KindMalformed},
		"SEC-12 endless early hints":          {repeats("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n"), KindMalformed},
		"SEC-12 endless 102":                  {repeats("", "HTTP/1.1 102 Processing\r\nA: b\r\n\r\n"), KindMalformed},
		"SEC-12 endless trailers":             {repeats(chunkedAnswer+"2\r\n{}\r\n0\r\n", "A: "+strings.Repeat("b", 1000)+"\r\n"), KindMalformed},
		"SEC-13 101 and an open connection":   {waits("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), KindSwitch},
		"SEC-13 101 and endless bytes":        {repeats("HTTP/1.1 101 X\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "x"), KindSwitch},
		"SEC-14 status 000":                   {waits("HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n"), KindSwitch},
		"SEC-14 reset mid-body":               {resets("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), KindLost},
		"SEC-14 reset without an answer":      {resets(""), KindLost},
		"SEC-14 closes without an answer":     {says(""), KindLost},
		"SEC-14 truncated body":               {says("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"), KindLost},
		"SEC-14 truncated chunk":              {says(chunkedAnswer + "9\r\n{"), KindLost},
		"SEC-14 truncated header":             {says("HTTP/1.1 200 OK\r\nA: b"), KindLost},
		"SEC-14 garbage status line":          {says("ceci n'est pas du HTTP\r\n\r\n"), KindMalformed},
		"SEC-14 HTTP/0.9":                     {says("<html>hello</html>\r\n"), KindMalformed},
		"SEC-14 two lengths":                  {says("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), KindMalformed},
		"SEC-14 a length that is no number":   {says("HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n{}"), KindMalformed},
		"SEC-14 a negative length":            {says("HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}"), KindMalformed},
		"SEC-14 bad chunk":                    {says(chunkedAnswer + "zz\r\n{}\r\n0\r\n\r\n"), KindMalformed},
		"SEC-14 another transfer encoding":    {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n{}"), KindMalformed},
		"SEC-14 a status that is no number":   {says("HTTP/1.1 2OO OK\r\n\r\n{}"), KindMalformed},
		"SEC-14 HTTP/2 without being asked":   {says("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), KindMalformed},
		"SEC-14 a header line without a name": {says("HTTP/1.1 200 OK\r\n: x\r\n\r\n{}"), KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := listen(t, "127.0.0.1:0", tc.do)
			c := open(t, Config{Policy: loopback(), Timeout: time.Second})
			begin := time.Now()
			_, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}"), Header: http.Header{"Idempotency-Key": {"k"}}})
			got := fault(t, err)
			if got.Kind != tc.want || !got.Sent {
				t.Errorf("got %s (%v), sent %v, want %s", got.Kind, got.Unwrap(), got.Sent, tc.want)
			}
			if target.hits.Load() != 1 {
				t.Errorf("got %d hits, want 1", target.hits.Load())
			}
			if took := time.Since(begin); took > 3*time.Second {
				t.Errorf("took %v of 1 s", took)
			}
		})
	}
}

// resets answers with fixed bytes and then tears the connection down.
func resets(s string) answer {
	return func(c net.Conn, _ *http.Request, _ int64) bool {
		_, _ = io.WriteString(c, s)
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		return false
	}
}

// An error status is the whole story (contract section 7), and a 2xx status is
// an acknowledgement (contract section 8), whatever is wrong with the body.
func TestStatusOutlivesItsBody(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{
		"compressed": "Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"too large":  "Content-Length: 314572800\r\n\r\n",
		"truncated":  "Content-Length: 9\r\n\r\n{",
		"bad chunk":  "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, Config{Policy: loopback()})
			broken := listen(t, "127.0.0.1:0", says("HTTP/1.1 503 X\r\nRetry-After: 7\r\n"+tail))
			resp, err := c.Post(t.Context(), Request{URL: broken.url, Body: []byte("{}")})
			if err != nil || resp.Status != 503 || resp.Body != nil || resp.Header.Get("Retry-After") != "7" {
				t.Errorf("got %d %q, %v, want status 503 alone", resp.Status, resp.Body, err)
			}
			fine := listen(t, "127.0.0.1:0", says("HTTP/1.1 200 OK\r\n"+tail))
			resp, err = c.Post(t.Context(), Request{URL: fine.url, Body: []byte("{}")})
			_ = fault(t, err) // which one it is, is tested elsewhere
			if resp.Status != 200 || resp.Body != nil {
				t.Errorf("got %d %q, want status 200 with the error", resp.Status, resp.Body)
			}
		})
	}
}

// 16 MB of zeros in 16 KB are never inflated.
func TestCompressionBomb(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	zeros := make([]byte, 1<<20)
	for range 16 {
		if _, err := z.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	target := listen(t, "127.0.0.1:0", says("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"+bomb.String()))
	c := open(t, Config{Policy: loopback()})
	_, err := c.Post(t.Context(), Request{URL: target.url, Body: []byte("{}")})
	if got := fault(t, err); got.Kind != KindEncoding || !got.Sent {
		t.Errorf("SEC-11: got %s, sent %v", got.Kind, got.Sent)
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	for name, tc := range map[string]struct {
		size    int
		claimed int64
		refused bool
	}{
		"SEC-10 one below":           {size: limit - 1, claimed: limit - 1},
		"SEC-10 at the limit":        {size: limit, claimed: limit},
		"SEC-10 one above":           {size: limit + 1, claimed: limit + 1, refused: true},
		"SEC-10 one below, unknown":  {size: limit - 1, claimed: -1},
		"SEC-10 at it, unknown":      {size: limit, claimed: -1},
		"SEC-10 one above, unknown":  {size: limit + 1, claimed: -1, refused: true},
		"SEC-10 far above, unknown":  {size: 64 * limit, claimed: -1, refused: true},
		"SEC-10 empty":               {size: 0, claimed: 0},
		"SEC-10 empty, unknown":      {size: 0, claimed: -1},
		"SEC-10 longer than claimed": {size: limit + 1, claimed: 7, refused: true},
	} {
		for kind, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "in pieces": iotest.HalfReader, "end with data": iotest.DataErrReader,
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				source := bytes.NewReader(bytes.Repeat([]byte("a"), tc.size))
				got, err := readBody(wrap(source), tc.claimed, limit)
				if (err != nil) != tc.refused || (!tc.refused && len(got) != tc.size) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				if tc.refused && !errors.Is(err, errTooLarge) {
					t.Errorf("got %v, want %v", err, errTooLarge)
				}
				if taken := tc.size - source.Len(); taken > limit+8<<10 {
					t.Errorf("took %d bytes of at most %d", taken, limit)
				}
			})
		}
	}
}

// A length costs nothing until its bytes come.
func TestClaimedLengthIsNotBelieved(t *testing.T) {
	t.Parallel()
	var room int
	_, err := readBody(readerFunc(func(p []byte) (int, error) {
		room = len(p)
		return 0, io.ErrUnexpectedEOF
	}), 256<<10, 256<<10)
	if !errors.Is(err, io.ErrUnexpectedEOF) || room > firstRead+1 {
		t.Errorf("SEC-10: got room for %d bytes, %v", room, err)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
