package broker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/broker/brokertest"
)

// fullTopology has a bit of everything.
func fullTopology() broker.Topology {
	topology := workTopology(time.Minute)
	topology.Streams = append(topology.Streams, jetstream.StreamConfig{
		Name: "COUNT", Subjects: []string{"count.*"}, Storage: jetstream.MemoryStorage, MaxMsgsPerSubject: 1, AllowMsgCounter: true, AllowDirect: true,
	}, jetstream.StreamConfig{
		Name: "TIMER", Subjects: []string{"tmr.*", "due.*"}, MaxMsgsPerSubject: -1, Retention: jetstream.WorkQueuePolicy, AllowMsgSchedules: true,
	})
	topology.KeyValues = []jetstream.KeyValueConfig{{Bucket: "things", LimitMarkerTTL: time.Hour}}
	return topology
}

func TestApplyIsIdempotentAndKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	topology := fullTopology()
	apply(t, c, topology)
	publish(t, c, 0, 3)
	for range 2 {
		apply(t, c, topology)
		if err := topology.Verify(t.Context(), c.JS); err != nil {
			t.Errorf("verify: %v", err)
		}
	}
	stream, err := c.JS.Stream(t.Context(), workStream)
	if err != nil {
		t.Fatal(err)
	}
	if n := stream.CachedInfo().State.Msgs; n != 3 || brokertest.Done(t, c, workStream, workConsumer) {
		t.Errorf("got %d messages, want the 3 that were there, still to be handled", n)
	}
}

func TestApplyUpdatesWhatDiffers(t *testing.T) {
	t.Parallel()
	c := brokertest.Start(t)
	apply(t, c, fullTopology())
	wider := fullTopology()
	wider.Streams[0].Subjects = []string{"work.*", "more.*"}
	if err := wider.Verify(t.Context(), c.JS); err == nil {
		t.Error("got no error before the update")
	}
	apply(t, c, wider)
	if err := wider.Verify(t.Context(), c.JS); err != nil {
		t.Errorf("verify after the update: %v", err)
	}
}

func TestVerifyNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*broker.Topology) // what is wanted, after fullTopology was applied
		want  []string
	}{
		"nothing":               {func(*broker.Topology) {}, nil},
		"a stream is missing":   {func(w *broker.Topology) { w.Streams[0].Name = "GONE" }, []string{"stream GONE"}},
		"a bucket is missing":   {func(w *broker.Topology) { w.KeyValues[0].Bucket = "gone" }, []string{"bucket gone"}},
		"a consumer is missing": {func(w *broker.Topology) { w.Consumers[0].Config.Durable = "gone" }, []string{"consumer gone of WORK"}},
		"other subjects":        {func(w *broker.Topology) { w.Streams[0].Subjects = []string{"job.*"} }, []string{"stream WORK: subjects is [work.*], must be [job.*]"}},
		"another retention":     {func(w *broker.Topology) { w.Streams[0].Retention = jetstream.WorkQueuePolicy }, []string{"stream WORK: retention"}},
		"another storage":       {func(w *broker.Topology) { w.Streams[0].Storage = jetstream.MemoryStorage }, []string{"stream WORK: storage"}},
		"another history":       {func(w *broker.Topology) { w.Streams[0].MaxMsgsPerSubject = 1 }, []string{"stream WORK: messages per subject is -1, must be 1"}},
		"no direct reads":       {func(w *broker.Topology) { w.Streams[2].AllowDirect = true }, []string{"stream TIMER: direct reads"}},
		"no TTL":                {func(w *broker.Topology) { w.Streams[0].AllowMsgTTL = true }, []string{"stream WORK: message TTL"}},
		"no counters":           {func(w *broker.Topology) { w.Streams[0].AllowMsgCounter = true }, []string{"stream WORK: counters"}},
		"no schedules":          {func(w *broker.Topology) { w.Streams[0].AllowMsgSchedules = true }, []string{"stream WORK: schedules"}},
		"another filter":        {func(w *broker.Topology) { w.Consumers[0].Config.FilterSubject = "work.1" }, []string{"consumer worker of WORK: filter is work.*, must be work.1"}},
		"another ack policy":    {func(w *broker.Topology) { w.Consumers[0].Config.AckPolicy = jetstream.AckNonePolicy }, []string{"consumer worker of WORK: ack policy"}},
		"a last delivery":       {func(w *broker.Topology) { w.Consumers[0].Config.MaxDeliver = 5 }, []string{"consumer worker of WORK: deliveries"}},
		"few pending acks":      {func(w *broker.Topology) { w.Consumers[0].Config.MaxAckPending = 5 }, []string{"consumer worker of WORK: pending acks"}},
		"several at once": {func(w *broker.Topology) {
			w.Streams[0].AllowMsgTTL = true
			w.KeyValues[0].Bucket = "gone"
		}, []string{"stream WORK: message TTL", "bucket gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := brokertest.Start(t)
			apply(t, c, fullTopology())
			wanted := fullTopology()
			tc.spoil(&wanted)
			err := wanted.Verify(t.Context(), c.JS)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("got %v, want %d problems", err, len(tc.want))
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestApplySaysWhatItCouldNotMake(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spoil func(*broker.Topology)
		want  string
	}{
		"a stream":   {func(w *broker.Topology) { w.Streams[0].Subjects = []string{"count.>"} }, "stream COUNT"},
		"a bucket":   {func(w *broker.Topology) { w.KeyValues[0].Bucket = "not a name" }, "bucket not a name"},
		"a consumer": {func(w *broker.Topology) { w.Consumers[0].Stream = "GONE" }, "consumer worker of GONE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := brokertest.Start(t)
			topology := fullTopology()
			tc.spoil(&topology)
			if err := topology.Apply(t.Context(), c.JS); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q in it", err, tc.want)
			}
		})
	}
}
