package server

// Idle reports whether the connection from addr is that of an authenticated caller, and
// between two requests. For tests alone.
func (s *Server) Idle(addr string) bool {
	s.conns.mu.Lock()
	defer s.conns.mu.Unlock()
	for _, list := range s.conns.known {
		for at := list.Front(); at != nil; at = at.Next() {
			if t := at.Value.(*tcpConn); t.RemoteAddr().String() == addr {
				return !t.busy
			}
		}
	}
	return false
}

// HooksIdle reports whether all connections of sandboxed sessions whose caller is
// authenticated are between two requests. For tests alone.
func (s *Server) HooksIdle() bool {
	s.ownConns.mu.Lock()
	defer s.ownConns.mu.Unlock()
	for _, list := range s.ownConns.known {
		for at := list.Front(); at != nil; at = at.Next() {
			if at.Value.(*tcpConn).busy {
				return false
			}
		}
	}
	return true
}
