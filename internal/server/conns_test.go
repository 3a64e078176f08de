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
