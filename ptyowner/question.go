package ptyowner

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
)

// maxQuestions is how many questions of one attachment may be unanswered: an owner
// that was stopped takes what fits its socket, and then a sender would wait.
const maxQuestions = 8

// questions are the requests that were sent over an attachment. The zero value is
// ready.
type questions struct {
	// mu guards the fields below. waiting has a channel for each request without a
	// reply, also where nobody waits for that any more.
	mu      sync.Mutex
	last    uint64
	waiting map[uint64]chan wire.Reply
	ended   bool // no reply comes any more
}

// add returns the id of a new request and the channel of its reply, which end closes.
func (q *questions) add() (id uint64, reply <-chan wire.Reply, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.ended:
		return 0, nil, errors.New("the connection has ended")
	case len(q.waiting) >= maxQuestions:
		return 0, nil, errors.New("it has not answered earlier questions")
	}
	if q.waiting == nil {
		q.waiting = map[uint64]chan wire.Reply{}
	}
	q.last++
	answer := make(chan wire.Reply, 1)
	q.waiting[q.last] = answer
	return q.last, answer, nil
}

// answer passes a reply on. One without a request is dropped.
func (q *questions) answer(reply wire.Reply) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if answer, ok := q.waiting[reply.ID]; ok && !q.ended {
		delete(q.waiting, reply.ID)
		answer <- reply
	}
}

// end wakes all who wait: the connection has ended.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended {
		return
	}
	q.ended = true
	for _, answer := range q.waiting {
		close(answer)
	}
}

// Status implements terminal.AskingAttachment. What is on the disk counts as for a new
// connection: an owner that nobody else finds is not said to run.
func (a *attachment) Status(ctx context.Context) (terminal.Status, error) {
	l, err := a.seen.look(a.s)
	if err != nil {
		return terminal.Status{}, err
	}
	if !l.hasRec || l.life == state.Dead {
		return terminal.Status{}, unreachable(a.c.session, "ask owner", errors.New("it cannot be found any more"))
	}
	id, answer, err := a.questions.add()
	if err != nil {
		return terminal.Status{}, unreachable(a.c.session, "ask owner", err)
	}
	request := wire.Request{ID: id, Verb: wire.VerbStatus, Args: json.RawMessage("{}")}
	if err := a.c.send(wire.AppendControl(nil, wire.TypeRequest, request)); err != nil {
		return terminal.Status{}, err
	}
	var reply wire.Reply
	select {
	case given, ok := <-answer:
		if !ok {
			return terminal.Status{}, unreachable(a.c.session, "ask owner", errors.New("the connection has ended"))
		}
		reply = given
	case <-ctx.Done():
		return terminal.Status{}, unreachable(a.c.session, "ask owner", ctx.Err())
	}
	if reply.Error != nil {
		return terminal.Status{}, terminalError(a.c.session, reply.Error)
	}
	var w wire.Status
	if err := json.Unmarshal(reply.Result, &w); err != nil {
		return terminal.Status{}, unreachable(a.c.session, "read owner's reply", err)
	}
	return a.s.statusFromOwner(l, w), nil
}
