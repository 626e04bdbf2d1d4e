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
// promises rest on. Services run it at their start and refuse to run on a
// topology that is not theirs.
func (t Topology) Verify(ctx context.Context, js jetstream.JetStream) error {
	var problems []error
	for _, want := range t.Streams {
		s, err := js.Stream(ctx, want.Name)
		if err != nil {
			problems = append(problems, fmt.Errorf("stream %s: %w", want.Name, err))
			continue
		}
		if got := s.CachedInfo().Config; !sameStream(got, want) {
			problems = append(problems, fmt.Errorf("stream %s is configured differently", want.Name))
		}
	}
	for _, want := range t.KeyValues {
		if _, err := js.KeyValue(ctx, want.Bucket); err != nil {
			problems = append(problems, fmt.Errorf("bucket %s: %w", want.Bucket, err))
		}
	}
	for _, want := range t.Consumers {
		if _, err := js.Consumer(ctx, want.Stream, want.Config.Durable); err != nil {
			problems = append(problems, fmt.Errorf("consumer %s of %s: %w", want.Config.Durable, want.Stream, err))
		}
	}
	return errors.Join(problems...)
}

// sameStream compares what correctness rests on; sizes and replicas may be
// changed by an operator.
func sameStream(got, want jetstream.StreamConfig) bool {
	return fmt.Sprint(got.Subjects) == fmt.Sprint(want.Subjects) &&
		got.Retention == want.Retention &&
		got.MaxMsgsPerSubject == want.MaxMsgsPerSubject &&
		got.AllowMsgTTL == want.AllowMsgTTL &&
		got.AllowMsgCounter == want.AllowMsgCounter &&
		got.AllowMsgSchedules == want.AllowMsgSchedules &&
		got.Storage == want.Storage
}
