package service

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// envPrefix starts the name of every environment variable of the project
// (design section 9). Standard variables such as OTEL_* keep their names.
const envPrefix = "LATCHWIRE_"

// A SettingsError lists everything wrong with the settings of a process, each
// problem with the flag or the variable that it came from.
type SettingsError struct {
	Problems []error
}

// Error returns one line for each problem.
func (e *SettingsError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	lines = append(lines, "wrong settings:")
	for _, p := range e.Problems {
		lines = append(lines, "  "+p.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, for errors.Is and errors.As.
func (e *SettingsError) Unwrap() []error { return e.Problems }

// Settings is the typed list of what can be set on a process. Each setting is
// a flag, --nats-url, and an environment variable, LATCHWIRE_NATS_URL; the
// flag wins, and an empty variable counts as absent. A Settings is filled and
// parsed once, by one goroutine.
type Settings struct {
	name, summary string
	flags         *flag.FlagSet
	items         []*item
	checks        []func() error
	args          *[]string
	argsUsage     string
	problems      []error
}

// item is one setting; it is what the flag package calls.
type item struct {
	name, usage, kind, shown string
	isBool                   bool
	set                      func(string) error // its error says what the value is not
	given                    bool               // by a flag
	report                   func(error)
}

// NewSettings returns an empty list for the process called name; summary is
// the first line of its help.
func NewSettings(name, summary string) *Settings {
	s := &Settings{name: name, summary: summary}
	s.flags = flag.NewFlagSet(name, flag.ContinueOnError)
	s.flags.SetOutput(io.Discard)
	s.flags.Usage = func() {}
	return s
}

// Check adds a check of the settings against each other, usually a config's
// Validate. It runs after all values are read, and what it finds is reported
// together with the wrong values.
func (s *Settings) Check(check func() error) { s.checks = append(s.checks, check) }

// Args collects the arguments that are no flags, in their order. Without it
// such an argument is a problem.
func (s *Settings) Args(p *[]string, usage string) { s.args, s.argsUsage = p, usage }

// Load parses what the process was given. When help is asked for it writes it
// to the process's standard output and returns [flag.ErrHelp].
func (s *Settings) Load(p Process) error {
	err := s.Parse(p.Args, p.LookupEnv)
	if errors.Is(err, flag.ErrHelp) {
		return errors.Join(err, s.Help(p.Stdout))
	}
	return err
}

// Parse reads args, without the program's name, and the variables that
// lookupEnv finds. It returns [flag.ErrHelp] when -h or --help is among args,
// else nil or a [SettingsError] with every problem there is.
func (s *Settings) Parse(args []string, lookupEnv func(string) (string, bool)) error {
	s.problems = nil
	if s.args != nil {
		*s.args = nil
	}
	if err := s.parseFlags(args); err != nil {
		return err
	}
	for _, it := range s.items {
		if it.given {
			continue
		}
		if v, ok := lookupEnv(it.variable()); ok && v != "" {
			it.assign(it.variable(), v)
		}
	}
	for _, check := range s.checks {
		s.report(check())
	}
	if len(s.problems) == 0 {
		return nil
	}
	return &SettingsError{Problems: s.problems}
}

// parseFlags calls the flag package again after each of its errors, because
// that package stops at the first one.
func (s *Settings) parseFlags(args []string) error {
	for len(args) > 0 {
		err := s.flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		rest := s.flags.Args()
		read := args[:len(args)-len(rest)]
		switch {
		case err != nil:
			s.report(err)
			if len(read) == 0 { // a malformed flag, which the package leaves in place
				rest = rest[1:]
			}
			if len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				rest = rest[1:] // most likely the unknown flag's value
			}
		case len(read) > 0 && read[len(read)-1] == "--":
			s.positional(rest...)
			rest = nil
		case len(rest) > 0:
			s.positional(rest[0])
			rest = rest[1:]
		}
		args = rest
	}
	return nil
}

func (s *Settings) positional(args ...string) {
	if s.args != nil {
		*s.args = append(*s.args, args...)
		return
	}
	for _, a := range args {
		s.report(fmt.Errorf("unexpected argument %q", a))
	}
}

// report adds a problem, or each of those that errors.Join put together on top.
func (s *Settings) report(err error) {
	if err == nil {
		return
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			s.report(e)
		}
		return
	}
	s.problems = append(s.problems, err)
}

func (s *Settings) add(it *item) {
	it.report = s.report
	s.items = append(s.items, it)
	s.flags.Var(it, it.name, it.usage)
}

// Help writes what the process is and every setting with its default and its
// variable. A secret's default is not shown.
func (s *Settings) Help(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\nUsage: %s [flags]", s.name, s.summary, s.name)
	if s.args != nil {
		fmt.Fprintf(&b, " %s", s.argsUsage)
	}
	b.WriteString("\n\nEvery flag can be given by its environment variable instead; a flag wins.\n")
	for _, it := range s.items {
		fmt.Fprintf(&b, "\n  --%s", it.name)
		if it.kind != "" {
			fmt.Fprintf(&b, " %s", it.kind)
		}
		fmt.Fprintf(&b, "\n        %s\n        %s", it.usage, it.variable())
		if it.shown != "" {
			fmt.Fprintf(&b, ", default %s", it.shown)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (it *item) variable() string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(it.name, "-", "_"))
}

// assign sets the value or reports the problem under the name of its source.
// The problem quotes the value; a secret's value is never wrong.
func (it *item) assign(source, value string) {
	if err := it.set(value); err != nil {
		it.report(fmt.Errorf("%s: %q %w", source, value, err))
	}
}

// Set is called by the flag package, which would stop at the first error: it
// reports a wrong value itself and always returns nil.
func (it *item) Set(value string) error {
	it.given = true
	it.assign("--"+it.name, value)
	return nil
}

// String is asked for by the flag package for its own help, which is not used.
func (it *item) String() string { return "" }

// IsBoolFlag tells the flag package that the flag may stand without a value.
func (it *item) IsBoolFlag() bool { return it.isBool }
