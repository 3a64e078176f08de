package listen

import (
	"net"
	"testing"
)

// An address that cannot be bound is told before the present server ends. Its own port is
// no obstacle, whatever the host.
func TestCheckBind(t *testing.T) {
	open := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l.Addr().String()
	}
	now, other := open(), open()
	_, port, err := net.SplitHostPort(now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		o    Options
		now  string
		fits bool
	}{
		{Options{Address: now}, now, true},
		{Options{Address: "0.0.0.0:" + port, TLS: true}, now, true},
		{Options{Address: "127.0.0.1:0"}, now, true},
		{Options{Address: other}, now, false},
		{Options{Address: other}, "", true},
		{Options{Address: other, TLS: true, AnyPort: true}, now, true},
		{Options{Address: "192.0.2.1:0", TLS: true}, now, false},
	} {
		if err := CheckBind(tt.o, tt.now); (err == nil) != tt.fits {
			t.Errorf("%+v in place of %q: %v", tt.o, tt.now, err)
		}
	}
}
