package broker

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// A Topology is every stream and durable consumer of the system, as data.
type Topology struct {
	Streams   []jetstream.StreamConfig
	KeyValues []jetstream.KeyValueConfig
	Consumers []Consumer
}

// A Consumer is a durable consumer and the stream it reads.
type Consumer struct {
	Stream string
	Config jetstream.ConsumerConfig
}

// Apply creates what is missing and updates what differs. It may run any
// number of times, also while services use the streams.
func (t Topology) Apply(ctx context.Context, js jetstream.JetStream) error {
	for _, s := range t.Streams {
		if _, err := js.CreateOrUpdateStream(ctx, s); err != nil {
			return fmt.Errorf("stream %s: %w", s.Name, err)
		}
	}
	for _, kv := range t.KeyValues {
		if _, err := js.CreateOrUpdateKeyValue(ctx, kv); err != nil {
			return fmt.Errorf("bucket %s: %w", kv.Bucket, err)
		}
	}
	for _, c := range t.Consumers {
		if _, err := js.CreateOrUpdateConsumer(ctx, c.Stream, c.Config); err != nil {
			return fmt.Errorf("consumer %s of %s: %w", c.Config.Durable, c.Stream, err)
		}
	}
	return nil
}

// Verify reports everything that is missing or differs in what the system's
// promises rest on, by name. Services run it at their start and refuse to run
// on a topology that is not theirs. Sizes, ages and replicas are not compared:
// an operator may change them.
func (t Topology) Verify(ctx context.Context, js jetstream.JetStream) error {
	var problems []error
	for _, want := range t.Streams {
		s, err := js.Stream(ctx, want.Name)
		if err != nil {
			problems = append(problems, fmt.Errorf("stream %s: %w", want.Name, err))
			continue
		}
		problems = append(problems, differences("stream "+want.Name, streamPromises(s.CachedInfo().Config), streamPromises(want))...)
	}
	for _, want := range t.KeyValues {
		if _, err := js.KeyValue(ctx, want.Bucket); err != nil {
			problems = append(problems, fmt.Errorf("bucket %s: %w", want.Bucket, err))
		}
	}
	for _, want := range t.Consumers {
		c, err := js.Consumer(ctx, want.Stream, want.Config.Durable)
		if err != nil {
			problems = append(problems, fmt.Errorf("consumer %s of %s: %w", want.Config.Durable, want.Stream, err))
			continue
		}
		name := "consumer " + want.Config.Durable + " of " + want.Stream
		problems = append(problems, differences(name, consumerPromises(c.CachedInfo().Config), consumerPromises(want.Config))...)
	}
	return errors.Join(problems...)
}

// A promise is one setting that correctness rests on.
type promise struct {
	setting string
	value   any
}

func streamPromises(c jetstream.StreamConfig) []promise {
	return []promise{
		{"subjects", c.Subjects},
		{"retention", c.Retention},
		{"storage", c.Storage},
		{"messages per subject", c.MaxMsgsPerSubject},
		{"direct reads", c.AllowDirect},
		{"message TTL", c.AllowMsgTTL},
		{"counters", c.AllowMsgCounter},
		{"schedules", c.AllowMsgSchedules},
	}
}

func consumerPromises(c jetstream.ConsumerConfig) []promise {
	return []promise{
		{"filter", c.FilterSubject},
		{"ack policy", c.AckPolicy},
		{"deliveries", c.MaxDeliver},
		{"pending acks", c.MaxAckPending},
	}
}

func differences(name string, got, want []promise) []error {
	var problems []error
	for i, w := range want {
		if g, w := fmt.Sprint(got[i].value), fmt.Sprint(w.value); g != w {
			problems = append(problems, fmt.Errorf("%s: %s is %s, must be %s", name, got[i].setting, g, w))
		}
	}
	return problems
}
