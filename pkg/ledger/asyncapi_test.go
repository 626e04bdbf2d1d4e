package ledger_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/latchwire/latchwire/contracts"
	"github.com/latchwire/latchwire/pkg/ledger"
)

// channel is what the test reads of a channel of contracts/asyncapi.yaml.
type channel struct {
	Address string `yaml:"address"`
	Stream  string `yaml:"x-stream"`
}

// pattern writes an address as a subject with wildcards, in partition 0.
func (c channel) pattern() string {
	tokens := strings.Split(c.Address, ".")
	for i, t := range tokens {
		switch {
		case t == "{partition}":
			tokens[i] = "0"
		case strings.HasPrefix(t, "{"):
			tokens[i] = "*"
		}
	}
	return strings.Join(tokens, ".")
}

func TestEveryStreamSubjectIsAChannelOfTheContractAndTheReverse(t *testing.T) {
	t.Parallel()
	var doc struct {
		Channels map[string]channel `yaml:"channels"`
	}
	if err := yaml.Unmarshal(contracts.AsyncAPI(), &doc); err != nil {
		t.Fatal(err)
	}
	promised := make(map[string][]string) // subjects by stream
	for _, c := range doc.Channels {
		if c.Stream != "" {
			name := strings.ReplaceAll(c.Stream, "{partition}", "0")
			promised[name] = append(promised[name], c.pattern())
		}
	}
	topology := ledger.Topology(ledger.Config{Partitions: 1})
	made := make(map[string][]string)
	for _, s := range topology.Streams {
		made[s.Name] = s.Subjects
	}
	for _, kv := range topology.KeyValues {
		made["KV_"+kv.Bucket] = []string{"$KV." + kv.Bucket + ".>"}
	}
	if got, want := slices.Sorted(maps.Keys(made)), slices.Sorted(maps.Keys(promised)); !slices.Equal(got, want) {
		t.Errorf("streams: got %v, want those of the contract %v", got, want)
	}
	for stream, subjects := range made {
		for _, s := range promised[stream] {
			if !slices.ContainsFunc(subjects, func(f string) bool { return covers(f, s) }) {
				t.Errorf("%s takes %v: the contract's channel %s is not among them", stream, subjects, s)
			}
		}
		for _, f := range subjects {
			if !slices.ContainsFunc(promised[stream], func(s string) bool { return covers(f, s) }) {
				t.Errorf("%s takes %s: no channel of the contract %v is in it", stream, f, promised[stream])
			}
		}
	}
}

// covers reports whether a stream's subject takes all of a channel's.
func covers(filter, subject string) bool {
	f, s := strings.Split(filter, "."), strings.Split(subject, ".")
	for i, token := range f {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s) || token != "*" && token != s[i]:
			return false
		}
	}
	return len(f) == len(s)
}
