package dashboard

import "os"

// input is the console. What is typed behind an Enter may be read before the dashboard
// has taken that: a console is read by events, of which none can be left.
type input struct{ *os.File }

func newInput(f *os.File) *input { return &input{f} }

func (*input) taken(bool)    {}
func (*input) keep()         {}
func (*input) ahead() []byte { return nil }
func (*input) back()         {}
