package service

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// String adds a setting that is any text.
func (s *Settings) String(p *string, name, fallback, usage string) {
	*p = fallback
	s.add(&item{name: name, usage: usage, kind: "text", shown: fallback, set: func(v string) error {
		*p = v
		return nil
	}})
}

// Secret adds a setting that is never printed. As a flag it can be seen in the
// list of processes, so it is better given by its variable.
func (s *Settings) Secret(p *Secret, name, usage string) {
	s.add(&item{name: name, usage: usage, kind: "secret", set: func(v string) error {
		*p = Secret(v)
		return nil
	}})
}

// Choice adds a setting that is one of choices; the first is the default.
func (s *Settings) Choice(p *string, name string, choices []string, usage string) {
	*p = choices[0]
	s.add(&item{name: name, usage: usage, kind: strings.Join(choices, "|"), shown: choices[0], set: func(v string) error {
		if !slices.Contains(choices, v) {
			return fmt.Errorf("is not one of %s", strings.Join(choices, ", "))
		}
		*p = v
		return nil
	}})
}

// Int adds a setting that is a whole number.
func (s *Settings) Int(p *int, name string, fallback int, usage string) {
	*p = fallback
	s.add(&item{name: name, usage: usage, kind: "number", shown: strconv.Itoa(fallback), set: func(v string) error {
		n, err := strconv.Atoi(v)
		if err != nil {
			return errors.New("is not a whole number")
		}
		*p = n
		return nil
	}})
}

// Bool adds a setting that is true or false; the flag alone means true.
func (s *Settings) Bool(p *bool, name string, fallback bool, usage string) {
	*p = fallback
	s.add(&item{name: name, usage: usage, isBool: true, shown: strconv.FormatBool(fallback), set: func(v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("is not true or false")
		}
		*p = b
		return nil
	}})
}

// Duration adds a setting that is a length of time, zero or more.
func (s *Settings) Duration(p *time.Duration, name string, fallback time.Duration, usage string) {
	*p = fallback
	s.add(&item{name: name, usage: usage, kind: "duration", shown: fallback.String(), set: func(v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return errors.New("is not a duration such as 500ms, 1.5s or 2m")
		}
		*p = d
		return nil
	}})
}

// StringList adds a setting that is a comma-separated list. Blanks around an
// entry and empty entries are dropped.
func (s *Settings) StringList(p *[]string, name string, fallback []string, usage string) {
	*p = fallback
	s.add(&item{name: name, usage: usage, kind: "text,…", shown: strings.Join(fallback, ","), set: func(v string) error {
		*p = entries(v)
		return nil
	}})
}

// Prefixes adds a setting that is a comma-separated list of networks in CIDR
// notation; a bare address is the network of that one address.
func (s *Settings) Prefixes(p *[]netip.Prefix, name, usage string) {
	s.add(&item{name: name, usage: usage, kind: "cidr,…", set: func(v string) error {
		list, err := prefixes(v)
		if err != nil {
			return err
		}
		*p = list
		return nil
	}})
}

func entries(v string) []string {
	var out []string
	for e := range strings.SplitSeq(v, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

func prefixes(v string) ([]netip.Prefix, error) {
	var out []netip.Prefix
	var wrong []string
	for _, e := range entries(v) {
		if prefix, err := netip.ParsePrefix(e); err == nil {
			out = append(out, prefix.Masked())
		} else if addr, err := netip.ParseAddr(e); err == nil && addr.Zone() == "" {
			out = append(out, netip.PrefixFrom(addr, addr.BitLen()))
		} else {
			wrong = append(wrong, e)
		}
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("has no network such as 10.0.0.0/8 in %s", strings.Join(wrong, ", "))
	}
	return out, nil
}
