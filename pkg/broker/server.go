package broker

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A ServerConfig says how the embedded server runs.
type ServerConfig struct {
	// Dir is where streams are stored, on a disk that survives the process.
	Dir string
	// Port is the TCP port on loopback to listen on; zero listens nowhere and
	// serves connections of this process only, -1 takes a free port.
	Port int
	// SyncAlways makes every acknowledged write survive a power cut, at about
	// ten times the cost of a write (design section 3, profile single).
	SyncAlways bool
}

// A Server is nats-server in this process, with JetStream on files.
type Server struct {
	ns     *server.Server
	folder *os.File // locked
}

// StartServer starts an embedded server and waits until it accepts connections.
// It returns an error if another process has the data folder.
func StartServer(cfg ServerConfig) (*Server, error) {
	folder, err := lockFolder(cfg.Dir)
	if err != nil {
		return nil, err
	}
	ns, err := startServer(cfg)
	if err != nil {
		return nil, errors.Join(err, folder.Close())
	}
	return &Server{ns, folder}, nil
}

func startServer(cfg ServerConfig) (*server.Server, error) {
	ns, err := server.NewServer(&server.Options{
		ServerName: "latchwire",
		Host:       "127.0.0.1",
		Port:       cfg.Port,
		DontListen: cfg.Port == 0,
		JetStream:  true,
		StoreDir:   cfg.Dir,
		SyncAlways: cfg.SyncAlways,
		NoSigs:     true,
		NoLog:      true,
		MaxPayload: 1 << 20,
	})
	if err != nil {
		return nil, fmt.Errorf("configure the embedded NATS server: %w", err)
	}
	var why fatalLog
	ns.SetLogger(&why, false, false)
	ns.Start()
	if fatal := why.first.Load(); fatal != nil {
		ns.Shutdown()
		return nil, fmt.Errorf("start the embedded NATS server: %s", *fatal)
	}
	if !ns.ReadyForConnections(30 * time.Second) {
		ns.Shutdown()
		return nil, errors.New("the embedded NATS server did not start within 30 s")
	}
	return ns, nil
}

// URL returns where other processes reach the server; empty if it does not listen.
func (s *Server) URL() string {
	if s.ns.Addr() == nil {
		return ""
	}
	return s.ns.ClientURL()
}

// Shutdown stops the server and waits until its files are closed.
func (s *Server) Shutdown() {
	s.ns.Shutdown()
	s.ns.WaitForShutdown()
	_ = s.folder.Close() // it lets the folder go; closing twice is no harm
}

// fatalLog is the server's logger. It keeps the first reason that the server
// cannot run for, which the server tells nobody else, and drops the rest.
type fatalLog struct{ first atomic.Pointer[string] }

// Fatalf keeps the first reason.
func (l *fatalLog) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.first.CompareAndSwap(nil, &why)
}

// Noticef drops the message.
func (l *fatalLog) Noticef(string, ...any) {}

// Warnf drops the message.
func (l *fatalLog) Warnf(string, ...any) {}

// Errorf drops the message.
func (l *fatalLog) Errorf(string, ...any) {}

// Debugf drops the message.
func (l *fatalLog) Debugf(string, ...any) {}

// Tracef drops the message.
func (l *fatalLog) Tracef(string, ...any) {}
