package journal

import (
	"fmt"
	"testing"
)

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 32 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w, err := Create(b.TempDir(), Options{KeepBytes: DefaultKeepBytes})
			if err != nil {
				b.Fatal(err)
			}
			defer w.Close()
			p := make([]byte, size)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.Append(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
