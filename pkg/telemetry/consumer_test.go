package telemetry_test

import (
	"errors"
	"log/slog"
	"net/url"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/latchwire/latchwire/pkg/invocation"
	"github.com/latchwire/latchwire/pkg/telemetry"
	"github.com/latchwire/latchwire/pkg/telemetry/telemetrytest"
)

var errFull = errors.New("all slots taken")

// judge calls a full slot normal work, as the dispatcher does.
func judge(err error) (string, slog.Level) {
	switch {
	case err == nil:
		return "ack", slog.LevelInfo
	case errors.Is(err, errFull):
		return "hand-back", slog.LevelDebug
	default:
		return "retry", slog.LevelWarn
	}
}

func TestEachMessageIsOneLineAndOneSpan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    error
		lines  int
		line   map[string]any
		attr   string // error.type
		status string
	}{
		"handled": {nil, 1, map[string]any{"verdict": "ack", "level": "INFO", "err": nil, "outcome": "completed"}, "", ""},
		"failed": {
			errors.New("boom"), 1, map[string]any{"verdict": "retry", "level": "WARN", "err": "boom"}, "_OTHER", "_OTHER",
		},
		"refused": {
			invocation.Wrap(invocation.ServiceUnavailable, errors.New("no leader")), 1,
			map[string]any{"err": "service-unavailable: no leader"},
			"service-unavailable", "service-unavailable",
		},
		"a partner's address loses its query": {
			&url.Error{Op: "Post", URL: "https://u:p@x.example/hook?key=CANARY", Err: errors.New("refused")}, 1,
			map[string]any{"err": `Post "https://x.example/hook": refused`},
			"_OTHER", "_OTHER",
		},
		"handed back, which is normal work": {errFull, 0, nil, "_OTHER", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, spans := telemetrytest.New(t)
			log, lines := logged(t)
			h := tel.Consumer(telemetry.ConsumerConfig{
				Destination: "inv.p.req", Group: "dispatch", Log: log, Judge: judge,
				Describe: func(*message.Message) telemetry.Delivery {
					return telemetry.Delivery{Chain: telemetry.Chain{CorrelationID: "c", InvocationID: "i"}, Count: 2, Queued: 1500 * time.Millisecond}
				},
			})(func(m *message.Message) ([]*message.Message, error) {
				telemetry.NoteOutcome(m.Context(), "completed")
				return nil, tc.err
			})
			m := message.NewMessage("m", []byte("body"))
			m.SetContext(t.Context())
			if _, err := h(m); !errors.Is(err, tc.err) {
				t.Errorf("got %v, want the handler's error", err)
			}
			all := lines()
			if len(all) != tc.lines {
				t.Fatalf("got %d lines, want %d", len(all), tc.lines)
			}
			if tc.lines == 1 {
				compare(t, all[0], tc.line)
				compare(t, all[0], map[string]any{
					"msg": "message", "destination": "inv.p.req", "consumer": "dispatch", "delivery_count": 2.0, "queued_ms": 1500.0,
					"correlation_id": "c", "invocation_id": "i", "trace_id": telemetry.TraceIDOf("c"),
				})
			}
			s := spans.Ended()[0]
			if s.Attrs["error.type"] != tc.attr || s.Error != tc.status || s.Attrs["invocation.outcome"] != "completed" || s.Events != 0 ||
				s.Attrs["messaging.nats.queue_time_ms"] != "1500" || s.Attrs["messaging.message.body.size"] != "4" {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestAConsumersPanicIsRecordedAndGoesOn(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	log, lines := logged(t)
	h := tel.Consumer(telemetry.ConsumerConfig{Log: log})(func(*message.Message) ([]*message.Message, error) { panic("boom") })
	func() {
		defer func() {
			if r := recover(); r != "boom" {
				t.Errorf("got panic %v, want it passed on", r)
			}
		}()
		m := message.NewMessage("m", nil)
		m.SetContext(t.Context())
		_, _ = h(m)
	}()
	compare(t, lines()[0], map[string]any{"verdict": "panic", "level": "ERROR"})
	if s := spans.Ended()[0]; s.Error != "panic" {
		t.Errorf("got %+v", s)
	}
}

func TestAMessageWithoutChainJoinsItsSendersTrace(t *testing.T) {
	t.Parallel()
	tel, spans := telemetrytest.New(t)
	h := tel.Consumer(telemetry.ConsumerConfig{Destination: "x"})(func(m *message.Message) ([]*message.Message, error) {
		return []*message.Message{message.NewMessage("o", nil)}, nil
	})
	m := message.NewMessage("m", nil)
	ambient, other := tel.Publish(t.Context(), "ambient")
	m.SetContext(ambient)
	m.Metadata["Traceparent"] = foreignParent
	out, err := h(m)
	other.End(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := spans.Ended()[0]
	if s.TraceID != foreignTrace || s.ParentID != "00f067aa0ba902b7" || len(s.Links) != 1 || s.Links[0].Type != "creation" {
		t.Errorf("got %+v, want a child of the sender", s)
	}
	if want := "00-" + s.TraceID + "-" + s.SpanID + "-01"; out[0].Metadata["traceparent"] != want {
		t.Errorf("got %v, want traceparent %s", out[0].Metadata, want)
	}
}
