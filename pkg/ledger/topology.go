package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/latchwire/latchwire/pkg/broker"
	"github.com/latchwire/latchwire/pkg/invocation"
)

// A Config sizes the topology. It must be the same in every service.
type Config struct {
	// Partitions that locks are spread over; zero means 4. It can grow, and
	// locks never move (design section 8).
	Partitions int
	// Replicas of every stream: 1, or 3 in a cluster. Zero means 1.
	Replicas int
	// MaxBytes bounds INV_p and LOCK_p each, which then refuse what is over;
	// zero sets no bound.
	MaxBytes int64
	// AckWait is how long a delivered request may go without a sign of life
	// before another worker gets it; zero means 30 s. It must be well above
	// the 10 s of a call (design section 3).
	AckWait time.Duration
	// Patience is how long a write is tried again while JetStream has no
	// leader or is out of reach; zero means 15 s, enough for an election
	// (jetstream section 6, pitfall 26).
	Patience time.Duration
	// Limits count calls; fields left zero are the contract's figures.
	Limits invocation.Limits
}

// WithDefaults fills what was left zero.
func (c Config) WithDefaults() Config {
	c.Partitions = cmp.Or(c.Partitions, 4)
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.MaxBytes = cmp.Or(c.MaxBytes, -1)
	c.AckWait = cmp.Or(c.AckWait, 30*time.Second)
	c.Patience = cmp.Or(c.Patience, 15*time.Second)
	c.Limits = c.Limits.WithDefaults()
	return c
}

// Validate reports every value that cannot work.
func (c Config) Validate() error {
	var problems []error
	if c.Partitions < 1 || c.Partitions > 256 {
		problems = append(problems, fmt.Errorf("partitions is %d, must be 1 to 256", c.Partitions))
	}
	if c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5 {
		problems = append(problems, fmt.Errorf("replicas is %d, must be 1, 3 or 5", c.Replicas))
	}
	if c.AckWait < time.Second {
		problems = append(problems, fmt.Errorf("ack wait is %s, must be at least 1s", c.AckWait))
	}
	return errors.Join(problems...)
}

// Topology returns every stream and consumer, as data.
func Topology(c Config) broker.Topology {
	c = c.WithDefaults()
	t := broker.Topology{
		Streams: []jetstream.StreamConfig{
			{Name: chainStream, Subjects: []string{"chain.*"}, MaxAge: invocation.Retention, AllowDirect: true},
			{Name: sentStream, Subjects: []string{"sent.*.*.*"}, MaxAge: invocation.CausationWindow, MaxMsgsPerSubject: 1, AllowDirect: true},
			{
				Name: limitsStream, Subjects: []string{"lim.*.*.*"}, Storage: jetstream.MemoryStorage,
				MaxAge: 2 * longestWindow(c.Limits), MaxMsgsPerSubject: 1, AllowMsgCounter: true, AllowDirect: true,
			},
			{
				Name: blocksStream, Subjects: []string{"blk.*.*.*"}, MaxAge: time.Hour, MaxMsgsPerSubject: 1,
				AllowMsgTTL: true, AllowDirect: true,
			},
			{
				Name: endpointStream, Subjects: []string{"ep.check.*", "ep.timer.*", "ep.kept.*.*.*", "ep.tell.*.*"},
				Retention: jetstream.WorkQueuePolicy, AllowMsgSchedules: true, AllowMsgTTL: true, AllowDirect: true,
			},
			{Name: deadStream, Subjects: []string{"dead.>"}, MaxAge: invocation.Retention, MaxMsgsPerSubject: 1, AllowDirect: true},
			{Name: auditStream, Subjects: []string{auditSubjects}, MaxAge: auditRetention, MaxMsgsPerSubject: 1, AllowDirect: true},
		},
		KeyValues: []jetstream.KeyValueConfig{
			{Bucket: "extensions", Replicas: c.Replicas},
			{Bucket: "manifests", Replicas: c.Replicas},
			{Bucket: "sessions", Replicas: c.Replicas},
			{Bucket: "tokens", Replicas: c.Replicas, LimitMarkerTTL: time.Hour},
		},
	}
	for p := range c.Partitions {
		t.Streams = append(t.Streams, partitionStreams(c, p)...)
		t.Consumers = append(t.Consumers, partitionConsumers(c, p)...)
	}
	t.Consumers = append(t.Consumers,
		broker.Consumer{Stream: ManifestStream, Config: durable(c, AnnounceConsumer, "$KV.manifests.>")},
		broker.Consumer{Stream: endpointStream, Config: durable(c, EndpointConsumer, "ep.check.*")},
		broker.Consumer{Stream: endpointStream, Config: durable(c, OperationConsumer, "ep.tell.*.*")},
	)
	for i := range t.Streams {
		t.Streams[i].Replicas = c.Replicas
		t.Streams[i].MaxConsumers = -1
		t.Streams[i].MaxMsgsPerSubject = cmp.Or(t.Streams[i].MaxMsgsPerSubject, -1)
	}
	return t
}

func partitionStreams(c Config, p int) []jetstream.StreamConfig {
	n := strconv.Itoa(p)
	return []jetstream.StreamConfig{
		{
			Name: invStream(p), Subjects: []string{"inv." + n + ".*.*"}, MaxMsgsPerSubject: 1,
			MaxBytes: c.MaxBytes, Discard: discardOver(c.MaxBytes), AllowMsgTTL: true, AllowDirect: true,
		},
		{
			Name: lockStream(p), Subjects: []string{"lock." + n + ".*"}, MaxMsgsPerSubject: 65_536,
			MaxBytes: c.MaxBytes, Discard: discardOver(c.MaxBytes), AllowDirect: true,
			// For those who follow a lock live: only that something was stored.
			RePublish: &jetstream.RePublish{Source: "lock." + n + ".*", Destination: "moved." + n + ".{{wildcard(1)}}", HeadersOnly: true},
		},
		{
			Name: deliveryStream(p), Subjects: []string{"dlv." + n + ".>", "tmr." + n + ".>", "due." + n + ".*"},
			Retention: jetstream.WorkQueuePolicy, AllowMsgSchedules: true, AllowDirect: true,
		},
	}
}

func partitionConsumers(c Config, p int) []broker.Consumer {
	n := strconv.Itoa(p)
	return []broker.Consumer{
		{Stream: invStream(p), Config: durable(c, DispatchConsumer, "inv."+n+".req.*")},
		{Stream: lockStream(p), Config: durable(c, FanOutConsumer, "lock."+n+".*")},
		{Stream: deliveryStream(p), Config: durable(c, DeliverConsumer, "dlv."+n+".>")},
		{Stream: deliveryStream(p), Config: durable(c, TimerConsumer, "due."+n+".*")},
	}
}

func durable(c Config, name, filter string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: c.AckWait, MaxAckPending: -1, MaxDeliver: -1, MaxWaiting: 512,
	}
}

// discardOver refuses what is over a bound, so that nothing recorded is lost
// to it (design section 8).
func discardOver(maxBytes int64) jetstream.DiscardPolicy {
	if maxBytes > 0 {
		return jetstream.DiscardNew
	}
	return jetstream.DiscardOld
}

func longestWindow(l invocation.Limits) time.Duration {
	longest := time.Duration(0)
	for _, w := range []invocation.Limit{l.Extension, l.Lock, l.Events, l.MCPExtension, l.MCPLock, l.MCPRequests, l.Options} {
		longest = max(longest, w.Window)
	}
	return longest
}
