package egress

import (
	"bytes"
	"testing"
	"time"
)

func BenchmarkPost(b *testing.B) {
	target := listen(b, "127.0.0.1:0", keeps(okAnswer))
	c := open(b, Config{Policy: loopback()})
	body := bytes.Repeat([]byte("a"), 800)
	secret := NewSecret()
	b.ReportAllocs()
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			h := Sign("65f0c0ffee65f0c0ffee65f0", time.Now(), body, secret)
			if _, err := c.Post(b.Context(), Request{URL: target.url, Header: h, Body: body}); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkSign(b *testing.B) {
	body := bytes.Repeat([]byte("a"), 800)
	secret := NewSecret()
	b.ReportAllocs()
	for b.Loop() {
		Sign("65f0c0ffee65f0c0ffee65f0", time.Now(), body, secret)
	}
}

func BenchmarkCheckURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (Policy{}).CheckURL("https://hooks.example.com/latchwire?x=1"); err != nil {
			b.Fatal(err)
		}
	}
}
