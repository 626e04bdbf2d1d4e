package egress

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The bounds of what a receiver's Retry-After can ask for (SEC-20).
const (
	MinRetryAfter = time.Second
	MaxRetryAfter = 24 * time.Hour
)

// maxRetryAfterLength is longer than any date or sensible number.
const maxRetryAfterLength = 64

// RetryAfter reads a Retry-After field, in seconds or as an HTTP date (RFC
// 9110), as the time to wait from now, moved into the bounds of one second and
// one day. It reports false if there is none or if it is neither.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if value == "" || len(value) > maxRetryAfterLength {
		return 0, false
	}
	wait, ok := retrySeconds(value)
	if !ok {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0, false
		}
		wait = at.Sub(now)
	}
	return min(max(wait, MinRetryAfter), MaxRetryAfter), true
}

// retrySeconds reads a number of digits only; one that is too large to count
// is as good as the longest wait.
func retrySeconds(value string) (time.Duration, bool) {
	if strings.Trim(value, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(value, 10, 32)
	if err != nil {
		return MaxRetryAfter, true
	}
	return time.Duration(seconds) * time.Second, true
}
