package identity

import (
	"crypto/x509"
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{"w", "w1", "7", "a.b-c_d", strings.Repeat("x", MaxNameBytes)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", ".", "..", "-w", "_w", "W", "a/b", "a b", "a\nb", "ä", "a%20b", "a:b", "a?b",
		"a#b", strings.Repeat("x", MaxNameBytes+1)} {
		if err := CheckName(name); !errors.Is(err, ErrName) {
			t.Errorf("%q: %v, want %v", name, err, ErrName)
		}
	}
}

func TestOf(t *testing.T) {
	for _, id := range []Identity{{Master, "master"}, {Worker, "w.1"}, {Operator, "me"}} {
		got, err := Of(&x509.Certificate{URIs: []*url.URL{id.URI()}})
		if err != nil || got != id {
			t.Errorf("%v: %v, %v", id, got, err)
		}
		parsed, err := url.Parse(id.URI().String())
		if err != nil {
			t.Fatal(err)
		}
		if got, err = Of(&x509.Certificate{URIs: []*url.URL{parsed}}); err != nil || got != id {
			t.Errorf("%v, written and read: %v, %v", id, got, err)
		}
	}
	for _, uris := range [][]string{
		{}, {"amazonsfarm://worker/a", "amazonsfarm://operator/a"}, {"https://worker/a"}, {"amazonsfarm://king/a"},
		{"amazonsfarm://worker/"},
		{"amazonsfarm://worker"}, {"amazonsfarm://worker/a/b"}, {"amazonsfarm://worker//a"}, {"amazonsfarm://worker/A"},
		{"amazonsfarm://worker/a?b"},
		{"amazonsfarm://worker/a#b"}, {"amazonsfarm://x@worker/a"}, {"amazonsfarm://worker:7/a"},
		{"amazonsfarm:worker/a"}, {"amazonsfarm://worker/%61"},
	} {
		c := &x509.Certificate{}
		for _, text := range uris {
			u, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			c.URIs = append(c.URIs, u)
		}
		if id, err := Of(c); !errors.Is(err, ErrNoIdentity) {
			t.Errorf("%q: %v, %v, want %v", uris, id, err, ErrNoIdentity)
		}
	}
}
