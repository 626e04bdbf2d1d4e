package egress

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// A zone answers what a name leads to at its nth question about addresses of
// one family, counted from 1. No addresses means that the name doesn't exist.
type zone func(v6 bool, n int) []netip.Addr

// points is a zone that always answers the same.
func points(addrs ...string) zone {
	var v4, v6 []netip.Addr
	for _, s := range addrs {
		if a := netip.MustParseAddr(s); a.Is4() {
			v4 = append(v4, a)
		} else {
			v6 = append(v6, a)
		}
	}
	return func(want6 bool, _ int) []netip.Addr {
		if want6 {
			return v6
		}
		return v4
	}
}

// resolve starts a name server for every name there is, and returns a
// resolver that asks it.
func resolve(t *testing.T, z zone) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		asked := map[bool]int{}
		packet := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			if reply := z.reply(packet[:n], asked); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

func (z zone) reply(packet []byte, asked map[bool]int) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(packet); err != nil || len(m.Questions) != 1 {
		return nil
	}
	q := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	m.Additionals = nil
	v6 := q.Type == dnsmessage.TypeAAAA
	asked[v6]++
	for _, a := range z(v6, asked[v6]) {
		r := dnsmessage.Resource{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}} // TTL 0
		if v6 {
			r.Body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		} else {
			r.Body = &dnsmessage.AResource{A: a.As4()}
		}
		m.Answers = append(m.Answers, r)
	}
	if len(z(false, 0))+len(z(true, 0)) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	reply, err := m.Pack()
	if err != nil {
		return nil
	}
	return reply
}
