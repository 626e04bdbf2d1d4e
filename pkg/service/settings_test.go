package service_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/latchwire/latchwire/pkg/service"
)

type config struct {
	URL      string
	Workers  int
	Wait     time.Duration
	Dev      bool
	Slugs    []string
	Networks []netip.Prefix
	Token    service.Secret
	Mode     string
	Log      service.LogConfig
	HTTP     service.HTTPConfig
}

func (c *config) settings() *service.Settings {
	s := service.NewSettings("edge-api", "Serves the REST API.")
	s.String(&c.URL, "nats-url", "nats://127.0.0.1:4222", "Where NATS is.")
	s.Int(&c.Workers, "workers", 4, "How many at once.")
	s.Duration(&c.Wait, "wait", 12*time.Second, "How long a caller waits.")
	s.Bool(&c.Dev, "dev", false, "Allows loopback targets.")
	s.StringList(&c.Slugs, "slugs", []string{"tasks"}, "Which extensions.")
	s.Prefixes(&c.Networks, "networks", "Which networks may be called.")
	s.Secret(&c.Token, "admin-token", "The first admin token.")
	s.Choice(&c.Mode, "durability", []string{"dev", "single", "cluster"}, "How writes are kept.")
	c.Log.Register(s)
	s.Check(func() error {
		if c.Workers < 1 {
			return errors.Join(fmt.Errorf("--workers must be at least 1, got %d", c.Workers))
		}
		return nil
	})
	return s
}

func environment(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func defaults() config {
	return config{
		URL: "nats://127.0.0.1:4222", Workers: 4, Wait: 12 * time.Second, Slugs: []string{"tasks"},
		Mode: "dev", Log: service.LogConfig{Format: service.LogJSON},
	}
}

func TestSettingsAreReadFromFlagsThenVariables(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want func(*config)
	}{
		"nothing given is the defaults": {nil, nil, func(*config) {}},
		"a variable":                    {nil, map[string]string{"LATCHWIRE_NATS_URL": "nats://a:1"}, func(c *config) { c.URL = "nats://a:1" }},
		"a flag":                        {[]string{"--nats-url", "nats://b:1"}, nil, func(c *config) { c.URL = "nats://b:1" }},
		"a flag wins, even over a wrong variable": {
			[]string{"--workers=8"}, map[string]string{"LATCHWIRE_WORKERS": "many"}, func(c *config) { c.Workers = 8 },
		},
		"an empty variable is absent":    {nil, map[string]string{"LATCHWIRE_WAIT": ""}, func(*config) {}},
		"unknown variables are others'":  {nil, map[string]string{"LATCHWIRE_OTHER": "x"}, func(*config) {}},
		"a bool flag needs no value":     {[]string{"--dev", "--workers", "2"}, nil, func(c *config) { c.Dev, c.Workers = true, 2 }},
		"a bool flag may have one":       {[]string{"--dev=false"}, map[string]string{"LATCHWIRE_DEV": "true"}, func(*config) {}},
		"lists are cut and trimmed":      {[]string{"--slugs", " a, b,,"}, nil, func(c *config) { c.Slugs = []string{"a", "b"} }},
		"an empty flag empties the list": {[]string{"--slugs="}, nil, func(c *config) { c.Slugs = nil }},
		"the last of two equal flags":    {[]string{"--workers", "2", "--workers", "3"}, nil, func(c *config) { c.Workers = 3 }},
		"a secret":                       {nil, map[string]string{"LATCHWIRE_ADMIN_TOKEN": "s3cret"}, func(c *config) { c.Token = "s3cret" }},
		"choices and levels":             {[]string{"--durability", "cluster", "--log-level=debug", "--log-format=text"}, nil, func(c *config) { c.Mode, c.Log = "cluster", service.LogConfig{Format: "text", Level: slog.LevelDebug} }},
		"networks are masked, hosts kept": {[]string{"--networks", "10.1.2.3/8,::1,192.0.2.7"}, nil, func(c *config) {
			c.Networks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("192.0.2.7/32")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got config
			if err := got.settings().Parse(tc.args, environment(tc.env)); err != nil {
				t.Fatal(err)
			}
			want := defaults()
			tc.want(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		env  map[string]string
		want []string
	}{
		"each kind, from both sources, and the check": {
			[]string{"--wait", "5", "--dev=maybe", "--unknown", "word", "--workers", "0", "--networks", "10.0.0.0/33,::1,x"},
			map[string]string{"LATCHWIRE_LOG_LEVEL": "loud", "LATCHWIRE_DURABILITY": "raid"},
			[]string{
				`--wait: "5" is not a duration such as 500ms, 1.5s or 2m`,
				`--dev: "maybe" is not true or false`,
				`flag provided but not defined: -unknown`,
				`--networks: "10.0.0.0/33,::1,x" has no network such as 10.0.0.0/8 in 10.0.0.0/33, x`,
				`LATCHWIRE_DURABILITY: "raid" is not one of dev, single, cluster`,
				`LATCHWIRE_LOG_LEVEL: "loud" is not one of debug, info, warn, error`,
				`--workers must be at least 1, got 0`,
			},
		},
		"a negative duration":           {[]string{"--wait=-1s"}, nil, []string{`--wait: "-1s" is not a duration such as 500ms, 1.5s or 2m`}},
		"two unknown flags":             {[]string{"--a", "--b=1"}, nil, []string{"flag provided but not defined: -a", "flag provided but not defined: -b"}},
		"malformed flags do not loop":   {[]string{"---a", "--=b", "--workers", "x"}, nil, []string{"bad flag syntax: ---a", "bad flag syntax: --=b", `--workers: "x" is not a whole number`}},
		"a flag without its value":      {[]string{"--nats-url"}, nil, []string{"flag needs an argument: -nats-url"}},
		"arguments that nobody takes":   {[]string{"a", "--workers", "2", "b", "--", "--c"}, nil, []string{`unexpected argument "a"`, `unexpected argument "b"`, `unexpected argument "--c"`}},
		"a wrong value in its variable": {nil, map[string]string{"LATCHWIRE_WORKERS": "x"}, []string{`LATCHWIRE_WORKERS: "x" is not a whole number`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var c config
			err := c.settings().Parse(tc.args, environment(tc.env))
			wrong, ok := errors.AsType[*service.SettingsError](err)
			if !ok {
				t.Fatalf("got %v, want a SettingsError", err)
			}
			var got []string
			for _, p := range wrong.Problems {
				got = append(got, p.Error())
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

func TestArgumentsAreCollectedBetweenFlags(t *testing.T) {
	t.Parallel()
	var c config
	var args []string
	s := c.settings()
	s.Args(&args, "COMMAND [ID]")
	if err := s.Parse([]string{"chain", "--workers", "2", "x1", "--", "--y"}, environment(nil)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"chain", "x1", "--y"}; !reflect.DeepEqual(args, want) || c.Workers != 2 {
		t.Errorf("got %v and %d, want %v and 2", args, c.Workers, want)
	}
}

func TestHelpListsEverythingAndNoSecret(t *testing.T) {
	t.Parallel()
	for _, ask := range []string{"-h", "--help"} {
		var c config
		c.Token = "CANARY"
		c.HTTP.Register(service.NewSettings("", ""), "")
		s := c.settings()
		var out bytes.Buffer
		err := s.Load(service.Process{Args: []string{"--workers", "x", ask}, LookupEnv: environment(nil), Stdout: &out})
		if !errors.Is(err, flag.ErrHelp) {
			t.Fatalf("got %v, want ErrHelp", err)
		}
		for _, want := range []string{
			"edge-api: Serves the REST API.", "--nats-url text", "LATCHWIRE_NATS_URL, default nats://127.0.0.1:4222",
			"--workers number", "--wait duration", "default 12s", "--dev\n", "--slugs", "--networks", "--durability dev|single|cluster",
			"--admin-token secret\n        The first admin token.\n        LATCHWIRE_ADMIN_TOKEN\n", "LATCHWIRE_LOG_FORMAT",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is missing in\n%s", want, out.String())
			}
		}
		if strings.Contains(out.String(), "CANARY") {
			t.Error("the help shows a secret")
		}
	}
}

func ExampleSettings() {
	var url string
	var wait time.Duration
	s := service.NewSettings("edge-api", "Serves the REST API.")
	s.String(&url, "nats-url", "nats://127.0.0.1:4222", "Where NATS is.")
	s.Duration(&wait, "wait", 12*time.Second, "How long a caller waits for a result.")
	_ = s.Help(os.Stdout)
	err := s.Parse([]string{"--wait", "soon", "--colour"}, environment(map[string]string{"LATCHWIRE_NATS_URL": "nats://n1:4222"}))
	_, _ = fmt.Println(url)
	_, _ = fmt.Println(err)
	// Output:
	// edge-api: Serves the REST API.
	//
	// Usage: edge-api [flags]
	//
	// Every flag can be given by its environment variable instead; a flag wins.
	//
	//   --nats-url text
	//         Where NATS is.
	//         LATCHWIRE_NATS_URL, default nats://127.0.0.1:4222
	//
	//   --wait duration
	//         How long a caller waits for a result.
	//         LATCHWIRE_WAIT, default 12s
	// nats://n1:4222
	// wrong settings:
	//   --wait: "soon" is not a duration such as 500ms, 1.5s or 2m
	//   flag provided but not defined: -colour
}
